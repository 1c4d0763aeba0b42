package booking

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"waybill/schedule"
)

// Sale is what is to be sold: a journey with its price. It is worked out before
// the lock is taken.
type Sale struct {
	Timetable *schedule.Timetable
	runs      []*Run // in the form they would be sold in
	legs      []SoldLeg
	currency  string
	until     time.Time // when the offer expires
}

// NewSale looks up what a journey on a timetable shows.
func NewSale(tt *schedule.Timetable, legs []schedule.Leg, amounts []int64, currency string, until time.Time) *Sale {
	s := &Sale{Timetable: tt, currency: currency, until: until}
	for i := range legs {
		l := &legs[i]
		start := tt.Start(l)
		run := NewRun(tt.Form(l.Trip), l.Day, start, tt.Offsets(l.Trip, start))
		s.runs = append(s.runs, run)
		s.legs = append(s.legs, SoldLeg{run.ID, l.From, l.To, amounts[i], int16(tt.Discount(l))})
	}
	return s
}

// ErrExpired is the reason why not when the offer has expired.
var ErrExpired = errors.New("the offer has expired")

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
	if !now.Before(sale.until) {
		return nil, ErrExpired
	}
	if !sale.runs[0].Dep(sale.legs[0].From).After(now) {
		return nil, &SoldOut{0} // it has left
	}
	left := schedule.MaxSeats
	var seats [][]int16 // by leg
	for i, run := range sale.runs {
		held := cmp.Or(s.seatings[run.key()], new(seating))
		free := held.free(run.Form, sale.legs[i].From, sale.legs[i].To, nil, now)
		left = min(left, len(free))
		seats = append(seats, together(free, len(e.Tickets)))
	}
	if left < len(e.Tickets) {
		return nil, &SoldOut{left}
	}
	for i, run := range sale.runs {
		if s.runs[run.ID] == nil {
			if s.forms[run.Form.Key()] == nil {
				e.Forms = append(e.Forms, run.Form)
			}
			e.Runs = append(e.Runs, run)
		}
		for k := range e.Tickets {
			e.Tickets[k].Seats = append(e.Tickets[k].Seats, seats[i][k])
		}
	}
	e.Currency, e.Legs = sale.currency, sale.legs
	return e, nil
}

func (s *State) ApplyCreated(now time.Time, e *Created) {
	for _, r := range e.Runs {
		s.RestoreRun(r)
	}
	ms := now.UnixMilli()
	b := &Booking{ID: e.ID, Partner: e.Partner, Created: ms, Updated: ms, Tickets: make([]Ticket, len(e.Tickets))}
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
	}
	s.add(b, now)
}

// Moved says that a ticket was put into another booking of its partner: the
// "internal edit" of the interface. New tells that the booking was made for it.
type Moved struct {
	Ticket ID   `json:"ticket"`
	From   ID   `json:"from"`
	To     ID   `json:"booking"`
	New    bool `json:"new"`
}

// Move decides to put a ticket into another booking of the same partner; to is
// an existing one, or nil for a new one with the id fresh.
func (s *State) Move(ticket ID, to *ID, fresh ID) (*Moved, error) {
	b, t := s.ticket(ticket)
	switch {
	case b == nil:
		return nil, errNoTicket
	case t.Asked != 0:
		return nil, errors.New("the provider has been asked to confirm the ticket; move it after the answer")
	case to == nil:
		return &Moved{ticket, b.ID, fresh, true}, nil
	case *to == b.ID:
		return nil, errors.New("the ticket is in that booking already")
	case s.Booking(b.Partner, *to) == nil:
		return nil, errors.New("the ticket's partner has no such booking")
	}
	return &Moved{ticket, b.ID, *to, false}, nil
}

func (s *State) ApplyMoved(now time.Time, e *Moved) {
	from := s.renew(e.From, now)
	t := *from.find(e.Ticket)
	s.list(from, false)
	from.Tickets = slices.DeleteFunc(from.Tickets, func(x Ticket) bool { return x.ID == t.ID })
	if len(from.Tickets) > 0 {
		s.list(from, true)
	} else {
		s.bookings[from.Number] = nil
		delete(s.byID, from.ID)
	}
	if e.New {
		s.add(&Booking{ID: e.To, Partner: from.Partner, Created: from.Updated, Updated: from.Updated, Tickets: []Ticket{t}}, now)
		return
	}
	to := s.renew(e.To, now)
	s.list(to, false)
	to.Tickets = append(to.Tickets, t)
	s.list(to, true)
	s.byTicket[t.ID] = to.Number
}
