package store

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"waybill/store/durable"
)

// Forked says where a fork has left its parent.
type Forked struct {
	Origin string // the parent's: waybill/<the id in FORMAT>
	Head          // the last line that both have, with its hash in the parent
}

// Fork copies the open directory, as it is now, into a new one with a name of its own, which is made from
// random. The lines are the parent's, chained from the new name on, so that no checkpoint of the one fits the
// other; the new directory has neither the parent's key nor its checkpoints, but a key and a first checkpoint
// of its own. dirs are directories that the store knows nothing of. Who calls it keeps an erasure away
// meanwhile.
//
// FORMAT comes after all that: what a crash leaves of a fork before has no line, or does not start.
func (st *Store[S, E]) Fork(to durable.FS, random io.Reader, dirs ...string) (Forked, error) {
	left := Forked{}
	write, head, err := st.freeze(false)
	if err != nil {
		return left, err
	}
	from := st.cfg.FS
	if left.Origin, _, err = readOrigin(from); err != nil {
		return left, err
	}
	left.Head = head
	if names, err := to.List("."); err != nil || len(names) > 0 {
		return left, cmp.Or(err, errors.New("store: the directory to write is not empty"))
	}
	for _, dir := range []string{".", "journal", "snapshots"} {
		if err := to.Mkdir(dir); err != nil {
			return left, err
		}
	}
	format := fmt.Appendf(nil, formatLine, formatVersion, newOrigin(random))
	newest, err := rechain(from, to, head.Seq, sha256.Sum256(format))
	if err != nil {
		return left, err
	}
	head.Hash = newest
	err = durable.Publish(to, "snapshots", numbered(head.Seq), func(f io.Writer) error {
		_, err := writeSnapshot(f, head, write)
		return err
	})
	if err != nil {
		return left, err
	}
	for _, dir := range dirs {
		if err := copyDir(from, to, dir); err != nil {
			return left, err
		}
	}
	if err := durable.PublishText(to, ".", "FORMAT", format); err != nil {
		return left, err
	}
	own := signer{
		fsys:   to,
		random: random,
	}
	if err := own.open(); err != nil {
		return left, err
	}
	return left, own.sign(head)
}

// copyDir copies a directory of files.
func copyDir(from, to durable.FS, dir string) error {
	names, err := from.List(dir)
	if err != nil {
		return err
	}
	if err := to.Mkdir(dir); err != nil {
		return err
	}
	return copyFiles(from, to, dir, names...)
}

// rechain copies the lines of a journal up to one, with the hashes that follow from another name, and returns
// the last of these.
func rechain(from, to durable.FS, until uint64, hash [32]byte) ([32]byte, error) {
	last := uint64(0)
	firsts, err := numbers(from, "journal")
	if err != nil {
		return hash, err
	}
	for i, first := range firsts {
		if first > until {
			break
		}
		name := "journal/" + numbered(first)
		err := rewrite(from, to, name, func(w *bufio.Writer, f *io.SectionReader) error {
			last, hash, err = rechainFile(w, f, name, until, hash)
			return err
		})
		if err != nil {
			return hash, err
		}
		grows := i == len(firsts)-1 || firsts[i+1] > until
		if grows {
			continue
		}
		if err := to.Seal(name); err != nil {
			return hash, err
		}
	}
	if last != until {
		return hash, inFile("journal", fmt.Sprintf("ends at line %d, before line %d", last, until))
	}
	return hash, nil
}

// rechainFile copies the lines of one file so, and returns the last and its hash.
func rechainFile(w *bufio.Writer, f *io.SectionReader, name string, until uint64,
	hash [32]byte) (last uint64, newest [32]byte, err error) {
	lines := scanLines(f)
	var hexed [64]byte
	for n := 1; lines.Scan(); n++ {
		text := lines.Bytes()
		l, err := parseLine(bytes.TrimSuffix(text, newline))
		if err != nil {
			return last, hash, &Damage{Place{File: name, Line: n}, 0, err.Error()}
		}
		if l.Seq > until {
			break
		}
		hash = chain(hash, l.hashed)
		last = l.Seq
		hex.Encode(hexed[:], hash[:])
		w.WriteString(lineStart)
		w.Write(hexed[:])
		w.Write(text[len(lineStart)+len(hexed):])
		if l.Seq == until {
			break
		}
	}
	return last, hash, lines.Err()
}
