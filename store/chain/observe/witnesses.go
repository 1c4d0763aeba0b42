package observe

import (
	"errors"
	"fmt"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/note"
)

// Witnesses are asked after: what each has signed of the journal. The zero value asks after none. It is no
// observer; [Notes] credits a witness once the journal has the line that the witness has signed.
type Witnesses struct {
	list []checkpoint.Witnessed
}

// NewWitnesses asks after the witnesses with these keys.
func NewWitnesses(keys []note.Key) (w Witnesses) {
	for _, key := range keys {
		w.list = append(w.list, checkpoint.Witnessed{Key: key})
	}
	return w
}

// List returns, for each of them in the order of their keys, what it has signed.
func (w *Witnesses) List() []checkpoint.Witnessed { return w.list }

// signature is that of the witness i, counted from 0.
type signature struct {
	i  int
	at time.Time // by the clock of the witness
}

// signatures returns those that a note has. A signature that is not good is an error.
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

// credit takes up that the journal has the line that these signatures are of.
func (w *Witnesses) credit(signatures []signature, seq uint64) {
	for _, s := range signatures {
		w.list[s.i].Seq = seq
		w.list[s.i].At = s.at
	}
}
