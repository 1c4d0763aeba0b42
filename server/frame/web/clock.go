package web

import (
	"log/slog"
	"sync"
	"time"
)

// maxStep is by how much the machine's clock may differ from the time that has passed and be believed:
// corrections of a clock that was set right are smaller.
const maxStep = time.Minute

// errStep is for a change while the machine's clock is not believed (decision clock.step).
var errStep = unavailable("the server's clock has jumped, and is not believed; nothing was changed")

// guardedClock is the machine's clock, as far as it agrees with the time that has passed since it was last
// read. After a step it goes on by that time, until the machine's clock agrees again.
type guardedClock struct {
	machine func() time.Time
	elapsed func() time.Duration // by a clock that nobody sets
	log     *slog.Logger

	mu   sync.Mutex
	was  time.Time     // the newest reading that was believed
	at   time.Duration // when that was
	step time.Duration // that is not believed; 0 where there is none
}

// Now returns the instant.
func (c *guardedClock) Now() time.Time {
	now, _ := c.read()
	return now
}

// read returns the instant, and the step that is not believed.
func (c *guardedClock) read() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, at := c.machine().Round(0), c.elapsed()
	if c.was.IsZero() {
		c.was, c.at = now, at
	}
	expected := c.was.Add(at - c.at)
	step := now.Sub(expected)
	if step.Abs() > maxStep {
		if c.step == 0 {
			c.log.Error("the machine's clock has jumped; it is not believed, and nothing is changed until it "+
				"agrees again; if it is right now, restart the server", "step", step)
		}
		c.step = step
		return expected, step
	}
	c.was, c.at, c.step = now, at, 0
	return now, 0
}

// Step returns by how much the machine's clock differs from what is believed; 0 where it is believed.
func (s *Core) Step() time.Duration {
	if s.clock == nil {
		return 0
	}
	_, step := s.clock.read()
	return step
}

// MayChange returns why nothing may be changed; nil where it may.
func (s *Core) MayChange() error {
	if s.Step() != 0 {
		return errStep
	}
	return nil
}
