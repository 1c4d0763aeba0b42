package terminal

import (
	"os"
	"syscall"
)

// The calls of Linux that read and set how a terminal behaves.
const (
	getSettings = syscall.TCGETS
	setSettings = syscall.TCSETS
	noKey       = 0 // a character that no key types
)

// Stderr returns the standard error of this process, for lines that may wait for their reader. The runtime's
// own lines, as of a crash, must not wait: where it is a pipe, they go into a second opening of that, which
// leaves out what has no room. Else a process that crashes would stay as long as nobody reads.
func Stderr() *os.File {
	const stderr = 2
	var stat syscall.Stat_t
	if syscall.Fstat(stderr, &stat) != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return os.Stderr
	}
	second, err := syscall.Open("/proc/self/fd/2", syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return os.Stderr
	}
	defer syscall.Close(second)
	first, err := syscall.Dup(stderr)
	if err != nil {
		return os.Stderr
	}
	syscall.CloseOnExec(first)
	if syscall.Dup3(second, stderr, 0) != nil {
		syscall.Close(first)
		return os.Stderr
	}
	return os.NewFile(uintptr(first), os.Stderr.Name())
}
