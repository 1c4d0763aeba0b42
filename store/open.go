package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
	"waybill/store/tree"
)

// Open opens the directory, makes it if need be, and brings the state to the journal's end. fresh reports
// that it is new. After an error (ErrLocked, ErrNewer, ErrOlder, *Damage, *ClockError, or the file system's)
// no acknowledged line is gone: what is not there of FORMAT, directories and keys may have been made,
// temporary files are gone, and where all was read without an error a torn tail may be cut. A directory of
// another format stays as it was.
func Open[S, E any](cfg Config[S, E]) (st *Store[S, E], fresh bool, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	_, _, err = journal.ReadOrigin(cfg.FS)
	if err != nil && !errors.Is(err, journal.ErrNoFormat) {
		return nil, false, err
	}
	if err := cfg.FS.Mkdir("."); err != nil {
		return nil, false, err
	}
	lock, err := cfg.FS.Lock("LOCK")
	if err != nil {
		return nil, false, err
	}
	st = &Store[S, E]{
		cfg:   cfg,
		lock:  lock,
		grown: make(chan struct{}, 1),
	}
	if err := st.open(); err != nil {
		lock.Close()
		return nil, false, err
	}
	if st.signer.IsEmpty() {
		st.checkpoint() // the first: a directory that has lines and no checkpoint is not signed
	}
	st.serving = true
	st.background.Go(st.runCheckpoints)
	head, _ := st.stem.top()
	return st, head.Seq == 1, nil
}

// open brings the state to the journal's end, journals what it found there, and begins to write. Each step
// reads what those before it have found; up to ready no line and no end of the journal is written.
func (st *Store[S, E]) open() error {
	x := start[S, E]{cfg: &st.cfg, fsys: st.cfg.FS}
	st.signer.FS = st.cfg.FS
	steps := []func() error{x.prepare, x.newestCheckpoint, x.recall, x.read, x.readFirst, x.checkTree,
		x.mayGoOn, x.ready, x.mend}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	x.warn()
	st.snapBytes.Store(x.snapshot.Bytes)
	st.stem.tree = x.leaves
	st.unerased.lines = x.erasures.Unerased()
	st.unerased.beside = x.erasures.Last > 0
	return st.begin(&x)
}

// start is a directory as a start finds it, as far as it was read.
type start[S, E any] struct {
	cfg  *Config[S, E]
	fsys durable.FS

	snapshot chain.Snapshot[S] // that the start goes on from
	proven   uint64            // the newest line that a whole snapshot proves to have been durable
	notes    chain.Notes
	unread   uint64                // lines of files that end before the snapshot and are not read
	erasures *chain.Erasures       // of the lines after the snapshot
	signed   bool                  // there is a checkpoint, good or not
	anchor   checkpoint.Checkpoint // the newest that is good
	leaves   *tree.Tree            // the tree as of the anchor, then of all lines
	names    *chain.Names

	state S            // after the last line
	end   chain.End    // of the journal
	first journal.Head // line 1; zero where there is none
}

// prepare makes the directory's fixed parts and drops temporary files.
func (x *start[S, E]) prepare() error {
	used := false
	afterFormat := []string{checkpoint.PrivateKeyFile, checkpoint.PublicKeyFile, checkpoint.LogFile}
	for _, name := range afterFormat {
		_, none := durable.ReadFile(x.fsys, name)
		used = used || none == nil
	}
	for _, dir := range []string{".", "journal", "snapshots"} {
		if err := x.fsys.Mkdir(dir); err != nil {
			return err
		}
		names, err := x.fsys.List(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, durable.TempSuffix) {
				used = used || dir != "."
			} else if err := x.fsys.Remove(dir + "/" + name); err != nil {
				return err
			}
		}
	}
	switch _, _, err := journal.ReadOrigin(x.fsys); {
	case err == nil:
		// The name FORMAT may be in the page cache alone: without a sync a power cut could take it away.
		return x.fsys.SyncDir(".")
	case used || !errors.Is(err, journal.ErrNoFormat):
		return err
	}
	return durable.PublishText(x.fsys, ".", "FORMAT",
		journal.Format(newID(x.cfg.Random)))
}

// recall takes up what needs not be read again from the journal: the snapshot and, beside it, the tree.
func (x *start[S, E]) recall() error {
	var beside sync.WaitGroup
	beside.Go(x.plant)
	err := x.thaw()
	beside.Wait()
	return err
}

// thaw reads the newest snapshot that can be used. Where there is none, the start goes on from the value
// before the first line. A snapshot that cannot be used loses nothing, and is logged.
func (x *start[S, E]) thaw() error {
	seqs, err := journal.Numbers(x.fsys, "snapshots")
	if err != nil {
		return err
	}
	for _, seq := range slices.Backward(seqs) {
		read, whole, err := chain.ReadSnapshot(&x.cfg.Model, x.fsys, seq)
		if whole {
			x.proven = max(x.proven, seq)
		}
		if err == nil {
			x.snapshot = read
			return nil
		}
		x.cfg.Log.Warn("a snapshot cannot be used; the journal is read instead", "err", err)
	}
	x.snapshot.State = x.cfg.New()
	return nil
}

// newestCheckpoint takes up the newest checkpoint, and the last in the log: a start reads no others. A bad
// one proves nothing, and is logged.
//
// The error is of a note that another key has signed under the directory's name: it is of another history,
// and a start must not go on under that name.
func (x *start[S, E]) newestCheckpoint() error {
	x.notes.FS = x.fsys
	published, unpublished := checkpoint.Newest(x.fsys)
	logged, _, unlogged := checkpoint.Last(x.fsys)
	key, noKey := checkpoint.PublicKey(x.fsys)
	none := errors.Join(unpublished, unlogged, noKey)
	if errors.Is(none, fs.ErrNotExist) && published == nil && logged == nil {
		return nil
	}
	x.signed = true
	bad := unpublished
	found := []struct {
		from   string
		signed []byte
	}{
		{checkpoint.LogFile, logged},
		{checkpoint.File, published},
	}
	for _, f := range found {
		if noKey != nil || f.signed == nil {
			continue
		}
		c, wrong := x.notes.Add(f.signed, key, f.from)
		if damage, ok := errors.AsType[*journal.Damage](wrong); ok && damage.Forked != "" {
			return damage
		}
		bad = errors.Join(bad, wrong)
		if wrong == nil && c.Seq > x.anchor.Seq {
			x.anchor = c
		}
	}
	if bad = errors.Join(bad, unlogged, noKey); bad != nil {
		x.cfg.Log.Warn("not all checkpoints can be used", "err", bad)
	}
	return nil
}

// plant takes up the tree of the lines as the newest checkpoint has it. Where its hashes are not there, or
// there is no such checkpoint, the whole journal is read.
func (x *start[S, E]) plant() {
	root := tree.Empty
	if x.anchor.Seq > 0 {
		root = x.anchor.Root
	}
	files, missing := tree.Open(x.fsys, x.anchor.Seq, root)
	if missing != nil {
		level := slog.LevelWarn
		if errors.Is(missing, fs.ErrNotExist) { // as in a copy
			level = slog.LevelInfo
		}
		x.cfg.Log.Log(context.Background(), level, "the tree's hashes are computed again from the journal",
			"because", missing)
	}
	x.leaves = files
	if files.Size() > 0 {
		x.names = chain.NamesAt(x.anchor.Origin, x.anchor.Seq)
	}
}

// read reads the journal and applies its lines after the snapshot. It checks the chain, that the journal
// has the lines that snapshots and the newest checkpoints prove, and that the tree of its lines has their
// roots.
func (x *start[S, E]) read() error {
	x.notes.Tree = x.leaves
	return x.readWith(x.leaves.Size(), chain.Leaves{Tree: x.leaves})
}

// readWith reads the journal with these observers and those of every start. They need to see the lines after
// skip; files that end before, and before the snapshot's line, are skipped.
func (x *start[S, E]) readWith(skip uint64, more ...chain.Observer) error {
	if x.names == nil {
		newNames := chain.NewNames
		if x.snapshot.Head.Seq > 0 {
			newNames = chain.NewPartialNames
		}
		names, err := newNames(x.fsys)
		if err != nil {
			return err
		}
		x.names = names
	}
	x.notes.Names = x.names
	x.notes.Repairs = new(chain.Repairs)
	x.erasures = chain.NewErasures()
	r := chain.NewReplay(&x.cfg.Model, x.snapshot.State, nil)
	rest := chain.After{Head: x.snapshot.Head, Next: &r.Visits}
	skip = min(skip, rest.Skip())
	files, err := journal.Numbers(x.fsys, "journal")
	if err != nil {
		return err
	}
	for _, first := range files {
		if first-1 <= skip {
			x.unread = first - 1
		}
	}
	end, err := r.Visits.Read(chain.Reader{FS: x.fsys, Skip: skip}, append(more,
		x.notes.Repairs,
		x.names,
		&chain.Happened{}, // for its errors: the form of the store's own lines
		chain.Snapshots{Newest: x.proven},
		&x.notes,
		chain.After{Head: x.snapshot.Head, Next: x.erasures},
		rest,
	)...)
	x.end = end
	x.state = r.State
	if err == nil {
		err = x.erasures.Unexplained(x.fsys, end.Head)
	}
	return err
}

// readFirst reads the time of the first line, which read may have skipped, and the key that it says. The line
// follows from FORMAT.
func (x *start[S, E]) readFirst() error {
	if x.end.Head.Seq == 0 {
		return nil // it is still to be written
	}
	_, format, err := journal.ReadOrigin(x.fsys)
	if err != nil {
		return err
	}
	name := "journal/" + journal.Name(1)
	return durable.Read(x.fsys, name, func(f *io.SectionReader) error {
		lines := journal.Scan(f)
		lines.Scan()
		first, err := journal.Parse(bytes.TrimSuffix(lines.Bytes(), journal.Newline))
		if err == nil && !first.HasHashAfter(format) {
			err = errors.New("has a hash that does not follow from FORMAT and its bytes")
		}
		if err == nil {
			err = x.names.First(&first)
		}
		if err != nil {
			err = journal.DamageAt(journal.Place{File: name, Line: 1}, 1, err.Error())
		}
		x.first = first.Head
		if lines.Err() != nil {
			return lines.Err()
		}
		return err
	})
}

// mayGoOn reports whether the clock fits the journal's end, and whether the disk has room for a start: for
// a copy of the last file, and for the lines to come.
func (x *start[S, E]) mayGoOn() error {
	now := x.cfg.Now(x.state)
	if x.end.Head.Time.After(now.Add(maxAhead)) {
		return &ClockError{x.end.Head.Time, now}
	}
	need := int64(2 * live.Reserve)
	if !x.clean() {
		need += x.end.Size
	}
	free, err := x.fsys.Free()
	if err == nil && free < need {
		err = &NoRoom{need - free}
	}
	return err
}

// clean reports whether the journal is known to be on the disk up to its end, as after a stop, and after a
// kill long after the last line.
func (x *start[S, E]) clean() bool {
	last := x.end.Head.Seq
	return x.end.Torn == nil && last > 0 && (x.proven == last || x.notes.Fits() == last)
}

// Found describes a directory to whose journal Open is about to write.
type Found struct {
	Head journal.Head // the last line; zero where there is none
	// Copy reports that there are lines and no key to sign more: the directory is a backup, a standby, or
	// what a repair has written, and gets a name of its own by its first start.
	Copy bool
}

// ready asks the caller of Open whether the journal may go on.
func (x *start[S, E]) ready() error {
	if x.cfg.Ready == nil {
		return nil
	}
	key, err := checkpoint.OwnKey(x.fsys)
	if err != nil {
		return err
	}
	return x.cfg.Ready(x.state, Found{
		Head: x.end.Head,
		Copy: key == nil && x.end.Head.Seq > 0,
	})
}

// mend prepares the journal's end for further lines.
func (x *start[S, E]) mend() error {
	return mendEnd(x.fsys, x.cfg.Log, &x.end, x.clean())
}

// checkTree returns an error where hashes of the tree are of lines that the journal does not have.
func (x *start[S, E]) checkTree() error {
	if x.leaves.Size() == x.end.Head.Seq {
		return nil
	}
	return journal.InFile(tree.Dir, "has hashes of lines that are not in the journal; remove it, and "+
		"the next start makes it again")
}

// signedWithin is how long a line waits for its checkpoint at most, unless the disk is full.
const signedWithin = 5 * time.Second

// warn logs findings about the notes that are no reason not to start.
func (x *start[S, E]) warn() {
	log := x.cfg.Log
	last := x.end.Head
	if x.unread > 0 {
		log.Info("the start went on from a snapshot; waybill verify reads the lines that it has not read",
			"lines", x.unread)
	}
	if err := x.notes.Foreign(); err != nil {
		log.Warn("not all checkpoints can be used", "err", err)
	}
	if span := x.notes.Unvouched(); x.notes.Count() > 0 && span > signedWithin {
		log.Warn("no checkpoint covers the last lines: the server was killed before it signed them, or "+
			"somebody removed checkpoints",
			"lines", last.Seq-x.notes.Vouched(last.Seq), "span", span.String())
	}
	if !x.signed && last.Seq > 0 {
		log.Warn("not signed: the directory has lines and no checkpoint; their hashes follow from each "+
			"other, and this server now signs them",
			"lines", last.Seq)
	}
}
