package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"

	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// mendEnd prepares the end of a journal for further lines, and completes end with the names of the files that
// it makes. It keeps a torn tail in a file of its own, and publishes the last file anew without it, also
// where nothing is torn: the page cache may show bytes that never reached the disk. It does not where clean
// reports that the journal is known to be on the disk up to its end.
func mendEnd(fsys durable.FS, log *slog.Logger, end *chain.End, clean bool) error {
	if end.Torn != nil {
		if err := keepTorn(fsys, log, end.Torn); err != nil {
			return err
		}
	}
	if clean {
		// The name of the last file, too, may be in the page cache alone.
		return fsys.SyncDir("journal")
	}
	if end.Last == "" {
		end.Last = "journal/" + journal.Name(1)
		return durable.PublishText(fsys, "journal", journal.Name(1), nil)
	}
	return publishPart(fsys, "journal", path.Base(end.Last), end.Last, 0, end.Size)
}

// keepTorn writes the bytes that will be cut off into a file of their own.
func keepTorn(fsys durable.FS, log *slog.Logger, torn *chain.Torn) error {
	have, err := fsys.List(".")
	if err != nil {
		return err
	}
	for n := 1; torn.Kept == "" || slices.Contains(have, torn.Kept); n++ {
		torn.Kept = fmt.Sprintf("torn-%012d-%d.bin", torn.Seq, n)
	}
	log.Warn("torn tail: the journal ends in an incomplete write that was never acknowledged; it is "+
		"cut, and its bytes are kept",
		"file", torn.File, "offset", torn.Offset, "bytes", torn.Bytes, "reason", torn.Reason,
		"kept", torn.Kept)
	return publishPart(fsys, ".", torn.Kept, torn.File, torn.Offset, torn.Bytes)
}

// publishPart publishes a part of a file.
func publishPart(fsys durable.FS, dir, name, of string, from, length int64) error {
	return durable.Read(fsys, of, func(f *io.SectionReader) error {
		return durable.Publish(fsys, dir, name, func(to io.Writer) error {
			_, err := io.CopyN(to, io.NewSectionReader(f, from, length), length)
			return err
		})
	})
}

// Mend prepares the end of a journal that nobody has open for further lines, as a start does, and erases what
// is named to be erased, which a server does once it runs. It returns
// the last line, and the file that has it, "" where there is no line. Without FORMAT the head is zero.
func Mend(fsys durable.FS) (head journal.Head, last string, err error) {
	_, hash, err := journal.ReadOrigin(fsys)
	if errors.Is(err, journal.ErrNoFormat) {
		return head, "", nil
	}
	if err != nil {
		return head, "", err
	}
	names, err := chain.NewNames(fsys)
	if err != nil {
		return head, "", err
	}
	erasures := chain.NewErasures()
	end, err := chain.Reader{FS: fsys}.Read(erasures, new(chain.Repairs), names)
	if err != nil {
		return head, "", err
	}
	head.Hash = hash
	if end.Last == "" {
		return head, "", nil
	}
	if err := mendEnd(fsys, slog.New(slog.DiscardHandler), &end, false); err != nil {
		return head, "", err
	}
	if end.Head.Seq > 0 {
		head = end.Head
	}
	return head, end.Last, journal.Erase(fsys, erasures.Unerased(), erasures.Last)
}
