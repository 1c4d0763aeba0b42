// Package tail writes the lines of a journal as they come, once it is known that they are on the disk: as
// they are, or with the files that a copy needs.
package tail

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"time"

	"waybill/server/ledger"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Options say what of a journal to write, and how (decision tail.lines).
type Options struct {
	From   uint64          // the first line; 1 is the first there is
	Follow <-chan struct{} // unless nil, further lines are written as they come, until it is closed
	Copy   bool            // also the files that a copy needs
}

// Write writes lines of a journal that may be in use, each held against its neighbours, once it is known to
// be on the disk: a later line says so, or a checkpoint, or a snapshot. What a reader has got, no power cut
// takes from the writer. It ends after the line that was the last when it began, unless it follows. live
// reports whether a server has the directory open.
func Write(fsys durable.ReadFS, live func() bool, o Options, out io.Writer) error {
	if _, _, err := journal.ReadOrigin(fsys); err != nil {
		return err
	}
	t := &tail{
		fsys:  fsys,
		lines: journal.NewLines(fsys),
		to:    NewCopy(fsys, out),
		from:  max(o.From, 1),
		until: math.MaxUint64,
	}
	t.to.alone = !o.Copy
	t.next = max(t.from-1, 1) // the line before: that none comes after it is known only where it counts
	if o.Follow == nil {
		last, err := t.lines.Last()
		if err != nil {
			return err
		}
		t.until = last
	}
	return t.run(live, o.Follow)
}

// tail is a pass over a journal, which may be growing.
type tail struct {
	fsys    durable.ReadFS
	lines   *journal.Lines
	to      *Copy
	from    uint64          // the first line to be written
	until   uint64          // the last line to be written
	next    uint64          // to be read
	proven  uint64          // the last line that is known to be on the disk
	waiting []*journal.Line // that were read, and are not
}

const (
	tailEvery = 50 * time.Millisecond // how often a journal is looked at for further lines
	tailBatch = 256                   // lines that are asked for together
	tailWait  = 3 * time.Second       // for a running server to sign what it has written
)

// run writes what is there. To follow is to write what comes, too.
func (t *tail) run(live func() bool, follow <-chan struct{}) error {
	if err := t.checkFrom(); err != nil {
		return err
	}
	for idle := time.Duration(0); ; idle += tailEvery {
		grown, err := t.read()
		if err == nil {
			err = t.write()
		}
		done := t.next > t.until && len(t.waiting) == 0
		if err == nil && (done || !grown) {
			err = t.to.Pause()
		}
		if err != nil || done {
			return err
		}
		if grown {
			idle = 0
			continue
		}
		ends := len(t.waiting) == 0 || !live() || idle >= tailWait
		if follow == nil && ends {
			return t.end()
		}
		select {
		case <-follow:
			return nil
		case <-time.After(tailEvery):
		}
	}
}

// checkFrom returns an error where the journal ends before the line that is asked for, but for the one that
// is to come next.
func (t *tail) checkFrom() error {
	if t.from == 1 {
		return nil
	}
	err := t.lines.Read([]uint64{t.from - 1}, func(*journal.Line) error { return nil })
	if errors.Is(err, journal.ErrNoLine) {
		return fmt.Errorf("-from %d: the journal ends before line %d", t.from, t.from-1)
	}
	return err
}

// read reads a batch of lines, and reports whether there was one.
func (t *tail) read() (grown bool, err error) {
	seqs := make([]uint64, tailBatch)
	for i := range seqs {
		seqs[i] = t.next + uint64(i)
	}
	err = t.lines.Read(seqs, func(l *journal.Line) error {
		grown = true
		t.next = l.Seq + 1
		t.proven = max(t.proven, l.Synced)
		if l.Seq <= t.until {
			t.waiting = append(t.waiting, l)
		}
		return nil
	})
	if errors.Is(err, journal.ErrNoLine) {
		err = nil
	}
	return grown, err
}

// write writes the lines that are known to be on the disk.
func (t *tail) write() error {
	if len(t.waiting) == 0 {
		return nil
	}
	if t.proven < t.waiting[len(t.waiting)-1].Seq {
		proven, err := newestProven(t.fsys)
		if err != nil {
			return err
		}
		t.proven = max(t.proven, proven)
	}
	for len(t.waiting) > 0 && t.waiting[0].Seq <= t.proven {
		l := t.waiting[0]
		if l.Seq >= t.from {
			if err := t.to.Line(l); err != nil {
				return err
			}
		}
		t.waiting = t.waiting[1:]
	}
	return nil
}

// newestProven returns the last line that a checkpoint or a snapshot was made of. It is known to be on the
// disk.
func newestProven(fsys durable.ReadFS) (seq uint64, err error) {
	seqs, err := journal.Numbers(fsys, "snapshots")
	if len(seqs) > 0 {
		seq = seqs[len(seqs)-1]
	}
	signed, none := checkpoint.Newest(fsys)
	if none != nil && !errors.Is(none, fs.ErrNotExist) {
		return seq, none
	}
	public, none := checkpoint.PublicKey(fsys)
	if none != nil {
		return seq, err // a copy
	}
	if c, bad := checkpoint.Parse(signed, public); bad == nil {
		seq = max(seq, c.Seq)
	}
	return seq, err
}

// end is the error of a journal whose last lines nothing proves.
func (t *tail) end() error {
	if len(t.waiting) == 0 {
		return nil
	}
	return fmt.Errorf("it is not known whether the lines from %d to %d count: the directory was not closed, "+
		"or its server waits for a keeper; that server or the next start decides", t.waiting[0].Seq, t.waiting[len(t.waiting)-1].Seq)
}

// WriteUntil writes the lines from one to another, which are all on the disk, with the files that a copy
// needs.
func WriteUntil(fsys durable.ReadFS, from, until uint64, out io.Writer) error {
	t := &tail{
		fsys:   fsys,
		lines:  journal.NewLines(fsys),
		to:     NewCopy(fsys, out),
		from:   from,
		next:   from,
		until:  until,
		proven: until,
	}
	return t.run(func() bool { return false }, nil)
}

// NewCopy returns a writer of lines and, before each, of the files that a copy needs for it.
func NewCopy(fsys durable.ReadFS, out io.Writer) *Copy {
	return &Copy{fsys: fsys, out: out, sent: map[string][sha256.Size]byte{}}
}

// Copy writes the lines as they are, and before each the files that it needs.
type Copy struct {
	fsys durable.ReadFS
	out  io.Writer
	sent map[string][sha256.Size]byte // what was sent last under each name

	alone bool // the lines, without any files
	begun bool // the keys that were there at the beginning are sent
}

// Line writes a line of the journal.
func (c *Copy) Line(l *journal.Line) error {
	if !c.alone {
		if err := c.files(l); err != nil {
			return err
		}
	}
	_, err := c.out.Write(l.Text())
	return err
}

// files writes the files that a line needs.
func (c *Copy) files(l *journal.Line) error {
	if l.Seq == 1 {
		if err := c.file("FORMAT"); err != nil {
			return err
		}
	}
	// A key is there before the line that tells of it; most lines tell of none.
	if !c.begun || l.Type == "keys.rotated" {
		c.begun = true
		if err := c.keys(); err != nil {
			return err
		}
	}
	if l.Type == "timetable.imported" {
		var imported ledger.TimetableImported
		if err := json.Unmarshal(l.Data, &imported); err != nil {
			return fmt.Errorf("line %d: %w", l.Seq, err)
		}
		// One that is no longer in force may be gone.
		err := c.file(path.Join(ledger.TimetableDir, imported.Hash+".jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Pause sends keys that were made without a line that tells of them, as those of a new directory.
func (c *Copy) Pause() error {
	if len(c.sent) == 0 {
		return nil // nothing has told the receiver yet what directory this is
	}
	return c.keys()
}

// keys writes the keys that have changed.
func (c *Copy) keys() error {
	names, err := c.fsys.List(ledger.KeyDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !IsKey(name) {
			continue
		}
		if err := c.file(path.Join(ledger.KeyDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// file writes a file, unless it was written as it is.
func (c *Copy) file(name string) error {
	text, err := durable.ReadFile(c.fsys, name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if c.sent[name] == sum {
		return nil
	}
	c.sent[name] = sum
	_, err = fmt.Fprintf(c.out, "{\"file\":%q,\"data\":%q}\n", name, base64.StdEncoding.EncodeToString(text))
	return err
}
