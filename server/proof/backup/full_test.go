package backup_test

import (
	"os"
	"syscall"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/backup"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// noRoom is a directory in which only so many files can be made.
type noRoom struct {
	durable.FS
	left int
}

func (d *noRoom) Create(name string) (durable.File, error) {
	if d.left--; d.left < 0 {
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name)
}

// A backup that fails, wherever it does, leaves nothing: neither keys, nor a directory that the next one
// refuses.
func TestABackupThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	rig.NewBookingID(t, s, key)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for left := 0; ; left++ {
		_, err := backup.Backup(durable.Dir(dir), false, &noRoom{durable.Dir(out), left})
		if left == 100 {
			t.Fatal(err)
		}
		if err == nil {
			if left < 5 {
				t.Errorf("a backup makes only %d files", left)
			}
			break
		}
		if names, _ := os.ReadDir(out); len(names) > 0 {
			t.Fatalf("with room for %d files it leaves %v", left, names)
		}
	}
	if _, err := verify.Directory(durable.Dir(out), false, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}
