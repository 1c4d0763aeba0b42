package durable

import (
	"errors"
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
