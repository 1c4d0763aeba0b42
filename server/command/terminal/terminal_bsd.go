//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"os"
	"syscall"
)

// The calls of the BSDs and of macOS that read and set how a terminal behaves.
const (
	getSettings = syscall.TIOCGETA
	setSettings = syscall.TIOCSETA
	noKey       = 0xff // a character that no key types
)

// Stderr returns the standard error of this process. Where nobody reads it, a crash waits.
func Stderr() *os.File { return os.Stderr }
