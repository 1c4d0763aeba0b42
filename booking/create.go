package booking

import (
	"errors"
	"fmt"
	"time"

	"waybill/schedule"
)

// Sale is what is to be sold: a journey with its price. It is worked out before
// the lock is taken.
type Sale struct {
	Timetable *schedule.Timetable
	Legs      []schedule.Leg
	Runs      []*Run // in the form they would be sold in
	Amounts   []int64
	Discounts []int
	Currency  string
	Until     time.Time // when the offer expires
}

// ErrExpired is the reason why not when the offer has expired.
var ErrExpired = errors.New("the offer has expired")

// NewSale looks up what a journey on a timetable shows.
func NewSale(tt *schedule.Timetable, legs []schedule.Leg, amounts []int64, currency string, until time.Time) *Sale {
	s := &Sale{Timetable: tt, Legs: legs, Amounts: amounts, Currency: currency, Until: until}
	for i := range legs {
		l := &legs[i]
		start := tt.Start(l)
		s.Runs = append(s.Runs, NewRun(tt.Form(l.Trip), l.Day, start, tt.Offsets(l.Trip, start)))
		s.Discounts = append(s.Discounts, tt.Discount(l))
	}
	return s
}

// Created says that a booking was made. Forms and runs are in it when it is the first to be sold on them.
type Created struct {
	ID       ID
	Partner  ID
	Request  string
	Currency string
	Forms    []*schedule.Form
	Runs     []*Run
	Legs     []SoldLeg
	Tickets  []NewTicket
	// Passengers are those of the tickets, in their order; none once they are erased.
	Passengers []Passenger
	Salt       [16]byte // of the personal data
}

// SoldLeg is what all tickets of a new booking share of a leg.
type SoldLeg struct {
	Run      RunID
	From, To int16
	Amount   int64
	Discount int16
}

// NewTicket is a ticket of a new booking; Seats are by leg.
type NewTicket struct {
	ID    ID
	Seats []int16
}

// SoldOut is the reason why not when there are too few seats.
type SoldOut struct{ Left int }

func (e *SoldOut) Error() string { return fmt.Sprintf("only %d seats are left", e.Left) }

// Create decides on a new booking for the passengers of e, whose seats it fills
// in. All get seats or none does (contract §8); then the error is *SoldOut; that of an offer gone by is ErrExpired.
func (s *State) Create(now time.Time, sale *Sale, e *Created) (*Created, error) {
	if !now.Before(sale.Until) {
		return nil, ErrExpired
	}
	e.Currency = sale.Currency
	left := schedule.MaxSeats
	seats := make([][]int16, len(sale.Legs))
	for i := range sale.Legs {
		l := &sale.Legs[i]
		if l.Dep*1000 <= now.UnixMilli() && i == 0 {
			return nil, &SoldOut{0} // it has left
		}
		free := s.freeFor(sale.Timetable, l, now)
		left = min(left, free.count())
		seats[i] = free.together(len(e.Tickets))
	}
	if left < len(e.Tickets) {
		return nil, &SoldOut{left}
	}
	for i, run := range sale.Runs {
		if s.runs[run.ID] == nil {
			if s.forms[run.Form.Key()] == nil {
				e.Forms = append(e.Forms, run.Form)
			}
			e.Runs = append(e.Runs, run)
		}
		e.Legs = append(e.Legs, SoldLeg{run.ID, sale.Legs[i].From, sale.Legs[i].To, sale.Amounts[i], int16(sale.Discounts[i])})
		for k := range e.Tickets {
			e.Tickets[k].Seats = append(e.Tickets[k].Seats, seats[i][k])
		}
	}
	return e, nil
}

func (s *State) ApplyCreated(now time.Time, e *Created) {
	for _, r := range e.Runs {
		s.addRun(r)
	}
	ms := now.UnixMilli()
	b := &Booking{ID: e.ID, Partner: e.Partner, Number: uint32(len(s.bookings)), Created: ms, Updated: ms, Tickets: make([]Ticket, len(e.Tickets))}
	for i := range e.Tickets {
		n, t := &e.Tickets[i], &b.Tickets[i]
		t.ID, t.Created = n.ID, ms
		if i < len(e.Passengers) {
			t.Passenger = e.Passengers[i]
		}
		copy(t.Currency[:], e.Currency)
		for k, l := range e.Legs {
			t.Legs[k] = Leg{s.runs[l.Run], l.From, l.To, n.Seats[k], l.Discount, l.Amount}
		}
		s.byTicket[t.ID] = b.Number
		s.hold(t, now)
	}
	s.put(b)
}
