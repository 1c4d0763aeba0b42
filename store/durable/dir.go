package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is the FS of a real directory, which need not exist yet. It may be a symbolic link itself; in it none
// is followed.
type Dir string

// Append opens an existing file for writing at its end.
func (d Dir) Append(name string) (File, error) {
	f, err := d.OpenFile(name, appending)
	return &osFile{File: f}, err
}

// Create makes a new file.
func (d Dir) Create(name string) (File, error) {
	f, err := d.OpenFile(name, appending|os.O_CREATE)
	return &osFile{File: f}, err
}

// Rename gives a file another name in the same directory, in place of the file that has it.
func (d Dir) Rename(from, to string) error {
	err := errors.ErrUnsupported
	if path.Dir(from) == path.Dir(to) {
		err = d.within("rename", from, func(parent *os.Root, base string) error {
			return parent.Rename(base, path.Base(to))
		})
	}
	if err == nil {
		return nil
	}
	return &os.LinkError{
		Op:  "rename",
		Old: d.path(from),
		New: d.path(to),
		Err: cause(err),
	}
}

// Remove removes a file, a link, or an empty directory.
func (d Dir) Remove(name string) error {
	return d.within("remove", name, func(parent *os.Root, base string) error {
		return parent.Remove(base)
	})
}

// Seal makes a file read-only.
func (d Dir) Seal(name string) error {
	f, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o400), f.Close())
}

// Mkdir makes a directory, and those above it, durably, unless it exists.
func (d Dir) Mkdir(dir string) error {
	if err := d.mkdirSelf(); err != nil {
		return err
	}
	dir = path.Clean(dir)
	if dir == "." {
		return nil
	}
	for end := 0; end < len(dir); end++ { // each part from the top
		if next := strings.IndexByte(dir[end:], '/'); next >= 0 {
			end += next
		} else {
			end = len(dir)
		}
		made := false
		err := d.within("mkdir", dir[:end], func(parent *os.Root, base string) error {
			_, err := lstat(parent, base)
			if errors.Is(err, fs.ErrNotExist) {
				made = true
				err = parent.Mkdir(base, 0o700)
			}
			if errors.Is(err, fs.ErrExist) {
				return nil // another process was first
			}
			return err
		})
		if made && err == nil {
			err = d.SyncDir(path.Dir(dir[:end]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mkdirSelf makes the directory itself, unless it exists. One that is held does, wherever it is now.
func (d Dir) mkdirSelf() error {
	if _, err := d.lstat("."); err == nil {
		return nil
	}
	at := filepath.Clean(string(d))
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	return Dir(filepath.Dir(at)).SyncDir(".")
}

// SyncDir makes the entries of a directory durable.
func (d Dir) SyncDir(dir string) error {
	f, err := d.OpenFile(dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = fmt.Errorf("%w: the file system cannot sync directories", err)
	}
	return errors.Join(err, f.Close())
}

// Lock takes a lock with flock, which ends with the process. A lock of fcntl would end when any part of the
// process closes the file. Until it is closed, the directory is held (Dir.Hold).
func (d Dir) Lock(name string) (io.Closer, error) {
	f, err := d.OpenFile(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.OpenFile(name, os.O_RDWR|os.O_CREATE)
		if errors.Is(err, fs.ErrExist) { // another process was first
			f, err = d.OpenFile(name, os.O_RDWR)
		}
	}
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
	root, end, err := d.hold()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &flocked{f, d, name, root, end}, nil
}

// flocked is a file that is locked, of a directory that is held.
type flocked struct {
	*os.File
	dir  Dir
	name string
	root *os.Root
	end  func() error
}

// Check returns an error unless the directory, the lock and an open file of a name stand where they stood: by
// device and inode. Else others would write where this process does not, or read what it does not write. A
// file of another size was written by somebody else, too, as cp and rsync -inplace do.
func (l *flocked) Check(name string, f File, size int64) error {
	there, err := os.Stat(string(l.dir))
	if err != nil {
		return err
	}
	here, err := l.root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(there, here) {
		return fmt.Errorf("store: %s is another directory than the one that was opened", l.dir)
	}
	if _, err := l.same(l.name, l.File); err != nil {
		return err
	}
	stands, real := f.(fs.File)
	if !real {
		return nil
	}
	has, err := l.same(name, stands)
	if err == nil && has != size {
		err = fmt.Errorf("store: %s has %d bytes, but %d were written", l.dir.path(name), has, size)
	}
	return err
}

// same returns the size of an open file, and an error unless a name is its own. It is looked for below the
// directory that is held, after each batch of lines: the way of lstat takes two and a half times as long.
func (l *flocked) same(name string, open fs.File) (size int64, err error) {
	if _, err := lstat(l.root, path.Dir(name)); err != nil {
		return 0, l.dir.named("lstat", name, err)
	}
	there, err := lstat(l.root, name)
	if err != nil {
		return 0, l.dir.named("lstat", name, err)
	}
	here, err := open.Stat()
	if err != nil {
		return 0, err
	}
	if !os.SameFile(there, here) {
		return 0, fmt.Errorf("store: %s is another file than the one that was opened", l.dir.path(name))
	}
	return here.Size(), nil
}

// Close unlocks the file and closes it. To close it is not enough: a child process that is just being started
// has the file open, too, until it runs its own program, and would keep the lock as long.
func (l *flocked) Close() error {
	return errors.Join(syscall.Flock(int(l.Fd()), syscall.LOCK_UN), l.File.Close(), l.end())
}

// Free returns the bytes that are free to this user.
func (d Dir) Free() (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(cmp.Or(string(d), "."), &s)
	return int64(s.Bavail) * int64(s.Bsize), os.NewSyscallError("statfs", err)
}
