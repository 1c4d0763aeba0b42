package observe

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"

	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
	"waybill/store/note"
)

// Names follows the names of the directory, and the key that signs under each. FORMAT has the first name; a
// line of the type forked gives a copy another one, and has its key. The key of the first name stands in a
// line of the type opened.
//
// It checks that no name is given twice, and that no two lines say different keys of one name.
type Names struct {
	known []name // the last is the directory's name now
	// asOf is a line at which the first known name was the directory's name; 0 is before the first line.
	asOf uint64
	// partial says that there may be lines before those that are read, with names before those that are
	// known.
	partial bool
}

// name is a name that a directory has had.
type name struct {
	origin string
	key    note.Key // that signs under it; zero where no line that was read says that
	saidAt uint64   // the line that says so
	left   uint64   // the last line under this name; 0 for the name that the directory has now
}

// NewNames follows the names from the first line on.
func NewNames(fsys readonly.FS) (*Names, error) {
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
func NewPartialNames(fsys readonly.FS) (*Names, error) {
	n, err := NewNames(fsys)
	n.partial = true
	return n, err
}

// Line takes up a name that the line gives the directory, or a key that it says.
func (n *Names) Line(_ journal.Place, l *journal.Line) error {
	switch {
	case l.Type == journal.KindOpened:
		return n.learnKey(l)
	case l.Type == journal.KindForked && l.Seq > n.asOf:
		return n.rename(l)
	}
	return nil
}

// End checks nothing.
func (n *Names) End(*chain.End) error { return nil }

// First takes up the key in line 1, where the lines that were read begin after it.
func (n *Names) First(l *journal.Line) error {
	if l.Type == journal.KindOpened && l.Seq <= n.asOf {
		return n.learnKey(l)
	}
	return nil
}

// rename takes up the name that a line gives the directory.
func (n *Names) rename(l *journal.Line) error {
	var said journal.Forked
	if err := json.Unmarshal(l.Data, &said); err != nil {
		return err
	}
	key, err := note.ParseKey(said.Key)
	if err != nil {
		return fmt.Errorf("the key %w", err)
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

// learnKey takes up the key in a line that a start has written.
func (n *Names) learnKey(l *journal.Line) error {
	var said journal.Opened
	if err := json.Unmarshal(l.Data, &said); err != nil {
		return err
	}
	if said.Key == "" {
		return nil
	}
	key, err := note.ParseKey(said.Key)
	if err != nil {
		return fmt.Errorf("the key %w", err)
	}
	now := n.now()
	switch {
	case key.Name != now.origin && n.partial:
		return nil // of a name before those that are known
	case key.Name != now.origin:
		return fmt.Errorf("names the key of %s, but the directory is %s", key.Name, now.origin)
	case now.saidAt == 0:
		now.key = key
		now.saidAt = l.Seq
	case !now.key.Equal(key):
		return fmt.Errorf("names another key for %s than line %d", now.origin, now.saidAt)
	}
	return nil
}

// now returns the name that the directory has at the end of what was read.
func (n *Names) now() *name { return &n.known[len(n.known)-1] }

// Now returns the directory's name at the end of what was read, and whether a line has said its key.
func (n *Names) Now() (origin string, keySaid bool) {
	return n.now().origin, n.now().saidAt > 0
}

// Key returns the key that the directory signs with under its name now, as far as a line says it.
func (n *Names) Key() (key note.Key, said bool) {
	return n.now().key, n.now().saidAt > 0
}

// CheckOwnKey returns an error for a public key that is not the one that a line says of the name now. The key
// may be nil: then there is nothing to check.
func (n *Names) CheckOwnKey(public ed25519.PublicKey) error {
	own := n.now()
	if own.saidAt == 0 || public == nil || own.key.Equal(note.NewKey(own.origin, public)) {
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
