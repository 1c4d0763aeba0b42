package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"waybill/server"
	"waybill/server/front"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/reach/ticket"
	"waybill/store/durable"
)

// The verb that looks at a ticket, wherever that is (decision ticket.check). It needs a key only; a directory
// or a feed tells it in which city a run is when.

// ticketCheck checks codes of tickets, without a network. It exits with 0 where all are good.
func (c *call) ticketCheck() (int, error) {
	if err := c.checkSources(); err != nil {
		return exitUsage, err
	}
	if err := c.otherFormat(); err != nil && c.dir != "" {
		return exitConfig, err
	}
	inspector, code, err := c.newInspector()
	if err != nil {
		return code, err
	}
	runs, err := c.knownRuns()
	if err != nil {
		return exitFailed, err
	}
	inspector.Knows(runs)
	// What a scanner reads need not pass through a shell, one process for each passenger.
	var codes io.Reader = strings.NewReader(c.Arg(0))
	if c.Arg(0) == "-" {
		codes = c.Stdin
	}
	return exitFailed, inspector.Inspect(codes, func(v ticket.Verdict) error {
		if c.get("json").(bool) {
			return json.NewEncoder(c.Stdout).Encode(v)
		}
		_, err := fmt.Fprintln(c.Stdout, v.Said)
		return err
	})
}

// checkSources finds out what codes are checked by, and sets dir to the directory; "" is none. One that only
// the environment names counts where neither a key nor a feed is given: who gives one of these means another.
func (c *call) checkSources() error {
	c.dir = c.text("data")
	switch other := c.isGiven("key") || c.isGiven("feed"); {
	case c.isGiven("feed") && c.text("feed") == "":
		return errors.New("-feed names no feed")
	case !c.isGiven("data"):
		return nil
	case other && !c.isTyped("data"):
		c.dir = ""
		return nil
	case c.dir == "":
		return errors.New("-data names no directory")
	case c.isGiven("feed"):
		return errors.New("-data and -feed both name a timetable: give only one of them")
	}
	return nil
}

// isTyped reports whether the command line itself sets a flag, whatever the environment says.
func (c *call) isTyped(name string) bool {
	typed := c.newCall(c.verb)
	words := strings.Fields(c.verb.name)
	err := typed.Parse(c.Process.Args[len(words):]) // it was read once, without a mistake
	return err == nil && typed.isGiven(name)
}

// newInspector returns an inspector with the key that is given, or the directory's own. The code is that of
// an error: what is wrong with the key or the run is a mistake of who types, what is wrong with a directory
// is not.
func (c *call) newInspector() (x *ticket.Inspector, code int, err error) {
	var key []byte
	if c.dir != "" && !c.isGiven("key") {
		if err := c.mustExist(); err != nil {
			return nil, exitFailed, err
		}
		key, err = ticket.PublicKey(durable.Dir(c.dir))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s has no key for tickets; name one with -key", c.dir)
		}
		if err != nil {
			return nil, exitFailed, err
		}
	} else if key, err = os.ReadFile(c.text("key")); err != nil {
		return nil, exitUsage, fmt.Errorf("-key: %w", err)
	}
	x, err = ticket.NewInspector(key, c.text("trip"), c.text("date"))
	return x, exitUsage, err
}

// knownRuns returns the runs of the directory or of the feed; nil where neither is given.
func (c *call) knownRuns() (*ticket.Runs, error) {
	if path := c.text("feed"); path != "" {
		tt, err := admin.ReadTimetable(path)
		if err != nil {
			return nil, fmt.Errorf("-feed: %w", err)
		}
		return ticket.NewRuns(tt, nil), nil
	}
	if c.dir == "" {
		return nil, nil
	}
	if err := c.mustExist(); err != nil {
		return nil, err
	}
	front.StepBackBeside(c.dir, c.StepBack)
	s, err := server.Look(server.Config{
		Dir:     c.dir,
		Log:     c.logger(c.Stderr, slog.LevelWarn),
		Verb:    true,
		Program: ledger.ThisProgram(),
	})
	if err != nil {
		return nil, err
	}
	// Nothing changes what was read: it is looked at only.
	var runs *ticket.Runs
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		runs = ticket.NewRuns(s.Timetable.Load(), st.Bookings)
	})
	return runs, errors.Join(err, s.Close())
}
