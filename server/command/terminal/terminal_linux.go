package terminal

import "syscall"

// The calls of Linux that read and set how a terminal behaves.
const (
	getSettings = syscall.TCGETS
	setSettings = syscall.TCSETS
	noKey       = 0 // a character that no key types
)
