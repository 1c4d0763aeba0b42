package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// clock holds what is known about a server's clock.
type clock struct {
	ahead    time.Duration // of this machine's
	still    time.Time     // where it stands still; zero while it ticks
	moveable bool
	stops    bool // it can stand still
}

// now returns the instant by the server's clock.
func (c *clock) now() time.Time {
	if !c.still.IsZero() {
		return c.still
	}
	return time.Now().Add(c.ahead)
}

// readClock asks a server for its clock: the test clock, or else the Date of its answers.
func (p *player) readClock(base string) (*clock, error) {
	a, err := p.send("GET", base+"/test/clock", "", nil)
	if err != nil {
		return nil, err
	}
	c := new(clock)
	var shown struct {
		Data struct {
			Now    time.Time
			Frozen *bool
		}
	}
	at, bad := http.ParseTime(a.Header.Get("Date"))
	if a.Status == http.StatusOK && json.Unmarshal(a.Body, &shown) == nil {
		c.moveable = true
		c.stops = shown.Data.Frozen != nil
		at = shown.Data.Now
		bad = nil
	}
	if c.stops && *shown.Data.Frozen {
		c.still = at
	}
	if bad == nil {
		c.ahead = time.Until(at)
	}
	return c, nil
}

// advance moves the test clock, and that of the other server. Without a world of its own a run moves that of
// the server, for everybody.
func (p *player) advance(by string) error {
	if err := p.mayWrite(); err != nil {
		return err
	}
	if !p.skew.moveable {
		return &skip{"it needs a test clock"}
	}
	move := `{"advance":"` + by + `"}`
	if at, ok := strings.CutPrefix(by, "to "); ok {
		at, err := p.Expand(at)
		if err != nil {
			return err
		}
		move = `{"now":"` + at + `"}`
	}
	p.line = "POST /test/clock"
	if err := p.exchange("POST", "/test/clock", move, http.Header{}); err != nil {
		return err
	}
	if err := p.Check("200"); err != nil {
		return err
	}
	if p.like.asked(p) {
		a, err := p.send("POST", p.opt.LikeURL+"/test/clock", move, http.Header{})
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("%d %s", a.Status, a.Body)
		}
		if err != nil {
			return &skip{"the clock at -like could not be moved: " + err.Error()}
		}
	}
	c, err := p.readClock(p.baseURL())
	if err != nil {
		return errors.Join(errors.New("the test clock has gone since it was moved"), err)
	}
	p.skew = c
	return nil
}
