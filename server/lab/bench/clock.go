package bench

import (
	"math"
	"net/http"
	"regexp"
	"time"

	"waybill/schedule"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// GetClock answers GET /test/clock (decisions clock.test, clock.frozen).
func (s *Bench) GetClock(w http.ResponseWriter, _ *http.Request) error {
	if !s.Config.TestClock {
		return web.ErrNotFound
	}
	now, err := s.Now()
	return web.Show(w, err, func(w *wire.Writer) {
		w.Time("now", now)
		w.Bool("frozen", s.Still.Load())
	})
}

// PostClock answers POST /test/clock: it moves the clock forward, stops it, or has it tick again.
func (s *Bench) PostClock(w http.ResponseWriter, r *http.Request) error {
	if !s.Config.TestClock {
		return web.ErrNotFound
	}
	if err := s.CheckOrigin(r); err != nil {
		return err
	}
	m, err := readMove(w, r)
	if err != nil {
		return err
	}
	now, frozen, seq, err := s.MoveClock(m)
	return web.ShowWritten(w, seq, err, func(w *wire.Writer) {
		w.Time("now", now)
		w.Bool("frozen", frozen)
	})
}

// MoveClock moves the clock, stops it, or has it tick again, and brings about what is due by then. It returns
// where the clock then is, and the line that says so.
func (s *Bench) MoveClock(m Move) (now time.Time, frozen bool, seq uint64, err error) {
	// One at a time: whether loops wait must agree with the newest line.
	s.moving.Lock()
	defer s.moving.Unlock()
	set := func(st ledger.State, at time.Time) (ledger.Event, error) {
		now = m.from(at)
		if now.Before(at) || !schedule.IsInYears(now) {
			return nil, web.Invalid(web.Problem(m.given(),
				"would move the clock back, or beyond the year 2199; the time is "+
					at.Format("2006-01-02T15:04:05.000Z")))
		}
		frozen = !st.Clock().Still.IsZero()
		if m.Frozen != nil {
			frozen = *m.Frozen
		}
		if frozen {
			return &ledger.ClockSet{Still: now}, nil
		}
		// What is kept is how far it is ahead of the machine's clock, so that it goes on by itself.
		if st.Clock().Still.IsZero() {
			return &ledger.ClockSet{OffsetMs: st.Clock().OffsetMs + now.Sub(at).Milliseconds()}, nil
		}
		return &ledger.ClockSet{OffsetMs: now.Sub(s.Config.Now()).Milliseconds()}, nil
	}
	seq, err = s.Store.Update(func(st ledger.State, at time.Time) ([]ledger.Entry, error) {
		e, err := set(st, at)
		if err != nil {
			return nil, err
		}
		return ledger.Entries(e), nil
	}, func(ledger.State, time.Time) { s.Still.Store(frozen) })
	if err == nil {
		s.RunDue() // what is due by then happens before the answer
	}
	return now, frozen, seq, err
}

// Move is what somebody wants of the clock.
type Move struct {
	By     time.Duration // not below zero, whole milliseconds
	To     *time.Time    // instead of By; nil is not given
	Frozen *bool         // whether it then stands still; nil: as it is
}

// given names the member of a request that says where to.
func (m *Move) given() string {
	if m.To == nil {
		return "advance"
	}
	return "now"
}

// from returns where the clock is moved to from an instant.
func (m *Move) from(at time.Time) time.Time {
	if m.To == nil {
		return at.Add(m.By)
	}
	return *m.To
}

// readMove reads the body of a move: by how much, or to when, or whether it stands still.
func readMove(w http.ResponseWriter, r *http.Request) (m Move, err error) {
	err = web.ReadBody(w, r, false, func(in *wire.Reader) {
		given := 0
		in.Fields(
			wire.May("advance", func() {
				given++
				in.Text(func(v string) (ok bool) {
					m.By, ok = parseAdvance(v)
					return ok
				}, "be a duration of at least a millisecond, as in 21m, or 0")
			}),
			wire.May("now", func() {
				given++
				to, _ := web.ReadInstant(in)
				m.To = &to
			}),
			wire.May("frozen", func() {
				frozen := in.Bool()
				m.Frozen = &frozen
			}),
		)
		if len(in.Problems) == 0 && (given > 1 || given == 0 && m.Frozen == nil) {
			in.Reject("must have one of advance and now, or frozen, or both")
		}
	})
	return m, err
}

var figures = regexp.MustCompile(`[0-9]+`)

// parseAdvance reads by how much a clock is moved: a duration as in 21m, of which whole milliseconds count.
func parseAdvance(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	// What cannot be read, but could with other figures, is more than a duration holds.
	if short, _ := time.ParseDuration(figures.ReplaceAllString(text, "1")); err != nil && short > 0 {
		d, err = math.MaxInt64, nil
	}
	return d.Truncate(time.Millisecond), err == nil && (d == 0 || d >= time.Millisecond)
}
