package store

import (
	"os"
	"syscall"
)

// datasync writes out the data and the size, not the time stamps.
func datasync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
