package durable

import (
	"os"
	"syscall"
)

// datasync writes out the data and the size, not the time stamps.
func datasync(f *os.File) error {
	return uninterrupted("fdatasync", func() error {
		return syscall.Fdatasync(int(f.Fd()))
	})
}

// allocate keeps room in a file beyond its end. errors.ErrUnsupported: the file system cannot.
func allocate(f *os.File, from, length int64) error {
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	return uninterrupted("fallocate", func() error {
		return syscall.Fallocate(int(f.Fd()), keepSize, from, length)
	})
}

func uninterrupted(name string, call func() error) (err error) {
	for err = call(); err == syscall.EINTR; err = call() {
	}
	return os.NewSyscallError(name, err)
}
