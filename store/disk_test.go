package store_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"waybill/store"
)

// disk is a FS in memory that knows what would survive a loss of power: of a
// file what was synced, of a name what its directory was synced with. Between
// these and what a reader sees at present, crash chooses.
type disk struct {
	mu     sync.Mutex
	now    map[string]*node // what a reader sees
	kept   map[string]*node // what the synced directories hold
	locked bool

	calls  int                        // that change something
	before func(n int, op string) act // asked before each of them, from 1
	dead   bool                       // no call does anything any more
}

type node struct {
	data   []byte
	synced []byte // what is on the disk of it
	lost   int    // bytes before here that are not on it, and that no sync writes any more
}

// act is what becomes of a call.
type act int

const (
	works act = iota
	fails
	failsHalf // a write writes half of it
	ends      // the process is killed before it
	endsHalf  // in the middle of it
)

var errKilled = errors.New("killed")

func newDisk() *disk { return &disk{now: map[string]*node{}, kept: map[string]*node{}} }

// step counts a call and tells what becomes of it. The lock is held.
func (d *disk) step(op string) (half bool, err error) {
	if d.dead {
		return false, errKilled
	}
	d.calls++
	if d.before == nil {
		return false, nil
	}
	switch d.before(d.calls, op) {
	case fails:
		return false, errFault
	case failsHalf:
		return true, errFault
	case ends:
		d.dead = true
		return false, errKilled
	case endsHalf:
		d.dead = true
		return true, errKilled
	}
	return false, nil
}

// killed gives the disk to the next process, which sees all that was written.
func (d *disk) killed() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{now: d.now, kept: d.kept}
}

// crash gives the disk as a loss of power may leave it: names as they were
// last synced or as they are, and of what was written and not synced nothing, half, all, or zeros.
func (d *disk) crash(names, tail string) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after, from, files := newDisk(), d.kept, map[*node]*node{}
	if names == "present" {
		from = d.now
	}
	for name, f := range from {
		if files[f] == nil {
			data, unsynced := slices.Clone(f.synced), f.data[len(f.synced):]
			switch tail {
			case "half":
				data = append(data, unsynced[:len(unsynced)/2]...)
			case "all":
				data = append(data, unsynced...)
			case "zeros":
				data = append(data, make([]byte, len(unsynced))...)
			}
			files[f] = &node{data: data, synced: slices.Clone(data)}
		}
		after.now[name] = files[f]
	}
	after.kept = maps.Clone(after.now)
	return after
}

func (d *disk) Open(name string) (store.File, error) { return d.open(name, "") }

func (d *disk) Create(name string) (store.File, error) { return d.open(name, "create") }

func (d *disk) Append(name string) (store.File, error) { return d.open(name, "append") }

func (d *disk) open(name, op string) (store.File, error) {
	name = path.Clean(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.now[name]
	if op == "create" {
		if _, err := d.step(op + " " + name); err != nil {
			return nil, err
		}
		if f != nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrExist}
		}
		f = new(node)
		d.now[name] = f
	}
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	h := &handle{d: d, f: f, name: name}
	if op == "" {
		h.read = bytes.NewReader(f.data)
	}
	return h, nil
}

func (d *disk) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.step("rename " + to); err != nil {
		return err
	}
	d.now[to] = d.now[from]
	delete(d.now, from)
	return nil
}

func (d *disk) Remove(name string) error {
	name = path.Clean(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.step("remove " + name); err != nil {
		return err
	}
	if d.now[name] == nil {
		return fs.ErrNotExist
	}
	delete(d.now, name)
	return nil
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

// Mkdir has nothing to do: directories are there by themselves.
func (d *disk) Mkdir(string) error { return nil }

func (d *disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.step("syncdir " + path.Clean(dir)); err != nil {
		return err
	}
	in := func(name string, _ *node) bool { return path.Dir(name) == path.Clean(dir) }
	maps.DeleteFunc(d.kept, in)
	for name, f := range d.now {
		if in(name, f) {
			d.kept[name] = f
		}
	}
	return nil
}

func (d *disk) Seal(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.step("seal " + name)
	return err
}

func (d *disk) Lock(string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, store.ErrLocked
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

// handle is an open file of a disk.
type handle struct {
	d    *disk
	f    *node
	name string
	read *bytes.Reader
}

func (h *handle) Read(b []byte) (int, error) { return h.read.Read(b) }

func (h *handle) ReadAt(b []byte, off int64) (int, error) { return h.read.ReadAt(b, off) }

func (h *handle) Write(b []byte) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	half, err := h.d.step("write " + h.name)
	if half {
		b = b[:len(b)/2]
	} else if err != nil {
		return 0, err
	}
	h.f.data = append(h.f.data, b...)
	return len(b), err
}

// Sync that fails may have written nothing, and the next one does not try
// again: the kernel takes the pages for clean.
func (h *handle) Sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	_, err := h.d.step("sync " + h.name)
	f := h.f
	if err != nil {
		if !h.d.dead {
			f.lost = len(f.data)
		}
		return err
	}
	if f.lost > len(f.synced) {
		f.synced = append(f.synced, make([]byte, f.lost-len(f.synced))...)
	}
	f.synced = append(f.synced, f.data[len(f.synced):]...)
	return nil
}

func (h *handle) Size() (int64, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return int64(len(h.f.data)), nil
}

func (h *handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if _, err := h.d.step("truncate " + h.name); err != nil {
		return err
	}
	f := h.f
	f.data, f.synced, f.lost = f.data[:size], f.synced[:min(int(size), len(f.synced))], min(f.lost, int(size))
	return nil
}

func (h *handle) Close() error { return nil }

// files gives the content of every file as a reader sees it.
func (d *disk) files() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]string{}
	for name, f := range d.now {
		all[name] = string(f.data)
	}
	return all
}

// diskOf gives a disk that holds these files.
func diskOf(all map[string]string) *disk {
	d := newDisk()
	for name, content := range all {
		if !strings.HasSuffix(name, "LOCK") {
			f := &node{data: []byte(content), synced: []byte(content)}
			d.now[name], d.kept[name] = f, f
		}
	}
	return d
}
