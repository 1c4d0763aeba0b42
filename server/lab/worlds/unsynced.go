package worlds

import (
	"os"
	"path/filepath"
	"syscall"

	"waybill/store/durable"
)

// unsynced is the directory of a world. It is a cache: it goes with the process, and what a power cut leaves
// of it the next start removes. So nothing of it is synced, which makes a fork of the demo three times as
// fast (decision worlds.unsynced).
type unsynced struct{ durable.Dir }

// Unsynced returns the files of a directory of which nothing is synced, as that of a world.
func Unsynced(path string) durable.FS {
	return unsynced{durable.Dir(path)}
}

// Create makes a new file.
func (d unsynced) Create(name string) (durable.File, error) {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	return unsyncedFile{f, d}, err
}

// Append opens an existing file for writing at its end.
func (d unsynced) Append(name string) (durable.File, error) {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_APPEND)
	return unsyncedFile{f, d}, err
}

// Mkdir makes a directory, and those above it, unless it exists.
func (d unsynced) Mkdir(dir string) error {
	return os.MkdirAll(filepath.Join(string(d.Dir), dir), 0o700)
}

// SyncDir does nothing.
func (unsynced) SyncDir(string) error { return nil }

// unsyncedFile is a file of a world.
type unsyncedFile struct {
	*os.File
	dir unsynced
}

// Sync does nothing.
func (unsyncedFile) Sync() error { return nil }

// Size returns how many bytes the file has.
func (f unsyncedFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Reserve reports whether there is room for the file to grow to a size. It keeps none.
func (f unsyncedFile) Reserve(size int64) error {
	have, err := f.Size()
	if err != nil {
		return err
	}
	free, err := f.dir.Free()
	if err == nil && free < size-have {
		err = syscall.ENOSPC
	}
	return err
}
