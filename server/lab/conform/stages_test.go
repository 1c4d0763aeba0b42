package conform_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/conform"
)

// routesOf are the requests that a stage adds to a server.
var routesOf = map[int]*regexp.Regexp{
	1:  regexp.MustCompile(`^GET (/v2/cities|/v2/stops/|/test/clock)|^POST /test/clock`),
	2:  regexp.MustCompile(`^GET /v2/offers/schedule$`),
	3:  regexp.MustCompile(`^GET /v2/offers$`),
	4:  regexp.MustCompile(`^POST /v2/bookings$|^GET /v2/(bookings|tickets/)`),
	5:  regexp.MustCompile(`^POST /v2/bookings/[^/]+/(pay|book)$`),
	7:  regexp.MustCompile(`^POST /v2/bookings/[^/]+/cancel$`),
	8:  regexp.MustCompile(`^POST /v2/auth/(idp/login|pre-login)$|/v2/(reports|geolocation)/`),
	9:  regexp.MustCompile(`^[A-Z]+ /rest/`),
	10: regexp.MustCompile(`.`),
}

// upTo serves what a server has that is written up to a stage. All else is 404.
func (b *bench) upTo(stage int, base string) string {
	to, err := url.Parse(base)
	if err != nil {
		b.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	return serveProxy(b.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n, routes := range routesOf {
			if n <= stage && routes.MatchString(r.Method+" "+r.URL.Path) {
				proxy.ServeHTTP(w, r)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errors":[{"message":"RESOURCE_NOT_FOUND","errorCode":"NOT_FOUND"}]}`)
	}))
}

// withoutControl are the rules that need a world of a test bench.
func withoutControl(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("testdata/without-control.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	known, err := conform.ReadKnown(f)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// Decision conform.stages: a server that is written up to a stage passes it, and nothing that the stage asks
// is of a later one. One that cannot cancel yet is told what it is left with, and that is no failure.
func TestEachStageByItself(t *testing.T) {
	b := newBench(t)
	for stage := 1; stage <= 10; stage++ {
		name := fmt.Sprintf("stage-%d", stage)
		opt := b.opt
		opt.BaseURL = b.upTo(stage, b.world(name))
		opt.Stage = stage
		opt.Strict = true
		opt.StopID = "kyiv-central-1"
		opt.Known = withoutControl(t)
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil || sum.Err() != nil || sum.Failed > 0 || sum.Passed < 9 {
			t.Errorf("stage %d: %v: %s", stage, err, out.String())
		}
		canCancel := stage >= 7
		books := stage >= 4
		if left := len(sum.Kept) > 0; left == canCancel && books || left && !books {
			t.Errorf("stage %d: %v is left", stage, sum.Kept)
		}
		for _, id := range sum.Kept {
			left := "booking " + id + " is left because the server cannot cancel yet\n"
			if !strings.Contains(out.String(), left) {
				t.Errorf("stage %d does not name what is left", stage)
			}
		}
		b.drop(name)
	}
}

// A server that has no stage at all fails, and no rule is played with an empty journey.
func TestAServerThatHasNothing(t *testing.T) {
	b := newBench(t)
	var asked []string // about journeys, of which there is none
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/offers") {
			asked = append(asked, r.URL.String())
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	opt := b.opt
	opt.BaseURL = s.URL
	for _, opt.Stage = range []int{1, 2, 3, 4, 5, 6, 7} {
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil || sum.Passed > 0 || sum.Failed < 5 || asked != nil {
			t.Errorf("stage %d: %v, asked %v: %s", opt.Stage, err, asked, out.String())
		}
	}
}

// Where nothing runs, rules are not shown, and say what was looked for.
func TestWhereNothingRuns(t *testing.T) {
	b := newBench(t)
	x, _ := parseBreak(`2.01 GET /v2/offers(/schedule)?$ ; text "(departures|offers)":\[.*\] => "offers":[]`)
	opt := b.opt
	opt.BaseURL = newProxy(t, b.base, b.opt.Key, x, nil)
	opt.Stage = 3
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	if err != nil || sum.Failed > 0 || sum.NotShown == 0 {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, says := range []string{
		"name one with -from, -to and -date",
		"no journey was found with a change, of the service's own source among the offers of",
		"no journey was found with a discount",
		"no journey was found with a source other than Service",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("it does not say %q: %s", says, out.String())
		}
	}
}

// A failure is told in full once; the others of its cause name that rule.
func TestOneCauseIsToldOnce(t *testing.T) {
	b := newBench(t)
	x, _ := parseBreak(`1.01 GET /v2/cities$ ; refuse 500 INTERNAL no`)
	opt := b.opt
	opt.BaseURL = newProxy(t, b.base, b.opt.Key, x, nil)
	opt.Stage = 1
	opt.StopID = "kyiv-central-1"
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	text := out.String()
	full := strings.Count(text, "\n      came 500 ")
	as := strings.Count(text, "\n      as 1.01\n")
	if err != nil || sum.Failed < 10 || full > 2 || as < 8 {
		t.Errorf("%v: %d in full, %d as the first: %s", err, full, as, text)
	}
	first := `(?s)^fail  1\.01  .*?\n      status is 500, and should be 200\n      GET http://\S+/v2/cities\n` +
		`      came 500 .*?\n      see /docs/operations/listCities\n`
	if !regexp.MustCompile(first).MatchString(text) {
		t.Errorf("the first is not told in full: %s", text)
	}
	var report strings.Builder
	root := fmt.Sprintf(`<testsuites tests="%d" failures="%d" skipped="%d"`, len(sum.Results), sum.Failed,
		sum.NotShown)
	if err := sum.JUnit(&report); err != nil || !strings.Contains(report.String(), root) {
		t.Errorf("%v: the root is not %s, in %.200s", err, root, report.String())
	}
}

// -known and -strict: what is listed may fail or not be shown; what passes is to be taken off the list.
func TestKnownAndStrict(t *testing.T) {
	b := newBench(t)
	opt := b.opt
	opt.BaseURL = b.base
	opt.Stage = 1
	opt.Key = ""
	count := func(strict bool, known ...string) (int, int, int, int, string) {
		t.Helper()
		opt.Strict = strict
		opt.Known = known
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil {
			t.Fatal(err)
		}
		return sum.Passed, sum.Failed, sum.NotShown, sum.Known, out.String()
	}
	stops := []string{"1.15", "1.16", "1.17", "1.18", "1.19"}
	passed, failed, notShown, _, said := count(false)
	if failed != 0 || notShown != len(stops) {
		t.Error(said)
	}
	_, failed, left, _, said := count(true)
	if failed != len(stops) || left != 0 || !strings.Contains(said, "\nfail  1.16") ||
		!strings.Contains(said, "\n      as 1.15\n") {
		t.Error(said)
	}
	if _, failed, notShown, _, said = count(true, stops...); failed != 0 || notShown != len(stops) {
		t.Error(said)
	}
	if _, failed, _, _, said = count(false, "1.01"); failed != 1 ||
		!strings.Contains(said, "it is listed by -known but passes: take it off the list") {
		t.Error(said)
	}
	x, _ := parseBreak(`1.04 GET /v2/cities$ ; set data.cities[*].country "UKR"`)
	opt.BaseURL = newProxy(t, b.base, b.opt.Key, x, nil)
	_, failed, _, known, said := count(false, "1.04", "1.11", "1.10", "1.21")
	last := said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]
	if known == 0 || !regexp.MustCompile(`^\d+ passed, \d+ failed \(\d+ causes\), \d+ not shown, \d+ known\n$`).MatchString(last) ||
		!strings.Contains(said, "\nknown  1.04") || passed == 0 {
		t.Errorf("%d failed, %d known: %s", failed, known, said)
	}
}

// A list of what is known has an id a line, and comments.
func TestReadKnown(t *testing.T) {
	known, err := conform.ReadKnown(strings.NewReader("\ufeff1.01 # and these\n\n\n 2.15 # a window\n"))
	if err != nil || !slices.Equal(known, []string{"1.01", "2.15"}) {
		t.Error(known, err)
	}
	if _, err := conform.ReadKnown(strings.NewReader("1.99\n")); err == nil {
		t.Error("a rule that is not there is taken")
	}
	for _, text := range []string{"\xff\xfe1\x00.\x000\x001\x00\n\x00", "\x001\x00.\x000\x001\x00\n"} {
		if _, err := conform.ReadKnown(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("of UTF-16 is said %v", err)
		}
	}
}

// Each rule leads to a page of the reference, at the place where it says more.
func TestRulesLeadToPages(t *testing.T) {
	b := newBench(t)
	var list strings.Builder
	if err := conform.List(0, &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	form := regexp.MustCompile(`(?m)^  \d+\.\d\d  .*  \((.*)\)$`)
	for _, m := range form.FindAllStringSubmatch(list.String(), -1) {
		page, place, _ := strings.Cut(m[1], "#")
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		resp, err := http.Get(b.base + page)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || place != "" && !strings.Contains(string(text), ` id="`+place+`"`) {
			t.Errorf("%s: %d, or no such place", m[1], resp.StatusCode)
		}
	}
	if n := strings.Count(list.String(), "(/docs"); n != len(ruleIDs(t)) || len(seen) < 30 {
		t.Errorf("%d of the rules lead to %d pages", n, len(seen))
	}
}
