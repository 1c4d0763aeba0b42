package ops

import (
	"net/http"
	"slices"
	"time"

	"waybill/server/ledger"
	"waybill/server/web"
	"waybill/server/wire"
)

// GetClock answers GET /test/clock (contract §2).
func (s *Service) GetClock(w http.ResponseWriter, _ *http.Request) error {
	if !s.Config.TestClock {
		return web.ErrNotFound
	}
	now, err := s.Now()
	return web.Show(w, err, func(w *wire.Writer) {
		w.Time("now", now)
	})
}

// PostClock answers POST /test/clock: it moves the clock forward.
func (s *Service) PostClock(w http.ResponseWriter, r *http.Request) error {
	if !s.Config.TestClock {
		return web.ErrNotFound
	}
	var to time.Time
	var by time.Duration
	var given []string
	// Either by how much, or to when: one of the two.
	if err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.May("advance", func() {
				given = append(given, "advance")
				in.Text(func(v string) bool {
					d, err := time.ParseDuration(v)
					by = d
					return err == nil && d >= 0
				}, "be a duration that is not negative, as in 21m")
			}),
			wire.May("now", func() {
				given = append(given, "now")
				to = web.ReadInstant(in)
			}),
		)
		if len(in.Problems) == 0 && len(given) != 1 {
			in.Reject("must have one of advance and now")
		}
	}); err != nil {
		return err
	}
	var now time.Time
	seq, err := s.Do(func(st *ledger.State, at time.Time) (ledger.Event, error) {
		now = at.Add(by)
		if slices.Contains(given, "now") {
			now = to
		}
		if now.Before(at) || now.Year() > web.MaxYear {
			return nil, web.Invalid(web.Problem(given[0],
				"would move the clock back, or beyond the year 2199; it is "+at.Format(time.RFC3339)))
		}
		// What is kept is how far it is ahead of the machine's clock, so that it goes on by itself.
		return &ledger.ClockSet{OffsetMs: st.Clock.OffsetMs + now.Sub(at).Milliseconds()}, nil
	})
	if err == nil { // what is due by then happens before the answer
		err = s.clockMoved()
		web.Wake(s.ClockMoved)
		web.Wake(s.Outgoing)
	}
	return web.ShowWritten(w, seq, err, func(w *wire.Writer) {
		w.Time("now", now)
	})
}

// GetLive answers the orchestrator, on /livez, /readyz and /healthz (contract §3). A server that is not ready
// answers only /livez.
func (s *Service) GetLive(w http.ResponseWriter, _ *http.Request) error {
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		w.String("status", "ok")
	})
}
