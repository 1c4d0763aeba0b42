package booking

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/booking/seating"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// CheckCreated returns an error where a seat of a new booking belongs to another ticket. It sees the state
// before the event. It looks at the holds one by one, and not at the sets of seats by which Create decided.
func (s *State) CheckCreated(now time.Time, e *Created) error {
	for k, l := range e.Legs {
		run := e.RunOf(k, s)
		if run == nil || l.From < 0 || l.From >= l.To || int(l.To) >= len(run.Form.Stops) ||
			int(l.Discount) >= len(run.Form.Discounts) {
			return fmt.Errorf("booking %s: leg %d is not a ride on a run that was sold", e.ID, k+1)
		}
		if k == 0 && !run.Dep(l.From).After(now) {
			return fmt.Errorf("booking %s was sold after the departure at %s", e.ID,
				run.Dep(l.From).Format(time.RFC3339))
		}
		if c := s.runChanges[run.key()]; c != nil && c.Canceled {
			return fmt.Errorf("booking %s is for %s, which is cancelled", e.ID, c.Run)
		}
		for i, t := range e.Tickets {
			if k >= len(t.Seats) || t.Seats[k] < 1 || int(t.Seats[k]) > int(run.Form.Bus.Seats) {
				return fmt.Errorf("ticket %s, seats %d: the bus of leg %d has no such seat", t.ID, t.Seats,
					k+1)
			}
			if len(t.Seats) > len(e.Legs) {
				return fmt.Errorf("ticket %s has %d seats, for %d legs", t.ID, len(t.Seats), len(e.Legs))
			}
			leg := Leg{
				Run:  run,
				From: l.From,
				To:   l.To,
				Seat: t.Seats[k],
			}
			first := slices.IndexFunc(e.Tickets, func(t NewTicket) bool {
				return t.Seats[k] == leg.Seat
			})
			if first < i {
				return fmt.Errorf("tickets %s and %s were sold the same seat %d", e.Tickets[first].ID, t.ID,
					leg.Seat)
			}
			// The run may be sold in this form for the first time, after it was sold in others.
			if err := leg.check(s.seatings[run.key()], t.ID, now); err != nil {
				return err
			}
		}
		if err := s.checkRoom(run, k, e, now); err != nil {
			return err
		}
	}
	return nil
}

// checkRoom returns an error where a leg of a new booking takes seats that its run has not left: what an
// import brought together takes seats, too, and leaves fewer.
func (s *State) checkRoom(run *Run, leg int, e *Created, now time.Time) error {
	l := e.Legs[leg]
	ride := seating.Ride{Form: run.Form, From: l.From, To: l.To}
	free := cmp.Or(s.seatings[run.key()], new(seats)).Free(run.Form, ride, now)
	if free.Left < len(e.Tickets) {
		return fmt.Errorf("booking %s takes %d of %d free seats on leg %d", e.ID, len(e.Tickets), free.Left,
			leg+1)
	}
	for _, t := range e.Tickets {
		if !free.Seats.Has(t.Seats[leg]) {
			return fmt.Errorf("ticket %s takes seat %d on leg %d, which is not "+
				"free", t.ID, t.Seats[leg], leg+1)
		}
	}
	return nil
}

// RunOf returns the run of a leg: one that is sold for the first time, or one that the state has; else nil.
func (e *Created) RunOf(leg int, s *State) *Run {
	for _, r := range e.Runs {
		if r.ID == e.Legs[leg].Run {
			return r
		}
	}
	return s.runs[e.Legs[leg].Run]
}

// CheckSettled returns an error where the seat of a revived ticket belongs to another, or where the ticket
// may not be paid or booked at all.
func (s *State) CheckSettled(now time.Time, e *Settled, action Action) error {
	_, t := s.AnyTicket(e.Ticket)
	if t == nil {
		return fmt.Errorf("there is no ticket %s", e.Ticket)
	}
	if _, ok := t.next(action, now); !ok {
		return fmt.Errorf("ticket %s cannot be %s in its current state", e.Ticket, doneNames[action])
	}
	if t.Pending != 0 && t.Pending != action {
		return fmt.Errorf("ticket %s waits for the provider's answer to %s, not to %s", e.Ticket, t.Pending,
			action)
	}
	if t.Pending == 0 && t.MissesChange() {
		return fmt.Errorf("ticket %s has a connection that its moved run makes impossible", e.Ticket)
	}
	lapsed := t.PhaseAt(now) == Uncompleted
	if lapsed && e.Seats == nil {
		return fmt.Errorf("ticket %s lapsed at %s, and this line gives it no new seat", e.Ticket,
			t.Due().Format(time.RFC3339))
	}
	if !lapsed && e.Seats != nil {
		return fmt.Errorf("ticket %s gets a new seat, but still has its own", e.Ticket)
	}
	for i, l := range t.Itinerary()[:min(len(e.Seats), len(t.Itinerary()))] {
		l.Seat = e.Seats[i]
		if err := l.check(l.Run.seats, t.ID, now); err != nil {
			return err
		}
	}
	return nil
}

// CheckRevived returns an error where a ticket may not have the seats that it is given again, by the
// timetable in force. It sees the state before the event.
func (s *State) CheckRevived(tt *schedule.Timetable, now time.Time, e *Settled) error {
	_, t := s.AnyTicket(e.Ticket)
	if t == nil || len(e.Seats) != len(t.Itinerary()) {
		return nil // to apply it fails, and says so
	}
	if !t.takesPlace(tt) || t.cancellation() != nil {
		return fmt.Errorf("ticket %s is revived, but its run no longer takes place", e.Ticket)
	}
	for i, l := range t.Itinerary() {
		free := l.vacancy(tt, nil, now)
		switch seat := e.Seats[i]; {
		case free.Left == 0 || !free.Seats.Has(seat):
			return fmt.Errorf("ticket %s is revived with seat %d on leg %d, which is not "+
				"free", e.Ticket, seat,
				i+1)
		case seat != l.Seat && free.Seats.Has(l.Seat):
			return fmt.Errorf("ticket %s is revived with seat %d on leg %d, and its own seat %d is free",
				e.Ticket, seat, i+1, l.Seat)
		}
	}
	return nil
}

// CheckAsked returns an error where the provider may not be asked about a ticket as an event says.
func (s *State) CheckAsked(now time.Time, e *TicketAsked) error {
	_, t := s.AnyTicket(e.Ticket)
	if t != nil && t.Pending != 0 {
		return fmt.Errorf("the provider was asked about ticket %s, and has not answered yet", e.Ticket)
	}
	return s.CheckSettled(now, &e.Settled, e.Action)
}

// CheckRefused returns an error where the provider was not asked what an event says that it refused.
func (s *State) CheckRefused(_ time.Time, e *Refused) error {
	_, t := s.AnyTicket(e.Ticket)
	if t == nil {
		return fmt.Errorf("there is no ticket %s", e.Ticket)
	}
	if t.Pending != e.Action {
		return fmt.Errorf("the provider was not asked to %s ticket %s", e.Action, e.Ticket)
	}
	return nil
}

// CheckCarrierSet returns an error where a carrier may not give a ticket its status.
func (s *State) CheckCarrierSet(now time.Time, e *CarrierSet) error {
	_, err := s.SetCarrier(now, e.Ticket, e.Status)
	return err
}

// CheckMoved returns an error where a ticket may not be moved as an event says.
func (s *State) CheckMoved(_ time.Time, e *Moved) error {
	to := &e.To
	if e.New {
		to = nil
	}
	want, err := s.Move(e.Ticket, to, e.To)
	if err != nil {
		return fmt.Errorf("ticket %s: %w", e.Ticket, err)
	}
	if *want != *e {
		return fmt.Errorf("ticket %s is in booking %s, and not in %s", e.Ticket, want.From, e.From)
	}
	return nil
}

// CheckCanceled reports whether tickets may be canceled or refunded as an event says. What is refunded is
// decided again.
func (s *State) CheckCanceled(now time.Time, e *TicketsCanceled) error {
	for i, c := range e.Tickets {
		_, t := s.AnyTicket(c.ID)
		if t == nil {
			return fmt.Errorf("there is no ticket %s", c.ID)
		}
		if slices.ContainsFunc(e.Tickets[:i], func(x CanceledTicket) bool { return x.ID == c.ID }) {
			return fmt.Errorf("ticket %s is named twice", c.ID)
		}
		if to, ok := t.next(Cancel, now); !ok || (to == Refunded) != c.Refunded {
			return fmt.Errorf("ticket %s is in a state that this cancellation does not fit", c.ID)
		}
		if t.Pending != 0 {
			return fmt.Errorf("ticket %s is canceled while it waits for the provider's answer", c.ID)
		}
		want := CanceledTicket{ID: c.ID, Refunded: c.Refunded}
		if c.Refunded {
			want.refund(t, now)
		}
		if c.Refund != want.Refund || c.Grace != want.Grace || !slices.Equal(c.Terms, want.Terms) {
			return fmt.Errorf("ticket %s is refunded %s; the rules give %s", c.ID, c.words(),
				want.words())
		}
	}
	return nil
}

// words says a refund and how it came about.
func (c *CanceledTicket) words() string {
	var text strings.Builder
	text.WriteString(Hundredths(c.Refund))
	if c.Grace {
		text.WriteString(" within the grace")
	}
	for _, t := range c.Terms {
		text.WriteString(fmt.Sprintf(", rule %q %s %% %s", t.Rule, Hundredths(t.Percent),
			Hundredths(t.Refund)))
	}
	return text.String()
}

// CheckUncompleted reports whether tickets may be recorded as Uncompleted.
func (s *State) CheckUncompleted(now time.Time, e *TicketsUncompleted) error {
	for _, x := range e.Tickets {
		_, t := s.AnyTicket(x.ID)
		if t == nil || !t.overdue(now) || !t.Due().Equal(e.At) {
			return fmt.Errorf("ticket %s did not become Uncompleted then, or an earlier line notes it", x.ID)
		}
	}
	return nil
}

// check returns an error where another ticket holds the leg's seat on a part of its ride. It compares the
// rides in the form that either was sold in. held has the holds of the run; nil has none.
func (l *Leg) check(held *seats, ticket ids.ID, now time.Time) error {
	if held == nil {
		return nil
	}
	var other *ids.ID // the lowest: which ticket is named must not depend on the order of the holds
	for i := range held.Holds {
		h := &held.Holds[i]
		taken := h.Ticket != ticket && h.Seat == l.Seat && h.Until > now.UnixMilli()
		if taken && l.ride().MeetsAsSold(held.Ride(h)) && (other == nil || h.Ticket.Compare(*other) < 0) {
			other = &h.Ticket
		}
	}
	if other == nil {
		return nil
	}
	return fmt.Errorf("seat %d of trip %s on %s is sold to the tickets %s and %s", l.Seat, l.Run.Form.Trip,
		l.Run.Day, ticket, other)
}

// Audit checks the books at an instant. No seat is sold twice on overlapping parts of a run. The seats that
// are sold, held and free make up each bus. No refund is above the price that was paid. Every ticket is in
// exactly one booking.
func (s *State) Audit(tt *schedule.Timetable, now time.Time) (*Books, error) {
	x := newAudit(now)
	all := s.Freeze()
	var oversold error
	var beside sync.WaitGroup
	beside.Go(func() {
		oversold = Guarded(func() { x.Surplus = all.Surplus(tt, now) })
	})
	err := s.auditBookings(x, all)
	beside.Wait()
	if err = cmp.Or(err, oversold); err != nil {
		return x.Books, err
	}
	err = Guarded(func() { s.auditRuns(x, tt) })
	return x.Books, cmp.Or(err, x.wrong)
}

// say takes up what is wrong, if anything is.
func (x *audit) say(wrong error) { x.wrong = cmp.Or(x.wrong, wrong) }

// auditRuns goes through the runs, once the bookings are counted.
func (s *State) auditRuns(x *audit, tt *schedule.Timetable) {
	if x.Tickets != s.byTicket.Len() {
		x.say(fmt.Errorf("%d tickets are in bookings, %d are known", x.Tickets, s.byTicket.Len()))
	}
	for _, run := range s.order {
		if run.seats.sold[0] != run {
			continue // counted in the form it was sold in first
		}
		x.run(run, tt)
	}
	for _, c := range s.runChanges {
		switch {
		case c.Canceled:
			x.Canceled++
		case c.Shift != 0:
			x.Moved++
		}
	}
}

// auditBookings goes through the bookings in two halves, one beside the other. Its error is that they cannot
// be gone through.
func (s *State) auditBookings(x *audit, all Frozen) error {
	later := newAudit(x.now)
	half := all.Len() / 2
	var wrong, wrongLater error
	var beside sync.WaitGroup
	beside.Go(func() {
		wrongLater = Guarded(func() { later.bookings(s, all, half, all.Len()) })
	})
	wrong = Guarded(func() { x.bookings(s, all, 0, half) })
	beside.Wait()
	x.say(later.wrong)
	x.Books.Add(later.Books)
	for run, holds := range later.holds {
		x.holds[run] = append(x.holds[run], holds...)
	}
	for run, holds := range later.sold {
		x.sold[run] = append(x.sold[run], holds...)
	}
	return cmp.Or(wrong, wrongLater)
}

// finds reports whether an index leads from an id, of a booking or of a ticket, to the booking with a number.
func (s *State) finds(x *ids.Index, id ids.ID, number uint32) bool {
	for n := range x.Candidates(id) {
		if n == number {
			return true
		}
		if s.at(n).has(id) {
			return false
		}
	}
	return false
}

// audit is an audit under way.
type audit struct {
	*Books
	now   time.Time
	wrong error                     // the first; what is counted goes on
	holds map[*seats][]seating.Hold // as the tickets have them
	sold  map[*seats][]seating.Hold // of these, the holds of tickets that are paid or booked
}

// newAudit returns books without a booking.
func newAudit(now time.Time) *audit {
	return &audit{
		Books: New(),
		now:   now,
		holds: map[*seats][]seating.Hold{},
		sold:  map[*seats][]seating.Hold{},
	}
}

// bookings goes through the bookings from one number to before another.
func (x *audit) bookings(s *State, all Frozen, from, to int) {
	for i := from; i < to; i++ {
		b := all.At(i)
		if b == nil {
			continue
		}
		x.Bookings++
		if !s.finds(s.byID, b.ID, b.number) {
			x.say(fmt.Errorf("booking %s appears twice", b.ID))
		}
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if !s.finds(s.byTicket, t.ID, b.number) {
				x.say(fmt.Errorf("ticket %s is in booking %s, but is not found there", t.ID, b.ID))
			}
			x.ticket(t)
		}
	}
}

// ticket counts a ticket and its money, and checks that it has its seats.
func (x *audit) ticket(t *Ticket) {
	status, _ := t.Status(x.now)
	x.Status[status]++
	x.Tickets++
	if t.Legs[1].Run != nil {
		x.Changes++
	}
	paid := int64(0)
	ended := t.Phase == Canceled || t.Phase == Refunded
	if t.Phase == Paid || ended && t.Was == Paid {
		paid = t.Price()
	}
	refund := int64(0)
	if t.Phase == Refunded {
		refund = t.Refund()
	}
	if refund < 0 || refund > paid || t.Phase == Refunded && t.Was != Paid {
		x.say(fmt.Errorf("ticket %s was refunded %d of %d paid", t.ID, refund, paid))
	}
	currency := string(t.Currency[:])
	money := x.Money[currency]
	x.Money[currency] = [2]int64{money[0] + paid, money[1] + refund}
	if t.live(x.now) && t.Pending == 0 && t.cancellation() != nil {
		x.Left++
	}
	for _, l := range t.Itinerary() {
		if !t.live(x.now) {
			continue
		}
		x.say(l.check(l.Run.seats, t.ID, x.now))
		h := l.hold(t.ID, math.MaxInt64)
		x.holds[l.Run.seats] = append(x.holds[l.Run.seats], h)
		if t.Phase != Unpaid {
			x.sold[l.Run.seats] = append(x.sold[l.Run.seats], h)
		}
	}
}

// run counts the seats of a run, and checks that a search offers exactly the seats that no ticket has.
func (x *audit) run(run *Run, tt *schedule.Timetable) {
	form := run.seats.present(tt)
	end := int16(len(form.Stops) - 1)
	tickets := seating.Plan{Forms: run.seats.Forms, Holds: x.holds[run.seats]}
	for at := range end {
		part := seating.Ride{Form: form, From: at, To: at + 1}
		if run.seats.Free(form, part, x.now) != tickets.Free(form, part, x.now) {
			x.say(fmt.Errorf("trip %s on %s: the seats on offer from stop %d on are not those without a "+
				"ticket", form.Trip, run.Day, at+1))
			break
		}
	}
	taken := labels(x.holds[run.seats])
	sold := labels(x.sold[run.seats])
	x.Runs++
	x.Seats += int(form.Bus.Seats)
	x.Sold += sold
	x.Held += taken - sold
	x.Free += max(0, int(form.Bus.Seats)-taken)
}

// labels returns how many different seats the holds have. It counts seats that a smaller bus no longer has.
func labels(holds []seating.Hold) int {
	seats := map[int16]bool{}
	for i := range holds {
		seats[holds[i].Seat] = true
	}
	return len(seats)
}
