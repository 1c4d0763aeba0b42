package rig

import (
	"os"
	"path/filepath"
	"runtime/debug"

	"waybill/store/durable"
)

// A heap may grow to five times what is in use before it is collected, here and in the programs that tests
// start. Tests make many small servers, one after another: a fifth of all their work was to collect the few
// megabytes of each, again and again.
func init() {
	if os.Getenv("GOGC") == "" {
		os.Setenv("GOGC", "400")
		debug.SetGCPercent(400)
	}
}

// Unsynced is a directory of which nothing is synced, for tests of all that a power cut has no part in: most
// of their time they would wait for the disk.
func Unsynced(dir string) durable.FS { return unsynced{durable.Dir(dir)} }

type unsynced struct{ durable.Dir }

type unsyncedFile struct{ durable.File }

func (d unsynced) Create(name string) (durable.File, error) {
	f, err := d.Dir.Create(name)
	return unsyncedFile{f}, err
}

func (d unsynced) Append(name string) (durable.File, error) {
	f, err := d.Dir.Append(name)
	return unsyncedFile{f}, err
}

// Mkdir makes a directory, and those above it, unless it exists.
func (d unsynced) Mkdir(dir string) error {
	return os.MkdirAll(filepath.Join(string(d.Dir), dir), 0o700)
}

func (unsynced) SyncDir(string) error { return nil }

func (unsyncedFile) Sync() error { return nil }
