package desk

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
)

// readRun reads which run a page is about.
func readRun(query url.Values) (ids.RunName, error) {
	day, err := readDay(query.Get("date"))
	return ids.RunName{Trip: query.Get("trip"), Day: day}, err
}

// Fields of the address of a run's page.
const (
	stopField    = "stop"    // after which stop the bus is drawn, from 1; without it where it is fullest
	ticketsField = "tickets" // which page of the tickets, from 1
)

// runPage is a run: what can be changed of it, its seats, and its tickets.
type runPage struct {
	*carrier.Seats
	Stop  int // that was asked for, from 1; 0 is none
	Stops []stopShown
	Bus   *bus // nil of a run that is cancelled: nobody sits in it
	List  riderList
}

// stopShown is a stop on a run's page.
type stopShown struct {
	carrier.StopShown
	Link string // to the picture of the seats from there on; "" of the last stop
	Here bool   // the picture is of these
}

// getRun answers GET /run?trip=…&date=…: what can be changed of a run, who has which seat from where to
// where, and what became of its tickets. The page has names, which is recorded (decision desk.readings).
func (s *Desk) getRun(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	query := r.URL.Query()
	name, err := readRun(query)
	if err != nil {
		return err
	}
	seats, err := s.carrier.Seats(name)
	if errors.Is(err, booking.ErrNoRun) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	x := &runPage{Seats: seats}
	if x.Stop, err = readNumber(query, stopField, len(seats.Stops)-1); err != nil {
		return err
	}
	if x.List, err = s.newRiderList(r, seats); err != nil {
		return err
	}
	x.addStops(query)
	shown := x.List.people()
	if !seats.Canceled {
		x.Bus = newBus(seats, x.at(), shown)
	}
	return s.show(w, r, by, "run", &page{
		Title: "T" + strings.TrimPrefix(name.String(), "t"),
		Here:  "/runs",
		Body:  x,
		Read:  &ledger.PersonalRead{Run: &name, People: len(shown)},
		Forms: runForms,
	})
}

// readNumber reads a number from 1 up to most; 0 where there is none.
func readNumber(query url.Values, field string, most int) (int, error) {
	text := query.Get(field)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, web.Invalid(web.Problem(field, "must be a number from 1 to "+strconv.Itoa(most)))
	}
	return n, nil
}

// at returns the position of the stop after which the bus is drawn.
func (x *runPage) at() int {
	if x.Stop > 0 {
		return x.Stop - 1
	}
	return x.Fullest()
}

// addStops adds the stops, each with the way to the picture of the seats after it.
func (x *runPage) addStops(query url.Values) {
	query.Del(noticeField)
	for i, stop := range x.Seats.Stops {
		shown := stopShown{StopShown: stop}
		if !stop.Last && !x.Canceled {
			query.Set(stopField, strconv.Itoa(i+1))
			shown.Link = "/run?" + query.Encode() + "#seats"
			shown.Here = i == x.at()
		}
		x.Stops = append(x.Stops, shown)
	}
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
