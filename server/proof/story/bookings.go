package story

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
	"waybill/server/ledger"
)

// booking tells of bookings and tickets; "" of others.
func (t teller) booking(event ledger.Event) string {
	switch e := event.(type) {
	case *booking.Created:
		return t.created(e)
	// With a provider a ticket is first asked about; its answer, or nobody's, comes in a line of its own.
	case *booking.TicketAsked:
		return t.outcome(&e.Settled, "the provider is asked to "+e.Action.String())
	case *booking.Refused:
		return t.refused(e)
	case *booking.TicketPaid:
		return t.outcome(&e.Settled, "paid")
	case *booking.TicketBooked:
		return t.outcome(&e.Settled, "booked")
	case *booking.TicketsCanceled:
		return t.canceled(e)
	// Time did it; the line only records it.
	case *booking.TicketsUncompleted:
		n := len(e.Tickets)
		return fmt.Sprintf("noted: %s of booking %s%sUncompleted from %s on",
			words.Counted(n, "ticket"), t.id(e.Booking), words.Were(n), e.At.UTC().Format(TimeLayout))
	case *booking.Moved:
		return fmt.Sprintf("ticket move: %s, no longer of booking %s",
			t.standing(e.To, e.Ticket), t.id(e.From))
	case *booking.CarrierSet:
		return "ticket status, by the carrier: " + t.standing(e.Booking, e.Ticket)
	}
	return ""
}

// run tells of what carriers do with runs, and who reads of their passengers; "" of others.
func (t teller) run(event ledger.Event) string {
	switch e := event.(type) {
	case *booking.RunCanceled:
		return t.runCanceled(e)
	case *booking.RunMoved:
		n := len(e.Tickets)
		return fmt.Sprintf("run move: %s leaves %s, %s%stold", e.Run, Later(e.Minutes),
			words.Counted(n, "passenger"), words.Were(n)) + t.more(": %s", e.Reason)
	// Nothing had followed from the change, so that there is nothing more to tell.
	case *booking.RunRestored:
		return fmt.Sprintf("run restore: the change of %s is taken back", e.Run) + t.more(": %s", e.Reason)
	case *ledger.PersonalRead:
		return fmt.Sprintf("the page %s of the desk was read, with the data of %s", e.Page,
			words.Counted(e.People, "person")) + t.more("%s", ofWhat(e))
	// Reading changes nothing, and is told all the same: the list has names.
	case *ledger.ManifestRead:
		n := words.Counted(e.Passengers, "passenger")
		said := fmt.Sprintf("the passenger list of %s was read: %s", e.Run, n)
		if e.User != nil {
			said += t.more(", by user %s of company %q", e.User, e.Company)
		}
		return said
	}
	return ""
}

// Standing says how a ticket stands at an instant: its status and paymentStatus, and its seat, which it may
// have given back.
func Standing(s ledger.State, id ids.ID, now time.Time) string {
	b, _ := s.Bookings.AnyTicket(id)
	t := teller{State: s, now: now}
	return t.standing(b.ID, id)
}

// seats says the seats of a ticket's legs, which have blanks between, in words that follow "seat".
func seats(labels string) string { return strings.ReplaceAll(labels, " ", ", then seat ") }

// standing says how a ticket of a booking stands in the state.
func (t teller) standing(of, id ids.ID) string {
	said := fmt.Sprintf("ticket %s of booking %s", t.id(id), t.id(of))
	if t.public {
		return said
	}
	_, ticket := t.Bookings.AnyTicket(id)
	status, payment := ticket.Status(t.now)
	back := ""
	switch ticket.PhaseAt(t.now) {
	case booking.Uncompleted, booking.Canceled, booking.Refunded:
		back = " given back"
	}
	return fmt.Sprintf("%s is %s/%s, seat %s%s", said, status, payment, seats(ticket.SeatLabels()), back)
}

// Later says when a run leaves that is moved by so many minutes, below zero to an earlier time: in words that
// follow "leaves".
func Later(minutes int) string {
	switch {
	case minutes > 0:
		return words.Counted(minutes, "minute") + " later than its timetable says"
	case minutes < 0:
		return words.Counted(
			-minutes,
			"minute",
		) + " earlier than its timetable says"
	}
	return "as its timetable says"
}

// outcome says what was done with a ticket, and how it stands since.
func (t teller) outcome(e *booking.Settled, what string) string {
	if e.Seats != nil {
		what += " with a new seat"
	}
	said := fmt.Sprintf("%s for %s: %s", what, t.partnerOf(e.Booking), t.standing(e.Booking, e.Ticket)) +
		t.more("; request %s", e.Request)
	if e.Reason != "" {
		said += ", an operator answered in the provider's place" + t.more(": %s", e.Reason)
	}
	return said
}

// refused says who did not confirm a ticket.
func (t teller) refused(e *booking.Refused) string {
	// An operator gives a reason; a provider gives none.
	what := "the provider refuses to "
	if e.Unknown {
		what = "the provider gave no clear answer on whether to "
	}
	if e.Reason != "" {
		what = "an operator answers in the provider's place, and refuses to "
	}
	refused := &booking.Settled{
		Booking: e.Booking,
		Ticket:  e.Ticket,
		Request: e.Request,
		Reason:  e.Reason,
	}
	return t.outcome(refused, what+e.Action.String())
}

// created says who booked what, from where to where, on which seats. Names are not told: the log is read by
// more people than may know who travels.
func (t teller) created(e *booking.Created) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s makes booking %s, passengers: %d", t.partner(e.Partner), t.id(e.ID), len(e.Tickets))
	if len(e.Passengers) == 0 {
		b.WriteString(t.more(", whose names are erased"))
	}
	for _, l := range e.Legs {
		// By the clock at the stop, as the passenger's ticket has it.
		r := t.Bookings.RunByID(l.Run)
		if r == nil || int(max(l.From, l.To)) >= len(r.Form.Stops) {
			continue // only of a line that is read by itself, and that was changed since the server wrote it
		}
		from := &r.Form.Stops[l.From]
		to := &r.Form.Stops[l.To]
		leaves := r.Local(r.Dep(l.From), l.From).Format("2006-01-02 15:04 -07:00")
		fmt.Fprintf(&b, "; trip %s of %s, %q (%s) to %q (%s), leaves %s, %s %s each",
			schedule.FeedID(r.Form.Trip), r.Day, from.City.Name, from.Stop.ID, to.City.Name, to.Stop.ID,
			leaves, words.Hundredths(l.Amount), e.Currency)
	}
	for _, ticket := range e.Tickets {
		labels := strings.Trim(fmt.Sprint(ticket.Seats), "[]")
		fmt.Fprintf(&b, "; ticket %s seat %s", t.id(ticket.ID), seats(labels))
	}
	return b.String() + t.more("; request %s", e.Request)
}

// canceled says what came back for each ticket, and by which rules.
func (t teller) canceled(e *booking.TicketsCanceled) string {
	var tickets []string
	for i := range e.Tickets {
		tickets = append(tickets, t.canceledTicket(e.Booking, &e.Tickets[i]))
	}
	if e.Reason != "" {
		return "ticket cancel: " + strings.Join(tickets, "; ") + t.more(": %s", e.Reason)
	}
	return t.partnerOf(e.Booking) + " cancels: " + strings.Join(tickets, "; ") +
		t.more("; request %s", e.Request)
}

// canceledTicket says how a ticket stands that was canceled, and what came back.
func (t teller) canceledTicket(of ids.ID, x *booking.CanceledTicket) string {
	said := t.standing(of, x.ID)
	if _, ticket := t.Bookings.AnyTicket(x.ID); ticket != nil {
		said += ", " + Refund(ticket, x)
	}
	return said
}

// Refund says what comes back for a ticket that is canceled. A partner asks how an amount comes about: by the
// grace, or by a rule for each leg.
func Refund(t *booking.Ticket, x *booking.CanceledTicket) string {
	if !x.Refunded {
		return "with no refund"
	}
	var said strings.Builder
	fmt.Fprintf(&said, "refunded %s %s of %s", words.Hundredths(x.Refund), t.Currency,
		words.Hundredths(t.Price()))
	if x.Grace {
		said.WriteString(" (within 20 minutes of its creation: all of it)")
	}
	for _, term := range x.Terms {
		percent := words.Hundredths(term.Percent)
		fmt.Fprintf(&said, " (rule %s: %s %%)", cmp.Or(term.Rule, "none"), percent)
	}
	return said.String()
}

// runCanceled says what became of the tickets of a run, each by itself: who asks for one finds it.
func (t teller) runCanceled(e *booking.RunCanceled) string {
	n := len(e.Tickets)
	said := fmt.Sprintf("run cancel: %s, %s%scancelled", e.Run, words.Counted(n, "ticket"), words.Were(n)) +
		t.more(": %s", e.Reason)
	if t.public {
		return said
	}
	for _, x := range e.Tickets {
		said += "; " + t.standing(x.Booking, x.ID)
		if x.Refunded {
			_, ticket := t.Bookings.AnyTicket(x.ID)
			said += fmt.Sprintf(", refunded %s %s (all)", words.Hundredths(x.Refund), ticket.Currency)
		}
	}
	return said
}

// ofWhat says which booking or run a page was about.
func ofWhat(e *ledger.PersonalRead) string {
	switch {
	case e.Booking != nil:
		return fmt.Sprintf(", of booking %s", e.Booking)
	case e.Run != nil:
		return fmt.Sprintf(", of %s", e.Run)
	}
	return ""
}
