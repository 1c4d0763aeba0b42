package durable

// Below a directory no symbolic link is followed, wherever it leads. An attacker who can plant a link could
// otherwise have the process read and write another file than it means. Each part of a name is opened from
// the directory above it, by os.Root. That alone would follow a link to a file beside it, so what was opened
// is compared with what stands under the name.

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// ErrLink is the error of a name that is a symbolic link, or leads through one.
var ErrLink = errors.New("is a symbolic link; none is followed inside the data directory")

// errReplaced is the error of a name whose file was replaced while it was opened, time and again.
var errReplaced = errors.New("is being replaced again and again")

// ErrIrregular is the error of a name that is neither a file nor a directory.
var ErrIrregular = errors.New("is not a regular file")

// maxReplaced is how often something is opened again that was replaced just then: a server publishes some
// files about once a second.
const maxReplaced = 100

// held are the directories that this process holds open, by path.
var held sync.Map

// hold opens the directory, and has this process find every name in it below what is open, and no longer by
// the path, until the returned function is called: what comes in its place meanwhile is another directory.
func (d Dir) hold() (root *os.Root, end func() error, err error) {
	root, err = d.open()
	if err != nil {
		return nil, nil, d.named("open", ".", err)
	}
	held.Store(d, root)
	return root, func() error {
		held.CompareAndDelete(d, root)
		return root.Close()
	}, nil
}

// open opens the directory.
func (d Dir) open() (*os.Root, error) {
	if root, is := held.Load(d); is {
		return root.(*os.Root).OpenRoot(".")
	}
	at := cmp.Or(string(d), ".")
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return nil, syscall.ENOTDIR // os.OpenRoot waits for a pipe's other end
	}
	return os.OpenRoot(at)
}

// path returns the whole path of a name.
func (d Dir) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// OpenFile opens a file or a directory that exists, or, with os.O_CREATE, makes a file, which must not exist.
func (d Dir) OpenFile(name string, flag int) (f *os.File, err error) {
	err = d.within("open", name, func(parent *os.Root, base string) error {
		if flag&os.O_CREATE == 0 {
			f, err = openFile(parent, base, flag)
		} else { // so the system follows no link
			f, err = parent.OpenFile(base, flag|os.O_EXCL, 0o600)
		}
		return err
	})
	return f, err
}

// lstat returns what is known of a name without opening it.
func (d Dir) lstat(name string) (info fs.FileInfo, err error) {
	err = d.within("lstat", name, func(parent *os.Root, base string) error {
		info, err = lstat(parent, base)
		return err
	})
	return info, err
}

// within calls do with the directory that a name stands in, and with the last part of the name. Its error is
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
	root, err := d.open()
	if err != nil {
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

// openFile opens a file or a directory of a directory, unless it is a link.
func openFile(parent *os.Root, base string, flag int) (*os.File, error) {
	for range maxReplaced {
		seen, err := lstat(parent, base)
		if err != nil {
			return nil, err
		}
		if !seen.Mode().IsRegular() && !seen.IsDir() {
			return nil, ErrIrregular // to open a pipe would not return
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

// lstat returns what is known of a name in an open directory. A link is ErrLink.
func lstat(parent *os.Root, base string) (fs.FileInfo, error) {
	info, err := parent.Lstat(base)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrLink
	}
	return info, err
}
