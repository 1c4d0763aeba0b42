//go:build !lean

package command

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Decision demo.busy: some days of sales, with all that may become of a ticket, at the instant that the test
// clock was asked for; the same bytes each time with a seed; and only in a new directory.
func TestABusyDemo(t *testing.T) {
	t.Parallel()
	first := filepath.Join(t.TempDir(), "data")
	again := filepath.Join(t.TempDir(), "data")
	flags := []string{"-demo", "busy", "-test-clock", "2026-11-20T08:00:00Z", "-frozen", "-seed", "7"}
	for _, dir := range []string{first, again} {
		s := serve(t, append([]string{"-data", dir}, flags...)...)
		checkBoard(t, s.addr)
		if code := s.stop(); code != 0 {
			t.Fatal(code)
		}
	}
	if content(t, first, firstFile) != content(t, again, firstFile) {
		t.Error("with one seed there are two journals")
	}
	text := want(t, 0, "", "verify", "-data", first, "-json")
	var v struct {
		Verdict string
		Books   struct {
			Bookings         int
			Cancelled, Moved int
			Status           map[string]int
		}
	}
	parse(t, &v, text)
	b := v.Books
	if v.Verdict != "sound" || b.Bookings < 140 || b.Bookings > 180 || b.Cancelled != 1 || b.Moved != 1 {
		t.Errorf("%s", text)
	}
	for _, status := range []string{"Confirmed", "Processing", "Uncompleted", "Refund", "Canceled"} {
		if b.Status[status] == 0 {
			t.Errorf("no ticket is %s: %v", status, b.Status)
		}
	}
	log := want(t, 0, "", "log", "-data", first)
	for _, happened := range []string{
		"snow on the road", "the bus has broken down", "(rule rr-", "Uncompleted from",
	} {
		if !strings.Contains(log, happened) {
			t.Errorf("the history has no %q", happened)
		}
	}
	sold := regexp.MustCompile(`passengers: \d+; trip [^"]*("(?:Kyiv|Warsaw|Berlin)")[^;]* ([A-Z]{3}) each`)
	var currencies []string
	for _, m := range sold.FindAllStringSubmatch(log, -1) {
		currencies = append(currencies, m[1]+m[2])
	}
	slices.Sort(currencies)
	each := strings.Join(slices.Compact(currencies), " ")
	if each != `"Berlin"EUR "Kyiv"UAH "Warsaw"PLN` {
		t.Errorf("journeys are sold in %s", each)
	}
	full := want(t, 0, "", "manifest", "-data", first, "-json", "klw-1900", "2026-11-21")
	if _, totals, _ := strings.Cut(full, `"totals"`); strings.Count(totals, `"free":0`) != 4 {
		t.Errorf("no bus is full: %s", totals)
	}
	bus := want(t, 0, "", "manifest", "-data", first, "klw-1900", "2026-11-21")
	mixed := regexp.MustCompile(`\p{Latin} \p{Cyrillic}|\p{Cyrillic} \p{Latin}`).FindString(bus)
	if mixed != "" || !regexp.MustCompile(`\p{Cyrillic} \p{Cyrillic}`).MatchString(bus) {
		t.Errorf("a name is in two scripts: %q\n%s", mixed, bus)
	}
	want(t, 78, "-demo busy is for a new directory", "serve", "-data", first, "-demo", "busy",
		"-addr", "127.0.0.1:0")
	fresh := filepath.Join(t.TempDir(), "fresh")
	want(t, 2, "must be busy", "serve", "-data", fresh, "-demo", "full")
	want(t, 2, "loopback address", "serve", "-data", fresh, "-demo", "busy", "-addr", "0.0.0.0:0")
	for _, more := range [][]string{{"-rate", "50/s:200"}, {"-provider-url", "http://127.0.0.1:9/x"}} {
		serve := []string{"serve", "-data", fresh, "-demo", "busy", "-addr", "127.0.0.1:0"}
		want(t, 2, "-demo busy goes without", append(serve, more...)...)
	}
}
