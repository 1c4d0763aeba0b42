package durable

import (
	"errors"
	"io"
)

// ErrReadOnly is the error of each change through an FS that [ReadOnly] returns.
var ErrReadOnly = errors.New("the directory is only read")

// ReadOnly returns an FS that reads fsys and refuses all changes, locks included. It is for a value that has
// methods to read and to write, such as a store that is only looked at. A function that only reads takes a
// ReadFS.
func ReadOnly(fsys FS) FS { return readOnly{fsys} }

type readOnly struct{ FS }

// Create refuses.
func (readOnly) Create(string) (File, error) { return nil, ErrReadOnly }

// Append refuses.
func (readOnly) Append(string) (File, error) { return nil, ErrReadOnly }

// Rename refuses.
func (readOnly) Rename(_, _ string) error { return ErrReadOnly }

// Remove refuses.
func (readOnly) Remove(string) error { return ErrReadOnly }

// Mkdir refuses.
func (readOnly) Mkdir(string) error { return ErrReadOnly }

// SyncDir refuses.
func (readOnly) SyncDir(string) error { return ErrReadOnly }

// Seal refuses.
func (readOnly) Seal(string) error { return ErrReadOnly }

// Lock refuses: the file of a lock is made where there is none.
func (readOnly) Lock(string) (io.Closer, error) { return nil, ErrReadOnly }
