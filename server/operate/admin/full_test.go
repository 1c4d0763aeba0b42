package admin_test

import (
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// noKeys is a directory that has no room for keys.
type noKeys struct {
	durable.FS
	full atomic.Bool
}

func (d *noKeys) Create(name string) (durable.File, error) {
	if d.full.Load() && strings.HasPrefix(name, "keys/") {
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name)
}

// A key that cannot be written is not rotated, and the journal does not say that it was.
func TestAKeyWithoutRoomIsNotRotated(t *testing.T) {
	dir := t.TempDir()
	disk := &noKeys{FS: durable.Dir(dir)}
	s, _ := rig.Demo(t, server.Config{
		Dir: dir,
		FS:  disk,
	})
	said := func() int {
		n := 0
		_, err := inspect.Read(durable.Dir(dir), true, func(_ journal.Place, l *journal.Line) error {
			if l.Type == "keys.rotated" {
				n++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	rotate := func() error {
		return s.Admin.Do("rotate-keys", &admin.Act{
			By:   admin.Self(),
			Form: url.Values{},
			Out:  io.Discard,
		})
	}
	disk.full.Store(true)
	before := s.Ring.Load()
	if err := rotate(); err == nil || said() != 0 || s.Ring.Load() != before {
		t.Errorf("%v; the journal has %d lines of it", err, said())
	}
	disk.full.Store(false)
	if err := rotate(); err != nil || said() != 1 || s.Ring.Load() == before {
		t.Errorf("%v; the journal has %d lines of it", err, said())
	}
}
