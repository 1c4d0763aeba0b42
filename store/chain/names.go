package chain

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

// Names follows the names of the directory, and the key that signs under each. FORMAT has the first name, and
// line 1, of the type opened, has its key; a line of the type forked gives a copy another name, and has its
// key.
//
// It checks that line 1 has a key, and no later line opened, and that no name is given twice.
type Names struct {
	known []name // the last is the directory's name now
	wrong error  // with line 1, unless its type is of a newer version
	// asOf is a line at which the first known name was the directory's name; 0 is before the first line.
	asOf uint64
	// partial says that there may be lines before those that are read, with names before those that are
	// known.
	partial bool
}

// name is a name that a directory has had.
type name struct {
	origin string
	key    note.Key // that signs under it; zero where the line that says so was not read
	saidAt uint64   // that line
	left   uint64   // the last line under this name; 0 for the name that the directory has now
}

// NewNames follows the names from the first line on.
func NewNames(fsys durable.ReadFS) (*Names, error) {
	origin, _, err := journal.ReadOrigin(fsys)
	return NamesAt(origin, 0), err
}

// NamesAt follows the names from a line on, where the directory is known to have had the name origin.
func NamesAt(origin string, seq uint64) *Names {
	return &Names{
		known:   []name{{origin: origin}},
		asOf:    seq,
		partial: seq > 0,
	}
}

// NewPartialNames follows the names in lines that may not be all of the journal's.
func NewPartialNames(fsys durable.ReadFS) (*Names, error) {
	n, err := NewNames(fsys)
	n.partial = true
	return n, err
}

// Line takes up a name that the line gives the directory, or the key of the first name.
func (n *Names) Line(at journal.Place, l *journal.Line) error {
	switch {
	case l.Seq == 1 && l.Type != journal.KindOpened:
		n.wrong = journal.DamageAt(at, l.Seq, n.First(l).Error()) // unless another observer knows better
	case l.Seq == 1:
		return n.First(l)
	case l.Type == journal.KindOpened:
		return n.hasNoKey(l)
	case l.Type == journal.KindForked && l.Seq > n.asOf:
		return n.rename(l)
	}
	return nil
}

// End reports that line 1 is none that says a key.
func (n *Names) End(*End) error { return n.wrong }

// First takes up the key of the first name, which line 1 says. A reading that begins after line 1 calls it
// too.
func (n *Names) First(l *journal.Line) error {
	if l.Type != journal.KindOpened {
		return fmt.Errorf("is of the type %s, and line 1 is of the type %s", l.Type, journal.KindOpened)
	}
	var said journal.Opened
	if err := l.Says(&said); err != nil {
		return err
	}
	key, err := parseKey(said.Key)
	if err != nil {
		return err
	}
	first := n.of(key.Name)
	switch {
	case first != nil:
		first.key = key
		first.saidAt = l.Seq
	case !n.partial: // else it may be of a name before those that are known
		return fmt.Errorf("names the key of %s, but the directory is %s", key.Name, n.Origin())
	}
	return nil
}

// hasNoKey returns an error for a later start's line that says a key.
func (n *Names) hasNoKey(l *journal.Line) error {
	var said struct{ Key json.RawMessage }
	if err := l.Says(&said); err != nil {
		return err
	}
	if said.Key != nil {
		return errors.New("says a key, which of lines of its type only line 1 does")
	}
	return nil
}

// rename takes up the name that a line gives the directory.
func (n *Names) rename(l *journal.Line) error {
	var said journal.Forked
	if err := l.Says(&said); err != nil {
		return err
	}
	key, err := parseKey(said.Key)
	switch {
	case err != nil:
		return err
	case checkpoint.IDOf(said.Origin) == "":
		return fmt.Errorf("gives the directory the name %q, which is none", said.Origin)
	case key.Name != said.Origin:
		return fmt.Errorf("names the key of %s, but the directory is %s", key.Name, said.Origin)
	}
	if slices.ContainsFunc(n.known, func(x name) bool { return x.origin == said.Origin }) {
		return fmt.Errorf("gives the directory the name %s, which it had before", said.Origin)
	}
	n.now().left = l.Seq - 1
	n.known = append(n.known, name{
		origin: said.Origin,
		key:    key,
		saidAt: l.Seq,
	})
	return nil
}

// parseKey reads the key that a line says of a name.
func parseKey(text string) (note.Key, error) {
	if text == "" {
		return note.Key{}, errors.New("says no key of the directory")
	}
	key, err := note.ParseKey(text)
	if err == nil && key.IsWitness() {
		err = errors.New("is one of a witness")
	}
	if err != nil {
		err = fmt.Errorf("the key %w", err)
	}
	return key, err
}

// now returns the name that the directory has at the end of what was read.
func (n *Names) now() *name { return &n.known[len(n.known)-1] }

// Origin returns the directory's name at the end of what was read.
func (n *Names) Origin() string { return n.now().origin }

// Key returns the key that the directory signs with under its name now; zero where the line that says so was
// not read.
func (n *Names) Key() note.Key { return n.now().key }

// CheckOwnKey returns an error for a public key that is not the one that a line says of the name now, as far
// as that line was read.
func (n *Names) CheckOwnKey(public ed25519.PublicKey) error {
	own := n.now()
	if own.saidAt == 0 || own.key.Equal(note.NewKey(own.origin, public)) {
		return nil
	}
	return journal.InFile(checkpoint.PublicKeyFile, "is not the key of "+own.origin+", as the journal has it")
}

// of returns what is known of a name; nil where the directory has never had it.
func (n *Names) of(origin string) *name {
	for i := range n.known {
		if n.known[i].origin == origin {
			return &n.known[i]
		}
	}
	return nil
}
