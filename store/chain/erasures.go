package chain

import (
	"maps"
	"slices"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
)

// Erasures compares the personal parts that are gone with the lines that name erased parts. A line must name
// each part that is gone, with the time that stands in its place. A part that is named and still there was
// left by an erasure that was cut short.
//
// Unexplained and Unerased return the findings, after the reading.
type Erasures struct {
	Last uint64 // the last line that names any; 0 if none does

	gone  map[uint64]erasedAt // by seq
	named map[uint64][]string // by seq: the times of the erasures that other lines say
}

// erasedAt is a line whose personal part is gone, and the time of the erasure.
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

// Line records whether the line's own personal part is gone, and which lines it names as erased.
func (x *Erasures) Line(at journal.Place, l *journal.Line) error {
	if journal.Erased(l.Personal) {
		when := string(l.Personal[len(`{"erased":"`) : len(l.Personal)-len(`"}`)])
		x.gone[l.Seq] = erasedAt{at, when}
	}
	erased, err := journal.ErasedBy(l)
	for _, e := range erased {
		x.Last = l.Seq
		x.named[e.Seq] = append(x.named[e.Seq], e.At.Format(journal.TimeLayout))
	}
	return err
}

// End checks nothing.
func (x *Erasures) End(*End) error { return nil }

// Unnamed returns the lines whose personal parts are gone and which no line names, with the times of the
// erasures.
func (x *Erasures) Unnamed() map[uint64]string {
	lines := map[uint64]string{}
	for seq, e := range x.gone {
		if !slices.Contains(x.named[seq], e.time) {
			lines[seq] = e.time
		}
	}
	return lines
}

// Unexplained returns an error for a personal part that is gone and that no line names. The line that names
// it may come after the end of what was read: it is written before anything is erased, so it exists by now;
// but the files may have been listed before.
func (x *Erasures) Unexplained(fsys durable.ReadFS, end journal.Head) error {
	if len(x.Unnamed()) > 0 {
		if err := x.readLater(fsys, end); err != nil {
			return err
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(x.Unnamed())) {
		return x.NobodyErased(seq)
	}
	return nil
}

// readLater reads the lines after one, and records which personal parts they name.
func (x *Erasures) readLater(fsys durable.ReadFS, after journal.Head) error {
	later := NewErasures()
	from := After{Head: after}
	_, err := Reader{FS: fsys, Skip: from.Skip()}.Read(later, from, InUse{})
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

// NobodyErased is the error of a line whose personal part is gone without a line that says so.
func (x *Erasures) NobodyErased(seq uint64) *journal.Damage {
	return journal.DamageAt(x.gone[seq].Place, seq,
		"has no personal part, and no line says that it was erased")
}

// ErasedBy returns the lines that x has seen without their personal parts and that no line in x names, with
// the times of the erasures. missing has those of them, rising, that no line in later names either.
func (x *Erasures) ErasedBy(later *Erasures) (erased map[uint64]string, missing []uint64) {
	erased = x.Unnamed()
	for _, seq := range slices.Sorted(maps.Keys(erased)) {
		if !slices.Contains(later.named[seq], erased[seq]) {
			missing = append(missing, seq)
		}
	}
	return erased, missing
}

// Unerased returns the lines that are named as erased and still have their personal parts, rising.
func (x *Erasures) Unerased() (list []journal.Erasure) {
	for _, seq := range slices.Sorted(maps.Keys(x.named)) {
		if _, gone := x.gone[seq]; !gone {
			at, _ := time.Parse(journal.TimeLayout, x.named[seq][0]) // it was read from a line
			list = append(list, journal.Erasure{Seq: seq, At: at})
		}
	}
	return list
}
