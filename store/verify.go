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

// compare checks that the snapshot of a line holds, byte for byte, what replay gives.
func (r *replay[S, E]) compare(l *Line) error {
	var want bytes.Buffer
	if err := r.cfg.Freeze(r.state)(&want); err != nil {
		return err
	}
	head, err := readSnapshot(r.cfg.FS, l.Seq, func(body io.Reader) error {
		got, err := io.ReadAll(body)
		if err == nil && !bytes.Equal(got, want.Bytes()) {
			err = errors.New("does not hold what replaying the journal gives")
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist): // a running server has dropped it since
		return nil
	case err != nil:
		return err
	case head.Hash != l.Hash:
		return inFile("snapshots/"+numbered(l.Seq), "names another line than the journal has")
	}
	return nil
}
