package store

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// Open opens the directory, makes it if need be, and brings the state to the journal's end. fresh reports
// that it is new. After an error (ErrLocked, ErrNewer, *Damage, *ClockError, or the file system's) nothing
// has changed.
func Open[S, E any](cfg Config[S, E]) (st *Store[S, E], fresh bool, err error) {
	cfg.SegmentBytes = cmp.Or(cfg.SegmentBytes, defaultSegmentBytes)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if err := cfg.FS.Mkdir("."); err != nil {
		return nil, false, err
	}
	lock, err := cfg.FS.Lock("LOCK")
	if err != nil {
		return nil, false, err
	}
	st = &Store[S, E]{
		cfg:     cfg,
		lock:    lock,
		pending: newBatch[E](),
		kick:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		grown: make(chan struct{},
			1),
		failed: make(chan struct{}),
	}
	if err := st.recover(); err != nil {
		if st.w.file != nil {
			st.w.file.Close()
		}
		lock.Close()
		return nil, false, err
	}
	if st.signer.IsEmpty() {
		st.checkpoint() // the first: a directory that has lines and no checkpoint is not signed
	}
	st.background.Go(st.run)
	st.background.Go(st.runCheckpoints)
	return st, st.head.Seq == 1, nil
}

// recover brings the state to the journal's end, and journals what it found there.
func (st *Store[S, E]) recover() error {
	r := replay[S, E]{
		cfg:  st.cfg,
		scan: scan{fsys: st.cfg.FS},
	}
	r.visits.Prepare = r.decode
	r.visits.Visit = r.apply
	st.signer.FS = st.cfg.FS
	steps := []func() error{r.prepare, r.thaw, r.newestCheckpoint, r.plant, r.run, r.readCreated, r.mayGoOn,
		r.ready, r.mend}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if r.leaves.Size() != r.head.Seq {
		return journal.InFile(
			tree.Dir,
			"has hashes of lines that are not in the journal; without that directory the "+
				"next start makes them again",
		)
	}
	if err := r.misnamed(); err != nil {
		st.cfg.Log.Warn("not all checkpoints can be used", "err", err)
	}
	if gap := r.unvouched(); gap > signedWithin {
		st.cfg.Log.Warn("no checkpoint vouches for the last lines, which a server signs within a second: "+
			"somebody may have taken checkpoints away", "lines", r.head.Seq-r.vouched(), "span", gap)
	}
	if r.unsigned && r.head.Seq > 0 {
		st.cfg.Log.Warn("not signed: no checkpoint vouches for the lines that are there; "+
			"they follow from each other, and are signed as they are from now on",
			"lines", r.head.Seq)
	}
	file, err := r.fsys.Append(r.last)
	if err != nil {
		return err
	}
	st.snapBytes.Store(r.thawed)
	st.state = r.state
	st.seq = r.head.Seq + 1
	st.last = r.head.Time
	st.w = writer{
		file: file,
		size: r.size,
		head: r.head,
		next: r.head,
	}
	if st.w.end, err = allot(file, r.size, reserve); err != nil {
		return err
	}
	st.stem.tree = r.leaves
	if err := st.begin(&r); err != nil {
		return err
	}
	st.head = st.w.head
	st.w.rotated = false
	st.room = st.w.end - st.w.size
	st.created = cmp.Or(r.first.Time, st.head.Time)
	return err
}

// signedWithin is how long a line waits for its checkpoint at most, but on a full disk.
const signedWithin = 5 * time.Second

// unvouched returns the time from the last line that a checkpoint vouches for to the last one there is.
func (r *replay[S, E]) unvouched() time.Duration {
	newest := Checkpoint{}
	for _, list := range r.evidence {
		for _, e := range list {
			if e.Seq > newest.Seq {
				newest = e.Checkpoint
			}
		}
	}
	if newest.Seq == 0 {
		return 0 // there is none at all, which is said too
	}
	return r.head.Time.Sub(newest.Time)
}

// readCreated reads the time of the first line, which run may have skipped, and the key that it says.
func (s *scan) readCreated() error {
	if s.head.Seq == 0 {
		return nil // it is still to be written
	}
	return durable.Read(s.fsys, "journal/"+journal.Name(1), func(f *io.SectionReader) error {
		lines := journal.Scan(f)
		lines.Scan()
		first, err := journal.Parse(bytes.TrimSuffix(lines.Bytes(), journal.Newline))
		if err != nil {
			err = journal.DamageAt(Place{File: "journal/" + journal.Name(1), Line: 1}, 1, err.Error())
		}
		s.first = first.Head
		if err == nil && first.Type == kindOpened && s.first.Seq <= s.namedAt {
			err = s.learnKey(&first)
		}
		return cmp.Or(lines.Err(), err)
	})
}

// prepare makes the directory's fixed parts and drops temporary files.
func (r *replay[S, E]) prepare() error {
	held := false
	afterFormat := []string{checkpoint.PrivateKeyFile, checkpoint.PublicKeyFile, checkpoint.LogFile}
	for _, name := range afterFormat {
		_, none := durable.ReadFile(r.fsys, name)
		held = held || none == nil
	}
	for _, dir := range []string{".", "journal", "snapshots"} {
		names, err := r.fsys.List(dir)
		if err := cmp.Or(r.fsys.Mkdir(dir), err); err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, durable.TempSuffix) {
				held = held || dir != "."
			} else if err := r.fsys.Remove(dir + "/" + name); err != nil {
				return err
			}
		}
	}
	switch _, _, err := journal.ReadOrigin(r.fsys); {
	case err == nil:
		return r.fsys.SyncDir(".") // a name that is seen need not be there after a power cut
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case held:
		return journal.InFile("FORMAT", "is missing, but there is a journal, a snapshot or a key: "+
			"if a backup or repair was to be written here, it is not whole")
	}
	return durable.PublishText(r.fsys, ".", "FORMAT",
		journal.Format(journal.NewID(r.cfg.Random)))
}

// replay brings a state along the journal.
type replay[S, E any] struct {
	scan
	cfg    Config[S, E]
	state  S
	thawed int64                   // bytes of the snapshot it started with
	anchor Checkpoint              // the newest that has a root, for a start
	leaves *tree.Files             // of the tree, for a start
	check  func(S, Stamp, E) error // what sees the state before each event; or nil
}

// thaw starts with the newest snapshot that can be used. One that cannot loses nothing.
func (r *replay[S, E]) thaw() error {
	seqs, err := journal.Numbers(r.fsys, "snapshots")
	if err != nil {
		return err
	}
	for _, seq := range slices.Backward(seqs) {
		err := r.thawFrom(seq)
		if err == nil {
			return nil
		}
		r.cfg.Log.Warn("a snapshot cannot be used; the journal is read instead", "err", err)
	}
	r.state = r.cfg.New()
	return nil
}

// thawFrom starts with a snapshot. One that is whole proves that its line was durable, also when it cannot be
// thawed.
func (r *replay[S, E]) thawFrom(seq uint64) error {
	name := "snapshots/" + journal.Name(seq)
	return durable.Read(r.fsys, name, func(f *io.SectionReader) error {
		sum := sha256.New()
		body := io.LimitReader(f, f.Size()-int64(len(journal.SnapshotEnd(sum))))
		b := bufio.NewReaderSize(io.TeeReader(body, sum), 1<<18)
		start, _ := b.ReadString('\n')
		head := journal.ParseSnapshotStart(start)
		state, refused := r.cfg.Thaw(b)
		_, err := io.Copy(io.Discard, b)
		end, err2 := io.ReadAll(f)
		switch err := cmp.Or(err, err2); {
		case err != nil:
			return err
		case string(end) != journal.SnapshotEnd(sum):
			return journal.InFile(name, "does not end in the SHA-256 of its bytes")
		case head.Seq != seq || start != journal.SnapshotStart(head):
			return journal.InFile(name, "does not start with the line that its name says")
		}
		r.proof = max(r.proof, seq)
		if errors.Is(refused, ErrOlder) {
			return fmt.Errorf("%s: %w", name, refused)
		} else if refused != nil {
			return journal.InFile(name, refused.Error())
		}
		r.state, r.from, r.thawed = state, head, f.Size()
		return nil
	})
}

// mayGoOn reports whether the clock fits the journal's end, and whether the disk has room to start: to copy
// the last file forward, and for the lines to come.
func (r *replay[S, E]) mayGoOn() error {
	now := r.cfg.Now(r.state)
	if r.head.Time.After(now.Add(maxAhead)) {
		return &ClockError{r.head.Time, now}
	}
	need := int64(2 * reserve)
	if !r.clean() {
		need += r.size
	}
	free, err := r.fsys.Free()
	if err == nil && free < need {
		err = &NoRoom{need - free}
	}
	return err
}

// clean reports that the journal is known to be on disk up to its end.
func (r *replay[S, E]) clean() bool {
	proven := r.proof == r.head.Seq || r.fits == r.head.Seq
	return r.torn == nil && proven && r.head.Seq > 0
}

// opened is what a line of that type says, which every start writes.
type opened struct {
	After string      `json:"after"` // how the journal ended
	Torn  *openedTorn `json:"torn,omitempty"`
	Key   string      `json:"key,omitempty"` // the directory's verifier key, where no line says it yet
}

// openedTorn is what was cut off the journal's end.
type openedTorn struct {
	File    string `json:"file"` // that the bytes are kept in
	Bytes   int64  `json:"bytes"`
	CutFrom string `json:"cutFrom"` // the file of the journal
	Offset  int64  `json:"offset"`  // in bytes
}

// data returns the data of the line.
func (o *opened) data() []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic("store: strings and numbers that cannot be encoded: " + err.Error())
	}
	return data
}

// opened returns what the line of this start says.
func (r *replay[S, E]) opened() *opened {
	said := &opened{After: "unclean end"}
	if r.head.Seq == 0 {
		said.After = "creation"
	} else if r.clean() {
		said.After = "clean end"
	}
	if t := r.torn; t != nil {
		said.Torn = &openedTorn{
			File:    t.Kept,
			Bytes:   t.Bytes,
			CutFrom: t.File,
			Offset:  t.Offset,
		}
	}
	return said
}

const kindOpened = "opened"

// Own reports whether lines of a type are the store's own, and hold no event.
func Own(kind string) bool {
	return kind == kindOpened || kind == KindRepaired || kind == KindForked
}

// mend cuts a torn tail. Unless the journal's end is known to be on disk, the last file is copied forward:
// the page cache may show what never got there.
func (r *replay[S, E]) mend() error {
	if r.torn != nil {
		if err := r.keepTorn(); err != nil {
			return err
		}
	}
	if r.clean() {
		return r.fsys.SyncDir("journal") // nor need a name that is seen be there after a power cut
	}
	if r.last == "" {
		r.last = "journal/" + journal.Name(1)
		return durable.PublishText(r.fsys, "journal", journal.Name(1), nil)
	}
	return r.publishPart("journal", path.Base(r.last), r.last, 0, r.size)
}

// keepTorn writes the bytes that will be cut off into a file of their own.
func (r *replay[S, E]) keepTorn() error {
	have, err := r.fsys.List(".")
	if err != nil {
		return err
	}
	for n := 1; r.torn.Kept == "" || slices.Contains(have, r.torn.Kept); n++ {
		r.torn.Kept = fmt.Sprintf("torn-%012d-%d.bin", r.torn.Seq, n)
	}
	r.cfg.Log.Warn("torn tail: the journal's end is not whole, and nothing shows that it was acknowledged; "+
		"it is cut, and its bytes are kept",
		"file", r.torn.File, "offset", r.torn.Offset, "bytes", r.torn.Bytes, "reason", r.torn.Reason, "kept",
		r.torn.Kept)
	return r.publishPart(".", r.torn.Kept, r.torn.File, r.torn.Offset, r.torn.Bytes)
}

// publishPart publishes a part of a file.
func (r *replay[S, E]) publishPart(dir, name, of string, from, length int64) error {
	return durable.Read(r.fsys, of, func(f *io.SectionReader) error {
		return durable.Publish(r.fsys, dir, name, func(to io.Writer) error {
			_, err := io.CopyN(to, io.NewSectionReader(f, from, length), length)
			return err
		})
	})
}

const snapshotsKept = 2

// Snapshot writes the present state beside the journal, without stopping writers, once all of it is durable.
// A failure loses nothing.
func (st *Store[S, E]) Snapshot() error {
	return st.snapshot(false)
}

// snapshot writes a snapshot; last reports that it is the one of Close.
func (st *Store[S, E]) snapshot(last bool) error {
	st.snapMu.Lock()
	defer st.snapMu.Unlock()
	write, head, err := st.freeze(last)
	if err != nil {
		return err
	}
	fsys := st.cfg.FS
	have, err := journal.Numbers(fsys, "snapshots")
	if err != nil || slices.Contains(have, head.Seq) {
		return err
	}
	files := fsys
	if !last {
		files = st.Pace().Files(fsys)
	}
	err = durable.Publish(files, "snapshots", journal.Name(head.Seq), func(f io.Writer) (err error) {
		size, err := journal.WriteSnapshot(f, head, write)
		st.snapBytes.Store(size)
		return err
	})
	if err != nil {
		return err
	}
	if st.cfg.Snapshotted != nil {
		st.cfg.Snapshotted(st.snapBytes.Load())
	}
	for i := 0; i+snapshotsKept <= len(have); i++ {
		err = errors.Join(err, fsys.Remove("snapshots/"+journal.Name(have[i])))
	}
	return err
}

// freeze returns what writes the present state, and the line that it is after, once that is durable. last
// reports that the store is being closed.
func (st *Store[S, E]) freeze(last bool) (write func(io.Writer) error, head Head, err error) {
	st.mu.Lock()
	if err := st.usable(); err != nil && !(last && err == ErrClosed) {
		st.mu.Unlock()
		return nil, head, err
	}
	write = st.cfg.Freeze(st.state)
	seq := st.seq
	head = st.head
	wait := st.newest()
	st.mu.Unlock()
	if err := wait.wait(); err != nil {
		return nil, head, err
	}
	if wait != nil {
		head = wait.entries[seq-wait.entries[0].Seq].Head
	}
	return write, head, nil
}
