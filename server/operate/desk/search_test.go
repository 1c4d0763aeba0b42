package desk_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// leads searches, and returns where the search leads; "" where it lists what it has found.
func (o *operator) leads(query string) string {
	o.Helper()
	o.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { o.CheckRedirect = nil }()
	resp, err := o.Get(o.base + "/search?q=" + url.QueryEscape(query))
	if err != nil {
		o.Fatal(err)
	}
	o.read(resp)
	return resp.Header.Get("Location")
}

// Decision desk.search: a trip leads to its next run: the first that has not left, or else the last. Where
// passengers are found by its id, too, both are shown.
func TestATripLeadsToItsNextRun(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	for query, want := range map[string]string{
		"kl-1000":     "/run?date=2026-11-21&trip=kl-1000", // today's is leaving at this instant
		"KL-1430":     "/run?date=2026-11-20&trip=kl-1430",
		"kl-0530":     "/run?date=2026-11-23&trip=kl-0530", // it runs on weekdays
		"kl-14":       "",
		"nowhere":     "",
		"2026-11-25 ": "/runs?date=2026-11-25",
		"25.11.2026":  "/runs?date=2026-11-25",
		"1.12.2026":   "/runs?date=2026-12-01",
		"32.11.2026":  "",
		"Today":       "/runs",
	} {
		if got := o.leads(query); got != want {
			t.Errorf("%q leads to %q, and not to %q", query, got, want)
		}
	}
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"1234567", "k", "Kyiv", "Lviv", "25:30:00", "33:00:00"},
	})
	// At 01:00 in Kyiv the run of the day before is still to leave.
	o.ask("POST", "/test/clock", `{"advance":"15h"}`, nil)
	if got := o.leads("1234567"); got != "/run?date=2026-11-20&trip=1234567" {
		t.Errorf("it leads to %s", got)
	}
	o.ask("POST", "/test/clock", `{"advance":"9000h"}`, nil)
	if got := o.leads("1234567"); got != "/run?date=2026-12-31&trip=1234567" {
		t.Errorf("after the last run it leads to %s", got)
	}
}

// Decision desk.search: a trip that is named as a phone ends does not hide whom the phone belongs to; of a
// trip that was sold, and that the timetable no longer has, the sold run is found.
func TestATripDoesNotHideAPassenger(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka")
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"1234567", "k", "Kyiv", "Lviv", "12:00:00", "20:00:00"},
	})
	o.see("/search?q=1234567", "Test Ukrainka",
		`"/run?date=2026-11-20&trip=1234567">The next run of trip 1234567`)
	if got := o.leads(trip); got != "/run?date="+date+"&trip="+trip {
		t.Errorf("a trip that was sold leads to %s", got)
	}
	o.lists("/runs?date="+date, trip+" Wed 25 Nov 05:30", "1234567 Wed 25 Nov 12:00")
}

// Decision desk.search: a ticket's code leads to the ticket, with the prefix of some readers too, and however
// it was broken into lines. One that is not genuine leads nowhere, and is said to be.
func TestACodeLeadsToItsTicket(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	code := regexp.MustCompile(`WB1\.[\w-]{128}`).FindString(o.see("/ticket?id=" + b.Tickets[0].ID))
	if code == "" {
		t.Fatal("the ticket has no code")
	}
	want := "/booking?id=" + b.ID + "#" + b.Tickets[0].ID
	for _, query := range []string{
		code, "QR-Code:" + code, " qr-code: " + code + "\r\n", code[:40] + "\n" + code[40:],
	} {
		if got := o.leads(query); got != want {
			t.Errorf("%q leads to %q", query, got)
		}
	}
	o.see("/search?q="+code[:len(code)-4]+"AAAA", "The code is not good: it is not signed with this key")
	o.see("/search?q="+code[:40], "The code is not good: it has ")
}

// Decision desk.search: names and phones are found as they are said; what a list does not show is on its next
// page.
func TestPassengersAreFoundAsTheyAreSaid(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka")
	for _, query := range []string{
		"Ukrainka, Test", "test ukrainka", "+38 (044) 123-45-67", "044 123 45 67", "123-45-67",
		"Ukrainka 0441234567", "tel:+380441234567", "TEL:+38 044 1234567", "０４４ １２３ ４５ ６７", "＋380441234567",
	} {
		o.see("/search?q="+url.QueryEscape(query), "Test Ukrainka", "1 ticket,",
			`<span class="chip held">held</span>`)
	}
	o.see("/search?q=044+765+43+21", "Nothing was found.")
	o.see("/search?q=123", "Type at least four digits of a phone number.")
	many := make([]string, 17)
	for i := range many {
		many[i] = "Franko"
	}
	for _, trip := range []string{"kl-0530", "kl-0700", "kl-1000", "kl-1430", "kl-2230", "kl-0700"} {
		o.bookOn(trip, many...)
	}
	first := o.see("/search?q=Franko", "100 tickets, and more")
	next := regexp.MustCompile(`href="([^"]*)" rel="next">older tickets`).FindStringSubmatch(first)
	if next == nil {
		t.Fatal(first)
	}
	second := o.see(html.UnescapeString(next[1]), "2 tickets,", "newer tickets")
	if strings.Contains(second, "older tickets") {
		t.Error("there is a page after the last")
	}
}

// Decision desk.search: tickets are found by two cities, in letters of either alphabet, and by the first 6
// characters of their ids; where nothing is found, the page says what was looked for.
func TestTicketsAreFoundByCitiesAndByPartsOfIDs(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	for _, query := range []string{"kyiv lviv", "Kyiv – Lviv", "Київ Львів", b.ID[:6], b.Tickets[0].ID[:6]} {
		o.see("/search?q="+url.QueryEscape(query), "Test Ukrainka")
	}
	for _, query := range []string{"lviv kyiv", "kyiv", b.ID[:5], strings.ToLower(b.ID[:5]) + "!"} {
		page := o.see("/search?q="+url.QueryEscape(query), "Nothing was found.",
			"was looked for as a day, an id")
		if strings.Contains(page, "Test Ukrainka") {
			t.Errorf("%q finds a ticket", query)
		}
	}
}
