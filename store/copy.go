package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// Backup copies a directory that may be in use into a new one, with all that was acknowledged before it
// began; who calls it checks the copy. dirs are directories that the store knows nothing of.
func Backup(from, to durable.FS, live bool, dirs ...string) error {
	if live {
		awaitCheckpoint(from)
	}
	return duplicate(from, to, part{live: live, until: math.MaxUint64}, dirs)
}

// part is the part of a journal that is copied.
type part struct {
	live  bool   // a server may be writing it
	until uint64 // the last line
	more  []byte // what comes after that in the copy
}

// all reports whether the part is the whole journal.
func (p *part) all() bool { return p.until == math.MaxUint64 }

// duplicate copies a part of a directory into a new one.
func duplicate(from, to durable.FS, p part, dirs []string) error {
	if err := makeCopy(to); err != nil {
		return err
	}
	if err := copyEvidence(from, to); err != nil {
		return err
	}
	if p.all() {
		if err := copyDir(from, to, tree.Dir); err != nil {
			return err
		}
	} else if err := checkpoint.Cut(to, p.until); err != nil { // hashes may be of lines that are cut, too
		return err
	}
	last, err := copyJournal(from, to, p.until, p.more)
	if err != nil {
		return err
	}
	if p.live {
		settle(from, last)
	}
	return finishCopy(from, to, dirs)
}

// makeCopy makes the empty directory of a copy.
func makeCopy(to durable.FS) error {
	if names, err := to.List("."); err != nil || len(names) > 0 {
		return cmp.Or(err, errors.New("store: the directory to write is not empty"))
	}
	for _, dir := range []string{".", "journal", "snapshots"} {
		if err := to.Mkdir(dir); err != nil {
			return err
		}
	}
	return nil
}

// copyEvidence copies the checkpoints and what checks them, but not the key that signs: a copy is another
// directory, with a name of its own (see forked).
//
// They come before the lines, which they vouch for, and FORMAT last: a directory that has the public key and
// no FORMAT is not whole, and does not start.
func copyEvidence(from, to durable.FS) error {
	earlier, err := checkpoint.Aside(from)
	if err != nil {
		return err
	}
	files := []string{checkpoint.PublicKeyFile, checkpoint.File, checkpoint.LogFile,
		checkpoint.WitnessedFile, checkpoint.WitnessKeysFile}
	for _, e := range earlier {
		files = append(files, e.Key, e.Log)
	}
	return copyFiles(from, to, ".", files...)
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

// finishCopy copies what lies beside the journal.
func finishCopy(from, to durable.FS, dirs []string) error {
	for _, dir := range dirs {
		if err := copyDir(from, to, dir); err != nil {
			return err
		}
	}
	format, err := durable.ReadFile(from, "FORMAT")
	if err != nil {
		return err
	}
	return durable.PublishText(to, ".", "FORMAT", format)
}

// settle waits until what was read of a journal in use is on the disk, which a checkpoint shows, but not for
// long: where none can be written, nothing else can. (To sync the file here would be wrong: where that fails,
// the server's own may not.)
func settle(fsys durable.FS, seq uint64) {
	for wait := time.Duration(0); wait < 2*checkpointPause; wait += checkpointQuiet / 4 {
		origin := ""
		signed := uint64(0)
		note, _ := checkpoint.Newest(fsys)
		if fmt.Sscanf(string(note), "%s\n%d\n", &origin, &signed); signed >= seq {
			return
		}
		time.Sleep(checkpointQuiet / 4)
	}
}

// awaitCheckpoint waits for the first checkpoint of a server that has just made its directory.
func awaitCheckpoint(fsys durable.FS) { settle(fsys, 1) }

// A Cut is what a repair is to cut off a journal, and why.
type Cut struct {
	At     uint64 // the first line that is cut; those before it must be good
	Reason string
	By     any  // who does it, as whoever asks has it
	Force  bool // also where no line from At on is damaged
}

// An UndamagedError is of a repair that would cut good lines only.
type UndamagedError struct {
	At    uint64
	Lines uint64 // from At on
}

// Error says how many lines would be lost.
func (e *UndamagedError) Error() string {
	return fmt.Sprintf("no line from %d on is damaged: to cut there would lose %d good lines", e.At, e.Lines)
}

// Repair copies the lines before a cut, which must be good, into a new directory. A line of the type repaired
// says why it was cut, and by whom. Checkpoints of lines that are cut are left out: nothing excuses them, and
// who has kept one sees that the copy is another history. It returns how many undamaged lines were cut. Its
// error is also *UndamagedError.
func Repair[S, E any](cfg Config[S, E], to durable.FS, cut Cut, dirs ...string) (lost uint64, err error) {
	if cut.At < 2 {
		return 0, errors.New("the first line cannot be cut")
	}
	r := replay[S, E]{
		cfg: cfg,
		scan: scan{
			fsys:  cfg.FS,
			until: cut.At - 1,
			whole: true,
		},
		state: cfg.New(),
	}
	r.visits.Prepare = r.decode
	r.visits.Visit = r.apply
	if err := r.heedAll(); err != nil {
		cfg.Log.Warn("not all checkpoints can be used", "err", err)
	}
	switch err := r.run(); {
	case err != nil:
		return 0, fmt.Errorf("what is to be kept is not good: %w", err)
	case r.torn != nil:
		return 0, fmt.Errorf("what is to be kept is not good: %w", &r.torn.Damage)
	case r.head.Seq != cut.At-1:
		return 0, fmt.Errorf("the journal ends with seq %d: there is no line %d to cut at", r.head.Seq, cut.At)
	}
	after, err := r.scan.rest()
	if err != nil {
		return 0, err
	}
	if !after.damaged && !cut.Force {
		return 0, &UndamagedError{cut.At, after.lines}
	}
	lost = after.lines
	said := repaired{
		Reason: cut.Reason,
		By:     cut.By,
	}
	if said.Erased, err = r.scan.erasedBy(after); err != nil {
		return 0, fmt.Errorf("what is to be kept is not good: %w", err)
	}
	if cut.Force {
		said.Forced = lost
	}
	data, _ := json.Marshal(said)
	now := cfg.Now(r.state).UTC().Truncate(time.Millisecond)
	at := slices.MaxFunc([]time.Time{r.head.Time, now}, time.Time.Compare)
	line := Line{
		Head:   Head{Stamp: Stamp{Seq: cut.At, Time: at}},
		Synced: r.head.Seq,
		Type:   KindRepaired,
		Data:   data,
	}
	return lost, duplicate(cfg.FS, to, part{until: cut.At - 1, more: line.AppendTo(nil, r.head.Hash)}, dirs)
}

// remainder is what comes after the lines of a journal that are kept.
type remainder struct {
	lines   uint64              // that follow from each other
	damaged bool                // after these, or something is missing
	named   map[uint64][]string // when lines' personal parts were erased, as these lines say
}

// rest goes through the lines after those that were read. A personal part that is gone without a line that
// says so is damage, as for verify.
func (s *scan) rest() (x remainder, err error) {
	after := scan{
		fsys:     s.fsys,
		from:     s.head,
		whole:    true,
		erasures: true,
	}
	after.visits.Visit = func(*journal.Visited) error {
		x.lines++
		return nil
	}
	err = after.run()
	x.named = after.named
	if errors.As(err, new(*Damage)) {
		x.damaged = true
		return x, nil
	}
	for seq := range after.unnamed() {
		x.damaged = x.damaged || seq > s.head.Seq
	}
	for seq, list := range s.evidence {
		for i := range list {
			x.damaged = x.damaged || seq > after.head.Seq && s.concerns(&list[i])
		}
	}
	x.damaged = x.damaged || after.torn != nil
	return x, err
}

// erasedBy returns the lines whose personal parts were erased by lines that are cut, and when. That of any
// other line is gone without a line that has ever said so: it must not be called erased.
func (s *scan) erasedBy(cut remainder) (map[uint64]string, error) {
	erased := s.unnamed()
	for _, seq := range slices.Sorted(maps.Keys(erased)) {
		if !slices.Contains(cut.named[seq], erased[seq]) {
			return nil, s.nobodyErased(seq)
		}
	}
	return erased, nil
}

// copyJournal copies the whole lines of a journal up to one, with more after it, and returns the last. A full
// file may be published anew meanwhile, and the last one grow, or be followed by another.
func copyJournal(from, to durable.FS, until uint64, more []byte) (seq uint64, err error) {
	for before := uint64(math.MaxUint64); err == nil && seq < until && seq != before; {
		before = seq
		name := "journal/" + journal.Name(seq+1)
		err = rewrite(from, to, name, func(w *bufio.Writer, f *io.SectionReader) error {
			lines := journal.Scan(f)
			at := Place{File: name}
			for seq < until && lines.Scan() {
				at.Line++
				text, whole := bytes.CutSuffix(lines.Bytes(), journal.Newline)
				if !whole {
					return nil
				}
				l, err := journal.Parse(text)
				if err != nil {
					return journal.DamageAt(at, seq+1, err.Error())
				}
				seq = l.Seq
				at.Offset += int64(len(lines.Bytes()))
				w.Write(lines.Bytes())
			}
			if seq == until {
				w.Write(more)
			}
			return lines.Err()
		})
	}
	return seq, err
}

// copyFiles copies files of a directory.
func copyFiles(from, to durable.FS, dir string, names ...string) error {
	for _, name := range names {
		if strings.HasSuffix(name, durable.TempSuffix) {
			continue
		}
		err := rewrite(from, to, path.Join(dir, name), func(w *bufio.Writer, f *io.SectionReader) error {
			_, err := io.Copy(w, f)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite publishes under a file's name, in its own directory or another, what edit makes of it; the writer
// keeps its first error. What is not there is left out.
func rewrite(from, to durable.FS, name string, edit func(*bufio.Writer, *io.SectionReader) error) error {
	err := durable.Read(from, name, func(f *io.SectionReader) error {
		return durable.Publish(to, path.Dir(name), path.Base(name), func(file io.Writer) error {
			w := bufio.NewWriterSize(file, 1<<18)
			return cmp.Or(edit(w, f), w.Flush())
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Erase erases the personal parts of lines that durable lines of the type KindErased name, of which by is the
// last: files of the journal are published anew, and snapshots made before are removed. A crash leaves each
// file old or new.
func (st *Store[S, E]) Erase(lines []Erasure, by Stamp) error {
	if err := st.Snapshot(); err != nil {
		return err
	}
	fsys := st.cfg.FS
	if err := removeSnapshots(fsys, by.Seq); err != nil {
		return err
	}
	firsts, err := journal.Numbers(fsys, "journal")
	if err != nil {
		return err
	}
	paced := st.Pace().Files(fsys)
	for i, of := range byFile(firsts, lines) {
		if len(of) == 0 {
			continue
		}
		if i+1 == len(firsts) {
			return fmt.Errorf("store: line %d stands in the file that is being written; "+
				"there was no room for a new one", by.Seq)
		}
		if err := eraseIn(paced, "journal/"+journal.Name(firsts[i]), of); err != nil {
			return err
		}
	}
	return nil
}

// removeSnapshots removes the snapshots that were made before a line that erases. That comes before the
// erasing: beside a journal without the names they would be wrong.
func removeSnapshots(fsys durable.FS, before uint64) error {
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

// CarryOut erases in a journal that nobody has open what its lines up to one name to be erased: named is what
// is left of that in the journal, and the snapshots that were made before that line are removed.
func CarryOut(fsys durable.FS, named []Erasure, by Stamp) error {
	if err := removeSnapshots(fsys, by.Seq); err != nil {
		return err
	}
	firsts, err := journal.Numbers(fsys, "journal")
	if err != nil {
		return err
	}
	for i, of := range byFile(firsts, named) {
		if len(of) == 0 {
			continue
		}
		if err := rewriteErased(fsys, "journal/"+journal.Name(firsts[i]), of); err != nil {
			return err
		}
	}
	return nil
}

// byFile returns which of the lines to erase stand in which file.
func byFile(firsts []uint64, lines []Erasure) []map[uint64]time.Time {
	files := make([]map[uint64]time.Time, len(firsts))
	for _, x := range lines {
		i, found := slices.BinarySearch(firsts, x.Seq)
		if !found {
			i--
		}
		if i < 0 {
			continue
		}
		if files[i] == nil {
			files[i] = map[uint64]time.Time{}
		}
		files[i][x.Seq] = x.At
	}
	return files
}

// eraseIn publishes a full journal file without the personal parts of some lines.
func eraseIn(fsys durable.FS, name string, erase map[uint64]time.Time) error {
	if err := rewriteErased(fsys, name, erase); err != nil {
		return err
	}
	return fsys.Seal(name)
}

// rewriteErased publishes a journal file without the personal parts of some lines. erase has, for each, since
// when it is erased.
func rewriteErased(fsys durable.FS, name string, erase map[uint64]time.Time) error {
	return rewrite(fsys, fsys, name, func(w *bufio.Writer, f *io.SectionReader) error {
		from := journal.Scan(f)
		for from.Scan() {
			text := from.Bytes()
			l, err := journal.Parse(bytes.TrimSuffix(text, journal.Newline))
			if err != nil {
				return err
			}
			at, named := erase[l.Seq]
			if named && l.Personal != nil && !Erased(l.Personal) {
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
