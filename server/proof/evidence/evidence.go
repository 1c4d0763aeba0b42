// Package evidence makes a file that proves lines of a journal to whoever gets it, without the rest of the
// journal and without this program: the lines that tell of a booking or a ticket, a proof of each, what was
// signed, and two short programs that check it (decision evidence.lines).
//
//	found, err := evidence.Write(fsys, inUse, history.Filter{Ticket: id}, file)
//
// A proof leads from a line to the root of the tree in a checkpoint (package store/tree). The newest
// checkpoint is taken that all witnesses have signed, if it covers the lines, else the newest.
package evidence

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"waybill/server/frame/words"
	"waybill/server/proof/events"
	"waybill/server/proof/history"
	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

//go:embed verify.py
var verifyPython []byte

//go:embed verify.html
var verifyPage []byte

//go:embed readme.txt
var readmeText string

var readme = template.Must(template.New("README.txt").Parse(readmeText))

// Found is what a file of evidence has.
type Found struct {
	Lines     int               // that are proven
	Size      uint64            // lines of the journal, as it was signed
	Witnesses []chain.Witnessed // who has signed that besides the directory
}

// String says it in words.
func (f Found) String() string {
	said := []string{fmt.Sprintf("proves %s, of %s that were signed", words.Counted(f.Lines, "line"),
		words.Counted(f.Size, "line"))}
	for _, w := range f.Witnesses {
		said = append(said, fmt.Sprintf("%s has seen that at %s", w.Key.Name, w.At.Format(time.RFC3339)))
	}
	return strings.Join(said, "; ")
}

// File writes evidence into a new file. Where that fails, or is cut short, there is none of that name.
func File(fsys durable.ReadFS, inUse bool, of history.Filter, name string) (found Found, err error) {
	// The file gets its name once it is whole: half a proof proves nothing.
	err = inspect.PublishNew(name, func(at string) error {
		dir, base := filepath.Split(at)
		return durable.Publish(durable.Dir(dir), ".", base, func(w io.Writer) error {
			found, err = Write(fsys, inUse, of, w)
			return err
		})
	})
	return found, err
}

// Write writes evidence of a booking or a ticket as a zip archive. The directory may be in use. The error is
// also one of a booking that no line names.
func Write(fsys durable.ReadFS, inUse bool, of history.Filter, to io.Writer) (Found, error) {
	// Who was erased stays so: neither before that is carried out, nor while the lines are read, is there
	// evidence.
	end, err := events.NothingToErase(fsys)
	if err != nil {
		return Found{}, err
	}
	var text bytes.Buffer
	story, err := history.Tell(fsys, inUse, of, &text)
	if err != nil {
		return Found{}, err
	}
	signed, err := awaitSigned(fsys, inUse, story[len(story)-1].Seq)
	if err != nil {
		return Found{}, err
	}
	b := &bundle{
		Subject: subject(of),
		Booking: of.Booking,
		fsys:    fsys,
		hashes:  fsys,
		signed:  signed,
		archive: zip.NewWriter(to),
	}
	if err := errors.Join(b.addLines(story), b.close()); err != nil {
		return Found{}, err
	}
	erased, err := events.ErasedAfter(fsys, end)
	if err == nil && erased {
		err = events.ErrErasedMeanwhile
	}
	if err != nil {
		return Found{}, err
	}
	if err := b.addRest(text.Bytes()); err != nil {
		return Found{}, err
	}
	return Found{
		Lines:     len(story),
		Size:      signed.Seq,
		Witnesses: signed.witnesses,
	}, b.archive.Close()
}

// subject says what evidence is of.
func subject(of history.Filter) string {
	if of.Booking != "" {
		return "booking " + of.Booking
	}
	return "ticket " + of.Ticket
}

// signature is a checkpoint that lines are proven with.
type signature struct {
	checkpoint.Checkpoint
	text      []byte     // the note
	key       note.Key   // of the directory
	known     []note.Key // of the witnesses that the directory has
	witnesses []chain.Witnessed
}

const (
	signedWait  = 3 * time.Second // for a running server to sign what it has just written
	signedPause = 50 * time.Millisecond
)

// awaitSigned returns the newest checkpoint of a line and those before. A server that is running signs a line
// soon after it has written it.
func awaitSigned(fsys durable.ReadFS, inUse bool, line uint64) (signature, error) {
	for waited := time.Duration(0); ; waited += signedPause {
		// What others have signed too convinces more.
		sources := []func(durable.ReadFS) ([]byte, error){
			checkpoint.NewestWitnessed,
			checkpoint.Newest,
			lastLogged,
		}
		for _, read := range sources {
			s, err := readSigned(fsys, read)
			if err != nil {
				return s, err
			}
			if s.Seq >= line {
				return s, nil
			}
		}
		switch {
		case inUse && waited >= signedWait: // it may wait for its keeper, or for room
			return signature{}, fmt.Errorf("it is not known whether line %d counts: it is not signed yet, and "+
				"the server that has the directory open decides", line)
		case !inUse:
			return signature{}, fmt.Errorf(
				"line %d is not signed yet: a server signs it when it starts",
				line,
			)
		}
		time.Sleep(signedPause)
	}
}

// lastLogged reads the last checkpoint of the log: a full disk can leave the newest one there only.
func lastLogged(fsys durable.ReadFS) ([]byte, error) {
	signed, _, err := checkpoint.Last(fsys)
	if err == nil && len(signed) == 0 {
		err = fs.ErrNotExist
	}
	return signed, err
}

// readSigned reads a checkpoint, and who has signed it; none where there is none.
func readSigned(fsys durable.ReadFS, read func(durable.ReadFS) ([]byte, error)) (s signature, err error) {
	s.text, err = read(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	origin, _, _ := strings.Cut(string(s.text), "\n")
	public, err := checkpoint.KeyOf(fsys, origin)
	if err != nil {
		return s, err
	}
	s.key = note.NewKey(origin, public)
	if s.Checkpoint, err = checkpoint.Parse(s.text, public); err != nil {
		return s, journal.InFile(checkpoint.File, err.Error())
	}
	n, err := note.Parse(s.text)
	if err != nil {
		return s, err
	}
	s.known, err = checkpoint.WitnessKeys(fsys)
	for _, key := range s.known {
		at, missing := n.Verify(key)
		if missing == nil {
			s.witnesses = append(s.witnesses, chain.Witnessed{
				Key: key,
				Seq: s.Seq,
				At:  at,
			})
		}
	}
	return s, err
}

// bundle is an archive that is being written. What is exported is for README.txt.
type bundle struct {
	Subject string
	Booking string // whose lines are whole; "" where it is of a ticket
	Left    int    // lines whose personal part was left out
	Erased  int    // and was erased
	count   int

	fsys      durable.ReadFS
	hashes    durable.ReadFS // where the hashes of the tree are: the directory itself, or a temporary one
	temporary string         // that directory; "" where there is none
	signed    signature
	archive   *zip.Writer
}

// addLines writes the lines and their proofs.
func (b *bundle) addLines(story []history.Told) error {
	lines := journal.NewLines(b.fsys)
	for _, told := range story {
		var before [32]byte
		var line *journal.Line
		seqs := []uint64{told.Seq}
		if told.Seq == 1 {
			_, hash, err := journal.ReadOrigin(b.fsys)
			if err != nil {
				return err
			}
			before = hash
		} else {
			seqs = []uint64{told.Seq - 1, told.Seq}
		}
		err := lines.Read(seqs, func(l *journal.Line) error {
			if l.Seq < told.Seq {
				before = l.Hash
				return nil
			}
			line = l
			return nil
		})
		if err != nil {
			return err
		}
		if err := b.addLine(line, before, told.RunOnly); err != nil {
			return err
		}
	}
	return nil
}

// addLine writes a line, as it is or without its personal part, and its proof.
func (b *bundle) addLine(l *journal.Line, before [32]byte, runOnly bool) error {
	text := fmt.Appendf(nil, `{"hash":"%x",%s`, l.Hash, l.Chained)
	switch {
	case l.Personal != nil && runOnly:
		text = append(text, '}')
		b.Left++
	case l.Personal != nil:
		text = fmt.Appendf(text, `,"personal":%s}`, l.Personal)
		if journal.Erased(l.Personal) {
			b.Erased++
		}
	}
	text = append(text, '\n')
	path, err := b.prove(tree.Leaf(l.Chained), l.Seq)
	if err != nil {
		return err
	}
	proof := fmt.Appendf(nil, "c2sp.org/tlog-proof@v1\nextra %s\nindex %d\n",
		base64.StdEncoding.EncodeToString(before[:]), l.Seq-1)
	for _, hash := range path {
		proof = append(proof, base64.StdEncoding.EncodeToString(hash[:])+"\n"...)
	}
	// The hash of the line before is there so that the line's own can be held against something.
	// The checkpoint is part of each proof, so that each can be passed on by itself.
	proof = append(proof, '\n')
	proof = append(proof, b.signed.text...)
	name := fmt.Sprintf("line-%012d", l.Seq)
	b.count++
	return errors.Join(b.add(name+".json", text), b.add(name+".tlog-proof", proof))
}

// prove returns the proof of a line. The hashes beside the journal are a cache: where they are not there, or
// do not lead from the line to what was signed, they are made again from the lines.
func (b *bundle) prove(leaf tree.Hash, seq uint64) ([]tree.Hash, error) {
	path, err := b.path(leaf, seq)
	if err == nil || b.hashes != b.fsys {
		return path, err
	}
	if err := b.hashAgain(); err != nil {
		return nil, err
	}
	return b.path(leaf, seq)
}

// path returns the proof of a line as the hashes have it.
func (b *bundle) path(leaf tree.Hash, seq uint64) ([]tree.Hash, error) {
	path, err := tree.Inclusion(b.hashes, seq-1, b.signed.Seq)
	if err == nil && !tree.Includes(path, leaf, seq-1, b.signed.Seq, b.signed.Root) {
		err = errors.New("the lines are not the ones that were signed; run waybill verify to see why")
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", seq, err)
	}
	return path, nil
}

// hashAgain makes the hashes of the signed lines in a directory of their own, which close removes.
func (b *bundle) hashAgain() error {
	own, err := events.HashAgain(b.fsys, b.signed.Seq)
	b.temporary = string(own)
	b.hashes = own
	return err
}

// close removes what was made for the proofs.
func (b *bundle) close() error {
	if b.temporary == "" {
		return nil
	}
	return os.RemoveAll(b.temporary)
}

// addRest writes what is not the lines themselves.
func (b *bundle) addRest(history []byte) error {
	var keys strings.Builder
	fmt.Fprintln(&keys, b.signed.key)
	for _, w := range b.signed.witnesses {
		fmt.Fprintln(&keys, w.Key)
	}
	var about bytes.Buffer
	type witness struct{ Name, At string }
	var witnesses []witness
	for _, w := range b.signed.witnesses {
		witnesses = append(witnesses, witness{w.Key.Name, w.At.Format(time.RFC3339)})
	}
	err := readme.Execute(&about, map[string]any{
		"Subject":   b.Subject,
		"Booking":   b.Booking,
		"Origin":    b.signed.Origin,
		"Count":     b.count,
		"Left":      b.Left,
		"Erased":    b.Erased,
		"Size":      b.signed.Seq,
		"Time":      b.signed.Time.UTC().Format(time.RFC3339),
		"Witnesses": witnesses,
		"Known":     len(b.signed.known) > 0,
		"Lines":     bytes.Count(verifyPython, []byte("\n")),
	})
	if err != nil {
		return err
	}
	if b.Booking != "" {
		if err := b.add("booking.txt", []byte(b.Booking+"\n")); err != nil {
			return err
		}
	}
	return errors.Join(
		b.add("checkpoint", b.signed.text),
		b.add("keys.txt", []byte(keys.String())),
		b.add("history.txt", history),
		b.add("verify.py", verifyPython),
		b.add("verify.html", verifyPage),
		b.add("README.txt", about.Bytes()),
	)
}

// add writes a file. Nothing is compressed: verify.html reads the archive.
func (b *bundle) add(name string, text []byte) error {
	w, err := b.archive.CreateHeader(&zip.FileHeader{
		Name:     name,
		Method:   zip.Store,
		Modified: b.signed.Time.UTC(),
	})
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
