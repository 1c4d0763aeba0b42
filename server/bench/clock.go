package bench

import (
	"net/http"
	"time"

	"waybill/server/ledger"
	"waybill/server/web"
	"waybill/server/wire"
)

// GetClock answers GET /test/clock (contract §2, §13).
func (s *Service) GetClock(w http.ResponseWriter, _ *http.Request) error {
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
func (s *Service) PostClock(w http.ResponseWriter, r *http.Request) error {
	if !s.Config.TestClock {
		return web.ErrNotFound
	}
	m, err := readMove(w, r)
	if err != nil {
		return err
	}
	// One at a time: whether loops wait must agree with the newest line.
	s.moving.Lock()
	defer s.moving.Unlock()
	var now time.Time
	frozen := false
	seq, err := s.Do(func(st *ledger.State, at time.Time) (ledger.Event, error) {
		now = m.from(at)
		if now.Before(at) || now.Year() > web.MaxYear {
			return nil, web.Invalid(web.Problem(m.given,
				"would move the clock back, or beyond the year 2199; it is "+at.Format(time.RFC3339)))
		}
		frozen = !st.Clock.Still.IsZero()
		if m.frozen != nil {
			frozen = *m.frozen
		}
		if frozen {
			return &ledger.ClockSet{Still: now}, nil
		}
		// What is kept is how far it is ahead of the machine's clock, so that it goes on by itself.
		if st.Clock.Still.IsZero() {
			return &ledger.ClockSet{OffsetMs: st.Clock.OffsetMs + now.Sub(at).Milliseconds()}, nil
		}
		return &ledger.ClockSet{OffsetMs: now.Sub(s.Config.Now()).Milliseconds()}, nil
	})
	if err == nil { // what is due by then happens before the answer
		err = s.moved(frozen)
	}
	return web.ShowWritten(w, seq, err, func(w *wire.Writer) {
		w.Time("now", now)
		w.Bool("frozen", frozen)
	})
}

// moved brings about what is due once the clock was moved.
func (s *Service) moved(frozen bool) error {
	ticked := !s.Still.Swap(frozen)
	if frozen || !ticked {
		s.Settle() // also before it ticks again, as the loops do not know yet that it will
		return nil
	}
	err := s.clockMoved()
	web.Wake(s.ClockMoved)
	web.Wake(s.Outgoing)
	return err
}

// move is what somebody wants of the clock.
type move struct {
	given  string // which of advance and now; "" is neither
	by     time.Duration
	to     time.Time
	frozen *bool // nil: as it is
}

// from returns where the clock is moved to from an instant.
func (m *move) from(at time.Time) time.Time {
	if m.given == "now" {
		return m.to
	}
	return at.Add(m.by)
}

// readMove reads the body of a move: by how much, or to when, or whether it stands still.
func readMove(w http.ResponseWriter, r *http.Request) (m move, err error) {
	err = web.ReadBody(w, r, false, func(in *wire.Reader) {
		both := false
		give := func(name string) {
			both = m.given != ""
			m.given = name
		}
		in.Fields(
			wire.May("advance", func() {
				give("advance")
				in.Text(func(v string) bool {
					d, err := time.ParseDuration(v)
					m.by = d.Truncate(time.Millisecond)
					return err == nil && d >= 0
				}, "be a duration that is not negative, as in 21m")
			}),
			wire.May("now", func() {
				give("now")
				m.to = web.ReadInstant(in)
			}),
			wire.May("frozen", func() {
				frozen := in.Bool()
				m.frozen = &frozen
			}),
		)
		if len(in.Problems) == 0 && (both || m.given == "" && m.frozen == nil) {
			in.Reject("must have one of advance and now, or frozen, or both")
		}
	})
	return m, err
}
