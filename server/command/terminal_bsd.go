//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package command

import "syscall"

// The calls of the BSDs and of macOS that read and set how a terminal behaves.
const (
	getTerminal = syscall.TIOCGETA
	setTerminal = syscall.TIOCSETA
	noKey       = 0xff // a character that no key types
)
