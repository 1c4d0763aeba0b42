package ledger_test

import (
	"bytes"
	"flag"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/auth"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/api/partner"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/proof/export"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

var update = flag.Bool("update", false, "write anew what the directory is read as")

// fixture is the directory of format 3 that has every kind of line. The format is frozen: nothing writes the
// directory anew. What begins with its name lies beside it, and is what it is read as.
const fixture = "testdata/journal/v3"

// The journal of format 3 is what the text beside it leaves: every kind of line, each byte the same.
func TestTheJournalOfFormat3(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		played := playFixture(t, dir)
		files, _ := filepath.Glob(filepath.Join(played, "journal", "*"))
		for _, name := range append(files, filepath.Join(played, "FORMAT")) {
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			isFile(t, filepath.Join(rig.File(fixture), strings.TrimPrefix(name, played)), got)
		}
	})
	var types []string
	written := durable.Dir(rig.File(fixture))
	_, err := inspect.Read(written, false, func(_ journal.Place, l *journal.Line) error {
		types = append(types, l.Type)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stores := []string{journal.KindOpened, journal.KindForked, journal.KindRepaired}
	for _, kind := range append(ledger.Kinds(), stores...) {
		if !slices.Contains(types, kind) {
			t.Errorf("no line is of the type %s", kind)
		}
	}
}

// playFixture plays the text in a directory, and returns the one in which it ends.
func playFixture(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(rig.File(fixture + ".txt"))
	if err != nil {
		t.Fatal(err)
	}
	p := rig.NewPlayer(t, dir, "seed")
	for line := range strings.Lines(string(text)) {
		p.Line++
		p.Play(strings.TrimRight(line, "\n"))
	}
	// A page of the desk writes the one, and an erasure of more than a thousand passengers the other.
	_, err = p.S.Store.Update(func(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
		b := st.Bookings.Any(ids.Of(p.Vars["c"]))
		by := &ledger.By{UID: 1000, User: "olena"}
		return []ledger.Entry{
			{Event: &ledger.PersonalRead{Page: "/booking", Booking: &b.ID, People: 1}, By: by},
			{
				Event: &ledger.PassengersForgotten{
					Reason:     "asked",
					Passengers: st.ToForget([]ids.ID{b.Tickets[0].ID}),
				},
				By: by,
			},
		}, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Play("admin forget booking=$c reason=asked")
	p.Finish()
	return p.Dir()
}

// The directory loads, goes on, and is what it was: its bookings, partners, users and reports, what clients
// have numbers of, and what is loaded into databases.
func TestTheJournalOfFormat3Loads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(rig.File(fixture))); err != nil {
		t.Fatal(err)
	}
	rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{})
	if err != nil || rep.Torn != nil {
		t.Fatalf("%v, %v", rep.Torn, err)
	}
	golden(t, ".csv", exported(t, dir))
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	s, err := server.Open(server.Config{Dir: dir, Lab: rig.NoClock(), Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	var state, again bytes.Buffer
	var anna *auth.Partner
	err = s.Store.View(func(st ledger.State, now time.Time) {
		anna = st.Partners.ByName("anna")
		var w wire.Writer
		for b := range st.Bookings.Freeze().All() {
			resource.NewWriter().Booking(&w, "", b, now)
			w.B = append(w.B, '\n')
		}
		state.Write(w.B)
		if err := ledger.NewCodec().Freeze(st)(&again); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for row := range bytes.Lines(again.Bytes()) {
		if !bytes.HasPrefix(row, []byte(`{"booking":`)) { // these are above, for people
			state.Write(row)
		}
	}
	golden(t, ".state.jsonl", state.Bytes())
	w := httptest.NewRecorder()
	room := partner.New(s.Core, resource.NewWriter(), nil, nil)
	ask := web.Identified(s.Core, web.ErrUnauthorized, room.GetEvents, web.APIKey,
		func(ledger.State, auth.Hash, time.Time) *auth.Partner { return anna }, nil)
	ask(&web.Recorder{ResponseWriter: w}, httptest.NewRequest("GET", "/v2/events?take=100", nil))
	golden(t, ".events.json", w.Body.Bytes())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err = verify.Directory(durable.Dir(dir), false, inspect.Expected{})
	if err != nil || rep.Checkpoints < 1 {
		t.Errorf("gone on with: %+v, %v", rep, err)
	}
}

// exported returns all tables of an export, one behind the other.
func exported(t *testing.T, dir string) []byte {
	t.Helper()
	to := durable.Dir(filepath.Join(t.TempDir(), "out"))
	if _, err := export.Write(durable.Dir(dir), false, to); err != nil {
		t.Fatal(err)
	}
	names, err := to.List(".")
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, name := range names {
		if filepath.Ext(name) != ".csv" {
			continue
		}
		text, err := durable.ReadFile(to, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n%s\n", name, text)
	}
	return all.Bytes()
}

// golden holds what was read against what stands beside the fixture.
func golden(t *testing.T, suffix string, got []byte) {
	t.Helper()
	name := rig.File(fixture + suffix)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	isFile(t, name, got)
}

// isFile holds bytes against those of a file, and says in which line they first differ.
func isFile(t *testing.T, name string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	next, stop := iter.Pull(bytes.Lines(want))
	defer stop()
	n := 0
	for line := range bytes.Lines(got) {
		n++
		if was, _ := next(); !bytes.Equal(line, was) {
			t.Errorf("%s: line %d is\n%sand was\n%s", name, n, line, was)
			return
		}
	}
	t.Errorf("%s ends after line %d", name, n)
}
