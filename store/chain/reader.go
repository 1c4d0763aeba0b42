package chain

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"waybill/store/durable"
	"waybill/store/journal"
)

// Read goes through the journal and shows it to the observers. Errors: *journal.Damage, journal.ErrNewer,
// and those of the file system. Beside an error, too, it returns what was read until then.
func (r Reader) Read(observers ...Observer) (End, error) {
	if r.Parse == nil {
		r.Parse = journal.Parse
	}
	p := &pass{Reader: r, observers: observers}
	err := p.journal()
	if err == ErrEnough {
		err = nil
	}
	return p.End, err
}

// pass is one reading of a journal. Its End is the part read so far.
type pass struct {
	Reader
	End
	observers []Observer

	blocks blockReader
	line   journal.Line // the one that observers see
}

// journal reads the files, and shows their end to the observers.
func (p *pass) journal() error {
	firsts, err := journal.Numbers(p.FS, "journal")
	if err != nil {
		return err
	}
	origin, hash, err := journal.ReadOrigin(p.FS)
	if err != nil {
		return err
	}
	p.Origin = origin
	p.Head.Hash = hash
	for i, first := range firsts {
		p.Files = i + 1
		p.Last = "journal/" + journal.Name(first)
		p.Lines = 0
		p.Size = 0
		if first != p.Head.Seq+1 {
			return journal.DamageAt(journal.Place{File: p.Last, Line: 1}, p.Head.Seq+1,
				"the file before it is missing, or part of it")
		}
		later := firsts[i+1:]
		read := p.file
		if len(later) > 0 && later[0]-1 <= p.Skip {
			read = p.lastLine
		}
		switch err := durable.Read(p.FS, p.Last, read); {
		case err != nil:
			return err
		case p.Torn != nil && len(later) > 0:
			return p.Lost("later files exist, so it was on the disk")
		}
	}
	for _, o := range p.observers {
		if err := o.End(&p.End); err != nil {
			return err
		}
	}
	return nil
}

// lastLine reads the last line of a file and passes over the others.
func (p *pass) lastLine(f *io.SectionReader) error {
	for n := int64(1 << 16); ; n *= 4 {
		end, err := durable.Tail(f, n)
		if err != nil {
			return err
		}
		start := bytes.LastIndexByte(bytes.TrimSuffix(end, journal.Newline), '\n') + 1
		if start == 0 && n < f.Size() {
			continue // a longer line
		}
		l, err := p.parse(end[start:])
		if err != nil {
			return journal.InFile(p.Last, "has a last line that "+err.Error())
		}
		p.Head = l.Head
		return nil
	}
}

// file reads the lines of a file.
func (p *pass) file(f *io.SectionReader) error {
	p.blocks.begin(f)
	n := 0
	for p.blocks.next() {
		for text := range bytes.Lines(p.blocks.block()) {
			n++
			if err := p.text(n, text); err != nil {
				return err
			}
		}
	}
	return p.blocks.failed()
}

// text reads the line n of a file. After the first bad line it searches later lines for proof that the bad
// one was durable.
func (p *pass) text(n int, text []byte) error {
	l, bad := p.parse(text)
	if p.Torn != nil {
		p.Torn.Bytes += int64(len(text))
		if bad == nil && l.Synced >= p.Torn.Seq {
			return p.Lost(fmt.Sprintf("line %d, written later, shows that seq %d was on the "+
				"disk", n, l.Synced))
		}
		return nil
	}
	if bad == nil {
		bad = l.Follows(p.Head)
	} else if l.IsNewer(bad, p.Head) {
		return fmt.Errorf("line %d of %s: %w: it %v", n, p.Last, journal.ErrNewer, bad)
	}
	at := journal.Place{File: p.Last, Line: n, Offset: p.Size}
	if bad != nil {
		p.Torn = &Torn{
			Damage:     *journal.DamageAt(at, p.Head.Seq+1, bad.Error()),
			Bytes:      int64(len(text)),
			unfinished: bad == errNewline,
		}
		return nil
	}
	p.line = l
	observed := p.observe(at)
	if observed != nil && observed != ErrEnough {
		return observed
	}
	p.Head = l.Head
	p.At = at
	p.Lines = n
	p.Size += int64(len(text))
	return observed
}

// observe shows the line to the observers. It returns ErrEnough where an observer has returned it.
func (p *pass) observe(at journal.Place) error {
	var enough error
	for _, o := range p.observers {
		err := o.Line(at, &p.line)
		if err == ErrEnough {
			enough = ErrEnough
			continue
		}
		if wrong, ok := errors.AsType[*journal.Damage](err); ok {
			return wrong
		}
		if err != nil {
			return journal.DamageAt(at, p.line.Seq, err.Error())
		}
	}
	return enough
}

var errNewline = errors.New("has no newline at its end")

// parse reads a line with its newline. A line that is to prove something must be whole.
func (p *pass) parse(text []byte) (journal.Line, error) {
	b, ok := bytes.CutSuffix(text, journal.Newline)
	if !ok {
		return journal.Line{}, errNewline
	}
	if p.Torn != nil {
		return Strict(b)
	}
	return p.Parse(b)
}
