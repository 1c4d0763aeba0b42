// Package durable writes files that are there after a power cut, or not at all.
//
// [FS] is the file access that this rests on, small enough for a test to stop it at every write, sync, rename
// and directory sync; [Dir] is the real one. [Publish] makes a whole file appear under its name:
//
//	err := durable.PublishText(durable.Dir("waybill-data"), "keys", "offer-tokens", text)
//
// The system calls of that are: open (O_CREAT|O_EXCL) of a temporary name, write, fdatasync, close, rename,
// and an fsync of the directory, without which the new name may be gone.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// FS is the file access that durability rests on. Names are slash-separated and relative to the data
// directory. It is an interface so that a test can stop the store at every write, sync, rename and directory
// sync.
type FS interface {
	Open(name string) (File, error)   // for reading
	Create(name string) (File, error) // for writing a new file, mode 0600; it must not exist
	Append(name string) (File, error) // for writing at the end of an existing file
	Rename(from, to string) error
	Remove(name string) error
	List(dir string) ([]string, error)   // the names in a directory, sorted; none when it does not exist
	Mkdir(dir string) error              // mode 0700, unless it exists
	SyncDir(dir string) error            // makes the directory's entries durable
	Seal(name string) error              // makes a file read-only, mode 0400
	Lock(name string) (io.Closer, error) // until Close or the process's end; ErrLocked when another has it
	Free() (int64, error)                // the bytes that are free
}

// File is an open file.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	Sync() error // makes all that was written durable
	Size() (int64, error)
	Truncate(size int64) error // also frees what was reserved beyond
	// Reserve makes sure that the file has room to grow to a size; its error is, or wraps, syscall.ENOSPC
	// when it has not. Where a file system cannot promise that, room is looked for and not kept.
	Reserve(size int64) error
}

const (
	TempSuffix = ".tmp"
	appending  = os.O_WRONLY | os.O_APPEND
)

// Dir is the FS of a real directory, which need not exist yet.
type Dir string

// osFile is a real file.
type osFile struct {
	*os.File
	unsynced int // bytes written since the last sync
}

// syncEvery is how many bytes are written before they are synced without being asked: a disk that is given
// hundreds of megabytes at once, by a snapshot or a backup, has the journal's small syncs wait for all of it.
const syncEvery = 1 << 20

// Write writes all of b, or returns an error.
func (f *osFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.unsynced += n
	if err == nil && f.unsynced >= syncEvery {
		err = f.Sync()
	}
	return n, err
}

// ReadFrom writes what it reads, as Write does; the method of os.File would not.
func (f *osFile) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{f}, r)
}

// Sync makes all that was written durable.
func (f *osFile) Sync() error {
	f.unsynced = 0
	return datasync(f.File)
}

// Reserve makes sure that the file has room to grow to a size.
func (f *osFile) Reserve(size int64) error {
	have, err := f.Size()
	if err != nil || size <= have {
		return err
	}
	if err = allocate(f.File, have, size-have); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	free, err := Dir(filepath.Dir(f.Name())).Free()
	if err == nil && free < size-have {
		err = syscall.ENOSPC
	}
	return err
}

// Size returns how many bytes the file has.
func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d Dir) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

func (d Dir) open(name string, flag int) (File, error) {
	f, err := os.OpenFile(d.path(name), flag, 0o600)
	return &osFile{File: f}, err
}

// Open opens a file for reading.
func (d Dir) Open(name string) (File, error) {
	return d.open(name, os.O_RDONLY)
}

// Append opens an existing file for writing at its end.
func (d Dir) Append(name string) (File, error) {
	return d.open(name, appending)
}

// Create makes a new file.
func (d Dir) Create(name string) (File, error) {
	return d.open(name, appending|os.O_CREATE|os.O_EXCL)
}

// Rename gives a file another name, in place of the file that has it.
func (d Dir) Rename(from, to string) error {
	return os.Rename(d.path(from), d.path(to))
}

// Remove removes a file, or an empty directory.
func (d Dir) Remove(name string) error {
	return os.Remove(d.path(name))
}

// Seal makes a file read-only.
func (d Dir) Seal(name string) error {
	return os.Chmod(d.path(name), 0o400)
}

// List returns the names in a directory.
func (d Dir) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(d.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Mkdir makes a directory, durably, unless it exists.
func (d Dir) Mkdir(dir string) error {
	path := d.path(dir)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return Dir(filepath.Dir(path)).SyncDir(".")
}

// SyncDir makes the entries of a directory durable.
func (d Dir) SyncDir(dir string) error {
	f, err := os.Open(d.path(dir))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock takes a lock with flock, which ends with the process. A lock of fcntl would end when any part of the
// process closes the file.
func (d Dir) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("store: %s: flock: %w", name, err)
	}
	return flocked{f}, nil
}

// flocked is a file that is locked.
type flocked struct{ *os.File }

// Close gives the lock back, and closes the file. It is given back in so many words: a child of this process
// that is just being started has the file, too, until it runs its own program, and the lock would stay as
// long.
func (f flocked) Close() error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.File.Close())
}

// Free returns the bytes that are free to this user.
func (d Dir) Free() (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(string(d), &s)
	return int64(s.Bavail) * int64(s.Bsize), os.NewSyscallError("statfs", err)
}

// Read opens a file to read what it holds now; what a running server adds meanwhile is not looked at.
func Read(fsys FS, name string, read func(*io.SectionReader) error) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return read(io.NewSectionReader(f, 0, size))
}

// Tail reads the last bytes of a file, so many or all.
func Tail(f *io.SectionReader, n int64) ([]byte, error) {
	f.Seek(max(0, f.Size()-n), io.SeekStart)
	return io.ReadAll(f)
}

// ReadFile reads a small file.
func ReadFile(fsys FS, name string) (text []byte, err error) {
	err = Read(fsys, name, func(f *io.SectionReader) error {
		text, err = io.ReadAll(f)
		return err
	})
	return text, err
}

// Publish makes a whole file appear under its name, or nothing: it is written under a temporary name, synced,
// renamed, and the directory is synced.
func Publish(fsys FS, dir, name string, write func(io.Writer) error) error {
	return PublishOnce(fsys, dir, name, write, func() error { return nil })
}

// PublishOnce is Publish, which does something else once the new file is on the disk and before it gets its
// name. The error of that leaves the file as it was: what is done is done only where there is room for both.
func PublishOnce(fsys FS, dir, name string, write func(io.Writer) error, do func() error) error {
	temp := dir + "/" + name + TempSuffix
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(temp)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = do()
	}
	if err == nil {
		err = fsys.Rename(temp, dir+"/"+name)
	}
	if err != nil {
		fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(dir)
}

// PublishText publishes a small file.
func PublishText(fsys FS, dir, name string, text []byte) error {
	return Publish(fsys, dir, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
