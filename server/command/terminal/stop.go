package terminal

import (
	"errors"

	"waybill/store/durable"
)

// Stoppable returns a file system of which nothing more is read once stop is closed. So everything that
// reads for long ends, wherever it is, and what it was writing is as after any other error.
func Stoppable(fsys durable.ReadFS, stop <-chan struct{}) durable.ReadFS {
	return stoppableFS{fsys, stop}
}

var errNotDone = errors.New("stopped before it was done")

// stoppableFS is a file system that can be read until stop is closed.
type stoppableFS struct {
	durable.ReadFS
	stop <-chan struct{}
}

// stopped returns an error once stop is closed.
func stopped(stop <-chan struct{}) error {
	select {
	case <-stop:
		return errNotDone
	default:
		return nil
	}
}

// Open opens a file that can be read until stop is closed.
func (s stoppableFS) Open(name string) (durable.Readable, error) {
	if err := stopped(s.stop); err != nil {
		return nil, err
	}
	f, err := s.ReadFS.Open(name)
	if err != nil {
		return nil, err
	}
	return stoppableFile{f, s.stop}, nil
}

// stoppableFile is a file that can be read until stop is closed.
type stoppableFile struct {
	durable.Readable
	stop <-chan struct{}
}

// ReadAt reads, unless stop is closed.
func (f stoppableFile) ReadAt(b []byte, at int64) (int, error) {
	if err := stopped(f.stop); err != nil {
		return 0, err
	}
	return f.Readable.ReadAt(b, at)
}
