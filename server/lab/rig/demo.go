package rig

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/server"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/store/durable"
)

// ImportDemo makes the demo network the timetable in force, in a directory that has had none. The feed is
// read once for all tests of a package: what its first import has written, a file and a line, is the same in
// each directory.
func ImportDemo(t testing.TB, s *server.Server) {
	t.Helper()
	if err := demo.adopt(s); err != nil {
		t.Fatal(err)
	}
}

var demo imported

// imported is what an import of the demo feed has written and put in force.
type imported struct {
	mu    sync.Mutex
	file  []byte // of the timetable
	event ledger.TimetableImported
}

// adopt imports the feed, or writes once more what that has written.
func (x *imported) adopt(s *server.Server) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return x.read(s)
	}
	name := x.event.Hash + ".jsonl"
	if err := durable.PublishText(s.Config.FS, ledger.TimetableDir, name, x.file); err != nil {
		return err
	}
	by := admin.Self()
	_, err := s.Store.Update(func(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
		if was := st.TimetableHash(); was != "" {
			return nil, fmt.Errorf("timetable %s is in force already", was)
		}
		e := x.event
		return []ledger.Entry{{Event: &e, By: &by}}, nil
	}, nil)
	if err == nil {
		_, err = s.ShowTimetable()
	}
	return err
}

// read imports the feed, and keeps what that has written.
func (x *imported) read(s *server.Server) error {
	feed := os.DirFS(File("testdata/demo"))
	err := s.Admin.Import(feed, "demo", admin.ImportOptions{Strict: true}, io.Discard)
	if err != nil {
		return err
	}
	var tt *schedule.Timetable
	err = s.Store.View(func(st ledger.State, _ time.Time) { tt = st.Timetable() })
	if err != nil {
		return err
	}
	var file bytes.Buffer
	hash, err := tt.Encode(&file)
	x.file = file.Bytes()
	x.event = ledger.TimetableImported{
		Hash:   hash,
		Feed:   "demo",
		Cities: len(tt.Cities),
		Routes: len(tt.Routes),
		Trips:  len(tt.Trips),
		Loaded: tt,
	}
	return err
}
