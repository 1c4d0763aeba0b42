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
			if err := server.CheckForm(op, form); err != nil {
				return p.end(exitUsage, err)
			}
			if err := p.complete(op, form); err != nil {
				return p.end(exitFailed, err)
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
		return p.end(exitCode(err), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "FORMAT")); err != nil && op != "import" && op != "partner-add" {
		return p.end(exitFailed, fmt.Errorf("%s is not a data directory", dir))
	}
	err = p.adminCall(path, op, form)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) { // there is no server
		if err = p.adminHere(dir, op, form); errors.Is(err, store.ErrLocked) && running(dir) {
			// A server is about to listen, or another verb is at work.
			err = p.adminCall(path, op, form)
		}
	}
	return p.end(exitCode(err), err)
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
