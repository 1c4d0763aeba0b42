//go:build !lean

package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// areDocumented checks that an object has the members that the page lists for the verb that prints it.
func areDocumented(t *testing.T, verb, text string) {
	t.Helper()
	var listed []string
	for line := range strings.Lines(content(t, "../docs/operating.md")) {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.Contains(cells[1], "`"+verb+"`") {
			plain := regexp.MustCompile(`\([^)]*\)|:.*`).ReplaceAllString(cells[3], "")
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(plain, -1) {
				listed = append(listed, name[1])
			}
		}
	}
	slices.Sort(listed)
	if got := members(t, text); !reflect.DeepEqual(got, listed) {
		t.Errorf("%s prints %q, and operating.md has %q", verb, got, listed)
	}
}

// members returns the names of the members of an object, sorted.
func members(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]any
	parse(t, &object, text)
	return slices.Sorted(maps.Keys(object))
}

// Manifest, checkpoint, ticket check, run and version print JSON for programs.
func TestWhatActsAndReadsPrintsJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir, "-test-clock", "2026-11-20T08:00:00Z")
	key := strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	b := bookOn(t, &process{base: "http://" + s.addr, key: key})

	move := []string{"run", "move", "-data", dir, "-minutes", "40", "-reason", "snow", "-json"}
	var o struct {
		Said, TripID, Date string
		DryRun, Changed    bool
		Valid, Messages    int
		Refunds            map[string]string
	}
	run := []string{"kl-0530", "2026-11-25"}
	text := want(t, 0, "", slices.Concat(move, []string{"-dry-run"}, run)...)
	parse(t, &o, text)
	if !o.DryRun || !o.Changed || o.TripID != "kl-0530" || o.Date != "2026-11-25" || o.Valid != 1 ||
		!strings.HasPrefix(o.Said, "dry run, nothing is changed: ") {
		t.Errorf("%s", text)
	}
	text = want(t, 0, "", slices.Concat(move, run)...)
	if parse(t, &o, text); o.DryRun || !o.Changed {
		t.Errorf("%s", text)
	}
	text = want(t, 0, "", slices.Concat(move, run)...)
	if parse(t, &o, text); o.Changed {
		t.Errorf("%s", text)
	}
	text = want(t, 0, "", "run", "cancel", "-data", dir, "-reason", "ice", "-json", "kl-0530", "2026-11-25")
	if parse(t, &o, text); o.Refunds["UAH"] != "770.00" {
		t.Errorf("%s", text)
	}
	areDocumented(t, "run cancel", text)

	text = want(t, 0, "", "manifest", "-data", dir, "-json", "kl-0530", "2026-11-25")
	areDocumented(t, "manifest", text)
	want(t, 2, "-json is a format too",
		"manifest", "-data", dir, "-json", "-format", "csv", "kl-0530", "2026-11-25")

	text = want(t, 0, "", "checkpoint", "-data", dir, "-json")
	areDocumented(t, "checkpoint", text)
	tickets := filepath.Join(dir, "tickets.pub")
	text = want(t, 0, "", "ticket", "check", "-key", tickets, "-json", b.code)
	var verdict struct {
		Good bool
		Ride struct {
			TicketID string
			Seat     int
		}
	}
	parse(t, &verdict, text)
	if !verdict.Good || verdict.Ride.TicketID != b.ticket || verdict.Ride.Seat != 1 {
		t.Errorf("%s", text)
	}
	areDocumented(t, "ticket check", text)
	text = want(t, 1, `"good":false,.*"ride":null`, "ticket", "check", "-key", tickets, "-json", "WB1.x")
	parse(t, &verdict, text)

	areDocumented(t, "verify", want(t, 0, "", "verify", "-data", dir, "-json"))
	for _, list := range []string{"partner list", "company list", "user list", "outbox list"} {
		text := want(t, 0, "", append(strings.Fields(list), "-data", dir, "-json")...)
		var rows []json.RawMessage
		if parse(t, &rows, text); len(rows) > 0 {
			areDocumented(t, list, string(rows[0]))
		}
	}

	var build struct {
		JournalFormat      int
		JournalFormatsRead []int
	}
	text = want(t, 0, "", "version", "-json")
	areDocumented(t, "version", text)
	parse(t, &build, text)
	if build.JournalFormat != 3 || !slices.Equal(build.JournalFormatsRead, []int{3}) {
		t.Errorf("%+v", build)
	}
}

// booked is a paid ticket.
type booked struct{ ticket, code string }

// bookOn books and pays a seat on the run kl-0530 of 2026-11-25, for 770 UAH.
func bookOn(t *testing.T, p *process) (b booked) {
	t.Helper()
	ask := func(method, path, body string, to any) string {
		t.Helper()
		status, answer := p.call(method, path, body)
		if status > 201 {
			t.Fatal(status, answer)
		}
		if to != nil {
			parse(t, to, answer)
		}
		return answer
	}
	var found struct {
		Data struct{ Offers []struct{ ID string } }
	}
	ask("GET", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25", "", &found)
	const passengers = `[{"firstName":"Lesia","lastName":"Ukrainka"}]`
	offer := found.Data.Offers[0].ID
	order := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`, offer, passengers)
	var made struct {
		Data struct {
			Booking struct {
				ID      string
				Tickets []struct{ ID string }
			}
		}
	}
	ask("POST", "/v2/bookings", order, &made)
	ask("POST", "/v2/bookings/"+made.Data.Booking.ID+"/pay", "", nil)
	b.ticket = made.Data.Booking.Tickets[0].ID
	document := ask("GET", "/v2/tickets/"+b.ticket+"/document", "", nil)
	b.code = regexp.MustCompile(`WB1\.[\w-]+`).FindString(document)
	return b
}
