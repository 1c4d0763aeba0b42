package command

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule/gtfs"
	"waybill/server"
	"waybill/store"
)

// admin makes a verb of an admin operation. The operands, by the given names,
// and the flags, by their own, become the fields of the operation's form.
func admin(op, operands string, options ...func(*flag.FlagSet)) func(*flag.FlagSet) action {
	return func(flags *flag.FlagSet) action {
		data := dataFlag(flags)
		for _, define := range options {
			define(flags)
		}
		return func(p *Process, given []string) int {
			form := url.Values{}
			for i, name := range strings.Fields(operands) {
				form.Set(name, given[i])
			}
			flags.VisitAll(func(f *flag.Flag) {
				if v := f.Value.String(); f.Name != "data" && v != f.DefValue {
					form.Set(f.Name, v)
				}
			})
			if err := checkForm(op, form); err != nil {
				return p.fail(exitUsage, err)
			}
			if err := p.complete(op, form); err != nil {
				return p.fail(exitFailed, err)
			}
			return p.admin(*data, op, form)
		}
	}
}

// text is a flag of an admin verb that takes a value.
func text(name, about string) func(*flag.FlagSet) {
	return func(flags *flag.FlagSet) { flags.String(name, "", about) }
}

// onOff is a flag of an admin verb that takes none.
func onOff(name, about string) func(*flag.FlagSet) {
	return func(flags *flag.FlagSet) { flags.Bool(name, false, about) }
}

// checkForm finds what the command line alone shows wrong.
func checkForm(op string, form url.Values) error {
	_, isTicket := booking.ParseID(form.Get("ticket"))
	_, isBooking := booking.ParseID(form.Get("booking"))
	_, isStatus := booking.ParseCarrier(form.Get("status"))
	_, isFare := gtfs.ParseFarePerKm(form.Get("fare-per-km"))
	_, role := auth.ParseRole(form.Get("role"))
	isEmail := server.ValidEmail(form.Get("email"))
	switch {
	case form.Has("ticket") && !isTicket:
		return fmt.Errorf("%q is not a ticket's id", form.Get("ticket"))
	case form.Has("booking") && !isBooking && form.Get("booking") != "new":
		return fmt.Errorf("%q is neither a booking's id nor the word new", form.Get("booking"))
	case form.Has("status") && !isStatus:
		return fmt.Errorf("%q is not one of Confirmed, NotConfirmed, Prepaid", form.Get("status"))
	case form.Has("fare-per-km") && !isFare:
		return fmt.Errorf("-fare-per-km %q is not a currency and a price as in EUR:0.06", form.Get("fare-per-km"))
	case op == "partner-add" && form.Get("name") == "":
		return errors.New("a partner has a name")
	case op == "user-add" && role != nil:
		return fmt.Errorf("-role: %w", role)
	case op == "user-add" && (!isEmail || form.Get("company") == ""):
		return errors.New("-email and -company must be given")
	case op == "idtoken" && !isEmail:
		return fmt.Errorf("-email %q is not an e-mail address", form.Get("email"))
	}
	return nil
}

// maxPassword is the length of the longest line that is read for a password, in bytes.
const maxPassword = 4 << 10

// complete gives a form what operands and flags do not: the feed's whole path,
// for a server that runs elsewhere, and the password.
func (p *Process) complete(op string, form url.Values) error {
	switch op {
	case "import":
		feed, err := filepath.Abs(form.Get("feed"))
		form.Set("feed", feed)
		return err
	case "user-add":
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, maxPassword)).ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) == maxPassword {
			return fmt.Errorf("the password is longer than %d bytes", maxPassword)
		}
		form.Set("password", strings.TrimRight(line, "\r\n"))
	}
	return nil
}

// admin does an operation on the directory, through its server or by itself.
func (p *Process) admin(dir, op string, form url.Values) int {
	path, err := socket(dir)
	if err != nil {
		return p.fail(exitCode(err), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "FORMAT")); err != nil && op != "import" && op != "partner-add" {
		return p.fail(exitFailed, fmt.Errorf("%s is not a data directory", dir))
	}
	err = p.adminCall(path, op, form)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) { // there is no server
		if err = p.adminHere(dir, op, form); errors.Is(err, store.ErrLocked) {
			// A server is about to listen, or another verb is at work.
			err = p.adminCall(path, op, form)
		}
	}
	if err != nil {
		return p.fail(exitCode(err), err)
	}
	return exitDone
}

// adminCall asks the server behind the socket.
func (p *Process) adminCall(path, op string, form url.Values) error {
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.PostForm("http://waybill/"+op, form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(p.Stdout, resp.Body); err != nil {
		return fmt.Errorf("the server ended before it was done: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New("the server is starting or stopping; try again")
	}
	if text, err := url.QueryUnescape(resp.Trailer.Get(server.AdminError)); text != "" || err != nil {
		return errors.New(text)
	}
	return nil
}

// lockWait is how long a verb waits for another process to give the directory free.
const lockWait = 5 * time.Second

// adminHere opens the directory for one operation; while another verb has it,
// it tries again. An import reads its feed first: one that is refused leaves no trace.
func (p *Process) adminHere(dir, op string, form url.Values) error {
	do := func(s *server.Server) error { return s.Admin(op, form, p.Stdout) }
	if op == "import" {
		feed, err := server.ReadFeed(form, p.Stdout)
		if err != nil || feed == nil {
			return err
		}
		do = func(s *server.Server) error { return s.Adopt(feed, p.Stdout) }
	}
	cfg := server.Config{Dir: dir, Log: p.logger("warn"), KeepClock: true}
	s, err := server.Open(cfg)
	for end := time.Now().Add(lockWait); errors.Is(err, store.ErrLocked) && time.Now().Before(end) && !running(dir); {
		<-time.After(20 * time.Millisecond)
		s, err = server.Open(cfg)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}
