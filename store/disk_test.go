package store_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"waybill/store/durable"
)

// disk is a FS in memory that knows what would survive a loss of power. A sync of a file makes its bytes
// durable, not its name; a sync of a directory makes durable which names stand in it, not what the files
// hold. What a reader sees may be neither; crash chooses what is left of it.
type disk struct {
	mu     sync.Mutex
	now    map[string]*node // what a reader sees, files and directories
	kept   map[string]*node // the names that are on the disk for sure
	moves  []move           // what was done to names since, in order
	locked bool

	limited bool // there are only
	quota   bool // it is a share of the disk that is limited
	free    int64

	calls  int                        // that change something
	before func(n int, op string) act // asked before each of them, from 1, without the lock; or nil
	chance *rand.Rand                 // how far a call gets that is stopped in the middle; nil is half-way
	dead   bool                       // no call does anything any more
}

// move gives f the name to and takes the name from, whichever is not "": it is a create, a remove, or a
// rename, which is never seen half done.
type move struct {
	from, to string
	f        *node
}

func (m move) dir() string { return path.Dir(cmp.Or(m.to, m.from)) }

func (m move) apply(names map[string]*node) {
	if m.from != "" {
		delete(names, m.from)
	}
	if m.to != "" {
		names[m.to] = m.f
	}
}

// act is what becomes of a call.
type act int

const (
	works     act = iota
	ends          // the process is killed before it
	endsHalf      // in the middle of it
	endsAfter     // when it is done, before the caller is told
	fails         // with EIO
	failsFull     // with ENOSPC
	failsHalf     // with ENOSPC, a write when part of it is written
)

var (
	errKilled = errors.New("killed")
	errIO     = fmt.Errorf("%w: %w", errFault, syscall.EIO)
	errFull   = fmt.Errorf("%w: %w", errFault, syscall.ENOSPC)
)

func newDisk() *disk { return &disk{now: map[string]*node{}, kept: map[string]*node{}} }

// step counts a call that changes something, and lets it happen, in part or not at all. The lock is held, but
// not while before is asked.
func (d *disk) step(op string, do func(part float64)) error {
	if d.dead {
		return errKilled
	}
	d.calls++
	a := works
	part := 0.5
	if n, before := d.calls, d.before; before != nil {
		d.mu.Unlock()
		a = before(n, op)
		d.mu.Lock()
	}
	if d.chance != nil {
		part = d.chance.Float64()
	}
	switch a {
	case works:
		do(1)
		return nil
	case fails:
		return errIO
	case failsFull:
		return errFull
	case failsHalf:
		do(part)
		return errFull
	case endsHalf:
		do(part)
	case endsAfter:
		do(1)
	}
	d.dead = true
	return errKilled
}

// move is a step that is done or not done, with nothing between.
func (d *disk) move(op string, m move) error {
	return d.step(op+" "+cmp.Or(m.to, m.from), func(part float64) {
		if part >= 0.5 {
			m.apply(d.now)
			d.moves = append(d.moves, m)
		}
	})
}

func failed(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

func (d *disk) Open(name string) (durable.Readable, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, err := d.handle("open", name)
	if err != nil {
		return nil, err
	}
	h.read = bytes.NewReader(h.f.data)
	return h, nil
}

func (d *disk) Append(name string) (durable.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, err := d.handle("append", name)
	if err != nil {
		return nil, err
	}
	if h.f.sealed {
		return nil, failed("append", name, fs.ErrPermission)
	}
	return h, nil
}

func (d *disk) Create(name string) (durable.File, error) {
	name = path.Clean(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now[name] != nil {
		return nil, failed("create", name, fs.ErrExist)
	}
	if dir := path.Dir(name); dir != "." && d.now[dir] == nil {
		return nil, failed("create", name, fs.ErrNotExist)
	}
	if err := d.move("create", move{to: name, f: new(node)}); err != nil {
		return nil, err
	}
	return d.handle("create", name)
}

func (d *disk) handle(op, name string) (*handle, error) {
	name = path.Clean(name)
	if f := d.now[name]; f != nil && !f.dir {
		return &handle{d: d, f: f, name: name}, nil
	}
	return nil, failed(op, name, fs.ErrNotExist)
}

func (d *disk) Rename(from, to string) error {
	from = path.Clean(from)
	to = path.Clean(to)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.now[from] == nil:
		return failed("rename", from, fs.ErrNotExist)
	case path.Dir(from) != path.Dir(to):
		// which directory's sync it waits for is not modelled
		return failed("rename", from, errors.ErrUnsupported)
	}
	return d.move("rename", move{from, to, d.now[from]})
}

func (d *disk) Remove(name string) error {
	name = path.Clean(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	there := d.now[name] != nil
	if err := d.move("remove", move{from: name}); err != nil || there {
		return err
	}
	return failed("remove", name, fs.ErrNotExist)
}

func (d *disk) List(dir string) (names []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.now {
		if path.Dir(name) == path.Clean(dir) {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Mkdir also syncs the directory that the new one is in, like that of durable.Dir. The disk's root is always
// there.
func (d *disk) Mkdir(dir string) error {
	dir = path.Clean(dir)
	d.mu.Lock()
	defer d.mu.Unlock()
	if dir == "." || d.now[dir] != nil {
		return nil
	}
	if err := d.move("mkdir", move{to: dir, f: &node{dir: true}}); err != nil {
		return err
	}
	return d.syncDir(path.Dir(dir))
}

func (d *disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncDir(path.Clean(dir))
}

// syncDir writes what was done in a directory, in order. Where it fails, a later one still does: names are
// not in pages that the kernel gives up, but in the file system's own journal.
func (d *disk) syncDir(dir string) error {
	return d.step("syncdir "+dir, func(part float64) {
		elsewhere := func(m move) bool { return m.dir() != dir }
		n := int(part * float64(len(slices.DeleteFunc(slices.Clone(d.moves), elsewhere))))
		d.moves = slices.DeleteFunc(d.moves, func(m move) bool {
			if n == 0 || elsewhere(m) {
				return false
			}
			n--
			m.apply(d.kept)
			return true
		})
	})
}

func (d *disk) Seal(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.step("seal "+path.Clean(name), func(float64) { d.now[path.Clean(name)].sealed = true })
}

func (d *disk) Lock(string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, durable.ErrLocked
	}
	d.locked = true
	return unlock{d}, nil
}

type unlock struct{ d *disk }

func (u unlock) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	u.d.locked = false
	return nil
}

func (d *disk) Free() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.limited {
		return math.MaxInt64, nil
	}
	return d.free, nil
}

// killed tells that the process that has the disk is no more.
func (d *disk) killed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// kill ends the process that has the disk.
func (d *disk) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// files returns the content of every file as a reader sees it.
func (d *disk) files() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]string{}
	for name, f := range d.now {
		if !f.dir {
			all[name] = string(f.data)
		}
	}
	return all
}

// String tells a disk from others by what a reader sees.
func (d *disk) String() string { return fmt.Sprint(d.files()) }

// diskOf returns a disk that holds these files.
func diskOf(all map[string]string) *disk {
	d := newDisk()
	for name, content := range all {
		if !strings.HasSuffix(name, "LOCK") {
			move{to: name, f: &node{data: []byte(content), size: len(content)}}.apply(d.now)
			if dir := path.Dir(name); dir != "." {
				move{to: dir, f: &node{dir: true}}.apply(d.now)
			}
		}
	}
	d.kept = maps.Clone(d.now)
	return d
}
