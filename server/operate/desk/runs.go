package desk

import (
	"errors"
	"net/http"
	"net/url"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
)

// runsShown is how many runs a page lists at most: more nobody reads.
const runsShown = 200

// dayPage is the runs of a service day.
type dayPage struct {
	*carrier.Day
	Date, Before, After string
	Query               string
}

// runPath returns the path of a run's page.
func runPath(trip, date string) string {
	return "/run?" + url.Values{"trip": {trip}, "date": {date}}.Encode()
}

// getRuns answers GET /runs?date=…&q=…: the runs of a service day, today without one.
func (s *Desk) getRuns(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	query := r.URL.Query()
	now, err := s.Now()
	if err != nil {
		return err
	}
	on := schedule.DayOf(now)
	if text := query.Get("date"); text != "" {
		if on, err = readDay(text); err != nil {
			return err
		}
	}
	x := &dayPage{
		Date:   on.String(),
		Before: neighbour(on - 1),
		After:  neighbour(on + 1),
		Query:  query.Get("q"),
	}
	if x.Day, err = s.carrier.Day(on, x.Query, runsShown); err != nil {
		return err
	}
	return s.show(w, r, by, "runs", &page{
		Title: "Runs of " + x.Date,
		Here:  "/runs",
		Body:  x,
	})
}

// neighbour returns a day that a page leads to; "" where that is none that can be asked for.
func neighbour(day schedule.Day) string {
	if _, err := schedule.ParseDay(day.String()); err != nil {
		return ""
	}
	return day.String()
}

// readDay reads a service day.
func readDay(text string) (schedule.Day, error) {
	day, err := schedule.ParseDay(text)
	if err != nil {
		return 0, web.Invalid(web.Problem("date", "must be a day as in 2026-11-20"))
	}
	return day, nil
}

// readRun reads which run a page is about.
func readRun(query url.Values) (ids.RunName, error) {
	day, err := readDay(query.Get("date"))
	return ids.RunName{Trip: query.Get("trip"), Day: day}, err
}

// getRun answers GET /run?trip=…&date=…: who has which seat from where to where, and what can be done with
// the run.
func (s *Desk) getRun(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	name, err := readRun(r.URL.Query())
	if err != nil {
		return err
	}
	x, err := s.carrier.Seats(name)
	if errors.Is(err, booking.ErrNoRun) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	return s.show(w, r, by, "run", &page{
		Title: "Trip " + name.Trip + " on " + name.Day.String(),
		Here:  "/runs",
		Body:  x,
	})
}

// getWaybill answers GET /waybill?trip=…&date=…: who travels on a run, to print. Reading it leaves a line.
func (s *Desk) getWaybill(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	name, err := readRun(r.URL.Query())
	if err != nil {
		return err
	}
	m, err := s.carrier.Read(name, carrier.Reader{By: &by})
	if errors.Is(err, booking.ErrNoRun) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	return send(w, carrier.PagePolicy, m.WriteHTML)
}
