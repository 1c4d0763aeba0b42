package bench_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
	"waybill/server/lab/seed"
	"waybill/server/operate/stand"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// What goes on beside the requests of a server whose clock stands still, where something is in its way.

// stillServer opens a demo whose clock stands still, with a booking of two by a partner.
func stillServer(t *testing.T, cfg server.Config) (s *server.Server, key, booking string) {
	t.Helper()
	if cfg.Lab == nil {
		cfg.Lab = rig.StillFromStart(nil)
	}
	s, key = rig.Demo(t, cfg)
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	body := strings.ReplaceAll(rig.BookingBody(offer, 2), `"Ukrainka"`,
		`"Ukrainka","email":"lesia@example.com"`)
	w := still(s, key, "POST", "/v2/bookings", body)
	_, rest, _ := strings.Cut(w.Body.String(), `"booking":{"id":"`)
	booking, _, _ = strings.Cut(rest, `"`)
	if w.Code != 201 {
		t.Fatal(w.Body)
	}
	return s, key, booking
}

// still makes a request of a server through its bench.
func still(s *server.Server, key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// notesOfAStillClock asks a server whose clock stands still for its note before and after requests, and
// returns all of them. It pauses before each.
func notesOfAStillClock(t *testing.T, pause func()) (notes string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, key, booking := stillServer(t,
			server.Config{Dir: filepath.Join(t.TempDir(), "data"), Lab: rig.StillFromStart(seed.New(7))})
		for _, request := range []string{"GET /livez", "POST /v2/bookings/" + booking + "/pay",
			"POST /v2/bookings/" + booking + "/cancel"} {
			method, path, _ := strings.Cut(request, " ")
			if w := still(s, key, method, path, ""); w.Code >= 400 {
				t.Fatal(request, w.Body)
			}
			pause()
			w := still(s, key, "GET", "/checkpoint", "")
			if w.Code != 200 {
				t.Errorf("after %s: %d %s", request, w.Code, w.Body)
			}
			notes += w.Body.String()
			pause()
		}
	})
	return notes
}

// On a clock that stands still no answer depends on real time: the note is of the lines that are on the disk
// when it is asked for, also on a server that is so slow that it has signed others meanwhile.
func TestTheNoteOfAStillClockDependsOnNoTime(t *testing.T) {
	t.Parallel()
	fast := notesOfAStillClock(t, func() {})
	slow := notesOfAStillClock(t, func() {
		time.Sleep(time.Minute) // of the bubble's time, in which a note is signed each second
		synctest.Wait()
	})
	diff(t, "the notes", fast, slow)
	if n := strings.Count(fast, "waybill/"); n != 6 {
		t.Errorf("%d names in three notes:\n%s", n, fast)
	}
}

// kinds returns the types of a journal's lines after the first so many, in order.
func kinds(t *testing.T, dir string, after int) (list string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "journal", "000000000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		_, rest, _ := strings.Cut(line, `"type":"`)
		kind, _, _ := strings.Cut(rest, `"`)
		if n >= after {
			list += kind + " "
		}
	}
	return list
}

// A start that cannot be says so.
func TestAStillDirectoryThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	s, _, _ := stillServer(t, server.Config{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "timetables", "*"))
	for _, name := range files {
		os.Remove(name)
	}
	if s, err := server.Open(server.Config{Dir: dir, Lab: rig.TestClock()}); err == nil {
		s.Close()
		t.Error("it is opened without its timetable")
	}
}

// breakableFS is a directory whose journal can be made to fail.
type breakableFS struct {
	durable.FS
	broken *atomic.Bool
}

func (f breakableFS) Append(name string) (durable.File, error) {
	file, err := f.FS.Append(name)
	return breakableFile{file, f.broken}, err
}

type breakableFile struct {
	durable.File
	broken *atomic.Bool
}

func (f breakableFile) Write(b []byte) (int, error) {
	if f.broken.Load() {
		return 0, errors.New("the disk is broken")
	}
	return f.File.Write(b)
}

// Requests are answered once the journal can no longer be written, and the server ends.
func TestAStillServerWhoseJournalFails(t *testing.T) {
	dir := t.TempDir()
	broken := new(atomic.Bool)
	s, key, booking := stillServer(t, server.Config{Dir: dir, FS: breakableFS{durable.Dir(dir), broken}})
	broken.Store(true)
	for range 3 {
		if w := still(s, key, "POST", "/v2/bookings/"+booking+"/pay", ""); w.Code != 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	s.Close()
}

// A probe, and what a provider asks while it is asked, move no line.
func TestAProbeMovesNoLine(t *testing.T) {
	dir := t.TempDir()
	var s *server.Server
	var key, booking string
	confirm := func(context.Context, provider.Confirmation) error {
		for _, path := range []string{"/readyz", "/v2/bookings/" + booking} {
			if w := still(s, key, "GET", path, ""); w.Code != 200 {
				t.Errorf("%s: %d", path, w.Code)
			}
		}
		return nil
	}
	s, key, booking = stillServer(t, server.Config{Dir: dir, Confirm: confirm})
	before := len(strings.Fields(kinds(t, dir, 0)))
	if w := still(s, key, "POST", "/v2/bookings/"+booking+"/pay", ""); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if got := kinds(t, dir, before); got != "ticket.asked ticket.asked ticket.paid ticket.paid outbox.sent " {
		t.Error(got)
	}
}

// What a crash has left in doubt is asked when the clock moves, and not when the machine pleases.
func TestWhatIsInDoubtIsAskedAsTheClockMoves(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	answer := errors.New("no answer")
	confirm := func(context.Context, provider.Confirmation) error {
		asked++
		return answer
	}
	s, key, booking := stillServer(t, server.Config{Dir: dir, Confirm: func(ctx context.Context,
		_ provider.Confirmation) error {
		<-ctx.Done() // the server stops meanwhile
		return ctx.Err()
	}})
	go still(s, key, "POST", "/v2/bookings/"+booking+"/pay", "")
	for !strings.Contains(kinds(t, dir, 0), "ticket.asked ticket.asked") {
		time.Sleep(time.Millisecond)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(server.Config{Dir: copied, Lab: rig.TestClock(), Confirm: confirm})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if asked != 2 {
		t.Errorf("asked %d times at the start, want 2", asked)
	}
	still(s, key, "POST", "/test/clock", `{"advance":"29.999s"}`)
	if asked != 2 {
		t.Errorf("asked %d times before it is due", asked)
	}
	answer = outbound.ErrRefused
	still(s, key, "POST", "/test/clock", `{"advance":"1ms"}`)
	w := still(s, key, "GET", "/v2/bookings/"+booking, "")
	if asked != 4 || strings.Count(w.Body.String(), `"paymentStatus":"Unpaid"`) != 2 {
		t.Errorf("asked %d times: %s", asked, w.Body)
	}
}

// That something beside a request cannot be done undoes neither the request nor an operator's act.
func TestWhatCannotBeDoneBesideFailsNothing(t *testing.T) {
	dir := t.TempDir()
	s, key, _ := stillServer(t, server.Config{Dir: dir})
	if err := os.RemoveAll(filepath.Join(dir, "reports")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "reports"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w := still(s, key, "POST", "/test/clock", `{"advance":"1m"}`); w.Code != 200 {
		t.Error(w.Body)
	}
	if key, err := s.Admin.AddPartner("bohdan", nil); err != nil || key == "" {
		t.Errorf("%q, %v", key, err)
	}
}

// A peer that does not answer is tried once, and not once for each message that a request waits for.
func TestAPeerThatIsDownIsTriedOnce(t *testing.T) {
	var tried atomic.Int32
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tried.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer peer.Close()
	s, key, _ := stillServer(t, server.Config{MessengerURL: peer.URL})
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	const phone = `"Ukrainka","phones":[{"phone":"+380441234567"}]`
	body := strings.ReplaceAll(rig.BookingBody(offer, 3), `"Ukrainka"`, phone)
	_, rest, _ := strings.Cut(still(s, key, "POST", "/v2/bookings", body).Body.String(), `"booking":{"id":"`)
	booking, _, _ := strings.Cut(rest, `"`)
	if w := still(s, key, "POST", "/v2/bookings/"+booking+"/pay", ""); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if n := tried.Load(); n != 1 {
		t.Errorf("tried %d times for three messages, want 1", n)
	}
	still(s, key, "POST", "/test/clock", `{"advance":"1m"}`)
	if n := tried.Load(); n != 2 {
		t.Errorf("tried %d times a minute later, want 2", n)
	}
}

// On a clock that stands still the provider is asked about one ticket after the other.
func TestAStillProviderIsAskedOneAfterTheOther(t *testing.T) {
	var asking, most atomic.Int32
	s, key, booking := stillServer(t,
		server.Config{Confirm: func(context.Context, provider.Confirmation) error {
			most.Store(max(most.Load(), asking.Add(1)))
			time.Sleep(5 * time.Millisecond) // the other would come meanwhile
			asking.Add(-1)
			return nil
		}})
	if w := still(s, key, "POST", "/v2/bookings/"+booking+"/pay", ""); w.Code != 200 || most.Load() != 1 {
		t.Errorf("%d at a time: %s", most.Load(), w.Body)
	}
}

// A directory that was made from a seed goes on from it: the same history gives the same.
func TestASeededDirectoryGoesOnFromItsSeed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	s, key, first := stillServer(t, server.Config{Dir: dir, Lab: rig.StillFromStart(seed.New(3))})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "b")
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, dir := range []string{dir, again} {
		s, err := server.Open(server.Config{Dir: dir, Lab: rig.TestClock()})
		if err != nil {
			t.Fatal(err)
		}
		offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
		w := still(s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1))
		answers = append(answers, w.Body.String())
		s.Close()
	}
	if answers[0] != answers[1] || strings.Contains(answers[0], first) {
		t.Errorf("%s\n%s", answers[0], answers[1])
	}
	seeded := bench.New(bench.Settings{TestClock: true, Seed: seed.New(3)}).Lab()
	if _, err := server.Open(server.Config{Dir: dir, Lab: seeded}); !errors.Is(err, stand.ErrSeed) {
		t.Errorf("with the seed again: %v", err)
	}
}

// Each copy of a seeded directory takes a name of its own, one that was made of a copy too.
func TestACopyOfACopyOfASeededDirectoryHasANameOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	s, _, _ := stillServer(t, server.Config{Dir: dir, Lab: rig.StillFromStart(seed.New(3))})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range []string{"b", "c"} {
		to := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(to, checkpoint.PrivateKeyFile)); err != nil {
			t.Fatal(err)
		}
		s, err := server.Open(server.Config{Dir: to, Lab: rig.TestClock()})
		if err != nil {
			t.Fatal(err)
		}
		names[s.Store.Key().Name] = true
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := verify.Directory(durable.Dir(to), false, inspect.Expected{}); err != nil {
			t.Error(err)
		}
		dir = to
	}
	if len(names) != 2 {
		t.Errorf("the copies are called %v", names)
	}
}

// Decision clock.frozen: how far notes had come when a server was killed depends on real time, so that no
// start on a clock that stands still says it, that of a verb neither. On one that ticks each does.
func TestAStartOnAStillClockDoesNotCountUnsignedLines(t *testing.T) {
	dir := t.TempDir()
	s, key, booking := stillServer(t, server.Config{Dir: dir})
	if w := still(s, key, "POST", "/v2/bookings/"+booking+"/pay", ""); w.Code != 200 {
		t.Fatal(w.Body)
	}
	killed := filepath.Join(t.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	// As if nothing had been signed since the directory was made.
	for _, name := range []string{"checkpoint", "checkpoints.log"} {
		if err := os.Remove(filepath.Join(killed, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what string
		cfg  server.Config
		says bool
	}{
		{"a start", server.Config{Lab: rig.TestClock()}, false},
		{"a start that freezes", server.Config{Lab: rig.StillClock()}, false},
		{"a verb", server.Config{Lab: rig.NoClock(), Verb: true}, false},
		{"a start that gives the clock up", server.Config{Lab: rig.NoClock()}, true},
	} {
		again := filepath.Join(t.TempDir(), "again")
		if err := os.CopyFS(again, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		c.cfg.Dir = again
		c.cfg.Now = func() time.Time { return rig.Start.Add(time.Hour) }
		s, err := server.Open(c.cfg)
		if err != nil {
			t.Fatal(c.what, err)
		}
		s.Close()
		b, err := os.ReadFile(filepath.Join(again, "journal", "000000000001.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		_, said, _ := strings.Cut(string(b), `"after":"unclean end"`)
		said, _, _ = strings.Cut(said, "\n")
		if strings.Contains(said, `"unsigned":{`) != c.says {
			t.Errorf("%s: %q", c.what, said)
		}
	}
}
