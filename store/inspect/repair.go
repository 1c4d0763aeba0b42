package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// A Cut says which lines a repair is to cut off a journal, and why.
type Cut struct {
	At     uint64 // the first line that is cut; those before it must be good
	Reason string
	By     any  // who repairs, in the form of the calling program
	Force  bool // also where no line from At on is damaged
}

// An UndamagedError is the error of a repair that would cut good lines only.
type UndamagedError struct {
	At    uint64
	Lines uint64 // from At on
}

// Error says how many lines would be lost.
func (e *UndamagedError) Error() string {
	return fmt.Sprintf("no line from %d on is damaged: this cut would lose %d good lines", e.At, e.Lines)
}

// Loss is what a repair could not keep.
type Loss struct {
	Lines uint64 // that were cut, and were not damaged
	// Missing has the lines that are kept without their personal parts, where no line that can be read says
	// that these were erased.
	Missing []uint64
}

// Repair copies the lines before a cut, which must be good, into a new directory. A line of the type repaired
// says why it was cut, and by whom. Checkpoints of lines that are cut are left out: nothing excuses them, and
// an auditor who has kept one sees that the copy is another history. Its error is also *UndamagedError. now
// is the clock.
func Repair[S, E any](from durable.ReadFS, to durable.FS, model *journal.Model[S, E], now func(S) time.Time,
	cut Cut, dirs ...string) (loss Loss, err error) {
	if cut.At < 2 {
		return loss, errors.New("the first line cannot be cut")
	}
	k := kept{fsys: from, erasures: chain.NewErasures()}
	r := chain.NewReplay(model, model.New(), nil)
	if err := k.read(cut.At, &r.Visits); err != nil {
		return loss, err
	}
	rest, err := k.rest()
	if err != nil {
		return loss, err
	}
	if !rest.damaged && !cut.Force {
		return loss, &UndamagedError{cut.At, rest.lines}
	}
	erased, missing := k.erasures.ErasedBy(rest.erasures)
	if len(missing) > 0 && !rest.unread {
		return loss, notGood(k.erasures.NobodyErased(missing[0]))
	}
	loss = Loss{Lines: rest.lines, Missing: missing}
	said := journal.Repaired{
		Reason:  cut.Reason,
		Erased:  erased,
		Missing: missing,
		By:      cut.By,
	}
	if cut.Force {
		said.Forced = int64(loss.Lines)
	}
	last := k.end.Head
	at := slices.MaxFunc([]time.Time{last.Time, now(r.State).UTC().Truncate(time.Millisecond)},
		time.Time.Compare)
	line := journal.Line{
		Head:   journal.Head{Stamp: journal.Stamp{Seq: cut.At, Time: at}},
		Synced: last.Seq,
		Type:   journal.KindRepaired,
		Data:   journal.Data(said),
	}
	text := line.AppendTo(nil, last.Hash)
	c := Copy{from, to}
	if err := k.copy(c, text, dirs); err != nil {
		return loss, err
	}
	return loss, c.endsWith(line.Head)
}

// notGood is the error of lines that a repair is to keep.
func notGood(err error) error {
	return fmt.Errorf("the lines to be kept are not good: %w", err)
}

// kept is the part of a journal that a repair keeps.
type kept struct {
	fsys     durable.ReadFS
	notes    chain.Notes
	erasures *chain.Erasures
	end      chain.End
}

// read reads the lines before a cut. Bad notes are left to verify.
func (k *kept) read(at uint64, visits *chain.Visits) error {
	k.notes = chain.Notes{FS: k.fsys, Repairs: new(chain.Repairs)}
	_ = k.notes.AddAll(false)
	names, err := chain.NewNames(k.fsys)
	if err != nil {
		return notGood(err)
	}
	k.notes.Names = names
	k.end, err = visits.Read(chain.Reader{FS: k.fsys, Parse: chain.Strict},
		k.erasures,
		k.notes.Repairs,
		names,
		&k.notes,
		visits,
		until(at-1),
	)
	switch {
	case err != nil:
		return notGood(err)
	case k.end.Torn != nil:
		return notGood(&k.end.Torn.Damage)
	case k.end.Head.Seq != at-1:
		return fmt.Errorf("the journal ends with line %d: there is no line %d to cut at", k.end.Head.Seq, at)
	}
	return nil
}

// until ends the reading with a line.
type until uint64

// Line ends the reading where it is the last line wanted.
func (u until) Line(_ journal.Place, l *journal.Line) error {
	if l.Seq == uint64(u) {
		return chain.ErrEnough
	}
	return nil
}

// End checks nothing.
func (until) End(*chain.End) error { return nil }

// rest is the journal after the lines that are kept.
type rest struct {
	lines    uint64 // that follow from each other
	unread   bool   // a line after these is damaged, or missing
	damaged  bool   // that, or a personal part is gone
	erasures *chain.Erasures
}

// rest reads the lines after those that are kept. A personal part that is gone, and that no line names, is
// damage, as for verify.
func (k *kept) rest() (x rest, err error) {
	x.erasures = chain.NewErasures()
	names, err := chain.NewPartialNames(k.fsys)
	if err != nil {
		return x, err
	}
	last := k.end.Head.Seq
	after := chain.After{Head: k.end.Head}
	end, err := chain.Reader{FS: k.fsys, Skip: after.Skip(), Parse: chain.Strict}.Read(
		x.erasures,
		new(chain.Repairs),
		names,
		after,
	)
	x.lines = max(end.Head.Seq, last) - last
	wrong := errors.As(err, new(*journal.Damage))
	if err != nil && !wrong {
		return x, err
	}
	x.unread = wrong || end.Torn != nil || k.notes.HasBeyond(end.Head.Seq)
	x.damaged = x.unread
	for seq := range x.erasures.Unnamed() {
		x.damaged = x.damaged || seq > last
	}
	if x.unread {
		err = k.readLoose(x.erasures)
	}
	return x, err
}

// readLoose shows erasures each line after those that are kept that can be read by itself, also where the
// line before it cannot: what such a line has erased is gone.
func (k *kept) readLoose(erasures *chain.Erasures) error {
	firsts, err := journal.Numbers(k.fsys, "journal")
	for _, first := range firsts {
		name := "journal/" + journal.Name(first)
		err = errors.Join(err, durable.Read(k.fsys, name, func(f *io.SectionReader) error {
			lines := journal.Scan(f)
			for lines.Scan() {
				l, bad := chain.Strict(bytes.TrimSuffix(lines.Bytes(), journal.Newline))
				if bad == nil && l.Seq > k.end.Head.Seq {
					_ = erasures.Line(journal.Place{File: name}, &l) // what it says may be no list
				}
			}
			return lines.Err()
		}))
	}
	return err
}

// copy copies the lines that are kept, with more after them, and the notes of these lines. The hashes of the
// tree are left out, as they may be of lines that are cut, too.
func (k *kept) copy(c Copy, more []byte, dirs []string) error {
	if err := c.Begin(); err != nil {
		return err
	}
	if err := c.Notes(); err != nil {
		return err
	}
	last := k.end.Head.Seq
	if err := cutNotes(c.To, last); err != nil {
		return err
	}
	if _, err := c.Lines(last, more); err != nil {
		return err
	}
	return c.Finish(dirs)
}
