package durable

import (
	"errors"
	"os"
	"runtime"
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

// syncfs are the numbers of that system call, which package syscall lacks for some processors. Where none is
// known, files are synced one by one.
var syncfs = map[string]uintptr{"amd64": 306, "arm64": 267}

// syncAll writes out all of the file system that an open directory is on.
func syncAll(f *os.File) error {
	number, known := syncfs[runtime.GOARCH]
	if !known {
		return errors.ErrUnsupported
	}
	// A kernel that has it not, or may not be asked for it, answers ENOSYS or EPERM.
	return uninterrupted("syncfs", func() error {
		_, _, failed := syscall.Syscall(number, f.Fd(), 0, 0)
		switch failed {
		case 0:
			return nil
		case syscall.ENOSYS, syscall.EPERM:
			return errors.ErrUnsupported
		}
		return failed
	})
}

func uninterrupted(name string, call func() error) (err error) {
	for err = call(); err == syscall.EINTR; err = call() {
	}
	return os.NewSyscallError(name, err)
}
