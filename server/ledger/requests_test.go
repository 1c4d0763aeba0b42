package ledger

import (
	"slices"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// paidUnder returns the entry of a ticket that was paid by a request with a key.
func paidUnder(ticket byte, hash string) Entry {
	return Entry{
		Event:       &booking.TicketPaid{Settled: booking.Settled{Ticket: ids.ID{ticket}}},
		Idempotency: &Idempotency{Key: "k", Hash: hash},
	}
}

// A request that was cut short goes on with the tickets that it has not done. What another request has done
// under the same key is not its own: a provider's answer to a request of the day before may come when its key
// names another one.
func TestARequestHasDoneItsOwnTicketsOnly(t *testing.T) {
	requests := newRequests()
	partner := ids.ID{9}
	now := time.UnixMilli(0)
	for i, c := range []struct {
		entry Entry
		done  []ids.ID
	}{
		{paidUnder(1, "first"), []ids.ID{{1}}},
		{paidUnder(2, "first"), []ids.ID{{1}, {2}}},
		{paidUnder(3, "second"), []ids.ID{{3}}},
		{paidUnder(4, "second"), []ids.ID{{3}, {4}}},
	} {
		requests.record(journal.Stamp{Seq: uint64(i + 1), Time: now}, partner, c.entry)
		found := requests.Find(RequestKey{partner, "k"}, now)
		if found == nil || !slices.Equal(found.Done, c.done) {
			t.Errorf("line %d: %+v, want the tickets %v", i+1, found, c.done)
		}
	}
}
