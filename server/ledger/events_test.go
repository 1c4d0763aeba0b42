package ledger_test

import (
	"errors"
	"testing"

	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// TestAFeedCountsTheEventsThatAreRead replays the fixture and holds, for each line, how many events the feeds
// of the partners grow by against those that are read from the line.
func TestAFeedCountsTheEventsThatAreRead(t *testing.T) {
	codec := ledger.NewCodec()
	state := model.New()
	fsys := durable.Dir("../../testdata/journal/v3")
	counted := 0
	_, err := inspect.Read(fsys, false, func(_ journal.Place, l *journal.Line) error {
		x, err := codec.Decode(l.Type, l.Data, l.Personal)
		if errors.Is(err, journal.ErrNewer) {
			return nil // of the store's own
		}
		before := lengths(state)
		if err := model.Apply(state, l.Stamp, x); err != nil {
			return err
		}
		for partner, n := range lengths(state) {
			n -= before[partner]
			counted += n
			events, err := ledger.Events(l, partner)
			if n > 0 && (err != nil || len(events) != n) {
				t.Errorf("line %d, %s: %d events are counted, %d read, %v", l.Seq, l.Type, n, len(events),
					err)
			}
		}
		return err
	})
	if err != nil || counted == 0 {
		t.Errorf("%d events, %v", counted, err)
	}
}

// lengths returns how many events the feed of each partner has.
func lengths(s ledger.State) map[ids.ID]int {
	n := map[ids.ID]int{}
	for _, p := range s.Partners.All() {
		n[p.ID] = s.EventFeed(p.ID).Len()
	}
	return n
}
