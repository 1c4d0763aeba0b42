package server

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/server/ledger"
	"waybill/server/wire"
)

// countries are those cities can be filtered by (interface, City).
var countries = strings.Fields("UA TR PL CZ IT DE SK HU BE NL RO BG FR AT LT LV EE ES LU CH GR MD SI")

// listCities answers GET /v2/cities.
func (s *Server) listCities(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	name := q.text("name")
	if name != "" && utf8.RuneCountInString(name) < 2 {
		q.complain("name", "must have at least 2 characters")
	}
	country := q.choice("country", "", countries)
	take, skip := q.page(maxCities)
	if q.values.Get("take") == "" && len(q.values["take"]) < 2 {
		take = q.number("limit", take, 1, maxCities)
	}
	if q.values.Get("skip") == "" && len(q.values["skip"]) < 2 {
		skip = q.skip("offset")
	}
	if err := q.err(); err != nil {
		return err
	}
	tt := s.timetable.Load()
	list := tt.FindCities(name, country)
	return replyTagged(w, r, func(w *wire.Writer) {
		wire.Each(w, "cities", page(list, skip, take), func(i int32) { writeCity(w, "", &tt.Cities[i]) })
		w.Int("total", int64(len(list)))
	})
}

// getCity answers GET /v2/cities/{slug}.
func (s *Server) getCity(w http.ResponseWriter, r *http.Request) error {
	tt := s.timetable.Load()
	i, ok := tt.CityBySlug(r.PathValue("slug"))
	if !ok {
		return unknown("slug")
	}
	return replyTagged(w, r, func(w *wire.Writer) { writeCity(w, "city", &tt.Cities[i]) })
}

// getStop answers GET /v2/stops/{id}.
func (s *Server) getStop(w http.ResponseWriter, r *http.Request) error {
	tt := s.timetable.Load()
	i, ok := tt.StopByID(r.PathValue("id"))
	if !ok {
		return unknown("id")
	}
	stop, kind := &tt.Stops[i], "BUS_STOP"
	if stop.Station {
		kind = "BUS_STATION"
	}
	return replyTagged(w, r, func(w *wire.Writer) {
		w.Object("stop")
		w.Texts("id", stop.ID, "place", stop.Place, "type", kind)
		w.Float("latitude", stop.Lat)
		w.Float("longitude", stop.Lon)
		writeCity(w, "city", &tt.Cities[stop.City])
		w.EndObject()
	})
}

// getClock answers GET /test/clock (contract §2).
func (s *Server) getClock(w http.ResponseWriter, _ *http.Request) error {
	if !s.cfg.TestClock {
		return errNotFound
	}
	now, err := s.Now()
	return show(w, err, func(w *wire.Writer) { w.Time("now", now) })
}

// postClock answers POST /test/clock: it moves the clock forward.
func (s *Server) postClock(w http.ResponseWriter, r *http.Request) error {
	if !s.cfg.TestClock {
		return errNotFound
	}
	var to time.Time
	var by time.Duration
	var given []string
	if err := readBody(w, r, false, func(in *wire.Reader) {
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
				to = readInstant(in)
			}),
		)
		if len(in.Problems) == 0 && len(given) != 1 {
			in.Reject("must have one of advance and now")
		}
	}); err != nil {
		return err
	}
	var now time.Time
	seq, err := s.do(func(st *ledger.State, at time.Time) (ledger.Event, error) {
		if now = at.Add(by); slices.Contains(given, "now") {
			now = to
		}
		if now.Before(at) || now.Year() > maxYear {
			return nil, invalid(problem(given[0],
				"would move the clock back, or beyond the year 2199; it is "+at.Format(time.RFC3339)))
		}
		return &ledger.ClockSet{OffsetMs: st.Clock.OffsetMs + now.Sub(at).Milliseconds()}, nil
	})
	if err == nil { // what is due by then happens before the answer
		_, err = s.noteOverdue()
		err = errors.Join(err, s.removeReports())
		wake(s.moved)
		wake(s.posted)
	}
	return showWritten(w, seq, err, func(w *wire.Writer) { w.Time("now", now) })
}

// rfc3339 is what time.Parse is too lenient about: one-digit hours, commas, offsets of a day and more.
var rfc3339 = regexp.MustCompile(`^.{10}T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// readInstant reads a date-time, to the millisecond.
func readInstant(r *wire.Reader) (at time.Time) {
	r.Text(func(v string) bool {
		t, err := time.Parse(time.RFC3339, v)
		at = t.UTC().Truncate(time.Millisecond)
		return err == nil && rfc3339.MatchString(v) && at.Year() > 0 && at.Year() <= 9999
	}, "be an instant as in 2026-11-20T08:30:00Z, of the years 1 to 9999 in UTC")
	return at
}

// maxYear is the last that a clock can be set to: timetables end before it, and a duration from the machine's clock can
// hold the way there.
const maxYear = 2199
