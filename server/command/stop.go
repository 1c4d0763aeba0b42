package command

import (
	"errors"

	"waybill/store/durable"
)

var errStopped = errors.New("stopped before it was done")

// stoppableFS is a file system of which nothing more is read once the process should end. So every verb that
// reads for long ends, wherever it is, and what it was writing is as after any other error.
type stoppableFS struct {
	durable.FS
	stop <-chan struct{}
}

// stopped returns an error once the process should end.
func stopped(stop <-chan struct{}) error {
	select {
	case <-stop:
		return errStopped
	default:
		return nil
	}
}

// Open opens a file that can be read until the process should end.
func (s stoppableFS) Open(name string) (durable.File, error) {
	if err := stopped(s.stop); err != nil {
		return nil, err
	}
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return stoppableFile{f, s.stop}, nil
}

// stoppableFile is a file that can be read until the process should end.
type stoppableFile struct {
	durable.File
	stop <-chan struct{}
}

// ReadAt reads, unless the process should end.
func (f stoppableFile) ReadAt(b []byte, at int64) (int, error) {
	if err := stopped(f.stop); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}
