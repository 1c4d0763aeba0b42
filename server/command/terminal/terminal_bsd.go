//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "syscall"

// The calls of the BSDs and of macOS that read and set how a terminal behaves.
const (
	getSettings = syscall.TIOCGETA
	setSettings = syscall.TIOCSETA
	noKey       = 0xff // a character that no key types
)
