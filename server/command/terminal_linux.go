package command

import "syscall"

// The calls of Linux that read and set how a terminal behaves.
const (
	getTerminal = syscall.TCGETS
	setTerminal = syscall.TCSETS
	noKey       = 0 // a character that no key types
)
