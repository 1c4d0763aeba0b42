//go:build !lean

package command

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The verbs on a directory with a test clock, which the lean build has not.

// Decision clock.test: a directory without bookings may start its clock in the past, one with a clock goes on
// with it. A directory whose clock is ahead is not opened without the flag; verbs use its clock.
func TestServeWithATestClock(t *testing.T) {
	t.Parallel()
	past := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", past, "../../testdata/demo")
	key := strings.TrimSpace(want(t, 0, "wb_", "partner", "add", "-data", past, "anna"))
	old := serve(t, "-data", past, "-test-clock", "2024-06-01T08:00:00Z")
	if _, body := old.get(t, "/test/clock", ""); !strings.Contains(body, "2024-06-01T08:0") {
		t.Errorf("the clock is at %s", body)
	}
	const search = "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2024-06-02"
	if status, body := old.get(t, search, key); status != 200 || !strings.Contains(body, "2024-06-01T08:2") {
		t.Errorf("%d: %s", status, body)
	}
	old.stop()
	want(t, 0, "^sound", "verify", "-data", past)

	// A directory whose clock is ahead is not opened without the flag; verbs use its clock.
	ahead := filepath.Join(t.TempDir(), "data")
	later := time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339)
	s := serve(t, "-data", ahead, "-test-clock", later)
	if _, body := s.get(t, "/test/clock", ""); !strings.Contains(body, later[:13]) {
		t.Errorf("the clock is at %s", body)
	}
	s.stop()
	want(t, 75, later[:10]+".*"+time.Now().UTC().Format(time.DateOnly), "serve", "-data", ahead, "-addr",
		"127.0.0.1:0")
	want(t, 0, "wb_", "partner", "add", "-data", ahead, "later")
	s = serve(t, "-data", ahead, "-test-clock", "2020-01-01T00:00:00Z")
	if _, body := s.get(t, "/test/clock", ""); !strings.Contains(body, later[:13]) {
		t.Errorf("the clock is at %s", body)
	}
	s.stop()
}

// A start whose clock, seed or control listener cannot be leaves the directory as it was.
func TestATestBenchThatCannotStartWritesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir)
	s.book(t)
	s.stop()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ahead := filepath.Join(t.TempDir(), "ahead")
	later := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	serve(t, "-data", ahead, "-test-clock", later).stop()
	fresh := filepath.Join(t.TempDir(), "fresh")
	free := "127.0.0.1:0"
	refuses(t, fresh, []refusal{
		{1, dir, "-test-control", []string{"-addr", free, "-test-clock", "now", "-test-control",
			taken.Addr().String()}},
		{78, dir, "there are bookings", []string{"-addr", free, "-test-clock", "2020-01-01T00:00:00Z"}},
		{78, dir, "has lines already", []string{"-addr", free, "-test-clock", "now", "-seed", "7"}},
		{75, ahead, "but the clock says", []string{"-addr", free}},
		{1, fresh, "-test-control", []string{"-addr", free, "-test-clock", "now", "-test-control",
			taken.Addr().String()}},
	})
}

// A line whose hash follows and that breaks a rule is no damage: verify calls it a matter of the books, with
// no advice to cut, and a backup is made all the same, which says so.
func TestBooksThatAreWrongAreNoDamage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir, "-test-clock", "2026-11-20T08:00:00Z")
	want(t, 0, "kl-0700", "manifest", "-data", dir, "kl-0700", "2026-11-25")
	s.stop()
	forged := copied(t, dir)
	lines := strings.SplitAfter(content(t, forged, firstFile), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"manifest.read"`) })
	lines[at] = strings.Replace(lines[at], `"passengers":0`, `"passengers":7`, 1)
	for i := at; i < len(lines)-1; i++ { // what follows is chained anew
		hashed, _, _ := strings.Cut(lines[i][75:len(lines[i])-1], `,"personal":{`)
		lines[i] = fmt.Sprintf(`{"hash":"%x%s`, sha256.Sum256([]byte(lines[i-1][9:73]+hashed)), lines[i][73:])
	}
	if err := os.RemoveAll(filepath.Join(forged, "tree")); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile(filepath.Join(forged, firstFile), []byte(strings.Join(lines, "")), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	place := fmt.Sprintf(`line %d of journal/000000000001.jsonl .seq %d, byte \d+.: [^;]* and not 7`, at+1, at+1)
	want(t, 1, `(?s)^books: .*\nwaybill: books: `+place+"\n$", "verify", "-data", forged)
	out := filepath.Join(t.TempDir(), "out")
	want(t, 0, `(?s)is a true copy and has all lines up to .*waybill: books: `+place, "backup", "-data", forged, out)
	if content(t, out, firstFile) != strings.Join(lines, "") {
		t.Error("the backup is not of these lines")
	}
	served := serve(t, "-data", out)
	if code := served.stop(); code != 0 {
		t.Errorf("serving the backup ends with %d", code)
	}
}

// Decision timetable.bounds: there is one range of years, for testers, too.
func TestATestClockHasItsYears(t *testing.T) {
	for _, line := range []string{
		"serve -test-clock 2200-01-01T00:00:00Z", "serve -test-clock 1970-01-01T00:00:00+02:00",
		"conform -base-url http://127.0.0.1:1 -key x -from a -to b -date 2200-01-01",
	} {
		want(t, 2, "waybill: .*, of the years 1970 to 2199", strings.Fields(line)...)
	}
}
