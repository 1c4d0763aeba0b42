package ledger

import (
	"encoding/json"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// How many bytes the journal line of an event has at most. A disk that has no room for them refuses the
// event before anything of it is done, so these are bounds and never guesses: whatever a client, a feed or
// an operator can make a line hold is counted here. The store says in its log where a line is larger than
// its weight.
const (
	// hash, time, type, ids, an Idempotency-Key, an author, and a reason of an operator's
	lineFrame    = 4 << 10
	perTicket    = 512     // in a line that names it, with its refund and its terms
	perID        = 128     // in a list of them
	perStop      = 512     // of a slice in an answer: names of members, times, ids
	shownTicket  = 2 << 10 // of an answer, besides its slices and its passenger
	shownBooking = 2 << 10 // of an answer, besides its tickets
	// a quote or backslash takes two bytes in JSON, and the answer is a string in the line
	escaped = 2
)

// Weigh returns how many bytes an entry's line has at most, in the state before it.
func Weigh(s State, x Entry) int64 {
	return lineFrame + weighEvent(s, x.Event, x.Idempotency)
}

// weighEvent returns how many bytes an event takes in its line at most. What is rare is written to see.
func weighEvent(s State, e Event, x *Idempotency) int64 {
	switch e := e.(type) {
	case *booking.Created:
		return weighCreated(e)
	case *booking.TicketAsked:
		return escapedLen(e.Reason)
	case *booking.TicketPaid:
		return escapedLen(e.Reason)
	case *booking.TicketBooked:
		return escapedLen(e.Reason)
	case *booking.TicketsCanceled:
		return written(e) + weighAnswer(s, e.Booking, x)
	case *Answered:
		return written(e) + weighAnswer(s, e.Booking, x)
	case *booking.RunCanceled:
		return written(e) + perID*int64(len(e.Tickets))
	case *booking.RunMoved:
		return written(e) + perID*int64(len(s.Bookings.BookingsOf(e.Run)))
	case *PersonalErased:
		return weighErased(e)
	case Personal:
		return written(e) + written(e.PersonalPart())
	}
	return written(e)
}

// written returns how many bytes a value takes as JSON.
func written(v any) int64 {
	text, err := json.Marshal(v)
	if err != nil {
		panic("held: " + err.Error()) // as in wire.Coder
	}
	return int64(len(text))
}

// escapedLen returns how many bytes a text has at most where encoding/json writes it: a control character
// takes six.
func escapedLen(text string) int64 {
	return 6*int64(len(text)) + perID
}

// weighErased weighs the line that names what is erased.
func weighErased(e *PersonalErased) int64 {
	return perID*int64(len(e.Lines)+len(e.Passengers)+len(e.Reports)) + escapedLen(e.Reason)
}

// weighCreated weighs a booking.
func weighCreated(e *booking.Created) int64 {
	n := int64(0)
	for _, f := range e.Forms {
		n += f.Size()
	}
	for _, r := range e.Runs {
		n += perTicket + 16*int64(len(r.Offsets))
	}
	for _, p := range e.Passengers {
		n += weighPassenger(p)
	}
	n += perTicket * int64(len(e.Tickets))
	return n
}

// weighAnswer returns how many bytes the answer to a keyed request about a booking takes in its line: all
// of its tickets as they stand, or a refusal that names them.
func weighAnswer(s State, id ids.ID, x *Idempotency) int64 {
	if !x.Answers() {
		return 0
	}
	answer := int64(shownBooking)
	b := s.Bookings.Any(id)
	if b == nil {
		return escaped * answer
	}
	for i := range b.Tickets {
		t := &b.Tickets[i]
		answer += shownTicket + weighPassenger(t.Passenger)
		for _, l := range t.Itinerary() {
			answer += weighSlice(l.Run.Form)
		}
	}
	return escaped * answer
}

// weighPassenger bounds a passenger in JSON.
func weighPassenger(p booking.Passenger) int64 {
	return perTicket + escaped*int64(len(p))
}

// weighSlice bounds what a slice shows of a form: no text of it more than twice, and each stop with its own
// members.
func weighSlice(f *schedule.Form) int64 {
	return 2*f.Size() + perStop*int64(len(f.Stops))
}
