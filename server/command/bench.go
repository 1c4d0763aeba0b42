package command

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"waybill/server"
	"waybill/server/command/load"
)

// bench measures sales on this machine, in a directory of its own.
func (c *call) bench() (int, error) {
	l, err := c.load()
	if err != nil {
		return exitUsage, err
	}
	cfg := server.Config{
		Dir: c.dir,
		Log: c.logger(c.Stderr, slog.LevelWarn),
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
		Bookings: c.get("bookings").(int),
		Window:   time.Duration(c.get("seconds").(float64) * float64(time.Second)),
		Table:    c.Stdout,
		Progress: c.Stderr,
		Stop:     c.Stop,
	}
	// Offers are searched for once a window, and it must end before they do.
	const longest = 15 * time.Minute // an offer lives longer
	good := l.Bookings > 0 && 0 < l.Window && l.Window <= longest
	for text := range strings.SplitSeq(c.text("conns"), ",") {
		n, err := strconv.Atoi(text)
		good = good && err == nil && n > 0
		l.Conns = append(l.Conns, n)
	}
	if !good {
		return nil, errors.New("-conns is a list as in 1,64, -bookings at least 1, " +
			"-seconds more than 0, at most 900")
	}
	return l, nil
}
