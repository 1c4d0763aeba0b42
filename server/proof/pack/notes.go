package pack

import (
	"cmp"
	"encoding/base64"
	"errors"
	"os"
	"slices"
	"strings"

	"waybill/server/proof/events"
	"waybill/store/checkpoint"
	"waybill/store/checkpoint/signing"
	"waybill/store/durable/readonly"
	"waybill/store/note"
	"waybill/store/tree"
	"waybill/store/tree/stored"
)

// signed is a note of the directory, and who has signed it besides.
type signed struct {
	signing.Note
	witnesses []note.Key
}

// notes are those of a directory, rising. Of those of one line, the one that most witnesses have signed comes
// first.
type notes struct {
	all   []signed
	known []note.Key // of the witnesses that the directory has
}

// collect reads the notes of a directory.
func collect(fsys readonly.FS) (n notes, err error) {
	n.known, err = signing.WitnessKeys(fsys)
	if err != nil {
		return n, err
	}
	err = signing.Each(fsys, func(x signing.Note) {
		n.all = append(n.all, signed{x, n.cosigners(x.Text)})
	})
	slices.SortStableFunc(n.all, func(a, b signed) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), -cmp.Compare(len(a.witnesses), len(b.witnesses)))
	})
	return n, err
}

// bounds are the notes around a period; nil where there is none.
type bounds struct {
	before, after *signed
	known         []note.Key
}

// around returns the notes around a period that fit the lines that were read: the newest one before it, and
// the first one that has all of it, or else the newest. Where a witness has signed any, only those count that
// one has signed.
func (n *notes) around(r *reading) bounds {
	b := bounds{known: n.known}
	fit := slices.DeleteFunc(slices.Clone(n.all), func(s signed) bool {
		hash, found := r.hashes[s.Seq]
		return !found || hash != s.Hash
	})
	isWitnessed := func(s signed) bool { return len(s.witnesses) > 0 }
	if slices.ContainsFunc(fit, isWitnessed) {
		fit = slices.DeleteFunc(fit, func(s signed) bool { return !isWitnessed(s) })
	}
	for i := range fit {
		s := &fit[i]
		if s.Seq < r.first && (b.before == nil || s.Seq > b.before.Seq) {
			b.before = s
		}
		if b.after == nil || b.after.Seq < r.last && s.Seq > b.after.Seq {
			b.after = s
		}
	}
	return b
}

// cosigners returns the witnesses that have signed a note.
func (n *notes) cosigners(text []byte) (list []note.Key) {
	parsed, err := note.Parse(text)
	if err != nil {
		return nil
	}
	for _, key := range n.known {
		if _, err := parsed.Verify(key); err == nil {
			list = append(list, key)
		}
	}
	return list
}

// keys returns the verifier keys that the notes are checked with, a line each.
func (b *bounds) keys(fsys readonly.FS) (text string, err error) {
	var lines []string
	add := func(key string) {
		if !slices.Contains(lines, key) {
			lines = append(lines, key)
		}
	}
	for _, s := range []*signed{b.before, b.after} {
		if s == nil {
			continue
		}
		public, err := checkpoint.KeyOf(fsys, s.Origin)
		if err != nil {
			return "", err
		}
		add(note.NewKey(s.Origin, public).String())
	}
	for _, key := range b.known {
		add(key.String())
	}
	if lines == nil {
		return "", nil
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// errOtherTree is the error of notes that the lines do not lead to.
var errOtherTree = errors.New("the lines are not the ones that were signed; run waybill verify to see why")

// consistency returns the proof that the later note extends the earlier one, a hash a line. The hashes beside
// the journal are a cache: where they do not lead from one to the other, they are made again from the lines.
func (b *bounds) consistency(fsys readonly.FS) (text string, err error) {
	if b.before == nil || b.after == nil {
		return "", nil
	}
	proof, err := b.proof(fsys)
	if err != nil {
		own, again := events.HashAgain(fsys, b.after.Seq)
		if again == nil {
			proof, err = b.proof(own)
		}
		if own != "" {
			again = errors.Join(again, os.RemoveAll(string(own)))
		}
		if err = errors.Join(again, err); err != nil {
			return "", err
		}
	}
	var lines strings.Builder
	for _, hash := range proof {
		lines.WriteString(base64.StdEncoding.EncodeToString(hash[:]) + "\n")
	}
	return lines.String(), nil
}

// proof returns the proof that hashes make.
func (b *bounds) proof(hashes readonly.FS) ([]tree.Hash, error) {
	old := b.before
	now := b.after
	proof, err := stored.Consistency(hashes, old.Seq, now.Seq)
	if err == nil && !stored.Extends(proof, old.Seq, now.Seq, old.Root, now.Root) {
		err = errOtherTree
	}
	return proof, err
}

// shownNote is a note in the README.
type shownNote struct {
	Seq   uint64
	By    string
	Short bool // lines of the period come after it
}

// shown returns a note as the README has it; nil where there is none.
func shown(s *signed, last uint64) *shownNote {
	if s == nil {
		return nil
	}
	by := []string{s.Origin}
	for _, key := range s.witnesses {
		by = append(by, key.Name)
	}
	who := strings.Join(by, " and ")
	if len(s.witnesses) == 0 {
		who += " alone, and nobody else"
	}
	return &shownNote{
		Seq:   s.Seq,
		By:    who,
		Short: s.Seq < last,
	}
}
