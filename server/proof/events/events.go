// Package events reads the journal of a directory that may be in use event by event, for whoever tells or
// exports it, and says whether personal data was erased meanwhile.
package events

import (
	"errors"
	"fmt"

	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Decoder makes an entry of the parts of a line. It knows the forms in the lines before.
type Decoder func(kind string, data, personal []byte) (ledger.Entry, error)

// NewDecoder returns a decoder that has seen no line yet.
func NewDecoder() Decoder { return ledger.NewCodec().Decode }

// Read goes through a journal. visit is given each line with its event, nil for a line of the store's own.
func Read(fsys durable.ReadFS, inUse bool, visit func(*journal.Line, ledger.Entry) error) error {
	return NewDecoder().Read(fsys, inUse, visit)
}

// Read goes through a journal as the function Read does, with a decoder that may have seen lines before.
func (d Decoder) Read(fsys durable.ReadFS, inUse bool, visit func(*journal.Line, ledger.Entry) error) error {
	_, err := inspect.Read(fsys, inUse, func(_ journal.Place, l *journal.Line) error {
		return d.Line(l, visit)
	})
	return err
}

// Replay is Read with the state as each line has left it. It returns the last one.
func Replay(fsys durable.ReadFS, inUse bool,
	visit func(ledger.State, *journal.Line, ledger.Entry) error) (ledger.State, error) {
	state, apply := ledger.NewReplay()
	err := Read(fsys, inUse, func(l *journal.Line, x ledger.Entry) error {
		if err := apply(l, x); err != nil {
			return err
		}
		return visit(state, l, x)
	})
	return state, err
}

// Line calls visit with a line and its event.
func (d Decoder) Line(l *journal.Line, visit func(*journal.Line, ledger.Entry) error) error {
	if journal.Own(l.Type) {
		return visit(l, ledger.Entry{})
	}
	e, err := d(l.Type, l.Data, l.Personal)
	if err != nil {
		return fmt.Errorf("seq %d: %w", l.Seq, err)
	}
	return visit(l, e)
}

// ErrErasedMeanwhile is of what would pass on personal data that was erased while it was read.
var ErrErasedMeanwhile = errors.New("personal data was erased meanwhile; try again")

// ErrErasing is of what would pass on personal data that is to be erased.
var ErrErasing = errors.New("personal data is being erased, or an erasure was interrupted: a running server " +
	"completes it, and so does waybill forget; then try again")

// NothingToErase is [ErrErasing] of a journal in which an erasure goes on, or was cut short: what is passed
// on of it would have what is to be erased. Otherwise it returns the journal's end, after which [ErasedAfter]
// looks for another.
func NothingToErase(fsys durable.ReadFS) (end journal.Head, err error) {
	found, err := inspect.Follow(fsys, journal.Head{}, func(*journal.Line) error {
		return nil
	})
	if err == nil && len(found.Unerased) > 0 {
		err = ErrErasing
	}
	return found.Head, err
}

// ErasedAfter reports whether a journal in use has an erasure after a line.
func ErasedAfter(fsys durable.ReadFS, head journal.Head) (erased bool, err error) {
	_, err = inspect.Follow(fsys, head, func(l *journal.Line) error {
		erased = erased || l.Type == journal.KindErased
		return nil
	})
	return erased, err
}
