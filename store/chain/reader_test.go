package chain_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// newJournal makes a directory whose journal has files of so many lines each, and returns the lines' heads.
func newJournal(t *testing.T, files ...int) (durable.FS, string, []journal.Head) {
	t.Helper()
	dir := t.TempDir()
	fsys := durable.Dir(dir)
	if err := durable.PublishText(fsys, ".", "FORMAT", journal.Format("x")); err != nil {
		t.Fatal(err)
	}
	_, hash, err := journal.ReadOrigin(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.Mkdir("journal"); err != nil {
		t.Fatal(err)
	}
	var heads []journal.Head
	seq := uint64(0)
	for _, lines := range files {
		first := seq + 1
		var text []byte
		for range lines {
			seq++
			l := journal.Line{
				Head:   journal.Head{Stamp: journal.Stamp{Seq: seq, Time: time.UnixMilli(int64(seq)).UTC()}},
				Synced: seq - 1,
				Type:   "x",
				Data:   fmt.Appendf(nil, `{"n":%d}`, seq),
			}
			text = l.AppendTo(text, hash)
			hash = l.Hash
			heads = append(heads, l.Head)
		}
		if err := durable.PublishText(fsys, "journal", journal.Name(first), text); err != nil {
			t.Fatal(err)
		}
	}
	return fsys, dir, heads
}

// seen is an observer that notes what it is shown.
type seen struct {
	lines []uint64
	at    journal.Place
	ends  int
	wrong func(*journal.Line) error
}

// Line notes a line.
func (s *seen) Line(at journal.Place, l *journal.Line) error {
	s.lines = append(s.lines, l.Seq)
	s.at = at
	if s.wrong != nil {
		return s.wrong(l)
	}
	return nil
}

// End notes the end.
func (s *seen) End(*chain.End) error { s.ends++; return nil }

// Each observer is shown each line with its place, then the end.
func TestObserversSeeEachLineAndTheEnd(t *testing.T) {
	fsys, _, heads := newJournal(t, 3, 2)
	var a, b seen
	end, err := chain.Reader{FS: fsys}.Read(&a, &b)
	if err != nil || end.Head != heads[4] || end.Files != 2 || end.Lines != 2 || end.Torn != nil {
		t.Errorf("%+v, %v", end, err)
	}
	for _, s := range []seen{a, b} {
		if !slices.Equal(s.lines, []uint64{1, 2, 3, 4, 5}) || s.ends != 1 || s.at != end.At {
			t.Errorf("an observer has seen %+v", s)
		}
	}
}

// What an observer finds wrong is damage to the line; once one has enough, the others see the line still.
func TestAnObserverEndsTheReading(t *testing.T) {
	fsys, _, heads := newJournal(t, 3, 2)
	wrong := func(err error) func(*journal.Line) error {
		return func(l *journal.Line) error {
			if l.Seq == 4 {
				return err
			}
			return nil
		}
	}
	end, err := chain.Reader{FS: fsys}.Read(&seen{wrong: wrong(errors.New("is odd"))})
	if want := "(seq 4, byte 0): is odd"; err == nil || !strings.Contains(err.Error(), want) ||
		end.Head != heads[2] {
		t.Errorf("%+v, %v, want %s", end, err, want)
	}
	var other seen
	end, err = chain.Reader{FS: fsys}.Read(&seen{wrong: wrong(chain.ErrEnough)}, &other)
	if err != nil || end.Head != heads[3] || len(other.lines) != 4 || other.ends != 0 {
		t.Errorf("%+v, %v; the other has seen %+v", end, err, other)
	}
}

// Files that end before the line to skip to are passed over by their last line, whose hash still counts.
func TestFilesAreSkipped(t *testing.T) {
	fsys, _, heads := newJournal(t, 3, 2, 2)
	for _, c := range []struct {
		after int // the line, from 1; 0: none
		shown []uint64
		read  int
	}{
		{0, []uint64{1, 2, 3, 4, 5, 6, 7}, 7},
		{3, []uint64{4, 5, 6, 7}, 7}, // line 3 is read, to be checked
		{4, []uint64{5, 6, 7}, 4},
		{7, nil, 2},
	} {
		var all, later seen
		after := chain.After{Next: &later}
		if c.after > 0 {
			after.Head = heads[c.after-1]
		}
		end, err := chain.Reader{FS: fsys, Skip: after.Skip()}.Read(&all, after)
		if err != nil || end.Head != heads[6] || !slices.Equal(later.lines, c.shown) ||
			len(all.lines) != c.read {
			t.Errorf("after %d: %+v, %v; read %d, shown %v", c.after, end.Head, err, all.lines, later.lines)
		}
	}
	other := heads[3]
	other.Hash[0]++
	_, err := chain.Reader{FS: fsys}.Read(chain.After{Head: other})
	if err == nil || !strings.Contains(err.Error(), "is not the line") {
		t.Errorf("a line with another hash: %v", err)
	}
}

// An end that is not whole is torn, unless a server is writing it. Where a later file exists it is damage.
func TestAnEndThatIsNotWhole(t *testing.T) {
	fsys, dir, heads := newJournal(t, 3, 2)
	cut := func(first uint64) {
		name := filepath.Join(dir, "journal", journal.Name(first))
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, text[:len(text)-3], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cut(4)
	end, err := chain.Reader{FS: fsys}.Read()
	if err != nil || end.Head != heads[3] || end.Torn == nil || end.Torn.Seq != 5 {
		t.Errorf("%+v, %v", end, err)
	}
	end, err = chain.Reader{FS: fsys}.Read(chain.InUse{})
	if err != nil || end.Head != heads[3] || end.Torn != nil {
		t.Errorf("in use: %+v, %v", end, err)
	}
	cut(1)
	_, err = chain.Reader{FS: fsys}.Read(chain.InUse{})
	if err == nil || !strings.Contains(err.Error(), "has no newline at its end; later files exist") {
		t.Errorf("before another file: %v", err)
	}
}
