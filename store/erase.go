package store

import (
	"encoding/json"
	"maps"
	"slices"
)

// KindErased is the type of the lines that name other lines whose personal parts are erased: their data has a member
// lines, of their numbers. A file is begun for such a line, so that all that it names stand in full ones.
const KindErased = "personal.erased"

// erasures is what a journal says of erased personal parts, and what is so.
type erasures struct {
	named map[uint64][]string // when lines were erased, as others say
	done  map[uint64]erasedAt // what stands in them instead
}

func newErasures() *erasures { return &erasures{map[uint64][]string{}, map[uint64]erasedAt{}} }

type erasedAt struct {
	Place
	time string
}

// note heeds a line.
func (e *erasures) note(at Place, l *Line) error {
	if erased(l.Personal) {
		when := string(l.Personal[len(`{"erased":"`) : len(l.Personal)-len(`"}`)])
		e.done[l.Seq] = erasedAt{at, when}
	}
	var data struct {
		Lines  []uint64
		Erased map[uint64]string
	}
	if l.Type != KindErased && l.Type != kindRepaired {
		return nil
	} else if err := json.Unmarshal(l.Data, &data); err != nil {
		return &Damage{at, l.Seq, err.Error()}
	}
	for _, seq := range data.Lines {
		e.named[seq] = append(e.named[seq], l.Time.Format(timeLayout))
	}
	for seq, when := range data.Erased {
		e.named[seq] = append(e.named[seq], when)
	}
	return nil
}

// unnamed gives the lines whose personal parts are gone without a line that says so, and when that was.
func (e *erasures) unnamed() map[uint64]string {
	lines := map[uint64]string{}
	for seq, x := range e.done {
		if !slices.Contains(e.named[seq], x.time) {
			lines[seq] = x.time
		}
	}
	return lines
}

// check finds a personal part that is gone without a line that says so. left is how many are named and still there.
func (e *erasures) check() (left int, err error) {
	for _, seq := range slices.Sorted(maps.Keys(e.unnamed())) {
		return 0, &Damage{e.done[seq].Place, seq, "has no personal part, and no line says that it was erased then"}
	}
	for seq := range e.named {
		if _, done := e.done[seq]; !done {
			left++
		}
	}
	return left, nil
}
