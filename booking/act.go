package booking

import (
	"errors"
	"slices"
	"time"

	"waybill/booking/seating"
	"waybill/schedule"
	"waybill/schedule/ids"
)

var (
	// ErrNotFound is the reason why not for an unknown booking or ticket. One of another partner is as
	// unknown, and so is a ticket of another booking.
	ErrNotFound = errors.New("not found")
	// ErrExpired is the reason why not when the offer has expired.
	ErrExpired  = errors.New("the offer has expired")
	errNoTicket = errors.New("there is no such ticket")
)

// A Code says in one word why something cannot be done: details.reason of a 409 (decision conflict.reasons).
type Code string

// The codes.
const (
	WrongState Code = "STATE"       // the ticket's state does not allow it
	NoSeats    Code = "NO_SEATS"    // too few seats are free
	Departed   Code = "DEPARTED"    // the run has already left
	Changed    Code = "CHANGED"     // the run no longer is what was offered: search again
	InProgress Code = "IN_PROGRESS" // the provider has yet to answer about the ticket
)

// Conflict is the reason why not for tickets that do not allow an action: by their state, or since no seat
// is free.
type Conflict struct {
	Tickets []ids.ID
	Code    Code // WrongState, NoSeats, or, when nothing else is in the way, InProgress
	Reason  string
}

// Error returns the reason, as clients read it.
func (e *Conflict) Error() string { return e.Reason }

// AwaitsAnswer is the reason of a conflict that ends by itself.
const AwaitsAnswer = "the provider has not answered yet; read the booking again later"

// The events, with what is in them.
type (
	// Created says that a booking was made. Forms and runs are in it when it is the first to be sold on them.
	// Its line has them, and the personal data, in a form of their own; encoding/json reads all else of it.
	Created struct {
		ID         ids.ID `json:"booking"`
		Partner    ids.ID
		Request    string
		Currency   string
		Forms      []*schedule.Form `json:"-"`
		Runs       []*Run           `json:"-"`
		Legs       []SoldLeg
		Tickets    []NewTicket
		Passengers []Passenger `json:"-"` // of the tickets, in their order; none once they are erased
		Salt       [16]byte    `json:"-"` // of the personal data
	}
	// SoldLeg is a leg of a new booking, as all its tickets share it.
	SoldLeg struct {
		Run      ids.RunID
		From, To int16
		Amount   int64
		Discount int16
	}
	// NewTicket is a ticket of a new booking; Seats are by leg.
	NewTicket struct {
		ID    ids.ID
		Seats []int16
	}
	// Settled says with what a ticket is paid or booked, or will be. It has Seats, by leg, only where the
	// ticket is revived.
	Settled struct {
		Booking ids.ID  `json:"booking"`
		Ticket  ids.ID  `json:"ticket"`
		Seats   []int16 `json:"seats,omitempty"`
		Request string  `json:"request"`
		Reason  string  `json:"reason,omitempty"` // why an operator answered in the provider's place
		// Sends names the messages to the passenger once it is done: ToEmail, or ToPhone and the phone's
		// position, from 1.
		Sends []string `json:"sends,omitempty"`
	}
	// TicketPaid says that a ticket was paid.
	TicketPaid struct{ Settled }
	// TicketBooked says that a ticket was booked.
	TicketBooked struct{ Settled }
	// TicketAsked says that the provider is about to be asked to confirm a ticket. The ticket keeps its seat
	// until the answer.
	TicketAsked struct {
		Settled        // what is asked for
		Action  Action `json:"action"` // Pay or Book
		Key     ids.ID `json:"key"`    // the idempotency id
	}
	// Refused says that the provider did not confirm: the ticket is as it was before the provider was asked.
	// Where the provider did not refuse either, Unknown is set, and the same question is asked again under
	// the same idempotency id.
	Refused struct {
		Booking ids.ID `json:"booking"`
		Ticket  ids.ID `json:"ticket"`
		Action  Action `json:"action"`
		Request string `json:"request"`
		Reason  string `json:"reason,omitempty"` // why an operator answered in the provider's place
		Unknown bool   `json:"unknown,omitempty"`
	}
	// TicketsCanceled says that tickets of a booking were canceled or refunded: by a request of the partner,
	// or for a reason by an operator, with no request.
	TicketsCanceled struct {
		Booking ids.ID           `json:"booking"`
		Request string           `json:"request"`
		Reason  string           `json:"reason,omitempty"`
		Tickets []CanceledTicket `json:"tickets"`
	}
	// TicketsUncompleted records that the payment window of tickets was over at an instant, once for each. It
	// decides nothing: they were Uncompleted before it was written.
	TicketsUncompleted struct {
		Booking ids.ID          `json:"booking"`
		At      time.Time       `json:"at"`
		Tickets []OverdueTicket `json:"tickets"`
	}
	// OverdueTicket is one ticket of a TicketsUncompleted.
	OverdueTicket struct {
		ID ids.ID `json:"id"`
	}
	// CanceledTicket is one ticket of a TicketsCanceled. Terms, one per leg, say how a refund came about.
	CanceledTicket struct {
		ID       ids.ID `json:"id"`
		Refunded bool   `json:"refunded"`
		Refund   int64  `json:"refund"` // minor units
		Grace    bool   `json:"grace"`  // within the grace: the whole price, whatever the rules
		Terms    []Term `json:"terms"`
		// Sends names the messages to the passenger, as Settled.Sends does.
		Sends []string `json:"sends,omitempty"`
	}
	// Term is the refund rule that applied to a leg. Without a rule nothing is refunded.
	Term struct {
		Rule    string `json:"rule"`    // "" is none
		Percent int64  `json:"percent"` // hundredths of a per cent
		Refund  int64  `json:"refund"`  // minor units
	}
	// CarrierSet says that the carrier gave a ticket a status of its own lifecycle.
	CarrierSet struct {
		Booking ids.ID  `json:"booking"`
		Ticket  ids.ID  `json:"ticket"`
		Status  Carrier `json:"status"`
	}
	// Moved says that a ticket was put into another booking of its partner, the "internal edit". New says
	// that the booking was made for it.
	Moved struct {
		Ticket ids.ID `json:"ticket"`
		From   ids.ID `json:"from"`
		To     ids.ID `json:"booking"`
		New    bool   `json:"new"`
	}
)

// Event returns the event that records an action.
func (e *Settled) Event(action Action) any {
	if action == Book {
		return &TicketBooked{*e}
	}
	return &TicketPaid{*e}
}

// Selection names the tickets of an action: all tickets of a booking, or some of them. Without a booking it
// names tickets of the partner.
type Selection struct {
	Partner ids.ID
	Booking *ids.ID
	Tickets []ids.ID // nil: all of the booking
	Done    []ids.ID // need nothing more: an earlier attempt of the same request has dealt with them
}

// Select returns the selected tickets, each once, with their bookings. Its error is ErrNotFound.
func (s *State) Select(sel Selection) (orders []Order, err error) {
	tickets := sel.Tickets
	if sel.Booking != nil {
		b := s.Booking(sel.Partner, *sel.Booking)
		if b == nil {
			return nil, ErrNotFound
		}
		for i := 0; sel.Tickets == nil && i < len(b.Tickets); i++ {
			tickets = append(tickets, b.Tickets[i].ID)
		}
	}
	given := make(map[ids.ID]bool, len(tickets))
	for _, id := range tickets {
		b, t := s.Ticket(sel.Partner, id)
		if b == nil || sel.Booking != nil && b.ID != *sel.Booking {
			return nil, ErrNotFound
		}
		if !given[id] && !slices.Contains(sel.Done, id) {
			given[id] = true
			orders = append(orders, Order{b, t})
		}
	}
	return orders, nil
}

// target returns the selected tickets. Their states must allow the action.
func (s *State) target(now time.Time, sel Selection, action Action) (orders []Order, err error) {
	if orders, err = s.Select(sel); err != nil {
		return nil, err
	}
	wrong := &Conflict{Code: InProgress, Reason: AwaitsAnswer}
	for _, o := range orders {
		_, allowed := o.Ticket.next(action, now)
		if !allowed {
			wrong.Code = WrongState
		}
		if !allowed || o.Ticket.Pending != 0 {
			wrong.Tickets = append(wrong.Tickets, o.Ticket.ID)
		}
	}
	if wrong.Code == WrongState {
		wrong.Reason = action.refusal(len(wrong.Tickets))
	}
	if wrong.Tickets != nil {
		return nil, wrong
	}
	return orders, nil
}

// Settle decides to pay or book tickets, each by an event: all get seats or none. Errors: ErrNotFound,
// *Conflict.
func (s *State) Settle(now time.Time, tt *schedule.Timetable, sel Selection, action Action,
	request string) ([]*Settled, error) {
	orders, err := s.target(now, sel, action)
	if err != nil {
		return nil, err
	}
	list := make([]*Settled, len(orders))
	picked := map[*seats][]seating.Hold{}
	for i, o := range orders {
		list[i] = &Settled{
			Booking: o.Booking.ID,
			Ticket:  o.Ticket.ID,
			Request: request,
		}
	}
	var gone []ids.ID
	for _, o := range orders {
		revived := o.Ticket.PhaseAt(now) == Uncompleted
		if o.Ticket.MissesChange() || revived && !o.Ticket.takesPlace(tt) {
			gone = append(gone, o.Ticket.ID)
		}
	}
	if gone != nil {
		return nil, &Conflict{
			Tickets: gone,
			Code:    Changed,
			Reason: "the run is no longer in the timetable, or no longer connects with the next leg; " +
				"search again",
		}
	}
	var lost []ids.ID
	// Own seats that are free come first, or a sibling might get one.
	for _, other := range []bool{false, true} {
		for i, o := range orders {
			if o.Ticket.PhaseAt(now) != Uncompleted {
				continue
			}
			list[i].Seats = o.Ticket.reseat(tt, other, list[i].Seats, picked, now)
			if other && slices.Contains(list[i].Seats, noSeat) {
				lost = append(lost, o.Ticket.ID)
			}
		}
	}
	if lost != nil {
		return nil, &Conflict{
			Tickets: lost,
			Code:    NoSeats,
			Reason:  "no seat is left for these tickets",
		}
	}
	return list, nil
}

// Verdict is the result of asking the provider about a ticket.
type Verdict int

// The verdicts.
const (
	Confirm Verdict = iota
	Refuse
	Silence // no answer that decides
)

// Answer decides on the provider's answer about a ticket: the ticket is paid or booked, as was asked, or it
// is refused. reason is an operator's who answers in the provider's place. The error is ErrNotFound.
func (s *State) Answer(ticket ids.ID, verdict Verdict, reason string, phones bool) (event any, err error) {
	b, t := s.AnyTicket(ticket)
	if t == nil || t.Pending == 0 {
		return nil, ErrNotFound
	}
	ask := s.asks[ticket]
	if verdict != Confirm {
		return &Refused{b.ID, ticket, t.Pending, ask.Request, reason, verdict == Silence}, nil
	}
	settled := &Settled{
		Booking: b.ID,
		Ticket:  ticket,
		Request: ask.Request,
		Reason:  reason,
	}
	settled.Sends = s.Contacts(ticket, phones)
	return settled.Event(t.Pending), nil
}

// Cancel decides to cancel tickets: an event for each of their bookings. Errors: ErrNotFound, *Conflict.
func (s *State) Cancel(now time.Time, sel Selection, request string) (list []*TicketsCanceled, err error) {
	orders, err := s.target(now, sel, Cancel)
	if err != nil {
		return nil, err
	}
	events := map[ids.ID]*TicketsCanceled{}
	for _, o := range orders {
		t := o.Ticket
		e := events[o.Booking.ID]
		if e == nil {
			e = &TicketsCanceled{Booking: o.Booking.ID, Request: request}
			events[o.Booking.ID], list = e, append(list, e)
		}
		c := CanceledTicket{ID: t.ID}
		if to, _ := t.next(Cancel, now); to == Refunded {
			c.Refunded = true
			c.refund(t, now)
		}
		e.Tickets = append(e.Tickets, c)
	}
	return list, nil
}

// refund works out the refund: the whole price within the grace, or else by the rules of each leg. The
// rules count the time to the first departure. Where that was moved, its latest time counts.
func (c *CanceledTicket) refund(t *Ticket, now time.Time) {
	if now.Sub(time.UnixMilli(t.Created)) < grace {
		c.Grace, c.Refund = true, t.Price()
		return
	}
	for _, l := range t.Itinerary() {
		var term Term
		for _, r := range l.Run.Form.Rules { // the longest time first
			if t.RefundsBy().Sub(now) >= time.Duration(r.Hours)*time.Hour {
				term = Term{r.ID, r.Percent, schedule.Percent(l.Amount, r.Percent)}
				break
			}
		}
		c.Terms = append(c.Terms, term)
		c.Refund += term.Refund
	}
}

// share divides the refund among the legs.
func (c *CanceledTicket) share(t *Ticket) {
	legs := t.Legs[:len(t.Itinerary())]
	var amounts []int64
	for i := range legs {
		amounts = append(amounts, legs[i].Amount)
	}
	for i, part := range c.Shares(amounts) {
		legs[i].Refund = part
	}
}

// Shares divides the refund among legs that had these shares of the price. Its sum is the refund that the
// line says.
func (c *CanceledTicket) Shares(amounts []int64) []int64 {
	parts := make([]int64, len(amounts))
	rest := c.Refund
	for i, amount := range amounts {
		switch {
		case c.Grace:
			parts[i] = amount
		case i < len(c.Terms):
			parts[i] = c.Terms[i].Refund
		}
		rest -= parts[i]
	}
	parts[0] += rest
	return parts
}

// SetCarrier decides on a carrier status (decision carrier.status).
func (s *State) SetCarrier(now time.Time, ticket ids.ID, status Carrier) (*CarrierSet, error) {
	b, t := s.AnyTicket(ticket)
	if b == nil {
		return nil, errNoTicket
	}
	if !t.live(now) {
		status, payment := t.Status(now)
		return nil, errors.New("the ticket is " + status + "/" + payment + "; only Unpaid, Booked and " +
			"Paid tickets have a carrier status")
	}
	return &CarrierSet{b.ID, ticket, status}, nil
}
