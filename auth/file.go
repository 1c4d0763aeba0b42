package auth

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a file that somebody else may replace while a server runs, as one of a key or a password. Only
// a regular file will do: a pipe would be waited for, and all who need the file with it.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("is not a regular file")}
	}
	return f, nil
}

// ReadFile reads a file that Open opens.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
