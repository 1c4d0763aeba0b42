package durable

import (
	"errors"
)

var (
	ErrLocked = errors.New("store: the directory is in use by another process")
)
