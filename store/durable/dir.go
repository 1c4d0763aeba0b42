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
	"slices"
	"strings"
	"syscall"
)

// Dir is the FS of a real directory, which need not exist yet. It may be a symbolic link itself. Nothing in
// it is opened through one, wherever that leads: not what a name stands for, and no directory on the way
// there. An attacker who can plant a link could otherwise have the process read and write another file than
// it means.
//
// Each part of a name is opened from the directory above it, by [os.Root]. That alone would follow a link to
// what lies beside it, so what was opened is compared with what stands under the name.
type Dir string

// ErrLink is the error of a name that is a symbolic link, or leads through one.
var ErrLink = errors.New("is a symbolic link, and none is followed in the data directory")

// errReplaced is the error of what was replaced while it was opened, time and again.
var errReplaced = errors.New("is replaced again and again")

// errIrregular is the error of what is neither a file nor a directory.
var errIrregular = errors.New("is no regular file")

// maxReplaced is how often something is opened again that was replaced just then: a server publishes some
// files about once a second.
const maxReplaced = 100

func (d Dir) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// within calls do with the directory that a name stands in, and with the last part of the name. The error is
// that of an operation on the whole path.
func (d Dir) within(op, name string, do func(parent *os.Root, base string) error) error {
	parent, base, err := d.parent(name)
	if err != nil {
		return d.named(op, name, err)
	}
	defer parent.Close()
	return d.named(op, name, do(parent, base))
}

// named returns the error of an operation on a name, with its whole path in it.
func (d Dir) named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{
		Op:   op,
		Path: d.path(name),
		Err:  cause(err),
	}
}

// cause returns an error without its name, which is relative to a directory that the reader does not see.
func cause(err error) error {
	if on, ok := errors.AsType[*fs.PathError](err); ok {
		return on.Err
	}
	if on, ok := errors.AsType[*os.LinkError](err); ok {
		return on.Err
	}
	return err
}

// parent opens the directory that a name stands in, and returns the last part of the name.
func (d Dir) parent(name string) (*os.Root, string, error) {
	at := cmp.Or(string(d), ".")
	root, err := os.OpenRoot(at)
	if err != nil {
		if info, bad := os.Stat(at); bad == nil && !info.IsDir() {
			err = syscall.ENOTDIR // what os.OpenRoot says of it is only a text
		}
		return nil, "", err
	}
	dir, base := path.Split(path.Clean(name))
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			break // it stands at the top
		}
		below, err := openRoot(root, part)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, "", err
		}
		root = below
	}
	return root, base, nil
}

// openRoot opens a directory of another, unless it is a link.
func openRoot(parent *os.Root, base string) (*os.Root, error) {
	for range maxReplaced {
		seen, err := lstat(parent, base)
		if err != nil {
			return nil, err
		}
		if !seen.IsDir() {
			return nil, syscall.ENOTDIR
		}
		root, err := parent.OpenRoot(base)
		if err != nil {
			return nil, err
		}
		opened, err := root.Stat(".")
		if err == nil && os.SameFile(seen, opened) {
			return root, nil
		}
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errReplaced
}

// openFile opens what there is under a name in a directory, unless it is a link.
func openFile(parent *os.Root, base string, flag int) (*os.File, error) {
	for range maxReplaced {
		seen, err := lstat(parent, base)
		if err != nil {
			return nil, err
		}
		if !seen.Mode().IsRegular() && !seen.IsDir() {
			return nil, errIrregular // to open a pipe would not return
		}
		f, err := parent.OpenFile(base, flag, 0)
		if err != nil {
			return nil, err
		}
		opened, err := f.Stat()
		if err == nil && os.SameFile(seen, opened) {
			return f, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errReplaced
}

// lstat looks at what there is under a name in a directory; a link is ErrLink.
func lstat(parent *os.Root, base string) (fs.FileInfo, error) {
	info, err := parent.Lstat(base)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrLink
	}
	return info, err
}

// lstat looks at what there is under a name.
func (d Dir) lstat(name string) (info fs.FileInfo, err error) {
	err = d.within("lstat", name, func(parent *os.Root, base string) error {
		info, err = lstat(parent, base)
		return err
	})
	return info, err
}

// open opens a file that there is.
func (d Dir) open(name string, flag int) (f *os.File, err error) {
	err = d.within("open", name, func(parent *os.Root, base string) error {
		f, err = openFile(parent, base, flag)
		return err
	})
	return f, err
}

// create makes a file, which must not exist: then the system follows no link.
func (d Dir) create(name string, flag int) (f *os.File, err error) {
	err = d.within("open", name, func(parent *os.Root, base string) error {
		f, err = parent.OpenFile(base, flag|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	return f, err
}

// Open opens a file for reading.
func (d Dir) Open(name string) (File, error) {
	f, err := d.open(name, os.O_RDONLY)
	return &osFile{File: f}, err
}

// Append opens an existing file for writing at its end.
func (d Dir) Append(name string) (File, error) {
	f, err := d.open(name, appending)
	return &osFile{File: f}, err
}

// Create makes a new file.
func (d Dir) Create(name string) (File, error) {
	f, err := d.create(name, appending)
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
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o400), f.Close())
}

// List returns the names in a directory.
func (d Dir) List(dir string) ([]string, error) {
	f, err := d.open(dir, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
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

// mkdirSelf makes the directory itself, unless it exists.
func (d Dir) mkdirSelf() error {
	at := filepath.Clean(string(d))
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	return Dir(filepath.Dir(at)).SyncDir(".")
}

// SyncDir makes the entries of a directory durable.
func (d Dir) SyncDir(dir string) error {
	f, err := d.open(dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock takes a lock with flock, which ends with the process. A lock of fcntl would end when any part of the
// process closes the file.
func (d Dir) Lock(name string) (io.Closer, error) {
	f, err := d.open(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.create(name, os.O_RDWR)
		if errors.Is(err, fs.ErrExist) { // another process was first
			f, err = d.open(name, os.O_RDWR)
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
	return flocked{f}, nil
}

// flocked is a file that is locked.
type flocked struct{ *os.File }

// Close unlocks the file and closes it. To close it is not enough: a child process that is just being started
// has the file open, too, until it runs its own program, and would keep the lock as long.
func (f flocked) Close() error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.File.Close())
}

// Free returns the bytes that are free to this user.
func (d Dir) Free() (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(cmp.Or(string(d), "."), &s)
	return int64(s.Bavail) * int64(s.Bsize), os.NewSyscallError("statfs", err)
}
