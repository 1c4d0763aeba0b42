package store

import (
	"errors"
	"io/fs"
	"log/slog"

	"waybill/store/durable"
	"waybill/store/journal"
)

// Mend makes the end of a journal that nobody has open fit to be gone on with, as a start does: what a crash
// has left of its last lines is cut off, the last file is copied forward, and what was to be erased is
// erased. It returns the last line, and the file that it stands in, "" where there is none. Without FORMAT
// the head is zero.
func Mend(fsys durable.FS) (head Head, last string, err error) {
	_, hash, err := journal.ReadOrigin(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return head, "", nil
	}
	if err != nil {
		return head, "", err
	}
	r := replay[struct{}, struct{}]{
		cfg: Config[struct{}, struct{}]{
			FS:  fsys,
			Log: slog.New(slog.DiscardHandler),
		},
		scan: scan{
			fsys:     fsys,
			erasures: true,
		},
	}
	var by Stamp // the last line that names what is erased
	r.visits.Visit = func(v *journal.Visited) error {
		if erased, _ := journal.ErasedBy(&v.Line); len(erased) > 0 { // the scan has read it already
			by = v.Line.Stamp
		}
		return nil
	}
	if err := r.run(); err != nil {
		return head, "", err
	}
	head.Hash = hash
	if r.last == "" {
		return head, "", nil
	}
	if err := r.mend(); err != nil {
		return head, "", err
	}
	if r.head.Seq > 0 {
		head = r.head
	}
	return head, r.last, CarryOut(fsys, r.unerased(), by)
}
