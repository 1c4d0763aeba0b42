package command

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"waybill/server/conform"
	"waybill/server/front"
	"waybill/server/words"
)

// The verbs that ask a server, wherever it is, as a client does. They have no directory, and take no lock.

// ready says whether a server is ready. An image that has no shell and no curl has this for its health check,
// so that it prints nothing where all is well.
func (c *call) ready() (int, error) {
	addr, err := serverURL(c.text("addr"))
	if err != nil {
		return exitUsage, fmt.Errorf("-addr: %w", err)
	}
	return exitFailed, front.Ready(addr)
}

// thisMachine is the host of an address that names none, or all.
const thisMachine = "127.0.0.1"

// serverURL reads the URL of a server; http is understood. What it returns has no slash at its end, so that a
// path can follow.
func serverURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a URL as http://127.0.0.1:8080", text)
	}
	// What a server listens on is given to ready too, by the same variable: of all addresses it asks this
	// one.
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() == "" || ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort(thisMachine, u.Port())
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// conform plays the interface's rules against a server, whoever has written it. That a rule failed is exit 1,
// and so is a booking that was left.
func (c *call) conform() (int, error) {
	opt := conform.Options{
		Key:     c.text("key"),
		Key2:    c.text("key2"),
		IDToken: c.text("id-token"),
		Write:   c.get("write").(bool),
		Stage:   c.get("stage").(int),
		From:    c.text("from"),
		To:      c.text("to"),
		Date:    c.text("date"),
		Stop:    c.Stop,
	}
	if opt.Stage != 0 && !conform.HasStage(opt.Stage) {
		return exitUsage, errors.New("-stage is a number from 1 to 9")
	}
	if c.get("list").(bool) {
		return exitFailed, conform.List(opt.Stage, c.Stdout)
	}
	if err := c.whereToPlay(&opt); err != nil {
		return exitUsage, err
	}
	sum, err := conform.Run(opt, c.Stdout)
	if err != nil {
		return exitFailed, err
	}
	if err := c.writeJUnit(&sum); err != nil {
		return exitFailed, err
	}
	switch {
	case isClosed(c.Stop):
		return exitFailed, errors.New("the run was stopped before its end")
	case sum.Failed > 0:
		return exitFailed, errors.New(words.Counted(sum.Failed, "rule") + " failed")
	case sum.Left != nil:
		return exitFailed, errors.New(words.Counted(len(sum.Left), "booking") + " could not be canceled")
	}
	return exitDone, nil
}

// isClosed reports whether a channel is closed that nothing is sent on.
func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// whereToPlay reads the flags that say against which server, and on which journey. All of them are checked
// before anybody is asked.
func (c *call) whereToPlay(opt *conform.Options) (err error) {
	if c.text("base-url") == "" {
		return errors.New("-base-url names the server to ask")
	}
	if opt.BaseURL, err = serverURL(c.text("base-url")); err != nil {
		return fmt.Errorf("-base-url: %w", err)
	}
	if control := c.text("control"); control != "" {
		if opt.ControlURL, err = serverURL(control); err != nil {
			return fmt.Errorf("-control: %w", err)
		}
		if !opt.Write {
			return errors.New("-control makes a world to write in, and goes with -write")
		}
	}
	if opt.Key2 != "" && opt.Key2 == opt.Key {
		return errors.New("-key and -key2 are of two partners")
	}
	none := opt.From == "" && opt.To == "" && opt.Date == ""
	if !none && (opt.From == "" || opt.To == "" || opt.Date == "") {
		return errors.New("-from, -to and -date go together")
	}
	if _, err := time.Parse(time.DateOnly, opt.Date); !none && err != nil {
		return fmt.Errorf("-date %q is not a day as in 2026-11-25", opt.Date)
	}
	return nil
}

// writeJUnit writes the results into the file of -junit. It comes after the run, so that a run that could not
// begin leaves the file of the last one.
func (c *call) writeJUnit(sum *conform.Summary) error {
	name := c.text("junit")
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("-junit: %w", err)
	}
	return errors.Join(sum.JUnit(f), f.Close())
}
