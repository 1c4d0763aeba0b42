package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// requestLife is how long a request is known by its key (decision idempotency.key).
const requestLife = 24 * time.Hour

// KeyedRequests are the requests with an Idempotency-Key of the last 24 hours. The lists are queues by age,
// from which requests that are over are dropped. They may still hold requests that a later line of the same
// key has replaced.
type KeyedRequests struct {
	known         map[RequestKey]*KeyedRequest
	answeredByAge []*KeyedRequest              // those that are answered
	open          map[RequestKey]*KeyedRequest // those that are not
	openByAge     []*KeyedRequest              // the same, by their last line
	askedFor      map[ids.ID]*Idempotency      // by ticket that is pending
}

// newRequests returns what is known before the first request.
func newRequests() *KeyedRequests {
	return &KeyedRequests{
		known:    map[RequestKey]*KeyedRequest{},
		open:     map[RequestKey]*KeyedRequest{},
		askedFor: map[ids.ID]*Idempotency{},
	}
}

// RequestKey is the name of a request.
type RequestKey struct {
	Partner ids.ID `json:"partner"`
	Key     string `json:"key"`
}

// KeyedRequest is a request with a key, as its lines record it. It is immutable.
type KeyedRequest struct {
	RequestKey
	Hash   string   `json:"hash"`   // as in [Idempotency]; "" once the answer was erased
	Status int      `json:"status"` // 0: it was cut short
	Seq    uint64   `json:"seq"`    // of the last line of the request
	At     int64    `json:"at"`     // Unix milliseconds of that line
	Done   []ids.ID `json:"done"`   // tickets that are paid or booked
}

// live reports whether a key still names the request.
func (x *KeyedRequest) live(now time.Time) bool {
	return now.Before(time.UnixMilli(x.At).Add(requestLife))
}

// Find returns a request; nil where it is not known, or its 24 hours are over.
func (x *KeyedRequests) Find(name RequestKey, now time.Time) *KeyedRequest {
	if r := x.known[name]; r != nil && r.live(now) {
		return r
	}
	return nil
}

// AskedUnder returns the Idempotency-Key of the request that has the provider asked about a ticket; nil
// where it had none. The line that records the provider's answer carries it.
func (x *KeyedRequests) AskedUnder(ticket ids.ID) *Idempotency {
	return x.askedFor[ticket]
}

// forgetAsked drops the key under which the provider was asked about a ticket, unless the same question may
// be asked again.
func (x *KeyedRequests) forgetAsked(sold *booking.State, ticket ids.ID) {
	if _, still := sold.Ask(ticket); !still {
		delete(x.askedFor, ticket)
	}
}

// record remembers what an entry says about a request of a partner.
func (x *KeyedRequests) record(at journal.Stamp, partner ids.ID, entry Entry) {
	x.answeredByAge = x.expire(x.answeredByAge, at.Time)
	x.openByAge = x.expire(x.openByAge, at.Time)
	given := entry.Idempotency
	next := &KeyedRequest{
		RequestKey: RequestKey{partner, given.Key},
		Hash:       given.Hash,
		Status:     given.Status,
		Seq:        at.Seq,
		At:         at.Time.UnixMilli(),
	}
	if next.Status == 0 {
		next.Done = ticketsDone(entry.Event)
		before := x.open[next.RequestKey]
		if before != nil && before.Hash == next.Hash {
			next.Done = slices.Concat(before.Done, next.Done)
		}
	}
	if asked, ok := entry.Event.(*booking.TicketAsked); ok {
		x.askedFor[asked.Ticket] = given
	}
	x.put(next)
}

// ticketsDone returns the tickets that an event says are paid or booked.
func ticketsDone(e Event) []ids.ID {
	switch e := e.(type) {
	case *booking.TicketPaid:
		return []ids.ID{e.Ticket}
	case *booking.TicketBooked:
		return []ids.ID{e.Ticket}
	}
	return nil
}

// expire drops requests that are over from the front of a list, which is in the order of time.
func (x *KeyedRequests) expire(list []*KeyedRequest, now time.Time) []*KeyedRequest {
	for len(list) > 0 && !list[0].live(now) {
		x.drop(list[0])
		list = list[1:]
	}
	return list
}

// put makes a request known, in place of the former of its key.
func (x *KeyedRequests) put(r *KeyedRequest) {
	x.known[r.RequestKey] = r
	delete(x.open, r.RequestKey)
	if r.Status == 0 {
		x.open[r.RequestKey] = r
		x.openByAge = append(x.openByAge, r)
	} else {
		x.answeredByAge = append(x.answeredByAge, r)
	}
}

// erase drops the hashes of the requests whose answers stand in erased lines: a hash of a body is that of the
// names in it.
func (x *KeyedRequests) erase(lines []uint64) {
	for _, seq := range lines {
		i, found := slices.BinarySearchFunc(x.answeredByAge, seq, func(r *KeyedRequest, seq uint64) int {
			return cmp.Compare(r.Seq, seq)
		})
		if !found {
			continue
		}
		was := x.answeredByAge[i]
		r := *was
		r.Hash = ""
		x.answeredByAge[i] = &r
		if x.known[r.RequestKey] == was {
			x.known[r.RequestKey] = &r
		}
	}
}

// drop forgets a request, unless its key names another one by now.
func (x *KeyedRequests) drop(r *KeyedRequest) {
	if x.known[r.RequestKey] == r {
		delete(x.known, r.RequestKey)
		delete(x.open, r.RequestKey)
	}
}

// frozen returns them for a snapshot.
func (x *KeyedRequests) frozen() []*KeyedRequest {
	open := slices.Collect(maps.Values(x.open))
	slices.SortFunc(open, func(a, b *KeyedRequest) int {
		return cmp.Compare(a.Seq, b.Seq)
	})
	return append(open, x.answeredByAge...)
}
