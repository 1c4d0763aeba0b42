package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// errEnough ends a scan where it was to end.
var errEnough = errors.New("store: enough")

// Backup copies a directory that may be in use into a new one, with all that was acknowledged before it began. others
// are files that the store knows nothing of, and, with a slash at the end, directories. It gives the last line copied.
func Backup(from, to FS, live bool, others ...string) (Head, error) {
	if err := fresh(to); err != nil {
		return Head{}, err
	}
	// What proves that lines were durable comes before them; the newest checkpoint comes first, so that it is in the log.
	for _, name := range []string{"snapshots/", checkpointFile, checkpointLog} {
		if err := copyAll(from, to, name); err != nil {
			return Head{}, err
		}
	}
	s := scan{fsys: from, live: live, visit: func(Place, *Line) error { return nil }}
	if err := s.run(); err != nil {
		return Head{}, err
	}
	if s.torn != nil {
		return Head{}, fmt.Errorf("the journal's end is torn, which the next start mends: %w", &s.torn.Damage)
	}
	if err := s.settled(); err != nil {
		return Head{}, err
	}
	return s.head, copyJournal(&s, to, nil, others)
}

// settled waits until what was read of a journal in use is on the disk, which a checkpoint tells. (To sync the file here
// would be wrong: where that fails, the server's own sync may not.)
func (s *scan) settled() error {
	for wait := time.Duration(0); s.live; wait += checkpointQuiet / 4 {
		note, err := NewestCheckpoint(s.fsys)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var origin string
		var seq uint64
		if fmt.Sscanf(string(note), "%s\n%d\n", &origin, &seq); seq >= s.head.Seq {
			return nil
		}
		if wait > 5*checkpointPause {
			return fmt.Errorf("the server makes no checkpoint of line %d; its log says why", s.head.Seq)
		}
		time.Sleep(checkpointQuiet / 4)
	}
	return nil
}

// Repair copies the lines before cutAt, which must be good, into a new directory, of the same origin. A line of the type
// repaired says what was cut and why, and names the newest checkpoint that was made of what is cut.
func Repair[S, E any](cfg Config[S, E], to FS, cutAt uint64, reason string, others ...string) (head Head, err error) {
	if cutAt < 2 {
		return head, errors.New("the first line cannot be cut")
	}
	if err := fresh(to); err != nil {
		return head, err
	}
	r := replay[S, E]{cfg: cfg, scan: scan{fsys: cfg.FS, until: cutAt - 1, whole: true, erasures: newErasures()}, state: cfg.New()}
	r.visit = r.apply
	if err := r.heedAll(); err != nil {
		cfg.Log.Warn("not all checkpoints can be used", "err", err)
	}
	switch err := r.run(); {
	case err != nil:
		return head, fmt.Errorf("what is to be kept is not good: %w", err)
	case r.torn != nil:
		return head, fmt.Errorf("what is to be kept is not good: %w", &r.torn.Damage)
	case r.head.Seq != cutAt-1:
		return head, fmt.Errorf("the journal ends with seq %d: there is no line %d to cut at", r.head.Seq, cutAt)
	}
	said := repaired{Reason: reason, Erased: r.erasures.unnamed()}
	for seq, list := range r.evidence {
		if seq >= cutAt && seq > said.Checkpoint.Seq {
			said.Checkpoint.Seq, said.Checkpoint.Hash = seq, fmt.Sprintf("%x", list[0].Hash)
		}
	}
	data, err := json.Marshal(said)
	if err != nil {
		return head, err
	}
	at := cfg.Now(r.state).UTC().Truncate(time.Millisecond)
	if at.Before(r.head.Time) {
		at = r.head.Time
	}
	line := Line{Head: Head{Stamp: Stamp{cutAt, at}}, Synced: r.head.Seq, Type: kindRepaired, Data: data}
	text := line.appendTo(nil, r.head.Hash)
	for _, name := range []string{checkpointLog, checkpointFile} {
		if err := copyAll(cfg.FS, to, name); err != nil {
			return head, err
		}
	}
	return line.Head, copyJournal(&r.scan, to, text, others)
}

// fresh makes a new directory.
func fresh(to FS) error {
	names, err := to.List(".")
	if err == nil && len(names) > 0 {
		err = errors.New("store: the directory to write is not empty")
	}
	for _, dir := range []string{".", "journal", "snapshots"} {
		if err == nil {
			err = to.Mkdir(dir)
		}
	}
	return err
}

// copyJournal copies the journal up to where a scan has got, and more after it, then the rest; FORMAT, without which
// there is no journal, is the last.
func copyJournal(s *scan, to FS, more []byte, others []string) error {
	firsts, err := numbers(s.fsys, "journal")
	if err != nil {
		return err
	}
	for _, first := range firsts {
		name := "journal/" + numbered(first)
		if name > s.last {
			break
		}
		err := reading(s.fsys, name, func(f *io.SectionReader) error {
			if name < s.last {
				return copyFile(to, name, f)
			}
			return copyFile(to, name, io.MultiReader(io.LimitReader(f, s.size), strings.NewReader(string(more))))
		})
		if err == nil && name < s.last {
			err = to.Seal(name)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range append(others, privateKeyFile, publicKeyFile) {
		if err := copyAll(s.fsys, to, name); err != nil {
			return err
		}
	}
	for _, dir := range []string{"journal", "."} {
		if err := to.SyncDir(dir); err != nil {
			return err
		}
	}
	return reading(s.fsys, "FORMAT", func(f *io.SectionReader) error {
		return Publish(to, ".", "FORMAT", func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
	})
}

// copyAll copies a file or, where the name ends in a slash, the files of a directory. What is not there is left out.
func copyAll(from, to FS, name string) error {
	dir, ok := strings.CutSuffix(name, "/")
	if !ok {
		return copyOne(from, to, name)
	}
	names, err := from.List(dir)
	if err == nil {
		err = to.Mkdir(dir)
	}
	for _, file := range names {
		if err == nil && !strings.HasSuffix(file, tempSuffix) {
			err = copyOne(from, to, name+file)
		}
	}
	if err == nil {
		err = to.SyncDir(dir)
	}
	return err
}

func copyOne(from, to FS, name string) error {
	err := reading(from, name, func(f *io.SectionReader) error { return copyFile(to, name, f) })
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

func copyFile(to FS, name string, from io.Reader) error {
	f, err := to.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
