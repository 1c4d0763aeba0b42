package store

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
)

// Open opens the directory, which is made if it does not exist, and brings the
// state to the journal's end. fresh tells that the directory was new.
// Errors: ErrLocked, ErrNewer, *Damage, *ClockError, or those of the file system;
// then nothing was changed.
func Open[S, E any](cfg Config[S, E]) (st *Store[S, E], fresh bool, err error) {
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = defaultSegmentBytes
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.FS.Mkdir("."); err != nil {
		return nil, false, err
	}
	lock, err := cfg.FS.Lock("LOCK")
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err = prepare(cfg.FS); err != nil {
		return nil, false, err
	}
	r := recovery[S, E]{cfg: cfg}
	if err = r.load(); err != nil {
		return nil, false, err
	}
	now := cfg.Now(r.state)
	if r.head.Time.After(now.Add(maxAhead)) {
		err = &ClockError{r.head.Time, now}
		return nil, false, err
	}
	st = &Store[S, E]{
		cfg: cfg, lock: lock, state: r.state, seq: r.head.Seq, last: r.head.Time, pending: newBatch[E](),
		kick: make(chan struct{}, 1), failed: make(chan struct{}), ended: make(chan struct{}),
	}
	w := &writer[S, E]{st: st, head: r.head}
	st.w = w
	defer func() {
		if err != nil && w.file != nil {
			w.file.Close()
		}
	}()
	if err = r.mend(w); err != nil {
		return nil, false, err
	}
	fresh = r.head.Seq == 0
	after := "unclean end"
	switch {
	case fresh:
		after = "creation"
	case r.clean():
		after = "clean end"
	}
	st.seq++
	if err = w.writeOpened(Stamp{st.seq, st.instant()}, after, r.torn); err != nil {
		return nil, false, err
	}
	w.rotated = false
	st.head = w.head
	go w.run()
	return st, fresh, nil
}

// prepare makes the directory's fixed parts and drops temporary files.
func prepare(fsys FS) error {
	held := false
	for _, dir := range []string{".", "journal", "snapshots"} {
		if err := fsys.Mkdir(dir); err != nil {
			return err
		}
		names, err := fsys.List(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, tempSuffix) {
				held = held || dir != "."
			} else if err := fsys.Remove(dir + "/" + name); err != nil {
				return err
			}
		}
	}
	if _, err := origin(fsys); err == nil {
		return fsys.SyncDir(".") // a name that is seen need not be there after a power cut
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if held {
		return inFile("FORMAT", "is missing, but there is a journal or a snapshot")
	}
	return Publish(fsys, ".", "FORMAT", func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s v%d %s\n", formatName, formatVersion, rand.Text())
		return err
	})
}

// recovery brings the state to the end of the journal's good part.
type recovery[S, E any] struct {
	cfg Config[S, E]
	scan
	state    S
	snapshot Head   // where the state was loaded from; Seq 0: from nothing
	newest   uint64 // the highest seq any whole snapshot names: proof that it was durable
}

func (r *recovery[S, E]) clean() bool {
	return r.torn == nil && r.newest == r.head.Seq && r.newest > 0
}

// load reads the newest whole snapshot and the lines after it.
func (r *recovery[S, E]) load() error {
	r.fsys = r.cfg.FS
	segs, err := numbers(r.fsys, "journal")
	if err != nil {
		return err
	}
	if err := r.thaw(); err != nil {
		return err
	}
	start := 0
	for i, first := range segs {
		if first <= r.snapshot.Seq {
			start = i
		}
	}
	for i := range start {
		if err := follows(r.fsys, segs[i], segs[i+1]); err != nil {
			return err
		}
	}
	if len(segs) > 0 && segs[0] != 1 {
		return &Damage{Place{"journal/" + numbered(segs[0]), 1, 0}, 1, "is the first file there is; those before it are missing"}
	}
	if start > 0 {
		r.head.Seq = segs[start] - 1
	} else if r.head.Hash, err = origin(r.fsys); err != nil {
		return err
	} else {
		r.anchored = true
	}
	r.visit = r.apply
	if err := r.run(segs[start:]); err != nil {
		return err
	}
	if r.newest > r.head.Seq {
		at := Damage{Place{File: cmp.Or(r.last, "journal")}, r.head.Seq + 1, fmt.Sprintf("lines from seq %d on are missing", r.head.Seq+1)}
		if r.torn != nil {
			at = r.torn.Damage
		}
		at.Reason += fmt.Sprintf("; a snapshot proves that seq %d was durable", r.newest)
		return &at
	}
	return nil
}

// thaw loads the newest snapshot that is whole. One that is not loses nothing.
func (r *recovery[S, E]) thaw() error {
	seqs, err := numbers(r.fsys, "snapshots")
	if err != nil {
		return err
	}
	for _, seq := range slices.Backward(seqs) {
		var state S
		head, err := readSnapshot(r.fsys, seq, func(body io.Reader) (err error) {
			state, err = r.cfg.Thaw(body)
			return err
		})
		r.newest = max(r.newest, head.Seq) // it proves this also when it cannot be thawed
		if err == nil {
			r.state, r.snapshot = state, head
			return nil
		}
		r.cfg.Log.Warn("a snapshot cannot be used; the journal is read instead", "err", err)
	}
	r.state = r.cfg.New()
	return nil
}

func (r *recovery[S, E]) apply(at Place, l *Line) error {
	switch {
	case l.Seq < r.snapshot.Seq:
		return nil
	case l.Seq == r.snapshot.Seq:
		if l.Hash != r.snapshot.Hash {
			return &Damage{at, l.Seq, "is not the line that the snapshot of this seq was made after"}
		}
		return nil
	case l.Type == kindOpened:
		return nil
	}
	e, err := r.cfg.Decode(l.Type, l.Data, l.Personal)
	if err != nil {
		return unreadable(at, l, err)
	}
	r.cfg.Apply(r.state, l.Stamp, e)
	return nil
}

// unreadable is the error of a line that the chain confirms but Decode refuses.
func unreadable(at Place, l *Line, err error) error {
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%w: %s: line %d: unknown type %q", err, at.File, at.Line, l.Type)
	}
	return &Damage{at, l.Seq, "cannot be read: " + err.Error()}
}

// mend cuts a torn tail and opens the journal's end for writing. Unless the
// end is known to be on disk, the last file is copied forward: the page cache
// may show what never got there.
func (r *recovery[S, E]) mend(w *writer[S, E]) (err error) {
	fsys := r.fsys
	if r.last == "" {
		r.last = "journal/" + numbered(r.head.Seq+1)
		if w.file, err = fsys.Create(r.last); err != nil {
			return err
		}
		return fsys.SyncDir("journal")
	}
	if r.torn != nil {
		if err := r.keepTorn(); err != nil {
			return err
		}
	}
	// Nor need a name that is seen be there after a power cut.
	if r.clean() {
		err = fsys.SyncDir("journal")
	} else {
		err = Publish(fsys, "journal", strings.TrimPrefix(r.last, "journal/"), func(to io.Writer) error {
			return copyRange(fsys, to, r.last, 0, r.size)
		})
	}
	if err != nil {
		return err
	}
	w.size = r.size
	w.file, err = fsys.Append(r.last)
	return err
}

// keepTorn writes the bytes that will be cut off into a file of their own.
func (r *recovery[S, E]) keepTorn() error {
	have, err := r.fsys.List(".")
	if err != nil {
		return err
	}
	for n := 1; r.torn.Kept == ""; n++ {
		if name := fmt.Sprintf("torn-%012d-%d.bin", r.torn.Seq, n); !slices.Contains(have, name) {
			r.torn.Kept = name
		}
	}
	r.cfg.Log.Warn("torn tail: the journal's end is not whole, and nothing shows that it was acknowledged; it is cut, and its bytes are kept",
		"file", r.torn.File, "offset", r.torn.Offset, "bytes", r.torn.Bytes, "reason", r.torn.Reason, "kept", r.torn.Kept)
	return Publish(r.fsys, ".", r.torn.Kept, func(to io.Writer) error {
		return copyRange(r.fsys, to, r.torn.File, r.torn.Offset, r.torn.Bytes)
	})
}

func copyRange(fsys FS, to io.Writer, name string, from, length int64) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, from); err != nil {
		return err
	}
	_, err = io.CopyN(to, f, length)
	return err
}
