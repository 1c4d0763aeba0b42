package store

import (
	"bytes"
	"errors"
	"fmt"
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
	s := scan{fsys: fsys, visit: visit, whole: true, anchored: true}
	var err error
	if s.head.Hash, err = origin(fsys); err != nil {
		return Report{}, err
	}
	segs, err := numbers(fsys, "journal")
	if err == nil {
		err = s.run(segs)
	}
	if live && s.torn != nil && s.torn.unfinished {
		s.torn = nil
	}
	return Report{Head: s.head, Files: len(segs), Torn: s.torn}, err
}

// Verify checks every byte of the journal and of the snapshots, and that each
// snapshot holds what replaying the journal gives. check, which sees the state
// before each event, and inspect, which sees the state after the last line, look at what the events mean.
func Verify[S, E any](cfg Config[S, E], live bool, check func(S, Stamp, E) error, inspect func(S, Stamp) error) (Report, error) {
	seqs, err := numbers(cfg.FS, "snapshots")
	if err != nil {
		return Report{}, err
	}
	v := recovery[S, E]{cfg: cfg, state: cfg.New()}
	checked := 0
	rep, err := Read(cfg.FS, live, func(at Place, l *Line) error {
		if l.Type != kindOpened {
			e, err := cfg.Decode(l.Type, l.Data, l.Personal)
			if err != nil {
				return unreadable(at, l, err)
			}
			if err := check(v.state, l.Stamp, e); err != nil {
				return &Damage{at, l.Seq, err.Error()}
			}
			cfg.Apply(v.state, l.Stamp, e)
		}
		if !slices.Contains(seqs, l.Seq) {
			return nil
		}
		checked++
		return v.compare(l)
	})
	rep.Snapshots = checked
	if err != nil {
		return rep, err
	}
	if n := len(seqs); n > 0 && seqs[n-1] > rep.Head.Seq {
		at := &Damage{Place{File: "journal"}, rep.Head.Seq + 1, fmt.Sprintf("lines from seq %d on are missing", rep.Head.Seq+1)}
		if rep.Torn != nil {
			at = &rep.Torn.Damage
		}
		at.Reason += fmt.Sprintf("; snapshots/%s was made after seq %d", numbered(seqs[n-1]), seqs[n-1])
		return rep, at
	}
	return rep, inspect(v.state, rep.Head.Stamp)
}

// compare checks that the snapshot of a line holds, byte for byte, what replay gives.
func (r *recovery[S, E]) compare(l *Line) error {
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
