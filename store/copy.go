package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"
)

// errEnough ends a scan where it was to end.
var errEnough = errors.New("store: enough")

// Backup copies a directory that may be in use into a new one, with all that was acknowledged before it began; who calls
// it checks the copy. others are files that the store knows nothing of, and, with a slash at the end, directories.
func Backup(from, to FS, live bool, others ...string) error {
	// What proves that lines were durable comes before them, and a checkpoint before the log that it is in.
	err := begin(from, to, checkpointFile, checkpointLog)
	if err != nil {
		return err
	}
	last, err := copyJournal(from, to, math.MaxUint64, nil)
	if err != nil {
		return err
	}
	if live {
		settle(from, last)
	}
	return finish(from, to, others)
}

// settle waits until what was read of a journal in use is on the disk, which a checkpoint tells, but not for long: where
// none can be written, nothing else can. (To sync the file here would be wrong: where that fails, the server's own may not.)
func settle(fsys FS, seq uint64) {
	for wait := time.Duration(0); wait < 2*checkpointPause; wait += checkpointQuiet / 4 {
		origin, signed := "", uint64(0)
		note, _ := NewestCheckpoint(fsys)
		if fmt.Sscanf(string(note), "%s\n%d\n", &origin, &signed); signed >= seq {
			return
		}
		time.Sleep(checkpointQuiet / 4)
	}
}

// Repair copies the lines before cutAt, which must be good, into a new directory, of the same origin. A line of the type
// repaired says what was cut and why, and names the newest checkpoint that was made of what is cut.
func Repair[S, E any](cfg Config[S, E], to FS, cutAt uint64, reason string, others ...string) error {
	if cutAt < 2 {
		return errors.New("the first line cannot be cut")
	}
	r := replay[S, E]{cfg: cfg, scan: scan{fsys: cfg.FS, until: cutAt - 1, whole: true, erasures: newErasures()}, state: cfg.New()}
	r.visit = r.apply
	if err := r.heedAll(); err != nil {
		cfg.Log.Warn("not all checkpoints can be used", "err", err)
	}
	switch err := r.run(); {
	case err != nil:
		return fmt.Errorf("what is to be kept is not good: %w", err)
	case r.torn != nil:
		return fmt.Errorf("what is to be kept is not good: %w", &r.torn.Damage)
	case r.head.Seq != cutAt-1:
		return fmt.Errorf("the journal ends with seq %d: there is no line %d to cut at", r.head.Seq, cutAt)
	}
	said := repaired{Reason: reason, Notes: r.notes, Erased: r.erasures.unnamed()}
	newest := -1 // by its place in the log: after an earlier repair the seq may be lower
	for seq, list := range r.evidence {
		for _, e := range list {
			if seq >= cutAt && e.number > newest {
				newest, said.Checkpoint.Seq, said.Checkpoint.Hash = e.number, seq, fmt.Sprintf("%x", e.Hash)
			}
		}
	}
	data, err := json.Marshal(said)
	if err != nil {
		return err
	}
	at := cfg.Now(r.state).UTC().Truncate(time.Millisecond)
	if at.Before(r.head.Time) {
		at = r.head.Time
	}
	line := Line{Head: Head{Stamp: Stamp{cutAt, at}}, Synced: r.head.Seq, Type: kindRepaired, Data: data}
	if err = begin(cfg.FS, to, checkpointFile, checkpointLog); err == nil {
		_, err = copyJournal(cfg.FS, to, cutAt-1, line.appendTo(nil, r.head.Hash))
	}
	if err == nil {
		err = finish(cfg.FS, to, others)
	}
	return err
}

// begin makes a new directory. The key comes first: a directory with a key and without FORMAT is not whole, and does not
// start.
func begin(from, to FS, others ...string) error {
	names, err := to.List(".")
	if err == nil && len(names) > 0 {
		err = errors.New("store: the directory to write is not empty")
	}
	if err == nil {
		err = to.Mkdir(".")
	}
	for _, name := range append([]string{privateKeyFile, publicKeyFile}, others...) {
		if err == nil {
			err = copyAll(from, to, name)
		}
	}
	for _, dir := range []string{"journal", "snapshots"} {
		if err == nil {
			err = to.Mkdir(dir)
		}
	}
	return err
}

// finish copies the rest of a directory; FORMAT is the last.
func finish(from, to FS, others []string) (err error) {
	for _, name := range others {
		if err == nil {
			err = copyAll(from, to, name)
		}
	}
	for _, dir := range []string{"journal", "."} {
		if err == nil {
			err = to.SyncDir(dir)
		}
	}
	format, err2 := readFile(from, "FORMAT")
	if err = errors.Join(err, err2); err == nil {
		err = PublishText(to, ".", "FORMAT", format)
	}
	return err
}

// copyJournal copies the whole lines of a journal up to one, with more after it, and tells the last. A full file may be
// published anew meanwhile, and the last one grow, or be followed by another.
func copyJournal(from, to FS, until uint64, more []byte) (seq uint64, err error) {
	for before := uint64(math.MaxUint64); seq < until && seq != before; {
		before = seq
		name := "journal/" + numbered(seq+1)
		err = reading(from, name, func(f *io.SectionReader) error {
			return copyFile(to, name, func(w io.Writer) error {
				lines := bufio.NewScanner(f)
				lines.Buffer(make([]byte, 0, min(f.Size()+1, 1<<20)), math.MaxInt)
				for lines.Split(splitLine); seq < until && lines.Scan(); {
					text, whole := bytes.CutSuffix(lines.Bytes(), newline)
					if !whole {
						break
					}
					l, err := parseLine(text)
					if err != nil {
						return inFile(name, err.Error())
					}
					seq = l.Seq
					if _, err := w.Write(lines.Bytes()); err != nil {
						return err
					}
				}
				if seq == until {
					_, err := w.Write(more)
					return err
				}
				return lines.Err()
			})
		})
		if errors.Is(err, fs.ErrNotExist) {
			return seq, nil
		} else if err != nil {
			return seq, err
		}
	}
	return seq, nil
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
	err := reading(from, name, func(f *io.SectionReader) error {
		return copyFile(to, name, func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

func copyFile(to FS, name string, write func(io.Writer) error) error {
	f, err := to.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<18)
	if err = write(w); err == nil {
		err = errors.Join(w.Flush(), f.Sync())
	}
	return errors.Join(err, f.Close())
}
