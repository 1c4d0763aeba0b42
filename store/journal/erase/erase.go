// Package erase takes personal parts out of a journal, where lines of the type journal.KindErased name them.
// What stands in place of such a part says when it was erased; the chain does not cover the part, and stays
// good. A file is published anew, so that a crash leaves it old or new:
//
//	err := erase.CarryOut(fsys, named, by) // in a journal that nobody has open
//
// The store erases in one that is open, file by file ([Files], [InFile]).
package erase

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"waybill/store/durable"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
)

// CarryOut erases personal parts in a journal that nobody has open. named has the lines whose parts are named
// to be erased and still there; by is the last line that names any. The snapshots that were made before that
// line are removed.
func CarryOut(fsys durable.FS, named []journal.Erasure, by uint64) error {
	if err := RemoveSnapshots(fsys, by); err != nil {
		return err
	}
	files, err := Files(fsys, named)
	if err != nil {
		return err
	}
	for _, f := range files {
		if len(f.Lines) == 0 {
			continue
		}
		if err := InFile(fsys, f); err != nil {
			return err
		}
	}
	return nil
}

// RemoveSnapshots removes the snapshots that were made before a line that erases. It comes before the
// erasing: beside a journal without the names these snapshots would be wrong.
func RemoveSnapshots(fsys durable.FS, before uint64) error {
	snapshots, err := journal.Numbers(fsys, "snapshots")
	if err != nil || len(snapshots) == 0 {
		return err
	}
	for _, seq := range snapshots {
		if seq < before {
			err = errors.Join(err, fsys.Remove("snapshots/"+journal.Name(seq)))
		}
	}
	return errors.Join(err, fsys.SyncDir("snapshots"))
}

// File is a file of the journal, with its lines whose personal parts are to be erased, and the time of each
// erasure.
type File struct {
	Name  string
	Lines map[uint64]time.Time // by seq
}

// Files returns all files of the journal with the lines to be erased in each. A file may have none.
func Files(fsys readonly.FS, lines []journal.Erasure) ([]File, error) {
	firsts, err := journal.Numbers(fsys, "journal")
	if err != nil {
		return nil, err
	}
	files := make([]File, len(firsts))
	for i, first := range firsts {
		files[i] = File{"journal/" + journal.Name(first), map[uint64]time.Time{}}
	}
	for _, x := range lines {
		i, found := slices.BinarySearch(firsts, x.Seq)
		if !found {
			i--
		}
		if i >= 0 {
			files[i].Lines[x.Seq] = x.At
		}
	}
	return files, nil
}

// InFile publishes a file of the journal without the personal parts that are to be erased in it.
func InFile(fsys durable.FS, file File) error {
	return durable.Rewrite(fsys, fsys, file.Name, func(w *bufio.Writer, f *io.SectionReader) error {
		from := journal.Scan(f)
		for from.Scan() {
			text := from.Bytes()
			l, err := journal.Parse(bytes.TrimSuffix(text, journal.Newline))
			if err != nil {
				return err
			}
			at, named := file.Lines[l.Seq]
			if named && l.Personal != nil && !journal.Erased(l.Personal) {
				whole := len(text) - len(l.Personal) - len("}\n") - len(`,"personal":`)
				text = slices.Concat(
					text[:whole],
					[]byte(`,"personal":`),
					journal.ErasedPart(at),
					[]byte("}\n"),
				)
			}
			w.Write(text)
		}
		return from.Err()
	})
}
