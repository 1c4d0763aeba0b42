package statement

import (
	"fmt"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/store/journal"
)

// The kinds of movements.
const (
	Sale   = "sale"
	Refund = "refund"
)

// A Movement is money that a line of the journal moves between a passenger and a carrier.
type Movement struct {
	Kind            string
	At              journal.Stamp
	Currency        string
	Amount          int64 // minor units; of a refund below zero, never 0
	Ticket, Booking ids.ID
	Partner         string // its name
	Company         string // its slug
	Rule            string // by which the amount came about
}

// Movements follows a journal and says which movements each line is. It remembers of each sale what its
// tickets cost, and nothing of the passengers.
type Movements struct {
	partners map[ids.ID]string
	runs     map[ids.RunID]*booking.Run
	sales    map[ids.ID]*sale // by ticket
}

// sale is what the tickets of a booking share.
type sale struct {
	partner  ids.ID
	currency string
	legs     []leg
}

// leg is a ride of a sale.
type leg struct {
	form   *schedule.Form
	amount int64 // minor units
}

// NewMovements returns one that has seen no line.
func NewMovements() *Movements {
	return &Movements{
		partners: map[ids.ID]string{},
		runs:     map[ids.RunID]*booking.Run{},
		sales:    map[ids.ID]*sale{},
	}
}

// tells are the types of lines that Apply must see.
var tells = map[string]bool{
	"partner.key_added": true,
	"booking.created":   true,
	"run.moved":         true,
	"ticket.paid":       true,
	"tickets.canceled":  true,
	"run.cancelled":     true,
}

// Apply returns the movements of a line, which has an event or none. The error names what the line speaks of
// and no line before it has.
func (m *Movements) Apply(at journal.Stamp, event ledger.Event) (list []Movement, err error) {
	switch e := event.(type) {
	case *auth.KeyAdded:
		m.partners[e.Partner] = e.Name
	case *booking.Created:
		err = m.sold(e)
	case *booking.RunMoved:
		err = m.moved(e)
	case *booking.TicketPaid:
		list, err = m.paid(at, e)
	case *booking.TicketsCanceled:
		list, err = m.canceled(at, e)
	case *booking.RunCanceled:
		list, err = m.runCanceled(at, e)
	}
	if err != nil {
		err = fmt.Errorf("seq %d: %w", at.Seq, err)
	}
	return list, err
}

// sold remembers the tickets of a new booking.
func (m *Movements) sold(e *booking.Created) error {
	for _, r := range e.Runs {
		m.runs[r.ID] = r
	}
	s := &sale{
		partner:  e.Partner,
		currency: e.Currency,
		legs:     make([]leg, len(e.Legs)),
	}
	for i, l := range e.Legs {
		run := m.runs[l.Run]
		if run == nil {
			return fmt.Errorf("booking %s is for the run %s, but no line describes that run", e.ID, l.Run)
		}
		s.legs[i] = leg{run.Form, l.Amount}
	}
	for _, t := range e.Tickets {
		m.sales[t.ID] = s
	}
	return nil
}

// moved remembers the runs that replace others: later bookings may name them.
func (m *Movements) moved(e *booking.RunMoved) error {
	for _, x := range e.Runs {
		was := m.runs[x.Was]
		if was == nil {
			return fmt.Errorf("the run %s is moved, but no line describes that run", x.Was)
		}
		r := booking.NewRun(was.Form, was.Day, x.Start, x.Offsets)
		m.runs[r.ID] = r
	}
	return nil
}

// sale returns what is known of a ticket.
func (m *Movements) sale(ticket ids.ID) (*sale, error) {
	s := m.sales[ticket]
	if s == nil || len(s.legs) == 0 {
		return nil, fmt.Errorf("no line before it sells the ticket %s", ticket)
	}
	return s, nil
}

func (m *Movements) paid(at journal.Stamp, e *booking.TicketPaid) ([]Movement, error) {
	s, err := m.sale(e.Ticket)
	if err != nil {
		return nil, err
	}
	to := m.moving(at, Sale, s, e.Ticket, e.Booking)
	for i, l := range s.legs {
		to.add(i, l.amount, "sale")
	}
	return to.list(), nil
}

// canceled returns what comes back for tickets that their partner cancels. Nothing does for one that an
// external operator keeps the money of, or that was not paid.
func (m *Movements) canceled(at journal.Stamp, e *booking.TicketsCanceled) (list []Movement, err error) {
	for i := range e.Tickets {
		c := &e.Tickets[i]
		if !c.Refunded {
			continue
		}
		s, err := m.sale(c.ID)
		if err != nil {
			return nil, err
		}
		to := m.moving(at, Refund, s, c.ID, e.Booking)
		for k, part := range c.Shares(s.amounts()) {
			to.add(k, -part, ruleOf(c, k, s.legs[k].form))
		}
		list = append(list, to.list()...)
	}
	return list, nil
}

// runCanceled returns what comes back for the tickets that are cancelled with their run: all that was paid.
func (m *Movements) runCanceled(at journal.Stamp, e *booking.RunCanceled) (list []Movement, err error) {
	for i := range e.Tickets {
		c := &e.Tickets[i]
		if !c.Refunded {
			continue
		}
		s, err := m.sale(c.ID)
		if err != nil {
			return nil, err
		}
		to := m.moving(at, Refund, s, c.ID, c.Booking)
		for k, l := range s.legs {
			to.add(k, -l.amount, "run cancelled")
		}
		list = append(list, to.list()...)
	}
	return list, nil
}

// amounts returns the legs' shares of the price.
func (s *sale) amounts() (list []int64) {
	for _, l := range s.legs {
		list = append(list, l.amount)
	}
	return list
}

// ruleOf says by which rule a part of a refund came about: the grace, or the rule of the leg's form that the
// line names, whose hours only the form has.
func ruleOf(c *booking.CanceledTicket, k int, form *schedule.Form) string {
	if c.Grace {
		return "grace"
	}
	for _, r := range form.Rules {
		if k < len(c.Terms) && r.ID == c.Terms[k].Rule && r.Percent == c.Terms[k].Percent {
			return fmt.Sprintf("rule %s hours %d percent %s", r.ID, r.Hours, words.Hundredths(r.Percent))
		}
	}
	return "unknown" // no program wrote this line: verify names it
}

// moving is what a line moves for one ticket: a movement for each company and rule.
type moving struct {
	base  Movement
	legs  []leg
	parts []Movement
}

func (m *Movements) moving(at journal.Stamp, kind string, s *sale, ticket, of ids.ID) *moving {
	return &moving{
		base: Movement{
			Kind:     kind,
			At:       at,
			Currency: s.currency,
			Ticket:   ticket,
			Booking:  of,
			Partner:  m.partners[s.partner],
		},
		legs: s.legs,
	}
}

// add adds the part of a leg.
func (x *moving) add(i int, amount int64, rule string) {
	company := x.legs[i].form.Company.Slug
	for k := range x.parts {
		if x.parts[k].Company == company && x.parts[k].Rule == rule {
			x.parts[k].Amount += amount
			return
		}
	}
	part := x.base
	part.Company = company
	part.Rule = rule
	part.Amount = amount
	x.parts = append(x.parts, part)
}

// list returns the movements: those of nothing are left out.
func (x *moving) list() (list []Movement) {
	for _, part := range x.parts {
		if part.Amount != 0 {
			list = append(list, part)
		}
	}
	return list
}
