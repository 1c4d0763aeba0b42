package command

import (
	"errors"
	"fmt"
	"time"

	"waybill/server/front"
)

const (
	readyWithin = 5 * time.Second        // in which a server that is asked once has to answer
	readyEvery  = 100 * time.Millisecond // in which one that is waited for is asked again
)

// ready says whether a server is ready, or becomes so while it waits. It asks as a client does, has no
// directory, and takes no lock. An image that has no shell and no curl has this for its health check, so that
// it prints nothing where all is well.
func (c *call) ready() (int, error) {
	addr, err := front.ParseURL(c.text("addr"))
	if err != nil {
		return exitUsage, fmt.Errorf("-addr: %w", err)
	}
	wait := c.get("wait").(time.Duration)
	if wait < 0 {
		return exitUsage, errors.New("-wait must be a duration of at least 0, as in 30s")
	}
	if wait == 0 {
		return exitFailed, front.Ready(addr, readyWithin)
	}
	return exitFailed, c.awaitReady(addr, wait)
}

// awaitReady asks a server until it is ready, or the time is over, or somebody stops it. Its error is that of
// the last answer, which may take as long as that of a server that is asked once: a wait that is shorter than
// an answer would say of a busy server that it says nothing.
func (c *call) awaitReady(addr string, wait time.Duration) error {
	end := time.Now().Add(wait)
	for {
		err := front.Ready(addr, max(time.Until(end), readyWithin))
		left := time.Until(end)
		if err == nil || left <= 0 {
			return err
		}
		select {
		case <-time.After(min(left, readyEvery)):
		case <-c.Stop:
			return err
		}
	}
}
