package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"waybill/booking"
	"waybill/store"
)

// requestLife is how long a request is known by its key (contract §8).
const requestLife = 24 * time.Hour

// Requests are the requests with an Idempotency-Key of the last 24 hours.
type Requests struct {
	known map[RequestName]*Request
	order []*Request                  // those that are answered, as they were; of one key the last counts
	open  map[RequestName]*Request    // those that are not
	aging []*Request                  // the same, by their last line; of one key the last counts
	asked map[booking.ID]*Idempotency // of the requests for which a provider is asked, by ticket
}

// newRequests returns what is known before the first request.
func newRequests() Requests {
	return Requests{
		known: map[RequestName]*Request{},
		open:  map[RequestName]*Request{},
		asked: map[booking.ID]*Idempotency{},
	}
}

// RequestName is what a request is known by.
type RequestName struct {
	Partner booking.ID `json:"partner"`
	Key     string     `json:"key"`
}

// Request is what is known of a request. It is immutable.
type Request struct {
	RequestName
	Hash   string       `json:"hash"`   // as in [Idempotency]
	Status int          `json:"status"` // 0: it was cut short
	Seq    uint64       `json:"seq"`    // of the last line of the request
	At     int64        `json:"at"`     // Unix milliseconds of that line
	Done   []booking.ID `json:"done"`   // tickets that are paid or booked
}

// live reports whether a key still names the request.
func (x *Request) live(now time.Time) bool {
	return now.Before(time.UnixMilli(x.At).Add(requestLife))
}

// Find returns what is known of a request; nil where it is not, or not any more.
func (x *Requests) Find(name RequestName, now time.Time) *Request {
	if r := x.known[name]; r != nil && r.live(now) {
		return r
	}
	return nil
}

// AskedUnder returns what the line of a ticket's answer says of the request for which the provider was asked.
func (x *Requests) AskedUnder(ticket booking.ID) *Idempotency {
	return x.asked[ticket]
}

// forgetAsked drops that, unless the same question may be asked again.
func (x *Requests) forgetAsked(s *State, ticket booking.ID) {
	if _, still := s.Bookings.Ask(ticket); !still {
		delete(x.asked, ticket)
	}
}

// note remembers what an entry says of a request of a partner's.
func (x *Requests) note(at store.Stamp, partner booking.ID, entry Entry) {
	x.order = x.expire(x.order, at.Time)
	x.aging = x.expire(x.aging, at.Time)
	given := entry.Idempotency
	next := &Request{
		RequestName: RequestName{partner, given.Key},
		Hash:        given.Hash,
		Status:      given.Status,
		Seq:         at.Seq,
		At:          at.Time.UnixMilli(),
	}
	if next.Status == 0 {
		next.Done = ticketsDone(entry.Event)
		before := x.open[next.RequestName]
		if before != nil && before.Hash == next.Hash {
			next.Done = slices.Concat(before.Done, next.Done)
		}
	}
	if asked, ok := entry.Event.(*booking.Asked); ok {
		x.asked[asked.Ticket] = given
	}
	x.put(next)
}

// ticketsDone returns the tickets that an event says are paid or booked.
func ticketsDone(e Event) []booking.ID {
	switch e := e.(type) {
	case *booking.TicketPaid:
		return []booking.ID{e.Ticket}
	case *booking.TicketBooked:
		return []booking.ID{e.Ticket}
	}
	return nil
}

// expire drops the first of a list, which is in the order of time, that no longer name a request.
func (x *Requests) expire(list []*Request, now time.Time) []*Request {
	for len(list) > 0 && !list[0].live(now) {
		x.drop(list[0])
		list = list[1:]
	}
	return list
}

// put makes a request known, in place of what was known of it.
func (x *Requests) put(r *Request) {
	x.known[r.RequestName] = r
	delete(x.open, r.RequestName)
	if r.Status == 0 {
		x.open[r.RequestName] = r
		x.aging = append(x.aging, r)
	} else {
		x.order = append(x.order, r)
	}
}

// drop forgets a request, unless its key names another one by now.
func (x *Requests) drop(r *Request) {
	if x.known[r.RequestName] == r {
		delete(x.known, r.RequestName)
		delete(x.open, r.RequestName)
	}
}

// frozen returns them for a snapshot.
func (x *Requests) frozen() []*Request {
	open := slices.Collect(maps.Values(x.open))
	slices.SortFunc(open, func(a, b *Request) int {
		return cmp.Compare(a.Seq, b.Seq)
	})
	return append(open, x.order...)
}
