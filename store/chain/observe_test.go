package chain_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// key returns a private key that is the same each time.
func key(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return ed25519.NewKeyFromSeed(seed)
}

// vkey returns the key of a name in the form in which a line says it.
func vkey(name string, n byte) string {
	return note.NewKey(name, key(n).Public().(ed25519.PublicKey)).String()
}

// line returns a line as a reader shows it.
func line(seq uint64, kind string, data any) *journal.Line {
	l := &journal.Line{
		Head:   journal.Head{Stamp: journal.Stamp{Seq: seq, Time: time.UnixMilli(int64(seq)).UTC()}},
		Synced: seq - 1,
		Type:   kind,
		Data:   journal.Data(data),
	}
	l.AppendTo(nil, [32]byte{})
	return l
}

// show shows lines to an observer, and returns its first error.
func show(o chain.Observer, lines ...*journal.Line) error {
	for _, l := range lines {
		if err := o.Line(journal.Place{File: "journal", Line: int(l.Seq)}, l); err != nil {
			return err
		}
	}
	return nil
}

// says checks the text of an error; "" is none.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestNames(t *testing.T) {
	forked := func(seq uint64, name string, n byte) *journal.Line {
		return line(seq, journal.KindForked, journal.Forked{Origin: name, Key: vkey(name, n)})
	}
	opened := func(seq uint64, name string, n byte) *journal.Line {
		return line(seq, journal.KindOpened, journal.Opened{Key: vkey(name, n)})
	}
	for _, c := range []struct {
		name  string
		names *chain.Names
		lines []*journal.Line
		want  string // the error
		now   string
	}{
		{"no line", chain.NamesAt("waybill/a", 0), nil, "", "waybill/a"},
		{"a fork", chain.NamesAt("waybill/a", 0), []*journal.Line{forked(2, "waybill/b", 1)}, "", "waybill/b"},
		{"the same name again", chain.NamesAt("waybill/a", 0),
			[]*journal.Line{forked(2, "waybill/b", 1), forked(3, "waybill/a", 2)},
			"which it had before", "waybill/b"},
		{"a key in a later line", chain.NamesAt("waybill/a", 0),
			[]*journal.Line{opened(1, "waybill/a", 1), opened(2, "waybill/a", 1)},
			"only line 1 does", "waybill/a"},
		{"the key of somebody else", chain.NamesAt("waybill/a", 0),
			[]*journal.Line{opened(1, "waybill/b", 1)}, "but the directory is waybill/a", "waybill/a"},
		{"the key of an earlier name", chain.NamesAt("waybill/b", 5),
			[]*journal.Line{opened(1, "waybill/a", 1)}, "", "waybill/b"},
		{"a fork that is known", chain.NamesAt("waybill/b", 5),
			[]*journal.Line{forked(4, "waybill/b", 1)}, "", "waybill/b"},
	} {
		says(t, c.name, show(c.names, c.lines...), c.want)
		if now := c.names.Origin(); now != c.now {
			t.Errorf("%s: the name is %s, want %s", c.name, now, c.now)
		}
	}
	names := chain.NamesAt("waybill/a", 0)
	says(t, "lines", show(names, opened(1, "waybill/a", 1)), "")
	says(t, "its key", names.CheckOwnKey(key(1).Public().(ed25519.PublicKey)), "")
	says(t, "another", names.CheckOwnKey(key(2).Public().(ed25519.PublicKey)), "is not the key of waybill/a")
}

func TestErasures(t *testing.T) {
	const when = "1970-01-01T00:00:00.009Z"
	gone := func(seq uint64, at string) *journal.Line {
		l := line(seq, "x", struct{}{})
		l.Personal = []byte(`{"erased":"` + at + `"}`)
		return l
	}
	erasing := line(9, journal.KindErased, map[string][]uint64{"lines": {2, 3}})
	x := chain.NewErasures()
	there := line(3, "x", struct{}{})
	says(t, "lines", show(x, gone(2, when), there, gone(4, when), gone(5, when), erasing), "")
	if got := x.Unnamed(); len(got) != 2 || got[4] != when || got[5] != when {
		t.Errorf("unnamed: %v", got)
	}
	if got := x.Unerased(); len(got) != 1 || got[0].Seq != 3 || !got[0].At.Equal(erasing.Time) {
		t.Errorf("unerased: %v", got)
	}
	later := chain.NewErasures()
	repaired := journal.Repaired{
		Reason: "x",
		Erased: map[uint64]string{4: when, 5: "1970-01-01T00:00:00.008Z"},
	}
	says(t, "a repair", show(later, line(10, journal.KindRepaired, repaired)), "")
	erased, missing := x.ErasedBy(later)
	if len(erased) != 2 || !slices.Equal(missing, []uint64{5}) {
		t.Errorf("erased: %v, of which nobody has erased %v at that time, want 5", erased, missing)
	}
	says(t, "a line that nobody has erased", x.NobodyErased(5), "seq 5, byte 0): has no personal part")
}

// A repair that cannot be read is damage; so is a journal that ends before the line of a snapshot.
func TestRepairsAndSnapshots(t *testing.T) {
	repairs := new(chain.Repairs)
	says(t, "a repair", show(repairs, line(2, journal.KindRepaired, journal.Repaired{Reason: "x"})), "")
	says(t, "no repair", show(repairs, line(3, journal.KindRepaired, []int{1})),
		"has members that are not those of its type")
	end := &chain.End{Head: line(4, "x", 1).Head, Last: "journal/1", Lines: 4}
	says(t, "the line is there", chain.Snapshots{Newest: 4}.End(end), "")
	says(t, "it is not", chain.Snapshots{Newest: 5}.End(end), "a snapshot proves that seq 5 was on "+
		"the disk")
}

// notes are a directory's journal of three lines, and what it is held against.
func notes(t *testing.T) (*chain.Notes, []*journal.Line) {
	t.Helper()
	lines := []*journal.Line{line(1, "x", 1), line(2, "x", 2), line(3, "x", 3)}
	witness := note.NewKey("w.example", key(9).Public().(ed25519.PublicKey))
	n := &chain.Notes{
		FS:        durable.Dir(t.TempDir()),
		Witnesses: chain.NewWitnesses([]note.Key{witness}),
		Names:     chain.NamesAt("waybill/a", 0),
		Repairs:   new(chain.Repairs),
		Tree:      new(tree.Edge),
	}
	return n, lines
}

// A note that somebody has kept fits, differs, or is of a line that is not there.
func TestNotesThatAreKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*checkpoint.Checkpoint)
		line   string // the error of a line
		end    string // of the end
		after  string // of what is asked after the reading
	}{
		{"it fits", func(*checkpoint.Checkpoint) {}, "", "", ""},
		{"another hash", func(c *checkpoint.Checkpoint) { c.Hash[0]++ }, "is not the line that the " +
			"checkpoint", "", ""},
		{"another root", func(c *checkpoint.Checkpoint) { c.Root[0]++ }, "the lines up to it are not " +
			"those", "", ""},
		{"beyond the end", func(c *checkpoint.Checkpoint) { c.Seq = 7 }, "", "proves that seq 7 was on " +
			"the disk", ""},
		{"another name", func(c *checkpoint.Checkpoint) { c.Origin = "waybill/b"; c.Hash[0]++ }, "", "",
			"is of another journal, waybill/b"},
	} {
		n, lines := notes(t)
		grown := new(tree.Edge)
		for _, l := range lines[:2] {
			grown.Add(tree.Leaf(l.Chained))
		}
		said := &checkpoint.Checkpoint{
			Origin: "waybill/a",
			Head:   lines[1].Head,
			Root:   grown.Root(),
		}
		c.change(said)
		public := key(1).Public().(ed25519.PublicKey)
		signed := append(said.Sign(key(1)), cosigned(said, "w.example", 9)...)
		says(t, c.name, n.AddKept(signed, public), "")
		var err error
		for _, l := range lines {
			if err == nil {
				err = errors.Join(show(chain.Leaves{Tree: n.Tree}, l), show(n, l))
			}
		}
		says(t, c.name, err, c.line)
		says(t, c.name, n.End(&chain.End{Head: lines[2].Head}), c.end)
		says(t, c.name, n.Foreign(), c.after)
		want := uint64(0)
		if c.line+c.end+c.after == "" {
			want = 2
		}
		if got := n.Fits(); got != want || n.Witnesses.List()[0].Seq != want {
			t.Errorf("%s: fits up to %d, the witness is credited with %d, want %d", c.name, got,
				n.Witnesses.List()[0].Seq, want)
		}
	}
}

// cosigned returns the line of a signature that somebody adds to a checkpoint.
func cosigned(c *checkpoint.Checkpoint, name string, n byte) string {
	text, _, _ := strings.Cut(string(c.Sign(key(1))), "\n\n")
	_, signature, _ := strings.Cut(string(note.Sign([]byte(text+"\n"), name, key(n))), "\n\n")
	return signature
}

// A note with another key than the one given is of another journal.
func TestANoteByAnotherKey(t *testing.T) {
	n, lines := notes(t)
	said := &checkpoint.Checkpoint{Origin: "waybill/a", Head: lines[1].Head}
	err := n.AddKept(said.Sign(key(2)), key(1).Public().(ed25519.PublicKey))
	wrong, ok := errors.AsType[*journal.Damage](err)
	if !ok || wrong.Forked == "" || wrong.File != chain.KeptFile {
		t.Error(fmt.Sprint(err))
	}
}
