package server

import (
	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
)

// How many bytes the journal line of an event has at most. A disk that has no room for them refuses the
// event before anything of it is done, so these are bounds and never guesses: whatever a client, a feed or
// an operator can make a line hold is counted here. The store says in its log where a line is larger than
// its weight.
const (
	lineFrame    = 4 << 10 // hash, time, type, ids, an Idempotency-Key, an author, and a reason of an operator's
	perTicket    = 512     // in a line that names it, with its refund and its terms
	perID        = 128     // in a list of them
	perStop      = 512     // of a slice in an answer: names of members, times, ids
	shownTicket  = 2 << 10 // of an answer, besides its slices and its passenger
	shownBooking = 2 << 10 // of an answer, besides its tickets
	escaped      = 2       // a quote or backslash takes two bytes in JSON, and the answer is a string in the line
)

// weigh returns how many bytes an event's line has at most, in the state before it.
func weigh(s *State, e Event) int64 {
	n := int64(lineFrame)
	switch e := plainEvent(e).(type) {
	case *booking.Created:
		n += weighCreated(s, e)
	case *booking.TicketsCanceled:
		n += perTicket * int64(len(e.Tickets))
		n += s.weighAnswer(e.Booking, e.Retry)
	case *booking.TicketsUncompleted:
		n += perID * int64(len(e.Tickets))
	case *Answered:
		id, _ := booking.ParseID(e.Booking)
		n += s.weighAnswer(id, e.Retry)
	case *PersonalErased:
		n += perID*int64(len(e.Lines)+len(e.Passengers)+len(e.Reports)) + escapedLen(e.Reason)
	case *PassengersForgotten:
		n += perID*int64(len(e.Passengers)) + escapedLen(e.Reason)
	case *MessagesSent:
		n += perID * int64(len(e.IDs))
	case *MessagesRetried:
		n += perID * int64(len(e.IDs))
	case *MessageParked:
		n += escapedLen(e.Reason)
	case *auth.KeyAdded:
		for _, slug := range e.Companies {
			n += escapedLen(slug)
		}
	case *auth.KeysRevoked:
		n += perID * int64(len(e.Hashes))
	case *auth.UserAdded:
		n += escapedLen(e.Access.Company.Name) + escapedLen(e.Access.Company.Slug)
	case *auth.AccessGiven:
		n += escapedLen(e.Access.Company.Name) + escapedLen(e.Access.Company.Slug)
	}
	return n
}

// escapedLen returns how many bytes a text has at most where encoding/json writes it: a control character
// takes six.
func escapedLen(text string) int64 { return 6*int64(len(text)) + perID }

func weighCreated(s *State, e *booking.Created) (n int64) {
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
	if e.Retry == nil {
		return n
	}
	answer := int64(shownBooking)
	for _, p := range e.Passengers {
		answer += shownTicket + weighPassenger(p)
		for i := range e.Legs {
			answer += weighSlice(formOf(s, e, e.Legs[i].Run))
		}
	}
	return n + escaped*answer
}

// formOf returns the form of a run that is sold, for the first time or not.
func formOf(s *State, e *booking.Created, id booking.RunID) *schedule.Form {
	for _, r := range e.Runs {
		if r.ID == id {
			return r.Form
		}
	}
	return s.Bookings.RunByID(id).Form
}

// weighAnswer returns how many bytes the answer to a keyed request about a booking takes in its line: all
// of its tickets as they stand, or a refusal that names them.
func (s *State) weighAnswer(id booking.ID, r *booking.Retry) int64 {
	if r == nil || r.Status == 0 {
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

func weighPassenger(p booking.Passenger) int64 { return perTicket + escaped*int64(len(p)) }

// weighSlice bounds what a slice shows of a form: no text of it more than twice, and each stop with its own
// members.
func weighSlice(f *schedule.Form) int64 { return 2*f.Size() + perStop*int64(len(f.Stops)) }
