package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"waybill/store/durable"
)

// unfinished stands in the name of a directory in which something new is written, after the name that this
// will have.
const unfinished = ".unfinished-"

// inWork is the lock in such a directory. Where nobody has it, who wrote there was killed.
const inWork = "LOCK"

// PublishNew makes something whole appear under a path where nothing is, a file or a directory, or makes
// nothing. write writes it under another path, durably, and then it is renamed. Of two processes that do so
// at once, one is told. What one that was killed has left of the same path is removed first.
//
// An empty directory counts as nothing: it gives way. A file system that has no locks shows nobody who was
// killed: there it stays. Two may then both write; the first that is done has the path.
func PublishNew(name string, write func(at string) error) error {
	name = filepath.Clean(name)
	parent := durable.Dir(filepath.Dir(name))
	if err := parent.Mkdir("."); err != nil {
		return err
	}
	if err := removeUnfinished(name); err != nil {
		return err
	}
	if err := mustBeFree(name); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(string(parent), filepath.Base(name)+unfinished+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	lock, err := durable.Dir(beside).Lock(inWork)
	if errors.Is(err, durable.ErrLocked) { // another takes it for what was left, and removes it
		return beingWritten(name)
	}
	if err == nil {
		defer lock.Close()
	}
	at := filepath.Join(beside, filepath.Base(name))
	if err = write(at); err == nil {
		err = mustBeFree(name)
	}
	if err == nil {
		err = os.Rename(at, name)
	}
	if err == nil {
		err = parent.SyncDir(".")
	}
	return err
}

func beingWritten(name string) error {
	return fmt.Errorf("%s is being written by another process", name)
}

// mustBeFree returns an error for a path where something is. It removes an empty directory.
func mustBeFree(name string) error {
	if syscall.Rmdir(name) == nil {
		return nil
	}
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return cmp.Or(err, fmt.Errorf("%s is there already", name))
}

// removeUnfinished removes what those have left who wrote to a path and were killed. Its error is that of a
// path to which somebody writes now.
func removeUnfinished(name string) error {
	folder := filepath.Dir(name)
	entries, _ := os.ReadDir(folder) // who may not look there may still write there
	for _, e := range entries {
		beside := filepath.Join(folder, e.Name())
		_, none := os.Lstat(filepath.Join(beside, inWork))
		if none != nil || !strings.HasPrefix(e.Name(), filepath.Base(name)+unfinished) {
			continue
		}
		lock, err := durable.Dir(beside).Lock(inWork)
		if errors.Is(err, durable.ErrLocked) {
			return beingWritten(name)
		}
		if err != nil {
			continue
		}
		if err := errors.Join(os.RemoveAll(beside), lock.Close()); err != nil {
			return err
		}
	}
	return nil
}
