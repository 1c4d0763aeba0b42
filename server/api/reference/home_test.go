package reference_test

import (
	"fmt"
	"html"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
)

// browse asks for a page as a browser does.
func browse(s *server.Server, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Decision home.board: the first page is a departure board of the next twelve runs, each once, from its first
// stop to its last, with a form to search and three doors; to a program it is nothing.
func TestTheFirstPageIsADepartureBoard(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	page := html.UnescapeString(browse(s, "/").Body.String())
	checkPage(t, "/", page)
	board := page[strings.Index(page, "<tbody>"):strings.Index(page, "</tbody>")]
	leaves := regexp.MustCompile(`<tr><td data-label="Leaves"><time datetime="([^"]*)"`)
	rows := leaves.FindAllStringSubmatch(board, -1)
	if len(rows) != 12 {
		t.Fatalf("%d departures", len(rows))
	}
	var before time.Time
	for _, row := range rows {
		at, err := time.Parse(time.RFC3339, row[1])
		if err != nil || at.Before(before) || !at.After(rig.Start) {
			t.Errorf("%s after %s, at %s: %v", row[1], before, rig.Start, err)
		}
		before = at
	}
	runs := map[string]bool{}
	trips := regexp.MustCompile(`<br><span class="type">([a-z]+-[^<]*)</span></span></td>`)
	for _, trip := range trips.FindAllStringSubmatch(board, -1) {
		runs[trip[1]] = true
	}
	if len(runs) != 12 {
		t.Errorf("the board has %v, want 12 runs, each once", runs)
	}
	for _, door := range []string{"I audit", "I test", "I learn"} {
		_, rest, _ := strings.Cut(page, "<h2>"+door+"</h2>")
		door, _, _ := strings.Cut(rest, "</section>")
		if strings.Count(door, "<pre>") != 1 {
			t.Errorf("a door without its one command: %q", door)
		}
	}
	if code := get(s, "/", "").Code; code != 404 {
		t.Errorf("a program is answered with %d", code)
	}
}

// Decision home.board: a list has one clock, which it names, so that its times are in order; and it says what
// is planned and changed, not what is on time.
func TestTheBoardSaysWhatIsKnown(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	if _, err := rig.ChangeRun(s, "move", "kl-0700", "minutes", "20"); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"/": "as they leave; Europe/Kyiv time", "/?from=Warsaw&to=Kyiv&date=2026-11-25": "Europe/Warsaw time",
		"/?from=Kyiv&to=Lviv&date=2026-11-25": "moved by +20 min",
	} {
		page := html.UnescapeString(browse(s, target).Body.String())
		if !strings.Contains(page, want) || !strings.Contains(page, "as planned") ||
			strings.Contains(page, "on time") {
			t.Errorf("%s does not say %q and what is planned", target, want)
		}
		before := ""
		leaves := regexp.MustCompile(`<time datetime="([^"]*)([-+][^"]*)"><span class="leaves">`)
		for _, at := range leaves.FindAllStringSubmatch(page, -1) {
			if at[1] < before || target == "/" && at[2] != "+02:00" {
				t.Errorf("%s: %s%s stands after %s", target, at[1], at[2], before)
			}
			before = at[1]
		}
	}
}

// What the first page shows is found without the lock, under which only the seats of its twelve runs are
// asked for: how much memory is taken from then on does not depend on how many trips the timetable has.
func TestTheBoardIsFoundOutsideTheLock(t *testing.T) {
	taken := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	var atLock atomic.Uint64 // the clock is read under the lock, and last before the seats are asked for
	s, _ := rig.Demo(t, server.Config{Now: func() time.Time {
		atLock.Store(taken())
		return rig.Start
	}})
	board := func() uint64 {
		browse(s, "/") // what is made once
		var each []uint64
		for range 9 { // the server's own goroutines read the clock and take memory too, now and then
			browse(s, "/")
			each = append(each, taken()-atLock.Load())
		}
		slices.Sort(each)
		return each[len(each)/2]
	}
	few := board()
	trips, times := new(strings.Builder), new(strings.Builder)
	for i := range 5000 {
		fmt.Fprintf(trips, "r-frankivsk-bukovel,daily,many-%d,,,0,,\n", i)
		fmt.Fprintf(times, "many-%d,22:00:00,22:00:00,1,frankivsk-bus,,\n", i)
		fmt.Fprintf(times, "many-%d,23:00:00,23:00:00,2,bukovel-lift,,\n", i)
	}
	const lastTrip = "r-frankivsk-bukovel,daily,fb-0900,"
	const lastTime = "fb-0900,09:00:00,09:00:00,1,frankivsk-bus,,\n"
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"trips.txt":      {{lastTrip, trips.String() + lastTrip}},
		"stop_times.txt": {{lastTime, times.String() + lastTime}},
	}))
	if many := board(); many > few+few/2 {
		t.Errorf("the page takes %d bytes from the lock on, with 5,000 trips more %d", few, many)
	}
}

// The form of the first page finds what GET /v2/offers/schedule does, by names as people type them, and says
// what it does not understand.
func TestTheFirstPageSearches(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{MaxTransfers: 1})
	for query, want := range map[string]string{
		"from=Kyiv&to=Lviv&date=2026-11-24":   "GET /v2/offers/schedule?",
		"from=київ&to=lwow&date=2026-11-24":   "Zorevia Lines",
		"from=Berlin&to=Lviv&date=2026-11-24": "change in Warsaw",
		"from=Lviv&to=Lviv&date=2026-11-24":   "Nothing runs between them",
		"from=Atlantis&to=Lviv&date=2026-11-24": "No city, or more than one, is called " +
			"“Atlantis”",
		"from=Lviv&to=%3Cscript%3E&date=2026-11-24":         "called “&lt;script&gt;”",
		"from=Lviv&to=Kyiv&date=tomorrow":                   "“tomorrow” is not a day",
		"from=Lviv&to=&date=2026-11-24":                     "No city, or more than one, is called “”",
		"from=k&to=Lviv&date=2026-11-24":                    "No city, or more than one, is called “k”",
		"from=%FF&to=Lviv&date=2026-11-24":                  "is called “�”",
		"from=kyiv&to=lwow&date=2026-11-24":                 "<h1>Kyiv – Lviv</h1>",
		"from=Bucharest&to=Vienna&date=2026-11-24&source=x": "Carpadan Express",
	} {
		w := browse(s, "/?"+query)
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is answered with %d, without %q", query, w.Code, want)
		}
		checkPage(t, "/?"+query, w.Body.String())
	}
}

// Decision home.missing: a path below /docs that is none is a page to a browser, which leads to all of them.
func TestAMissingPageIsAPage(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	paths := []string{"/docs/nosuch", "/docs/", "/docs/tour/", "/docs/uk/tour", "/docs/nosuch/%3Cb%3E"}
	for _, path := range paths {
		w := browse(s, path)
		if w.Code != 404 || !strings.Contains(w.Body.String(), `href="/docs#pages"`) {
			t.Errorf("%s: %d %.100s", path, w.Code, w.Body)
		}
		checkPage(t, path, w.Body.String())
	}
	if w := get(s, "/docs/nosuch", ""); !strings.Contains(w.Body.String(), `"NOT_FOUND"`) {
		t.Errorf("a program is answered with %s", w.Body)
	}
}

// Decision pages.clock: a test clock is a bar on every page, with its instant and whether it stands still;
// without one there is none.
func TestATestClockIsOnEveryPage(t *testing.T) {
	bench, _ := rig.Demo(t, server.Config{Lab: rig.StillClock()})
	plain, _ := rig.Demo(t, server.Config{})
	paths := []string{"/", "/docs", "/docs/states", "/docs/tour", "/docs/migration", "/docs/nosuch"}
	for _, path := range paths {
		page := browse(bench, path).Body.String()
		_, bar, found := strings.Cut(page, `<p class="clock"><strong>TEST CLOCK</strong>`)
		if !found || !strings.Contains(bar[:200], "2026") || !strings.Contains(bar[:200], "frozen") {
			t.Errorf("%s has no test clock: %.200s", path, bar)
		}
		checkPage(t, path, page)
		if strings.Contains(browse(plain, path).Body.String(), "TEST CLOCK") {
			t.Errorf("%s has a test clock where there is none", path)
		}
	}
}
