//go:build !lean

package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// treeOf returns the files of a directory with what they hold.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all[path] = content(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// feedWithout returns a copy of the demo's feed that lacks the rows of a trip.
func feedWithout(t *testing.T, trip string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "feed")
	if err := os.CopyFS(dir, os.DirFS(demoFeed)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trips.txt", "stop_times.txt"} {
		var kept strings.Builder
		for line := range strings.Lines(content(t, dir, name)) {
			if !strings.Contains(line, trip) {
				kept.WriteString(line)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(kept.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Decision ticket.check: with a directory the run is shown as it was sold and moved, beside a running
// server and without, also when the timetable no longer has it. No byte of it changes.
func TestTicketCheckTellsWhatWasSold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir, "-test-clock", "2026-11-20T08:00:00Z")
	key := strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	code := bookOn(t, &process{base: "http://" + s.addr, key: key}).code
	check := []string{"ticket", "check", "-data", dir, code}
	want(t, 0, `^genuine: ticket [\w-]{22}, seat 1: `+regexp.QuoteMeta(rideThere)+"\n$", check...)

	want(t, 0, "", "run", "move", "-data", dir, "-minutes", "40", "-reason", "snow", "kl-0530", "2026-11-25")
	const moved = ` Wed 25 Nov 06:10 to Lviv \(.*\) Wed 25 Nov 14:05, local times; ` +
		`the code has another departure: Wed 25 Nov 05:30\n$`
	want(t, 0, moved, check...)
	s.stop()
	want(t, 0, moved, check...)
	feed := []string{"ticket", "check", "-key", filepath.Join(dir, "tickets.pub"), "-feed"}
	want(t, 0, regexp.QuoteMeta(rideThere)+"\n$", append(feed, demoFeed, code)...)

	without := feedWithout(t, "kl-0530")
	want(t, 0, "is no longer in the timetable", "import", "-data", dir, without)
	before := treeOf(t, dir)
	want(t, 0, moved, check...)
	want(t, 0, notThere, append(feed, without, code)...)
	after := treeOf(t, dir)
	for name := range after {
		if before[name] != after[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if len(before) != len(after) {
		t.Errorf("there were %d files, and now %d", len(before), len(after))
	}
}

// Decision pages.clock: the waybill that a verb prints says the test clock of its directory, with and without
// a server.
func TestAPrintedWaybillSaysTheTestClock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir, "-test-clock", "2026-11-20T08:00:00Z")
	print := []string{"manifest", "-data", dir, "-format", "html", "kl-0530", "2026-11-25"}
	const bar = `<strong>TEST CLOCK</strong> <time [^>]*>Fri 20 Nov 2026 08:0.*ticking`
	want(t, 0, bar, print...)
	s.stop()
	want(t, 0, bar, print...)
}
