package journal

import (
	"cmp"
	"slices"
	"time"
)

// KindErased is the type of the lines that name other lines whose personal parts are erased: their data has a
// member lines, of the numbers of these lines. A new file is begun for a line of this type, so that all lines
// that it names stand in full files.
const KindErased = "personal.erased"

// Erasure is a line whose personal part is named as erased, and the time of that.
type Erasure struct {
	Seq uint64
	At  time.Time // of the line that names it
}

// ErasedBy returns the lines before a line whose personal parts it says are erased, rising. A line of a
// repair also names those that were erased by lines which the repair cut off.
func ErasedBy(l *Line) (list []Erasure, err error) {
	if l.Type != KindErased && l.Type != KindRepaired {
		return nil, nil
	}
	var said struct {
		Lines  []uint64
		Erased map[uint64]string
	}
	if err := l.Says(&said); err != nil {
		return nil, err
	}
	for _, seq := range said.Lines {
		list = append(list, Erasure{seq, l.Time})
	}
	for seq, when := range said.Erased {
		at, err := time.Parse(TimeLayout, when)
		if err != nil {
			return nil, errSays
		}
		list = append(list, Erasure{seq, at})
	}
	slices.SortFunc(list, func(a, b Erasure) int {
		return cmp.Compare(a.Seq, b.Seq)
	})
	return slices.DeleteFunc(list, func(x Erasure) bool {
		return x.Seq >= l.Seq
	}), nil
}
