package ledger

import (
	"bytes"
	"maps"
	"slices"

	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// EventFeed is what happened to a partner's bookings, in order (interface, Events). An event is a line of the
// journal, or a part of one. The feed remembers only which lines these are; [Events] reads them. The
// events of a partner have numbers of their own, from 1 without gaps.
type EventFeed struct {
	seqs    []uint64      // of each event; a line of several stands here as often
	line    uint64        // the last that changed one of the partner's bookings, or is an event
	keyLine uint64        // the last that added a key of the partner's, or revoked some
	changed chan struct{} // closed with the next event; nil while nobody waits for it
}

// feed returns a partner's feed, which it makes if there is none.
func (s State) feed(partner ids.ID) *EventFeed {
	f := s.inner.feeds[partner]
	if f == nil {
		f = new(EventFeed)
		s.inner.feeds[partner] = f
	}
	return f
}

// add adds an event of a line, and wakes who waits for it.
func (f *EventFeed) add(at journal.Stamp) {
	f.seqs = append(f.seqs, at.Seq)
	f.line = at.Seq
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// Len returns how many events there are.
func (f *EventFeed) Len() int {
	return len(f.seqs)
}

// After returns the lines of the events after number seq, of at most so many events as most says, and how
// many events of the first of these lines come before: a line may have several.
func (f *EventFeed) After(seq, most int) (lines []uint64, before int) {
	start := min(seq, len(f.seqs))
	end := min(start+most, len(f.seqs))
	lines = slices.Clone(f.seqs[start:end])
	for before < seq && len(lines) > 0 && f.seqs[seq-1-before] == lines[0] {
		before++
	}
	return lines, before
}

// Changed returns what is closed with the next event.
func (f *EventFeed) Changed() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// frozenFeed is a feed in a snapshot; each line is written as how much it is above the one before.
type frozenFeed struct {
	partner ids.ID
	lines   []uint64
}

// frozenFeeds returns the feeds for a snapshot, by partner.
func (s State) frozenFeeds() []frozenFeed {
	var list []frozenFeed
	compare := func(a, b ids.ID) int {
		return bytes.Compare(a[:], b[:])
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.inner.feeds), compare) {
		list = append(list, frozenFeed{id, slices.Clip(s.inner.feeds[id].seqs)})
	}
	return list
}

// code codes a feed.
func (f *frozenFeed) code(c *wire.Coder) {
	last := int64(0)
	c.Object("feed", func() {
		wire.ID(c, "partner", &f.partner)
		wire.List(c, "lines", &f.lines, func(line *uint64) {
			above := int64(*line) - last
			wire.Number(c, "", &above)
			last += above
			if !c.Writing() {
				*line = uint64(last)
			}
		})
	})
}
