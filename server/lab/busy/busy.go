// Package busy fills a new demo as some days of sales leave it: half-full buses and a full one, tickets that
// are paid, booked, lapsed, cancelled and refunded, a run that was moved and one that was cancelled.
//
//	town := &busy.Town{Server: s, Key: key, By: by, Pass: pass}
//	err := town.Fill()
//
// All of it is done by the calls of a partner and of an operator (decision demo.busy): nothing is there
// that a client could not have brought about. What is done depends on the timetable and the clock alone: with
// a seed, a start gives the same bytes each time.
package busy

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"time"

	"waybill/server"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// Span is how long the sales go on: where there is a test clock, it begins so long before its instant.
const Span = 30 * time.Minute

const (
	rounds   = 6  // of sales, each with some time after it
	aRound   = 25 // bookings of a round
	fullSeat = 4  // seats of a group on the bus that becomes full
)

// Town is a demo that is to be filled, and the people who fill it.
type Town struct {
	Server *server.Server // open, with the demo, and not yet reached by anybody else
	Key    string         // of the partner who sells
	By     ledger.By      // the operator
	// Pass has time pass. nil is no test clock: all happens at once, and what is unpaid lapses later.
	Pass func(time.Duration) error

	random *rand.Rand
	sold   []sale // in the order in which they were made
}

// sale is a booking that the partner may still do something with.
type sale struct {
	booking string
	tickets []string
	trip    string // of its first ride
	date    string // the service day
	direct  bool
	paid    bool
}

// Fill sells, and has the rest happen in between.
func (x *Town) Fill() error {
	x.random = rand.New(rand.NewPCG(1, 8))
	now, err := x.Server.Now()
	if err != nil {
		return err
	}
	days := []string{}
	for day := range 3 {
		days = append(days, now.AddDate(0, 0, day).Format(time.DateOnly))
	}
	if err := x.fillBus(pairs[1], days[1]); err != nil {
		return err
	}
	for round := range rounds {
		for range aRound {
			if err := x.sell(days[x.fewer(len(days))]); err != nil {
				return err
			}
		}
		if err := x.happen(round); err != nil {
			return err
		}
		if x.Pass == nil {
			continue
		}
		if err := x.Pass(Span / rounds); err != nil {
			return err
		}
	}
	return nil
}

// happen has happen what comes between two rounds.
func (x *Town) happen(round int) error {
	switch round {
	case 1:
		return x.changeRun("run-move", "snow on the road", "40")
	case 2:
		return x.changeRun("run-cancel", "the bus has broken down", "")
	case rounds - 1: // more than twenty minutes after the first sales: the refund follows the rules
		n := 0
		for i := range x.sold {
			if s := &x.sold[i]; s.paid && n < 4 && i%3 == 0 {
				n++
				if err := x.cancel(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pairs are the journeys that are sold, each more often than the one after it, and the currency of each: that
// of the country where it begins, or the euro.
var pairs = [][3]string{
	{"kyiv", "lviv", "UAH"}, {"kyiv", "warsaw", "UAH"}, {"lviv", "krakow", "UAH"}, {"lviv", "kyiv", "UAH"},
	{"warsaw", "kyiv", "PLN"}, {"kyiv", "odesa", "UAH"}, {"kyiv", "zhytomyr", "UAH"}, {"odesa", "kyiv", "UAH"},
	{"lviv", "warsaw", "UAH"}, {"lublin", "krakow", "PLN"}, {"berlin", "vienna", "EUR"},
	{"vienna", "berlin", "EUR"}, {"lviv", "prague", "UAH"}, {"bucharest", "vienna", "EUR"},
	{"kyiv", "berlin", "UAH"}, {"budapest", "munich", "EUR"}, {"munich", "budapest", "EUR"},
	{"vilnius", "kyiv", "EUR"}, {"warsaw", "riga", "PLN"}, {"krakow", "lviv", "PLN"},
}

// fewer returns a number below n, small ones more often: some buses are nearly full, and others nearly empty.
func (x *Town) fewer(n int) int {
	return min(x.random.IntN(n), x.random.IntN(n))
}

// sell sells seats on some journey of a day, and settles what becomes of them.
func (x *Town) sell(day string) error {
	pair := pairs[x.fewer(len(pairs))]
	people := 1 + x.random.IntN(6)
	offers, err := x.offers(pair, day, people)
	if err != nil || len(offers) == 0 {
		return err // nothing leaves any more on that day
	}
	s, err := x.book(&offers[x.fewer(len(offers))], pair[2], day, people)
	if err != nil {
		return err
	}
	switch fate := x.random.IntN(20); {
	case fate < 12:
		err = x.pay(s, s.tickets)
	case fate < 14:
		_, err = x.ask("POST", "/v2/bookings/"+s.booking+"/book", nil)
	case fate < 16: // one of them pays
		err = x.pay(s, s.tickets[:1])
		s.paid = false
	case fate < 17:
		if err = x.pay(s, s.tickets); err == nil {
			err = x.cancel(s)
		}
	}
	x.sold = append(x.sold, *s)
	return err
}

// fillBus sells all seats of the smallest bus of a pair.
func (x *Town) fillBus(pair [3]string, day string) error {
	offers, err := x.offers(pair, day, 1)
	if err != nil || len(offers) == 0 {
		return err
	}
	small := offers[0]
	for _, o := range offers {
		if len(o.Slices) == 1 && o.SeatsLeft < small.SeatsLeft {
			small = o
		}
	}
	for left := small.SeatsLeft; left > 0; left -= fullSeat {
		s, err := x.book(&small, pair[2], day, min(left, fullSeat))
		if err != nil {
			return err
		}
		if err := x.pay(s, s.tickets); err != nil {
			return err
		}
	}
	return nil
}

// changeRun moves, or cancels, a run on which somebody has a paid ticket, and which nothing has happened to.
func (x *Town) changeRun(op, reason, minutes string) error {
	for i := range x.sold {
		s := &x.sold[i]
		if !s.paid || !s.direct {
			continue
		}
		form := url.Values{
			"trip":   {s.trip},
			"date":   {s.date},
			"reason": {reason},
		}
		if minutes != "" {
			form.Set("minutes", minutes)
		}
		for j := range x.sold { // nothing else is done with what is sold on it
			if x.sold[j].trip == s.trip && x.sold[j].date == s.date {
				x.sold[j].paid = false
			}
		}
		return x.Server.Admin.Do(op, &admin.Act{
			By:   x.By,
			Form: form,
			Out:  io.Discard,
		})
	}
	return nil
}

// offer is what is read of an offer.
type offer struct {
	ID        string
	SeatsLeft int
	Slices    []struct {
		DepartureDate time.Time
		Carriage      struct{ ID string }
	}
}

// offers searches.
func (x *Town) offers(pair [3]string, day string, people int) ([]offer, error) {
	var found struct{ Data struct{ Offers []offer } }
	query := url.Values{
		"departureCitySlug": {pair[0]},
		"arrivalCitySlug":   {pair[1]},
		"departureDate":     {day},
		"passengers":        {fmt.Sprint(people)},
	}
	body, err := x.ask("GET", "/v2/offers?"+query.Encode(), nil)
	if err == nil {
		err = json.Unmarshal(body, &found)
	}
	return found.Data.Offers, err
}

// book books seats.
func (x *Town) book(o *offer, currency, day string, people int) (*sale, error) {
	order := map[string]any{
		"offerId":    o.ID,
		"currency":   currency,
		"passengers": x.passengers(people),
	}
	body, err := x.ask("POST", "/v2/bookings", order)
	if err != nil {
		return nil, err
	}
	var made struct {
		Data struct {
			Booking struct {
				ID      string
				Tickets []struct{ ID string }
			}
		}
	}
	if err := json.Unmarshal(body, &made); err != nil {
		return nil, err
	}
	s := &sale{
		booking: made.Data.Booking.ID,
		trip:    o.Slices[0].Carriage.ID,
		date:    day,
		direct:  len(o.Slices) == 1,
	}
	for _, t := range made.Data.Booking.Tickets {
		s.tickets = append(s.tickets, t.ID)
	}
	return s, nil
}

// pay pays some tickets of a booking.
func (x *Town) pay(s *sale, tickets []string) error {
	_, err := x.ask("POST", "/v2/bookings/"+s.booking+"/pay", map[string]any{"ticketIds": tickets})
	s.paid = err == nil
	return err
}

// cancel cancels a booking.
func (x *Town) cancel(s *sale) error {
	s.paid = false
	_, err := x.ask("POST", "/v2/bookings/"+s.booking+"/cancel", nil)
	return err
}
