package desk

import (
	"errors"
	"net/http"
	"net/url"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
)

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
