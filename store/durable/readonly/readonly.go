// Package readonly reads the files of a data directory. A function that takes an [FS] of this package cannot
// change the directory, and the compiler keeps that. [Dir] is the real one:
//
//	text, err := readonly.ReadFile(readonly.Dir("waybill-data"), "checkpoint")
//
// Package durable has the file access with which one can also write. Each of its FS is one of these.
package readonly

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"waybill/store/durable/rooted"
)

// FS is the reading of files. Names are slash-separated and relative to the data directory.
type FS interface {
	Open(name string) (File, error)
	List(dir string) ([]string, error) // the names in a directory, sorted; none when it does not exist
}

// File is a file that is open to be read.
type File interface {
	io.ReadCloser
	io.ReaderAt
	Size() (int64, error) // in bytes
}

// TempSuffix ends the name of a file that is still being written, or that a crash has left so.
const TempSuffix = ".tmp"

// Dir is the FS of a real directory, which need not exist. It may be a symbolic link itself; in it none is
// followed (package rooted).
type Dir string

// Open opens a file.
func (d Dir) Open(name string) (File, error) {
	f, err := rooted.Dir(d).Open(name, os.O_RDONLY)
	return osFile{f}, err
}

// List returns the names in a directory.
func (d Dir) List(dir string) ([]string, error) {
	f, err := rooted.Dir(d).Open(dir, os.O_RDONLY)
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

// osFile is a real file.
type osFile struct{ *os.File }

// Size returns how many bytes the file has.
func (f osFile) Size() (int64, error) { return Size(f.File) }

// Size returns how many bytes a real file has.
func Size(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Read opens a file to read what it holds now. It passes over what a running server adds meanwhile.
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

// Tail reads the last n bytes of a file, or all.
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
