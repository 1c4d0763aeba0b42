//go:build !lean

package command

import (
	"fmt"
	"log/slog"
	"time"

	"waybill/server"
	"waybill/server/front/demo"
	"waybill/server/lab/load"
	"waybill/server/lab/tour"
)

// tour plays one booking, step by step, in a directory of its own.
func (c *call) tour() (int, error) {
	t := tour.Tour{
		Demo: demo.Feed(),
		Out:  c.Stdout,
		In:   c.Stdin,
		Stop: c.Stop,
	}
	if err := t.SetPace(c.get("pace").(float64)); err != nil {
		return exitUsage, err
	}
	return exitFailed, t.Play()
}

// bench measures sales on this machine, in a directory of its own.
func (c *call) bench() (int, error) {
	l, err := c.load()
	if err != nil {
		return exitUsage, err
	}
	cfg := server.Config{
		Dir:  c.dir,
		Log:  c.logger(c.Stderr, slog.LevelWarn),
		Lab:  newLab(),
		Keep: c.text("keep"),
	}
	if err := l.Over(cfg); err != nil {
		return exitCode(err), err
	}
	// How long a start takes with what was sold, from the snapshot that the close has written.
	start := time.Now()
	s, err := server.Open(cfg)
	if err != nil {
		return exitCode(err), err
	}
	fmt.Fprintf(c.Stdout, "start: %d ms\n", time.Since(start).Milliseconds())
	err = s.Close()
	return exitCode(err), err
}

// load reads what is to be measured.
func (c *call) load() (*load.Load, error) {
	l := &load.Load{
		Dir:      c.dir,
		Table:    c.Stdout,
		Progress: c.Stderr,
		Stop:     c.Stop,
	}
	return l, l.Set(c.get("bookings").(int), c.text("conns"), c.get("seconds").(float64))
}
