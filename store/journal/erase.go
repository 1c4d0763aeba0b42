package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"waybill/store/durable"
)

// Erase erases personal parts in a journal that nobody has open. named has the lines whose parts are named
// to be erased and still there; by is the last line that names any. The snapshots that were made before that
// line are removed.
func Erase(fsys durable.FS, named []Erasure, by uint64) error {
	if err := RemoveSnapshots(fsys, by); err != nil {
		return err
	}
	return EraseLines(fsys, named, false)
}

// EraseLines publishes the files of a journal without the personal parts of lines, and seals those that are
// full. None of the lines may be in the last file where that is being written.
func EraseLines(fsys durable.FS, named []Erasure, beingWritten bool) error {
	files, err := erasureFiles(fsys, named)
	if err != nil {
		return err
	}
	for i, f := range files {
		isLast := i+1 == len(files)
		switch {
		case len(f.lines) == 0:
			continue
		case isLast && beingWritten:
			return fmt.Errorf("store: lines to erase are in %s, which is being written; there was no room "+
				"for a new file", f.name)
		}
		if err := eraseInFile(fsys, f); err != nil {
			return err
		}
		if isLast {
			continue
		}
		if err := fsys.Seal(f.name); err != nil {
			return err
		}
	}
	return nil
}

// RemoveSnapshots removes the snapshots that were made before a line that erases. It comes before the
// erasing: beside a journal without the names these snapshots would be wrong.
func RemoveSnapshots(fsys durable.FS, before uint64) error {
	snapshots, err := Numbers(fsys, "snapshots")
	if err != nil || len(snapshots) == 0 {
		return err
	}
	for _, seq := range snapshots {
		if seq < before {
			err = errors.Join(err, fsys.Remove("snapshots/"+Name(seq)))
		}
	}
	return errors.Join(err, fsys.SyncDir("snapshots"))
}

// erasureFile is a file of the journal, with its lines whose personal parts are to be erased, and the time of
// each erasure.
type erasureFile struct {
	name  string
	lines map[uint64]time.Time // by seq
}

// erasureFiles returns all files of the journal with the lines to be erased in each. A file may have none.
func erasureFiles(fsys durable.ReadFS, lines []Erasure) ([]erasureFile, error) {
	firsts, err := Numbers(fsys, "journal")
	if err != nil {
		return nil, err
	}
	files := make([]erasureFile, len(firsts))
	for i, first := range firsts {
		files[i] = erasureFile{"journal/" + Name(first), map[uint64]time.Time{}}
	}
	for _, x := range lines {
		i, found := slices.BinarySearch(firsts, x.Seq)
		if !found {
			i--
		}
		if i >= 0 {
			files[i].lines[x.Seq] = x.At
		}
	}
	return files, nil
}

// eraseInFile publishes a file of the journal without the personal parts that are to be erased in it.
func eraseInFile(fsys durable.FS, file erasureFile) error {
	return durable.Rewrite(fsys, fsys, file.name, func(w *bufio.Writer, f *io.SectionReader) error {
		from := Scan(f)
		for from.Scan() {
			text := from.Bytes()
			l, err := Parse(bytes.TrimSuffix(text, Newline))
			if err != nil {
				return err
			}
			at, named := file.lines[l.Seq]
			if named && l.Personal != nil && !Erased(l.Personal) {
				whole := len(text) - len(l.Personal) - len("}\n") - len(`,"personal":`)
				text = slices.Concat(
					text[:whole],
					[]byte(`,"personal":`),
					ErasedPart(at),
					[]byte("}\n"),
				)
			}
			w.Write(text)
		}
		return from.Err()
	})
}
