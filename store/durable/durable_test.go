package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A lock that is given back is free at once, also while a child that is just being started still has the
// file.
func TestALockIsGivenBackAtOnce(t *testing.T) {
	dir := Dir(t.TempDir())
	l, err := dir.Lock("LOCK")
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(l.(interface{ Fd() uintptr }).Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	if _, err := dir.Lock("LOCK"); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := dir.Lock("LOCK")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// Files that were put are whole, in place of those that had their names, and can be made durable together;
// one that is gone by then is no failure.
func TestFilesArePutAndSyncedTogether(t *testing.T) {
	type embedded struct{ FS } // so that there is no sync of all
	dir := Dir(t.TempDir())
	if err := dir.Mkdir("box"); err != nil {
		t.Fatal(err)
	}
	many := []string{"a", "b", "gone", "c", "d", "e", "f"}
	for _, fsys := range []FS{dir, embedded{dir}} {
		for _, name := range []string{"a", "b", "a", "c", "d", "e", "f"} {
			if err := Put(fsys, "box", name, []byte("of "+name)); err != nil {
				t.Fatal(err)
			}
		}
		for _, names := range [][]string{many, many[:3]} {
			if err := SyncFiles(fsys, "box", names); err != nil {
				t.Errorf("%q: %v", names, err)
			}
		}
		if names, err := fsys.List("box"); err != nil || len(names) != len(many)-1 {
			t.Errorf("%q, %v", names, err)
		}
		if text, err := ReadFile(fsys, "box/a"); err != nil || string(text) != "of a" {
			t.Errorf("%q, %v", text, err)
		}
		if err := SyncFiles(fsys, "nowhere", many); err == nil {
			t.Error("a directory that is not there is made durable")
		}
	}
}

// A file that grows is synced each megabyte, so that a disk is never given hundreds of them at once.
func TestALargeFileIsSyncedAsItGrows(t *testing.T) {
	dir := t.TempDir()
	f, err := Dir(dir).Create("large")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 100_000
	for i := range 50 {
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if left := f.(*osFile).unsynced; left >= syncEvery || i == 0 && left != size {
			t.Fatalf("%d bytes are not synced", left)
		}
	}
	if _, err := io.Copy(f, strings.NewReader(strings.Repeat("x", 2*syncEvery+10))); err != nil {
		t.Fatal(err)
	}
	if left := f.(*osFile).unsynced; left >= syncEvery {
		t.Errorf("%d bytes that were copied are not synced", left)
	}
	if info, err := os.Stat(filepath.Join(dir, "large")); err != nil ||
		info.Size() != 50*size+2*syncEvery+10 {
		t.Error(info, err)
	}
}
