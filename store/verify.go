package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
)

// Report is what Verify found sound.
type Report struct {
	Head      Head
	Files     int
	Snapshots int
	Torn      *Torn // an end that the next start would cut
}

// Read goes through the whole journal from line 1, checks it, and calls visit
// for each line. It only reads and takes no lock. Where live tells that a
// server is writing the journal, an unfinished end is the server's and is left out.
func Read(fsys FS, live bool, visit func(Place, *Line) error) (Report, error) {
	s := scan{fsys: fsys, visit: visit, whole: true, live: live}
	err := s.run()
	return Report{Head: s.head, Files: s.files, Torn: s.torn}, err
}

// Verify checks every byte of the journal and of the snapshots, and that each
// snapshot holds what replaying the journal gives. check, which sees the state
// before each event, and inspect, which sees the state after the last line, look at what the events mean.
func Verify[S, E any](cfg Config[S, E], live bool, check func(S, Stamp, E) error, inspect func(S, Stamp) error) (Report, error) {
	seqs, err := numbers(cfg.FS, "snapshots")
	if err != nil {
		return Report{}, err
	}
	r := replay[S, E]{cfg: cfg, scan: scan{fsys: cfg.FS, whole: true, live: live}, state: cfg.New()}
	if n := len(seqs); n > 0 {
		r.proof = seqs[n-1]
	}
	checked := 0
	r.visit = func(at Place, l *Line) error {
		if err := r.apply(at, l, check); err != nil || !slices.Contains(seqs, l.Seq) {
			return err
		}
		checked++
		return r.compare(l)
	}
	if err = r.run(); err == nil {
		err = inspect(r.state, r.head.Stamp)
	}
	return Report{r.head, r.files, checked, r.torn}, err
}

// compare checks that the snapshot of a line is, byte for byte, what replay gives.
func (r *replay[S, E]) compare(l *Line) error {
	var want bytes.Buffer
	if err := writeSnapshot(&want, l.Head, r.cfg.Freeze(r.state)); err != nil {
		return err
	}
	name := "snapshots/" + numbered(l.Seq)
	err := reading(r.fsys, name, func(f *io.SectionReader) error {
		got, err := io.ReadAll(f)
		if err == nil && !bytes.Equal(got, want.Bytes()) {
			err = inFile(name, "is not the snapshot that replaying the journal gives")
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a running server has dropped it since
	}
	return err
}
