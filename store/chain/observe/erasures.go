package observe

import (
	"maps"
	"slices"
	"time"

	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Erasures holds the personal parts that are gone against the lines that name what is erased. A part that is
// gone must be named by a line, with the time that stands in its place. One that is named and still there is
// what an erasure that was cut short has left to do.
//
// What it finds is asked for after the reading, by Unexplained and Unerased.
type Erasures struct {
	gone  map[uint64]erasedAt // by seq
	named map[uint64][]string // the times at which others say that a line's personal part was erased, by seq
}

// erasedAt is a line whose personal part is gone, and since when.
type erasedAt struct {
	journal.Place
	time string
}

// NewErasures returns an observer that has seen no line.
func NewErasures() *Erasures {
	return &Erasures{
		gone:  map[uint64]erasedAt{},
		named: map[uint64][]string{},
	}
}

// Line takes up whether the line's own personal part is gone, and which others it names.
func (x *Erasures) Line(at journal.Place, l *journal.Line) error {
	if journal.Erased(l.Personal) {
		when := string(l.Personal[len(`{"erased":"`) : len(l.Personal)-len(`"}`)])
		x.gone[l.Seq] = erasedAt{at, when}
	}
	erased, err := journal.ErasedBy(l)
	for _, e := range erased {
		x.named[e.Seq] = append(x.named[e.Seq], e.At.Format(journal.TimeLayout))
	}
	return err
}

// End checks nothing.
func (x *Erasures) End(*chain.End) error { return nil }

// Unnamed returns the lines whose personal parts are gone without a line that says so, and since when.
func (x *Erasures) Unnamed() map[uint64]string {
	lines := map[uint64]string{}
	for seq, e := range x.gone {
		if !slices.Contains(x.named[seq], e.time) {
			lines[seq] = e.time
		}
	}
	return lines
}

// Unexplained returns an error for a personal part that is gone without a line that says so. Such a line may
// also stand after the end of what was read: it is written before anything is erased, so it is there by now;
// but it may have come after the files were listed.
func (x *Erasures) Unexplained(fsys durable.FS, end journal.Head) error {
	if len(x.Unnamed()) > 0 {
		if err := x.readLater(fsys, end); err != nil {
			return err
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(x.Unnamed())) {
		return x.nobodyErased(seq)
	}
	return nil
}

// readLater takes up what lines after one say of those whose personal parts are gone.
func (x *Erasures) readLater(fsys durable.FS, after journal.Head) error {
	later := NewErasures()
	from := chain.After{Head: after}
	_, err := chain.Reader{FS: fsys, Skip: from.Skip()}.Read(later, from, chain.InUse{})
	if err != nil {
		return err
	}
	for seq, times := range later.named {
		if _, gone := x.gone[seq]; gone {
			x.named[seq] = append(x.named[seq], times...)
		}
	}
	return nil
}

// nobodyErased is the error of a line whose personal part is gone without a line that says so.
func (x *Erasures) nobodyErased(seq uint64) *journal.Damage {
	return journal.DamageAt(x.gone[seq].Place, seq,
		"has no personal part, and no line says that it was erased then")
}

// ErasedBy returns the lines whose personal parts are gone without a line that says so among those that x has
// seen, and since when: each was erased by one that later has seen. One that no line names at all is an
// error: it must not be called erased.
func (x *Erasures) ErasedBy(later *Erasures) (map[uint64]string, error) {
	erased := x.Unnamed()
	for _, seq := range slices.Sorted(maps.Keys(erased)) {
		if !slices.Contains(later.named[seq], erased[seq]) {
			return nil, x.nobodyErased(seq)
		}
	}
	return erased, nil
}

// Unerased returns the lines that are named to be erased and are not, rising.
func (x *Erasures) Unerased() (list []journal.Erasure) {
	for _, seq := range slices.Sorted(maps.Keys(x.named)) {
		if _, gone := x.gone[seq]; !gone {
			at, _ := time.Parse(journal.TimeLayout, x.named[seq][0]) // it was read from a line
			list = append(list, journal.Erasure{Seq: seq, At: at})
		}
	}
	return list
}
