package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
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

// Erase erases the personal parts of lines that the line by, of the type KindErased, names, and which are durable: files
// of the journal are published anew, and snapshots made before are removed. A crash leaves each file old or new.
func (st *Store[S, E]) Erase(lines []uint64, by Stamp) error {
	if err := st.Snapshot(); err != nil {
		return err
	}
	// The older snapshots go first: beside a journal without the names they would be wrong.
	fsys := st.cfg.FS
	snapshots, err := numbers(fsys, "snapshots")
	for _, seq := range snapshots {
		if seq < by.Seq {
			err = errors.Join(err, fsys.Remove("snapshots/"+numbered(seq)))
		}
	}
	firsts, err2 := numbers(fsys, "journal")
	if err = errors.Join(err, fsys.SyncDir("snapshots"), err2); err != nil {
		return err
	}
	for i, first := range firsts {
		in := func(seq uint64) bool { return seq >= first && (i+1 == len(firsts) || seq < firsts[i+1]) }
		switch here := slices.ContainsFunc(lines, in); {
		case here && i+1 == len(firsts):
			return fmt.Errorf("store: line %d stands in the file that is being written; there was no room for a new one", by.Seq)
		case here:
			if err := eraseIn(fsys, numbered(first), lines, by.Time); err != nil {
				return err
			}
		}
	}
	return nil
}

// eraseIn publishes a journal file without the personal parts of some lines.
func eraseIn(fsys FS, name string, lines []uint64, at time.Time) error {
	instead := at.UTC().AppendFormat([]byte(`,"personal":`), erasedLayout)
	err := reading(fsys, "journal/"+name, func(f *io.SectionReader) error {
		return Publish(fsys, "journal", name, func(to io.Writer) error {
			w := bufio.NewWriterSize(to, 1<<18)
			from := bufio.NewScanner(f)
			from.Buffer(make([]byte, 0, 1<<20), math.MaxInt)
			for from.Split(splitLine); from.Scan(); {
				text := from.Bytes()
				l, err := parseLine(bytes.TrimSuffix(text, newline))
				if err != nil {
					return err
				}
				if slices.Contains(lines, l.Seq) && l.Personal != nil && !erased(l.Personal) {
					whole := len(text) - len(l.Personal) - len("}\n") - len(`,"personal":`)
					text = slices.Concat(text[:whole], instead, []byte("}\n"))
				}
				w.Write(text)
			}
			return errors.Join(from.Err(), w.Flush())
		})
	})
	if err == nil {
		err = fsys.Seal("journal/" + name)
	}
	return err
}
