package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// ReadFS is the reading half of an [FS]. A function that takes it cannot change the directory, and the
// compiler keeps that. Names are slash-separated and relative to the data directory.
type ReadFS interface {
	Open(name string) (Readable, error)
	List(dir string) ([]string, error) // the names in a directory, sorted; none when it does not exist
}

// Readable is a file that is open to be read.
type Readable interface {
	io.ReadCloser
	io.ReaderAt
	Size() (int64, error) // in bytes
}

// TempSuffix ends the name of a file that is still being written, or that a crash has left so.
const TempSuffix = ".tmp"

// Open opens a file for reading.
func (d Dir) Open(name string) (Readable, error) {
	f, err := d.OpenFile(name, os.O_RDONLY)
	return &osFile{File: f}, err
}

// List returns the names in a directory.
func (d Dir) List(dir string) ([]string, error) {
	f, err := d.OpenFile(dir, os.O_RDONLY)
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

// Read opens a file to read what it holds now. It passes over what a running server adds meanwhile.
func Read(fsys ReadFS, name string, read func(*io.SectionReader) error) error {
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
func ReadFile(fsys ReadFS, name string) (text []byte, err error) {
	err = Read(fsys, name, func(f *io.SectionReader) error {
		text, err = io.ReadAll(f)
		return err
	})
	return text, err
}
