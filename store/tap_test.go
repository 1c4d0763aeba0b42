package store_test

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"waybill/store/durable"
)

// tapFS is a FS that shows each call to a test before it is made, and lets the
// test hold it up or make it fail.
type tapFS struct {
	durable.FS
	// before is asked before each call; its error is the call's. It may block.
	before func(op, name string) error
	// quick leaves out real syncs, where a test is not about them and opens thousands of stores.
	quick bool

	mu    sync.Mutex
	calls []string
	open  []string // the files and locks that were not closed
}

// Errors of before that make a write stop half-way: with an error, and without one.
var (
	errHalf  = errors.New("half of it was written")
	errShort = errors.New("half of it was written, and no error told")
	errFault = errors.New("injected fault")
)

func tap(dir string) *tapFS { return &tapFS{FS: durable.Dir(dir)} }

// quick returns a directory without syncs.
func quick(dir string) *tapFS { return &tapFS{FS: durable.Dir(dir), quick: true} }

func (f *tapFS) call(op, name string) error {
	name = path.Clean(name)
	f.mu.Lock()
	f.calls = append(f.calls, op+" "+name)
	f.mu.Unlock()
	if f.before == nil {
		return nil
	}
	return f.before(op, name)
}

// count returns how many calls of op there were on names with this prefix.
func (f *tapFS) count(op, prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if strings.HasPrefix(c, op+" "+prefix) {
			n++
		}
	}
	return n
}

// left returns the files that are still open.
func (f *tapFS) left() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.open)
}

func (f *tapFS) opened(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, path.Clean(name))
}

func (f *tapFS) closed(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.open, path.Clean(name)); i >= 0 {
		f.open = slices.Delete(f.open, i, i+1)
	}
}

// tapped opens a file, of which it is known until it is closed that it is open.
func tapped[F any](f *tapFS, op, name string, open func(string) (F, error)) (file F, err error) {
	if err := f.call(op, name); err != nil {
		return file, err
	}
	file, err = open(name)
	if err == nil {
		f.opened(name)
	}
	return file, err
}

func (f *tapFS) Open(name string) (durable.Readable, error) {
	file, err := tapped(f, "open", name, f.FS.Open)
	if err != nil {
		return nil, err
	}
	return &tapRead{file, f, name}, nil
}

func (f *tapFS) Create(name string) (durable.File, error) {
	file, err := tapped(f, "create", name, f.FS.Create)
	if err != nil {
		return nil, err
	}
	return &tapFile{file, f, name}, nil
}

func (f *tapFS) Append(name string) (durable.File, error) {
	file, err := tapped(f, "append", name, f.FS.Append)
	if err != nil {
		return nil, err
	}
	return &tapFile{file, f, name}, nil
}

func (f *tapFS) Rename(from, to string) error {
	if err := f.call("rename", to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *tapFS) Remove(name string) error {
	if err := f.call("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *tapFS) List(dir string) ([]string, error) {
	if err := f.call("list", dir); err != nil {
		return nil, err
	}
	return f.FS.List(dir)
}

func (f *tapFS) Mkdir(dir string) error {
	if err := f.call("mkdir", dir); err != nil {
		return err
	}
	return f.FS.Mkdir(dir)
}

func (f *tapFS) SyncDir(dir string) error {
	if err := f.call("syncdir", dir); err != nil || f.quick {
		return err
	}
	return f.FS.SyncDir(dir)
}

func (f *tapFS) Seal(name string) error {
	if err := f.call("seal", name); err != nil {
		return err
	}
	return f.FS.Seal(name)
}

func (f *tapFS) Lock(name string) (io.Closer, error) {
	if err := f.call("lock", name); err != nil {
		return nil, err
	}
	c, err := f.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	f.opened(name)
	return &tapLock{c, f, name}, nil
}

type tapLock struct {
	io.Closer
	fs   *tapFS
	name string
}

func (l *tapLock) Close() error {
	l.fs.closed(l.name)
	return errors.Join(l.fs.call("unlock", l.name), l.Closer.Close())
}

// tapRead is a file that is read.
type tapRead struct {
	durable.Readable
	fs   *tapFS
	name string
}

func (f *tapRead) Read(b []byte) (int, error) {
	if err := f.fs.call("read", f.name); err != nil {
		return 0, err
	}
	return f.Readable.Read(b)
}

func (f *tapRead) ReadAt(b []byte, off int64) (int, error) {
	if err := f.fs.call("read", f.name); err != nil {
		return 0, err
	}
	return f.Readable.ReadAt(b, off)
}

// Close always closes, as close(2) does.
func (f *tapRead) Close() error {
	f.fs.closed(f.name)
	return errors.Join(f.fs.call("close", f.name), f.Readable.Close())
}

// tapFile is a file that is written.
type tapFile struct {
	durable.File
	fs   *tapFS
	name string
}

func (f *tapFile) Write(b []byte) (int, error) {
	err := f.fs.call("write", f.name)
	switch {
	case err == nil:
		return f.File.Write(b)
	case errors.Is(err, errHalf), errors.Is(err, errShort):
		n, werr := f.File.Write(b[:len(b)/2])
		if errors.Is(err, errShort) {
			err = werr
		}
		return n, err
	}
	return 0, err
}

func (f *tapFile) Sync() error {
	if err := f.fs.call("sync", f.name); err != nil || f.fs.quick {
		return err
	}
	return f.File.Sync()
}

// Close always closes, as close(2) does.
func (f *tapFile) Close() error {
	f.fs.closed(f.name)
	return errors.Join(f.fs.call("close", f.name), f.File.Close())
}
