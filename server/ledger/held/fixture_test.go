package held_test

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/api/partner"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestJournalsOfFormerVersionsStillLoad opens a directory as each landed version wrote it, and holds the
// bookings, users, sessions, reports, toggles, partners and requests with keys against those it had.
func TestJournalsOfFormerVersionsStillLoad(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1-users", "v1-evidence", "v1-retries", "v1-round-one",
		"v1-attributed", "v1-signed", "v1-trees", "v1-runs", "v1-round-two"} {
		dir := filepath.Join(t.TempDir(), "data")
		// they have the same one
		parts := map[string]string{version + "/journal": "journal", "v1/timetables": ledger.TimetableDir}
		if _, err := os.Stat("../../../testdata/journal/" + version + "/snapshots"); err == nil {
			parts[version+"/snapshots"] = "snapshots" // of that version, which a start passes over
		}
		if version == "v1-signed" { // with checkpoints of the earlier form, and without a key
			parts = map[string]string{version: "."}
		}
		// With checkpoints of a tree, and without a key. The second has runs that were changed, and answers
		// that are kept.
		if version == "v1-trees" || version == "v1-runs" || version == "v1-round-two" {
			parts = map[string]string{version: ".", "v1-signed/timetables": ledger.TimetableDir}
		}
		for from, to := range parts {
			if err := os.CopyFS(filepath.Join(dir, to),
				os.DirFS("../../../testdata/journal/"+from)); err != nil {
				t.Fatal(err)
			}
		}
		format, err := os.ReadFile("../../../testdata/journal/" + version + "/FORMAT")
		if err != nil || os.WriteFile(filepath.Join(dir, "FORMAT"), format, 0o600) != nil {
			t.Fatal(err)
		}
		if rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil ||
			rep.Torn != nil {
			t.Fatalf("%s: %v, %v", version, rep.Torn, err)
		}
		at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
		now := func() time.Time { return at }
		s, err := server.Open(server.Config{Dir: dir, Lab: rig.NoClock(), Now: now})
		if err != nil {
			t.Fatal(version, err)
		}
		var w wire.Writer
		err = s.Store.View(func(st ledger.State, _ time.Time) {
			for b := range st.Bookings.Freeze().All() {
				resource.NewWriter().Booking(&w, "", b, at)
				w.B = append(w.B, '\n')
			}
			var rows bytes.Buffer
			ledger.NewCodec().Freeze(st)(&rows)
			for row := range bytes.Lines(rows.Bytes()) {
				if regexp.MustCompile(`^{"(user|session|report|partner|retry|message)"|^{"version".*"geolocation"`).
					Match(row) {
					row = bytes.Replace(row, []byte(`"version":7,"format":2,`), nil, 1)
					w.B = append(w.B, bytes.Replace(row, []byte(`"ever":true,`), nil, 1)...) // is new in it
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		checkEvents(t, s, version)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil ||
			rep.Checkpoints < 1 {
			t.Errorf("%s, gone on with: %+v, %v", version, rep, err)
		}
		golden := "../../../testdata/journal/" + version + ".bookings.jsonl"
		if *update {
			if err := os.WriteFile(golden, w.B, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(w.B, want) {
			t.Errorf("%s: the state is not what it was (%v):\n%s", version, err, w.B)
		}
	}
}

// checkEvents holds the events of a directory's partners against those that they had: clients have their
// numbers.
func checkEvents(t *testing.T, s *server.Server, version string) {
	want, err := os.ReadFile("../../../testdata/journal/" + version + ".events.json")
	if os.IsNotExist(err) {
		return // of before there were events
	}
	if err != nil {
		t.Fatal(err)
	}
	var demo *auth.Partner
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		demo = st.Partners.ByName("demo")
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	room := partner.New(s.Core, resource.NewWriter(), nil, nil)
	err = room.GetEvents(&web.Recorder{ResponseWriter: w},
		httptest.NewRequest("GET", "/v2/events?take=100", nil), demo)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(w.Body.Bytes()), want) {
		t.Errorf("%s: the events are not what they were:\n%s", version, w.Body)
	}
}
