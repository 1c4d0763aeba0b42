// Package durable writes files that are there after a power cut, or not at all.
//
// [FS] is the file access that this rests on, small enough for a test to stop it at every write, sync, rename
// and directory sync; [Dir] is the real one. Functions that only read take a ReadFS, which each FS is.
// [Publish] makes a whole file appear under its name:
//
//	err := durable.PublishText(durable.Dir("waybill-data"), "keys", "offer-tokens", text)
//
// Long work leaves the machine to those who wait for answers meanwhile: to requests of this process ([Pace]),
// and to other processes ([StepBack]).
//
// The system calls of Publish are: open (O_CREAT|O_EXCL) of a temporary name, write, fdatasync, close,
// rename, and an fsync of the directory, without which the new name may be gone.
package durable

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// FS is the file access that durability rests on. Names are slash-separated and relative to the data
// directory. It is an interface so that a test can stop the store at every write, sync, rename and directory
// sync.
type FS interface {
	ReadFS
	Create(name string) (File, error) // makes a file, mode 0600, which must not exist
	Append(name string) (File, error) // opens an existing file to write at its end
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(dir string) error   // mode 0700, unless it exists
	SyncDir(dir string) error // makes the directory's entries durable
	Seal(name string) error   // makes a file read-only, mode 0400
	// Lock locks the directory until Close or the process's end; ErrLocked when another has it. Where the
	// result is a Checker, it can say whether the directory is still the one that was locked.
	Lock(name string) (io.Closer, error)
	Free() (int64, error) // the bytes that are free
}

// File is a file that is open to be written at its end.
type File interface {
	io.WriteCloser
	Sync() error // makes all that was written durable
	Size() (int64, error)
	Truncate(size int64) error // also frees what was reserved beyond
	// Reserve makes sure that the file has room to grow to a size; its error is, or wraps, syscall.ENOSPC
	// when it has not. Where a file system cannot promise that, room is looked for and not kept.
	Reserve(size int64) error
}

// Checker says whether a directory that is locked, and a file that is open for writing, stand where they did,
// the file with as many bytes as were written.
type Checker interface {
	Check(name string, f File, size int64) error
}

// ErrLocked is the error of a lock that another process has.
var ErrLocked = errors.New("store: the directory is in use by another process")

const appending = os.O_WRONLY | os.O_APPEND

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
	var s syscall.Statfs_t
	err = os.NewSyscallError("fstatfs", syscall.Fstatfs(int(f.Fd()), &s))
	if err == nil && int64(s.Bavail)*int64(s.Bsize) < size-have {
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
	f, err := createIn(fsys, dir, temp)
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

// createIn makes a file in a directory, which somebody may have removed by hand.
func createIn(fsys FS, dir, name string) (File, error) {
	f, err := fsys.Create(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := fsys.Mkdir(dir); err != nil {
			return nil, err
		}
		f, err = fsys.Create(name)
	}
	return f, err
}

// PublishText publishes a small file.
func PublishText(fsys FS, dir, name string, text []byte) error {
	return Publish(fsys, dir, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Rewrite publishes under a file's name, in the same directory or another, what edit makes of the file; the
// writer keeps its first error. A file that is not there is left out.
func Rewrite(from ReadFS, to FS, name string, edit func(*bufio.Writer, *io.SectionReader) error) error {
	err := Read(from, name, func(f *io.SectionReader) error {
		return Publish(to, path.Dir(name), path.Base(name), func(file io.Writer) error {
			w := bufio.NewWriterSize(file, int(min(f.Size(), 1<<18))) // most files are small
			if err := edit(w, f); err != nil {
				return err
			}
			return w.Flush()
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
