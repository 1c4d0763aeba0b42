package chain

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"

	"waybill/store/checkpoint"
	"waybill/store/journal"
	"waybill/store/note"
)

// KeptFile is what errors call the file of checkpoints that an auditor has kept.
const KeptFile = "the file given"

// AddKept takes up a checkpoint that an auditor has kept, and that key has signed. Where key is nil, it is
// the directory's own key, of the name that has signed.
func (n *Notes) AddKept(signed []byte, key ed25519.PublicKey) error {
	given := key != nil
	if !given {
		origin, _, _ := bytes.Cut(signed, journal.Newline)
		var err error
		if key, err = checkpoint.KeyOf(n.FS, string(origin)); err != nil {
			return err
		}
	}
	c := claim{from: KeptFile, kept: true}
	parsed, err := n.add(signed, key, c)
	wrong, ok := errors.AsType[*journal.Damage](err)
	if !ok || wrong.Forked == "" {
		return err
	}
	c.Checkpoint = parsed
	wrong.Reason += c.said()
	if given {
		wrong.Reason += fmt.Sprintf(", and not by %s", note.NewKey(parsed.Origin, key))
	}
	return n.fork(&c, wrong)
}

// Add takes up a note that a key must have signed, and returns its checkpoint. from names the file that the
// note was found in.
func (n *Notes) Add(signed []byte, key ed25519.PublicKey, from string) (checkpoint.Checkpoint, error) {
	return n.add(signed, key, claim{from: from})
}

// add takes up a note that a key must have signed, and returns its checkpoint. Whether the directory has ever
// had the name that the note is signed with is known once the journal was read.
func (n *Notes) add(signed []byte, key ed25519.PublicKey, c claim) (checkpoint.Checkpoint, error) {
	if bytes.HasSuffix(signed, []byte("\n\n")) {
		signed = signed[:len(signed)-1]
	}
	parsed, err := checkpoint.Parse(signed, key)
	if err == nil {
		c.signatures, err = n.Witnesses.signatures(signed)
	}
	if err != nil {
		wrong := journal.InFile(c.from, err.Error())
		if errors.Is(err, note.ErrOtherKey) || errors.Is(err, note.ErrNotSigned) {
			wrong.Forked = anotherJournal
		}
		return parsed, wrong
	}
	c.Checkpoint = parsed
	c.key = note.NewKey(parsed.Origin, key)
	if n.bySeq == nil {
		n.bySeq = map[uint64][]claim{}
	}
	n.bySeq[c.Seq] = append(n.bySeq[c.Seq], c)
	return parsed, nil
}

// AddAll takes up all checkpoints of the directory, also those that it has signed under names that it had
// before. inUse says that a server may be running: it publishes each note just after it has logged it.
//
// A crash may leave a part of a note at the end of a log. That is passed over where the log has a whole note
// that is as new as what was published. A published checkpoint that is older than the log's newest is no
// damage, as a full disk can leave it so; Older returns that.
func (n *Notes) AddAll(inUse bool) error {
	if err := n.addEarlier(); err != nil {
		return err
	}
	key, err := checkpoint.PublicKey(n.FS)
	newest, none := checkpoint.Newest(n.FS)
	if errors.Is(err, fs.ErrNotExist) && errors.Is(none, fs.ErrNotExist) {
		return nil // of a program that made none
	}
	if err == nil {
		_, err = checkpoint.PrivateKey(n.FS) // a copy has none
	}
	if none != nil && !errors.Is(none, fs.ErrNotExist) {
		return none
	}
	if err != nil {
		return orMissing(checkpoint.PublicKeyFile, err, "there are checkpoints, which nobody can check "+
			"without it; "+
			"with "+checkpoint.PrivateKeyFile+" the next start makes it again")
	}
	published := none == nil
	found := false
	var last uint64 // the line of the log's newest
	err = n.addLog(checkpoint.LogFile, key, func(signed []byte, c checkpoint.Checkpoint) {
		found = found || published && bytes.Equal(signed, append(bytes.Clone(newest), '\n'))
		last = max(last, c.Seq)
	}, func() bool { return found || !published })
	if c, _ := checkpoint.Parse(newest, key); err == nil && (found || !published) && c.Seq < last && !inUse {
		n.older = &Older{Published: c.Seq, Logged: last}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !published:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return orMissing(checkpoint.LogFile, err, "there is a checkpoint: earlier checkpoints are lost, "+
			"so what they covered cannot be checked; the next start begins a new file")
	case err == nil && published && !found && !inUse:
		return journal.InFile(checkpoint.File, "is not in "+checkpoint.LogFile)
	case err == nil && published && !found:
		_, err = n.Add(newest, key, checkpoint.File)
	}
	return err
}

// orMissing returns an error, or, where it is that a file is not there, what that means.
func orMissing(name string, err error, but string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return journal.InFile(name, "is missing, but "+but)
	}
	return err
}

// addLog takes up the notes of a log, and calls each with every one. A bad last note is passed over where
// spare reports that it is not needed, unless it is a whole note.
func (n *Notes) addLog(name string, key ed25519.PublicKey, each func([]byte, checkpoint.Checkpoint),
	spare func() bool) error {
	var bad error
	whole := false
	number := 0
	err := checkpoint.ScanLog(n.FS, name, func(signed []byte) error {
		if bad != nil {
			return bad
		}
		number++
		var c checkpoint.Checkpoint
		c, bad = n.Add(signed, key, fmt.Sprintf("%s (number %d)", name, number))
		_, err := note.Parse(bytes.TrimSuffix(signed, journal.Newline))
		if whole = !errors.Is(err, note.ErrForm); bad == nil {
			each(signed, c)
		}
		return nil
	})
	if err == nil && bad != nil && (whole || !spare()) {
		err = bad
	}
	if err == nil {
		n.Spoilt = cmp.Or(n.Spoilt, bad)
	}
	return err
}

// addEarlier takes up the notes of the names that the directory had before.
func (n *Notes) addEarlier() error {
	earlier, err := checkpoint.Aside(n.FS)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		key, err := checkpoint.ReadPublicKey(n.FS, e.Key)
		if err != nil {
			return orMissing(e.Key, err, "there is "+e.Log+", which cannot be checked without it")
		}
		good := 0
		err = n.addLog(e.Log, key, func([]byte, checkpoint.Checkpoint) { good++ },
			func() bool { return good > 0 })
		if err != nil {
			return err
		}
	}
	return nil
}

// Older says that the file checkpoint is of an earlier line than the newest note of checkpoints.log.
type Older struct{ Published, Logged uint64 }

// Older returns how the file checkpoint lags behind the log; nil where it does not.
func (n *Notes) Older() *Older { return n.older }
