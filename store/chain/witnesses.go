package chain

import (
	"errors"
	"fmt"
	"time"

	"waybill/store/journal"
	"waybill/store/note"
)

// Witnessed is what a witness has signed of a journal.
type Witnessed struct {
	Key note.Key
	Seq uint64    // the last line that it vouches for; 0: it has signed nothing
	At  time.Time // when it has signed that, by its clock
	// Since is the time of the first line that it has not signed; zero where it has signed all.
	Since time.Time
}

// Witnesses finds out which part of the journal each of its witnesses has signed. The zero value has no
// witness. It is no observer; [Notes] credits a witness once the journal has the line that the witness has
// signed.
type Witnesses struct {
	list []Witnessed
}

// NewWitnesses returns Witnesses of those with these keys.
func NewWitnesses(keys []note.Key) (w Witnesses) {
	for _, key := range keys {
		w.list = append(w.list, Witnessed{Key: key})
	}
	return w
}

// List returns which line each witness has signed, in the order of their keys.
func (w *Witnesses) List() []Witnessed { return w.list }

// signature is that of the witness i, counted from 0.
type signature struct {
	i  int
	at time.Time // by the clock of the witness
}

// signatures returns the signatures of the witnesses on a note. A bad signature is an error.
func (w *Witnesses) signatures(signed []byte) (list []signature, err error) {
	n, err := note.Parse(signed)
	if err != nil {
		return nil, err
	}
	for i, x := range w.list {
		at, err := n.Verify(x.Key)
		switch {
		case err == nil:
			list = append(list, signature{i, at})
		case !errors.Is(err, note.ErrNotSigned) && !errors.Is(err, note.ErrOtherKey):
			return nil, fmt.Errorf("%s: %w", x.Key.Name, err)
		}
	}
	return list, nil
}

// see sees a line of the journal.
func (w *Witnesses) see(l *journal.Line) {
	for i := range w.list {
		if w.list[i].Since.IsZero() {
			w.list[i].Since = l.Time
		}
	}
}

// credit records that the journal has the line with these signatures.
func (w *Witnesses) credit(signatures []signature, seq uint64) {
	for _, s := range signatures {
		w.list[s.i].Seq = seq
		w.list[s.i].At = s.at
		w.list[s.i].Since = time.Time{}
	}
}
