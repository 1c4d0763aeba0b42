package drawing_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/docs"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/drawing"
	"waybill/store/checkpoint"
	"waybill/store/durable/readonly"
	"waybill/store/journal/seek"
	"waybill/store/tree"
	"waybill/store/tree/stored"
)

// desk is a served directory that is drawn.
type desk struct {
	*testing.T
	dir    string
	server *server.Server
	last   uint64
}

// newDesk serves a new directory.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir()}
	d.server, _ = rig.Demo(t, server.Config{Dir: d.dir})
	d.write(1)
	return d
}

// write writes so many lines.
func (d *desk) write(n int) {
	d.Helper()
	var err error
	d.last, err = d.server.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return ledger.Entries(slices.Repeat([]*ledger.KeysRotated{{}}, n)...), nil
	}, nil)
	if err != nil {
		d.Fatal(err)
	}
}

// sign has the newest line signed, and returns the note.
func (d *desk) sign() checkpoint.Checkpoint {
	d.Helper()
	text, err := d.server.Store.Sign()
	if err != nil {
		d.Fatal(err)
	}
	note, err := checkpoint.Parse(text, d.server.Store.Key().Public())
	if err != nil || note.Seq != d.last {
		d.Fatalf("%v, of line %d", err, note.Seq)
	}
	return note
}

// read reads the end of the journal.
func (d *desk) read(marked uint64) (*drawing.Drawing, error) {
	fsys := readonly.Dir(d.dir)
	return drawing.Read(fsys, seek.NewLines(fsys), d.server.Store.Key().Public(), d.last, marked)
}

// draw does so where nothing is in the way.
func (d *desk) draw(marked uint64) *drawing.Drawing {
	d.Helper()
	x, err := d.read(marked)
	if err != nil {
		d.Fatal(err)
	}
	return x
}

// written returns the lines of the journal's file.
func (d *desk) written() [][]byte {
	d.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "journal", "000000000001.jsonl"))
	if err != nil {
		d.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(text), []byte("\n"))
}

// The root that is drawn is that of the newest note, whatever the size of the journal, and each node is the
// SHA-256 of a byte 1 and the two that are drawn below it.
func TestADrawingIsTheTreeThatIsSigned(t *testing.T) {
	d := newDesk(t)
	for range 24 {
		note := d.sign()
		x := d.draw(0)
		if x.Root.Hash != note.Root || x.Size() != note.Seq || !x.IsSigned() {
			t.Fatalf("the root of %d lines is %x, want %x", note.Seq, x.Root.Hash, note.Root)
		}
		leaves := 0
		for _, n := range x.Nodes() {
			if n.Left == nil {
				continue
			}
			sum := sha256.Sum256(slices.Concat([]byte{1}, n.Left.Hash[:], n.Right.Hash[:]))
			if n.Hash != sum || n.First != n.Left.First || n.Last != n.Right.Last ||
				n.Left.Last+1 != n.Right.First {
				t.Errorf("of %d lines, lines %d–%d have %x, want %x", note.Seq, n.First, n.Last, n.Hash, sum)
			}
			for _, below := range []*drawing.Node{n.Left, n.Right} {
				if below.Left == nil && !below.Box {
					leaves++
				}
			}
		}
		if want := min(int(note.Seq), drawing.Shown); leaves != want || len(x.Lines) != want {
			t.Errorf("of %d lines, %d have a leaf and %d are shown, want %d", note.Seq, leaves, len(x.Lines), want)
		}
		d.write(1 + int(d.last)%13)
	}
}

// What is drawn of a line is made of the bytes that stand in the file: its hash, and its leaf.
func TestADrawingHasTheHashesOfTheLines(t *testing.T) {
	d := newDesk(t)
	d.write(9)
	d.sign()
	x := d.draw(0)
	all := d.written()
	before := fmt.Sprintf("%x", x.Before)
	var svg strings.Builder
	if err := x.WriteSVG(&svg, drawing.OnAPage); err != nil {
		t.Fatal(err)
	}
	for _, l := range x.Lines {
		text := all[l.Seq-1]
		if !bytes.HasPrefix(text, fmt.Appendf(nil, `{"hash":"%x"`, l.Hash)) {
			t.Errorf("line %d has another hash than %x", l.Seq, l.Hash)
		}
		if l.Hash != sha256.Sum256(append([]byte(before), text[75:]...)) {
			t.Errorf("line %d does not go on from %s", l.Seq, before)
		}
		if l.Node.Hash != tree.Hash(sha256.Sum256(append([]byte{0}, text[75:]...))) {
			t.Errorf("line %d has another leaf than %x", l.Seq, l.Node.Hash)
		}
		before = fmt.Sprintf("%x", l.Hash)
		for _, hash := range []string{before[:8], fmt.Sprintf("%x", l.Node.Hash[:4])} {
			if !strings.Contains(svg.String(), ">"+hash+"</text>") {
				t.Errorf("the picture has no %s of line %d", hash, l.Seq)
			}
		}
	}
	if err := xml.NewDecoder(strings.NewReader(svg.String())).Decode(new(struct{})); err != nil {
		t.Error(err)
	}
	if strings.Contains(svg.String(), "<style") || strings.Contains(svg.String(), "style=") {
		t.Error("the picture has styles of its own, which the pages' policy refuses")
	}
}

// The marked proof is the one that leads from the line to the root, and what is marked as broken is all the
// rest of the way: the line, those after it, the nodes above it.
func TestTheMarkedProofLeadsToTheRoot(t *testing.T) {
	d := newDesk(t)
	for size := range 20 {
		d.sign()
		for marked := d.last - min(d.last, drawing.Shown) + 1; marked <= d.last; marked++ {
			x := d.draw(marked)
			var proof []tree.Hash
			for i, n := range x.Proof {
				proof = append(proof, n.Hash)
				if n.Number != i+1 || n.Broken {
					t.Errorf("line %d of %d: hash %d of the proof: %+v", marked, d.last, i, n)
				}
			}
			for _, l := range x.Lines {
				if l.Broken != (l.Seq >= marked) || l.Node.Broken != (l.Seq == marked) {
					t.Errorf("line %d of %d: line %d: %+v", marked, d.last, l.Seq, l)
				}
				if l.Seq == marked && !stored.Includes(proof, l.Node.Hash, marked-1, x.Size(), x.Root.Hash) {
					t.Errorf("line %d of %d is not proven by %x", marked, d.last, proof)
				}
			}
			for _, n := range x.Nodes() {
				if n.Broken != (n.First <= marked && marked <= n.Last) {
					t.Errorf("line %d of %d: lines %d–%d: %+v", marked, d.last, n.First, n.Last, n)
				}
			}
		}
		d.write(1 + size%5)
	}
	if x := d.draw(1); x.Marked != d.last-drawing.Shown+1 {
		t.Errorf("line %d is marked, want the oldest that is shown", x.Marked)
	}
}

// Lines that no note has yet are drawn; of very many of them, those are drawn that a note has.
func TestLinesThatAreNotSignedYetAreDrawn(t *testing.T) {
	d := newDesk(t)
	d.write(20)
	signed := d.sign().Seq
	old, err := os.ReadFile(filepath.Join(d.dir, checkpoint.File))
	if err != nil {
		t.Fatal(err)
	}
	d.write(12)
	root := d.sign().Root
	back := func() {
		if err := os.WriteFile(filepath.Join(d.dir, checkpoint.File), old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	back()
	x := d.draw(0)
	if x.Root.Hash != root || x.IsSigned() || x.Signed != signed || x.Later != 0 {
		t.Errorf("%+v, want the root %x", x, root)
	}
	d.write(2_000)
	d.sign()
	back()
	if x := d.draw(0); x.Size() != signed || x.Later != d.last-signed || !x.IsSigned() {
		t.Errorf("of %d lines, %d are drawn and %d are not", d.last, x.Size(), x.Later)
	}
	if err := os.Remove(filepath.Join(d.dir, checkpoint.File)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.read(0); err == nil || !strings.Contains(err.Error(), "no note is there") {
		t.Error(err)
	}
}

// Where a line, a hash beside the journal, or the note was altered, nothing is drawn, and the error says
// where.
func TestWhatIsAlteredIsNotDrawn(t *testing.T) {
	d := newDesk(t)
	d.write(40)
	d.sign()
	for name, wanted := range map[string]string{
		"journal/000000000001.jsonl": "is not in the journal",
		"tree/00":                    "tree",
		checkpoint.File:              checkpoint.File,
	} {
		file := filepath.Join(d.dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		altered := slices.Clone(text)
		switch name {
		case "journal/000000000001.jsonl":
			altered = altered[:len(altered)-3]
		case "tree/00":
			altered[32*20] ^= 1 // of a line far before those that are shown
		default:
			altered[len(altered)-9] ^= 1
		}
		for _, bytes := range [][]byte{altered, nil} {
			if err := os.WriteFile(file, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := d.read(0); err == nil || !strings.Contains(err.Error(), wanted) {
				t.Errorf("%s with %d bytes: %v", name, len(bytes), err)
			}
		}
		if err := errors.Join(os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		d.draw(0)
	}
}

// The sheet of all pages has the rules of the picture.
func TestTheSheetHasTheRulesOfThePicture(t *testing.T) {
	sheet, err := docs.Files.ReadFile("style.css")
	if err != nil {
		t.Fatal(err)
	}
	for rule := range strings.Lines(drawing.Style) {
		if !strings.Contains(string(sheet), rule) {
			t.Errorf("style.css has no %s", rule)
		}
	}
	x := newDesk(t).draw(0)
	var own strings.Builder
	if err := x.WriteSVG(&own, drawing.ByItself); err != nil || !strings.Contains(own.String(), "dark") {
		t.Errorf("%v: a picture by itself has no colours for the dark", err)
	}
	if err := x.WriteSVG(io.Discard, drawing.OnAPage); err != nil {
		t.Error(err)
	}
}
