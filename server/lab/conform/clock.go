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

// see learns from the Date of an answer how far the server's clock is from this machine's.
func (c *clock) see(header http.Header) {
	if at, err := http.ParseTime(header.Get("Date")); err == nil && !c.moveable {
		c.ahead = time.Until(at)
	}
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
	c.see(a.Header)
	if a.Status == http.StatusOK && json.Unmarshal(a.Body, &shown) == nil {
		c.moveable = true
		c.stops = shown.Data.Frozen != nil
		c.ahead = time.Until(shown.Data.Now)
	}
	if c.stops && *shown.Data.Frozen {
		c.still = shown.Data.Now
	}
	return c, nil
}

// mayMove refuses to move a clock unless it is allowed, and can be moved.
func (p *player) mayMove() error {
	if err := p.mayWrite(); err != nil {
		return err
	}
	if !p.skew.moveable {
		return &skip{"it needs a test clock"}
	}
	return nil
}

// advance moves the test clock, and that of the other server. Without a world of its own a run moves that of
// the server, for everybody.
func (p *player) advance(by string) error {
	if err := p.mayMove(); err != nil {
		return err
	}
	move := `{"advance":"` + by + `"}`
	if at, ok := strings.CutPrefix(by, "to "); ok {
		at, err := p.Expand(at)
		if err != nil {
			return err
		}
		move = `{"now":"` + at + `"}`
	}
	return p.setClock(move)
}

// setClock changes both clocks.
func (p *player) setClock(change string) error {
	p.Asked = "POST /test/clock"
	if err := p.exchange("POST", "/test/clock", change, http.Header{}); err != nil {
		return err
	}
	if err := p.Check("200"); err != nil {
		return err
	}
	if p.like.asked(p) {
		a, err := p.send("POST", p.opt.LikeURL+"/test/clock", change, http.Header{})
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
	p.search.moved = true
	return nil
}

// tick lets a second pass where the clock stands still. Other clocks move on from one question to the next.
func (p *player) tick() error {
	if p.skew.still.IsZero() {
		time.Sleep(5 * time.Millisecond)
		return nil
	}
	return p.advance("1s")
}

// standStill has the clock stand still: a millisecond is over before a question is answered.
func (p *player) standStill() error {
	if err := p.mayMove(); err != nil || !p.skew.still.IsZero() {
		return err
	}
	if !p.skew.stops {
		return &skip{"it needs a test clock that can stand still"}
	}
	p.froze = true
	return p.setClock(`{"frozen":true}`)
}

// goOn lets a clock tick again that a rule has made stand still.
func (p *player) goOn() {
	if p.froze {
		p.froze = false
		_ = p.setClock(`{"frozen":false}`) // where it still stands, later rules can be played all the same
	}
}
