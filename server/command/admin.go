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

// admin makes a verb of an admin operation. The operands, by the given names, and the flags, by their own, become the
// fields of the operation's form.
func admin(op string, operands ...string) func(*call) (int, error) {
	return func(c *call) (int, error) {
		form := url.Values{}
		for i, name := range operands {
			form.Set(name, c.Arg(i))
		}
		c.VisitAll(func(f *flag.Flag) {
			if v := f.Value.String(); f.Name != "data" && v != f.DefValue {
				form.Set(f.Name, v)
			}
		})
		if err := server.CheckForm(op, form); err != nil {
			return exitUsage, err
		}
		if err := c.complete(op, form); err != nil {
			return exitFailed, err
		}
		err := c.admin(op, form)
		return exitCode(err), err
	}
}

// maxPassword is the length of the longest line that is read for a password, in bytes.
const maxPassword = 4 << 10

// complete gives a form what operands and flags do not: the feed's whole path, for a server that runs elsewhere, and
// the password.
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
func (c *call) admin(op string, form url.Values) error {
	path, err := socket(c.dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.dir, "FORMAT")); err != nil && op != "import" && op != "partner-add" {
		return fmt.Errorf("%s is not a data directory", c.dir)
	}
	err = c.adminCall(path, op, form)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) { // there is no server
		if err = c.adminHere(op, form); errors.Is(err, store.ErrLocked) && running(c.dir) {
			err = c.adminCall(path, op, form) // a server is about to listen, or another verb is at work
		}
	}
	return err
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

// adminHere opens the directory for one operation; while another verb has it, it tries again for five seconds. An
// import reads its feed first: one that is refused leaves no trace.
func (c *call) adminHere(op string, form url.Values) error {
	do := func(s *server.Server) error { return s.Admin(op, form, c.Stdout) }
	if op == "import" {
		feed, err := server.ReadFeed(form, c.Stdout)
		if err != nil || feed == nil {
			return err
		}
		do = func(s *server.Server) error { return s.Adopt(feed, c.Stdout) }
	}
	cfg := server.Config{Dir: c.dir, Log: c.logger("warn"), KeepClock: true}
	s, err := server.Open(cfg)
	for end := time.Now().Add(5 * time.Second); errors.Is(err, store.ErrLocked) && time.Now().Before(end) && !running(c.dir); {
		<-time.After(20 * time.Millisecond)
		s, err = server.Open(cfg)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}
