package store

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// A directory whose checkpoint.key is missing is a copy: a backup, a standby, a world of a test bench. It
// must not sign under the name of the directory that it was copied from, which may go on. So its first start
// gives it a name and a key of its own, and says so in a line. The notes of before are set aside with the key
// that checks them.

// KindForked is the type of the line that gives a directory a name of its own.
const KindForked = "forked"

// forked is what it says.
type forked struct {
	Origin string `json:"origin"` // the name from here on
	Key    string `json:"key"`    // that the directory's notes are signed with from here on, as a vkey
	Parent struct {
		Origin string `json:"origin"`
		Seq    uint64 `json:"seq"`  // of the last line that both have
		Hash   string `json:"hash"` // of that line
	} `json:"parent"`

	key ed25519.PrivateKey
}

// newForked makes a name and a key for the copy of a directory, whose last line is head.
func newForked(parent string, head Head, random io.Reader) (*forked, error) {
	key, err := checkpoint.NewKey(random)
	if err != nil {
		return nil, err
	}
	f := &forked{
		Origin: journal.OriginStart + journal.NewID(random),
		key:    key,
	}
	f.Key = note.NewKey(f.Origin, key.Public().(ed25519.PublicKey)).String()
	f.Parent.Origin = parent
	f.Parent.Seq = head.Seq
	f.Parent.Hash = fmt.Sprintf("%x", head.Hash)
	return f, nil
}

// data returns the data of the line.
func (f *forked) data() []byte {
	data, err := json.Marshal(f)
	if err != nil {
		panic("store: strings and numbers that cannot be encoded: " + err.Error())
	}
	return data
}

// settle makes the key the directory's, once the line is durable. The private key comes last: a start that
// finds none makes another name, and nothing was signed under this one.
func (f *forked) settle(fsys durable.FS) error {
	if err := checkpoint.SetAside(fsys); err != nil {
		return err
	}
	if err := checkpoint.PublishPublicKey(fsys, f.key); err != nil {
		return err
	}
	return checkpoint.PublishPrivateKey(fsys, f.key)
}

// named is a name that a directory has had.
type named struct {
	origin string
	key    note.Key // that signs under it; zero where no line that was read says that
	saidAt uint64   // the line that says so
	left   uint64   // the last one; 0 for the name that it has now
}

// rename heeds a line that gives the directory another name, or says which key signs under the one it has.
func (s *scan) rename(l *Line) error {
	switch {
	case l.Type == kindOpened:
		return s.learnKey(l)
	case l.Type != KindForked || l.Seq <= s.namedAt:
		return nil
	}
	var f forked
	if err := json.Unmarshal(l.Data, &f); err != nil {
		return err
	}
	key, err := note.ParseKey(f.Key)
	if err != nil {
		return fmt.Errorf("the key %w", err)
	}
	known := slices.ContainsFunc(s.names, func(n named) bool { return n.origin == f.Origin })
	if known {
		return fmt.Errorf("gives the directory the name %s, which it has had", f.Origin)
	}
	s.names[len(s.names)-1].left = l.Seq - 1
	s.names = append(s.names, named{
		origin: f.Origin,
		key:    key,
		saidAt: l.Seq,
	})
	return nil
}

// learnKey heeds the key in a line that a start has written.
func (s *scan) learnKey(l *Line) error {
	var said opened
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
	now := &s.names[len(s.names)-1]
	switch {
	case key.Name != now.origin && (s.namedAt > 0 || s.from.Seq > 0):
		return nil // of a name before those that the scan knows
	case key.Name != now.origin:
		return fmt.Errorf("says the key of %s, but the directory is %s", key.Name, now.origin)
	case now.saidAt == 0:
		now.key = key
		now.saidAt = l.Seq
	case !now.key.Equal(key):
		return fmt.Errorf("says another key of %s than line %d", now.origin, now.saidAt)
	}
	return nil
}

// ownKey returns an error for a public key that is not the one that the journal says.
func (s *scan) ownKey(public ed25519.PublicKey) error {
	own := s.names[len(s.names)-1]
	if own.saidAt == 0 || public == nil || own.key.Equal(note.NewKey(own.origin, public)) {
		return nil
	}
	return journal.InFile(checkpoint.PublicKeyFile, "is not the key of "+own.origin+", as the journal has it")
}

// name returns what the directory is called at the end of what was read.
func (s *scan) name() string {
	return s.names[len(s.names)-1].origin
}

// nameOf returns the name that a checkpoint is signed with, nil where the directory has never had it.
func (s *scan) nameOf(e *evidence) *named {
	for i := range s.names {
		if s.names[i].origin == e.Origin {
			return &s.names[i]
		}
	}
	return nil
}

// concerns reports whether a checkpoint is of this directory, as far as it was read.
func (s *scan) concerns(e *evidence) bool {
	n := s.nameOf(e)
	return n != nil && (n.left == 0 || e.Seq <= n.left) && (n.saidAt == 0 || n.key.Equal(e.key))
}

// misnamed returns an error for a checkpoint of another history: of a journal that has never been this
// directory, of its parent after it had left that, or signed under its name by somebody else's key.
func (s *scan) misnamed() error {
	for _, seq := range slices.Sorted(maps.Keys(s.evidence)) {
		list := s.evidence[seq]
		for i := range list {
			if wrong := s.foreign(&list[i]); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

// hasOwnKey reports whether a checkpoint is signed with the key that lies beside the journal for its name.
// Where no line says which key that is, as of directories that earlier versions made, it is all there is.
func (s *scan) hasOwnKey(e *evidence) bool {
	n := s.nameOf(e)
	if n.saidAt > 0 || !e.kept {
		return true // what lies beside the journal was checked with that key
	}
	read := checkpoint.EarlierKeyOf
	if n.left == 0 {
		read = checkpoint.KeyOf
	}
	own, err := read(s.fsys, e.Origin)
	return err != nil || e.key.Equal(note.NewKey(e.Origin, own))
}

// foreign returns what a checkpoint is of that is not of this directory; nil for one that is.
func (s *scan) foreign(e *evidence) *Damage {
	n := s.nameOf(e)
	forked := anotherJournal
	whose := ""
	switch {
	case n == nil:
		whose = "is of another journal, " + e.Origin
	case n.saidAt > 0 && !n.key.Equal(e.key):
		whose = fmt.Sprintf("is signed with another key than that of %s, which line %d says", n.origin, n.saidAt)
	case n.left > 0 && e.Seq > n.left:
		forked = e.twoHistories()
		whose = fmt.Sprintf("is of line %d of %s, which this directory has left after line %d, to be %s%s",
			e.Seq, e.Origin, n.left, s.name(), s.repairStory())
	case !s.hasOwnKey(e):
		whose = "is signed with another key than the directory's notes are"
	default:
		return nil
	}
	wrong := journal.InFile(e.from, whose)
	wrong.Forked = forked
	return wrong
}

// Forked says where a copy has left the directory that it was copied from.
type Forked struct {
	Origin string // the parent's name
	Head          // the last line that both have
}

// Fork copies the open directory, as it is now, into a new one. It has the same lines and the notes that
// vouch for them, and no key: its first start gives it a name of its own. dirs are directories that the store
// knows nothing of. Who calls it keeps an erasure away meanwhile.
//
// FORMAT comes after all that: what a crash leaves of a fork before does not start.
func (st *Store[S, E]) Fork(to durable.FS, dirs ...string) (Forked, error) {
	left := Forked{Origin: st.signer.Origin}
	from := st.cfg.FS
	if err := makeCopy(to); err != nil {
		return left, err
	}
	// The notes and hashes of this moment come first: they must not be of lines that are not copied.
	st.checkpoint()
	if err := st.copyEvidence(to); err != nil {
		return left, err
	}
	write, head, err := st.freeze(false)
	if err != nil {
		return left, err
	}
	left.Head = head
	err = durable.Publish(to, "snapshots", journal.Name(head.Seq), func(f io.Writer) error {
		_, err := journal.WriteSnapshot(f, head, write)
		return err
	})
	if err != nil {
		return left, err
	}
	if _, err := copyJournal(from, to, head.Seq, nil); err != nil {
		return left, err
	}
	return left, finishCopy(from, to, dirs)
}

// copyEvidence copies the notes and the hashes of the tree, while no note is made.
func (st *Store[S, E]) copyEvidence(to durable.FS) error {
	st.signing.Lock()
	defer st.signing.Unlock()
	if err := copyEvidence(st.cfg.FS, to); err != nil {
		return err
	}
	return copyDir(st.cfg.FS, to, tree.Dir)
}
