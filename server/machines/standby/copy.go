package standby

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"

	"waybill/server/ledger"
	"waybill/store"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/live"
)

// journalCopy is the journal of a standby, which is given its lines one after the other. It holds the
// directory's lock. What it is given must continue what it has; anything else is a *Foreign, and
// changes nothing.
//
//	c, err := openCopy(fsys, Options{})
//	err = c.format(text)   // before the first line
//	err = c.append(line)
//	seq, err := c.sync()   // what was appended is on the disk
type journalCopy struct {
	fsys durable.FS
	o    Options
	lock io.Closer
	// stands says whether the directory is still the one that was locked; nil: nobody can say.
	stands durable.Checker
	// socket is where other keepers ask for the directory; nil: nowhere.
	socket net.Listener
	lines  *journal.Lines
	codec  *ledger.Codec

	head    journal.Head // the last line that was appended
	file    durable.File
	name    string
	size    int64  // of the file
	pending []byte // lines that are not in the file yet
	failed  error  // of a write or sync: nothing after it is on the disk for certain
}

// segmentBytes is from which size on a file of the journal is followed by a new one.
const segmentBytes = 64 << 20

// Foreign is the error of what should continue a copy of a journal, and does not.
type Foreign struct{ Reason string }

// Error returns what is wrong.
func (f *Foreign) Error() string { return f.Reason }

// foreign is the error of what does not continue a copy.
func foreign(format string, args ...any) error {
	return &Foreign{Reason: fmt.Sprintf(format, args...)}
}

// openCopy opens a directory that is a copy, and makes it if need be. What a crash has left of its last lines
// is cut off, as by a start, and what was to be erased is erased.
func openCopy(fsys durable.FS, o Options) (c *journalCopy, err error) {
	for _, dir := range []string{".", "journal"} {
		if err := fsys.Mkdir(dir); err != nil {
			return nil, err
		}
	}
	c = &journalCopy{
		fsys:  fsys,
		o:     o,
		lines: journal.NewLines(fsys),
		codec: ledger.NewCodec(),
	}
	if c.lock, err = fsys.Lock("LOCK"); err != nil {
		return nil, err
	}
	if err := c.fits(); err != nil {
		return nil, errors.Join(err, c.lock.Close())
	}
	if err := c.resume(); err != nil {
		return nil, errors.Join(err, c.lock.Close())
	}
	// A file system without stable numbers is not checked.
	if lock, can := c.lock.(durable.Checker); can && lock.Check(c.name, c.file, c.size) == nil {
		c.stands = lock
	}
	return c, nil
}

// fits returns why a directory is no copy: it was started, or its clock was ever set, where that is refused
// with ErrMovedClock. Nothing is mended before.
func (c *journalCopy) fits() error {
	if _, none := durable.ReadFile(c.fsys, checkpoint.PrivateKeyFile); none == nil {
		return foreign("the directory has a %s: it was started and has its own history; remove that file to "+
			"make it a standby", checkpoint.PrivateKeyFile)
	}
	if !c.o.NoClock {
		return nil
	}
	_, err := durable.ReadFile(c.fsys, "FORMAT")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // and no lines
	}
	if err != nil {
		return err
	}
	_, err = inspect.Follow(c.fsys, journal.Head{}, func(l *journal.Line) error {
		if l.Type == journal.KindClock {
			return fmt.Errorf("line %d: %w", l.Seq, ErrMovedClock)
		}
		return nil
	})
	return err
}

// resume finds the end of what is there.
func (c *journalCopy) resume() (err error) {
	c.head, c.name, err = store.Mend(c.fsys)
	if err != nil || c.name == "" {
		return err
	}
	c.file, err = c.fsys.Append(c.name)
	if err == nil {
		c.size, err = c.file.Size()
	}
	return err
}

// next returns the number of the line that continues the copy.
func (c *journalCopy) next() uint64 { return c.head.Seq + 1 }

// has says which line is the last, by its number and hash.
func (c *journalCopy) has() string {
	if c.head.Seq == 0 {
		return "0 -"
	}
	last := fmt.Sprintf("%d %x", c.head.Seq, c.head.Hash)
	if name, _, err := journal.ReadOrigin(c.fsys); err == nil && c.o.Socket != "" {
		last += " " + name
	}
	return last
}

// checkFormat returns why the text of a file FORMAT is not that of the copy, and whether the copy has it.
func (c *journalCopy) checkFormat(text []byte) (has bool, err error) {
	have, err := durable.ReadFile(c.fsys, "FORMAT")
	switch {
	case err == nil && bytes.Equal(have, text):
		return true, nil
	case err == nil:
		return true, foreign("FORMAT: the lines are of the directory %q, and this one is %q", text, have)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	err = journal.CheckFormat(text)
	if err == nil || errors.Is(err, journal.ErrNewer) || errors.Is(err, journal.ErrOlder) {
		return false, err
	}
	return false, foreign("FORMAT: %q: %v", text, err)
}

// format says which directory it is a copy of, by the text of its file FORMAT.
func (c *journalCopy) format(text []byte) error {
	has, err := c.checkFormat(text)
	if has || err != nil {
		return err
	}
	if err := durable.PublishText(c.fsys, ".", "FORMAT", text); err != nil {
		return err
	}
	_, c.head.Hash, err = journal.ReadOrigin(c.fsys)
	return err
}

// parse reads a line with its newline.
func (c *journalCopy) parse(text []byte) (journal.Line, error) {
	l, err := journal.Parse(bytes.TrimSuffix(text, journal.Newline))
	if err == nil && !json.Valid(text) {
		err = errors.New("is not one JSON object")
	}
	if l.IsNewer(err, c.head) {
		return l, fmt.Errorf("line %d: %w: it %v", c.next(), journal.ErrNewer, err)
	}
	if err != nil {
		return l, foreign("the input where line %d is expected %v", c.next(), err)
	}
	return l, nil
}

// check returns why a line does not continue the copy, or else what it erases, and its event, unless that is
// nil: it cannot be read, and is taken as it is: its hash follows, and verify judges it. It changes nothing.
func (c *journalCopy) check(l *journal.Line) (erased []journal.Erasure, event ledger.Event, err error) {
	switch {
	case l.Seq > c.next():
		return nil, nil, foreign("line %d comes where line %d is expected", l.Seq, c.next())
	case c.head.Hash == [32]byte{}:
		return nil, nil, foreign("line %d comes before the file FORMAT, which names its directory", l.Seq)
	}
	if err := l.Follows(c.head); err != nil {
		return nil, nil, foreign("line %d %v", l.Seq, err)
	}
	if c.o.NoClock && l.Type == journal.KindClock {
		return nil, nil, fmt.Errorf("line %d: %w", l.Seq, ErrMovedClock)
	}
	erased, err = journal.ErasedBy(l)
	if err != nil {
		return nil, nil, foreign("line %d: %v", l.Seq, err)
	}
	if journal.Own(l.Type) {
		return erased, nil, nil
	}
	entry, err := c.codec.Decode(l.Type, l.Data, l.Personal)
	if errors.Is(err, journal.ErrNewer) {
		return nil, nil, fmt.Errorf("line %d: %w", l.Seq, err)
	}
	if err != nil {
		return erased, nil, nil
	}
	return erased, entry.Event, nil
}

// append takes a line with its newline. One that is there already is passed over.
func (c *journalCopy) append(text []byte) error {
	l, err := c.parse(text)
	if err != nil {
		return err
	}
	if l.Seq <= c.head.Seq {
		return c.compare(&l)
	}
	erased, event, err := c.check(&l)
	if err != nil {
		return err
	}
	// Before the line is taken, so that a crash leaves none of what it forgets beside the journal.
	if err := removeForgotten(c.fsys, event); err != nil {
		return err
	}
	// As in the journal that it is of, what a line erases stands in files before its own. A file that a crash
	// has left empty is this line's.
	erases := len(erased) > 0
	size := c.size + int64(len(c.pending))
	full := size > 0 && (erases || size+int64(len(text)) > segmentBytes)
	if c.file == nil || full {
		if err := c.rotate(l.Seq); err != nil {
			return err
		}
	}
	c.pending = append(c.pending, text...)
	c.head = l.Head
	if !erases {
		return nil
	}
	if _, err := c.sync(); err != nil {
		return err
	}
	return c.o.whenRoom(func() error { return journal.Erase(c.fsys, erased, l.Seq) })
}

// compare holds a line that comes again against the one that is there. Erased personal data may be in one of
// them.
func (c *journalCopy) compare(l *journal.Line) error {
	if _, err := c.sync(); err != nil {
		return err
	}
	return c.lines.Read([]uint64{l.Seq}, func(have *journal.Line) error {
		switch {
		case have.Type == journal.KindForked && have.Hash != l.Hash:
			return foreign("line %d differs: this directory was started, and has gone on by itself", l.Seq)
		case have.Hash != l.Hash || !bytes.Equal(have.Chained, l.Chained):
			return foreign("line %d differs from the line that is already here", l.Seq)
		}
		return nil
	})
}

// rotate goes on in a new file.
func (c *journalCopy) rotate(first uint64) error {
	if _, err := c.sync(); err != nil {
		return err
	}
	full, name := c.file, c.name
	c.name = "journal/" + journal.Name(first)
	var file durable.File
	err := c.o.whenRoom(func() (err error) {
		file, err = c.fsys.Create(c.name)
		return err
	})
	if err != nil {
		return err
	}
	c.file = file
	c.size = 0
	if err := c.fsys.SyncDir("journal"); err != nil || full == nil {
		return err
	}
	return errors.Join(full.Close(), c.fsys.Seal(name))
}

// sync has all that was appended on the disk, and returns the last line.
func (c *journalCopy) sync() (uint64, error) {
	if c.failed != nil || len(c.pending) == 0 {
		return c.head.Seq, c.failed
	}
	err := c.o.whenRoom(func() error { return c.file.Reserve(c.size + int64(len(c.pending))) })
	if err != nil {
		c.failed = fmt.Errorf("%w: %w", live.ErrFailed, err)
		return c.head.Seq, c.failed
	}
	n, err := c.file.Write(c.pending)
	c.size += int64(n)
	c.pending = c.pending[:0]
	if err == nil {
		err = c.file.Sync()
	}
	if err == nil && c.stands != nil {
		err = c.stands.Check(c.name, c.file, c.size)
	}
	if err != nil {
		c.failed = fmt.Errorf("%w: %w", live.ErrFailed, err)
	}
	return c.head.Seq, c.failed
}

// close lets the directory go. What was not synced may be lost.
func (c *journalCopy) close() error {
	var err error
	if c.socket != nil { // before the lock: then another may have its own there
		err = c.socket.Close()
	}
	if c.file != nil {
		err = errors.Join(c.file.Close(), err)
	}
	return errors.Join(c.lock.Close(), err)
}
