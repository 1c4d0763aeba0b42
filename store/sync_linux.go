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

// allocate keeps room in a file beyond its end. errors.ErrUnsupported: the file system cannot.
func allocate(f *os.File, from, length int64) error {
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	for {
		if err := syscall.Fallocate(int(f.Fd()), keepSize, from, length); err != syscall.EINTR {
			return os.NewSyscallError("fallocate", err)
		}
	}
}
