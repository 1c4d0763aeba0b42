package server

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waybill/server/wire"
	"waybill/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestJournalsOfFormerVersionsStillLoad opens a directory as each landed
// version wrote it, and holds the bookings against those it showed.
func TestJournalsOfFormerVersionsStillLoad(t *testing.T) {
	for _, version := range []string{"v1"} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS("../testdata/journal/"+version)); err != nil {
			t.Fatal(err)
		}
		if rep, err := Verify(store.Dir(dir), false); err != nil || rep.Torn != nil {
			t.Fatalf("%s: %v, %v", version, rep.Torn, err)
		}
		at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
		s, err := Open(Config{Dir: dir, Now: func() time.Time { return at }})
		if err != nil {
			t.Fatal(version, err)
		}
		var w wire.Writer
		if err := s.st.View(func(st *State, _ time.Time) {
			for _, b := range st.Bookings.Freeze().Bookings {
				if b != nil {
					writeBooking(&w, "", b, at)
					w.B = append(w.B, '\n')
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		golden := "../testdata/journal/" + version + ".bookings.jsonl"
		if *update {
			if err := os.WriteFile(golden, w.B, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(w.B, want) {
			t.Errorf("%s: the bookings are not what they were (%v):\n%s", version, err, w.B)
		}
	}
}
