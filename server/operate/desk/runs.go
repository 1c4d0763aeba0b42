package desk

import (
	"net/http"
	"net/url"

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
