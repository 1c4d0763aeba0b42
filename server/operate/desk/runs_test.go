package desk_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Decision desk.pages: Today says how tickets stand, which runs were changed, and what is signed.
func TestTodaySaysWhatThereIs(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.see("/", "Nothing has been sold yet.", "No e-mail leaves this machine", "TEST CLOCK", "frozen",
		"4 companies, 72 trips", "none are asked", "<code>waybill partner</code>",
		"<code>waybill user</code>")
	b := o.book("Ukrainka", "Franko").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	o.post("/act/run-move", "trip="+trip+"&date="+date+"&minutes=30&reason=snow")
	o.see("/", "2 tickets of 1 booking", `<span class="chip paid">paid</span>`, `"/search?state=held"`,
		`<span class="chip news">moved by +30 min</span> snow`, "Newest line")
	o.ask("POST", "/test/clock", `{"advance":"21m"}`, nil)
	o.see("/", `<span class="chip lapsed">lapsed</span>`)
}

// Decision desk.pages: a dispatcher finds a day's runs, and of a run who has which seat from where to where,
// and how long a hold lasts; on the way there are no names.
func TestADispatcherSeesWhoHasWhichSeat(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka", "Franko", "Kobylianska").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	o.ask("POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`, nil)
	o.ask("POST", "/test/clock", `{"advance":"5m"}`, nil)
	_, list, _ := strings.Cut(
		o.see("/runs?date="+date+"&q=lviv", trip, "Kyiv – Lviv", "2026-11-24", "2026-11-26"), "<table")
	if strings.Contains(list, "pn-") || strings.Contains(list, "Kharkiv") {
		t.Errorf("runs are listed that were not asked for:\n%s", list)
	}
	o.see("/runs?date="+date+"&q=nowhere", "There is no such run on this day, by Europe/Kyiv time.")
	o.see(
		run,
		`class="paid"`,
		`class="booked"`,
		`class="held"`,
		"15m0s left",
		"4–19",
		b.Tickets[0].ID,
	)
	for _, name := range []string{"Ukrainka", "Franko", "p@example.com"} {
		if strings.Contains(list, name) {
			t.Errorf("%s is on a page that leaves no line", name)
		}
	}
	before := strings.Count(o.journal(), `"manifest.read"`)
	o.see("/waybill?date="+date+"&trip="+trip, "Ukrainka", "Franko")
	if n := strings.Count(o.journal(), `"manifest.read"`) - before; n != 1 {
		t.Errorf("reading the waybill left %d lines", n)
	}
}

// Decision desk.pages: a run is cancelled, moved and restored from its page, by the same acts as the verbs do
// it, with the caller's name; a preview changes nothing, and leaves the form as it was filled in.
func TestADispatcherChangesARun(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	form := "trip=" + trip + "&date=" + date + "&desk-back=" + url.QueryEscape(run)
	o.post(
		"/act/run-move",
		form+"&minutes=30&reason=snow+on+the+road&dry-run=true",
		"<strong>Preview.</strong>",
		"leaves 30 minutes later",
		"tickets that stay valid: 1",
		`value="snow on the road"`,
		`value="30"`,
	)
	if n := strings.Count(o.journal(), `"type":"run.`); n != 0 {
		t.Errorf("a preview wrote %d lines", n)
	}
	o.post("/act/run-move", form+"&minutes=30&reason=snow", "<strong>Done.</strong>",
		"Moved by +30 minutes:</strong> snow")
	o.post(
		"/act/run-restore",
		form+"&reason=thaw",
		"<strong>Not done:</strong>",
		"tickets were sold for the run",
	)
	o.post("/act/run-cancel", form+"&reason=", "<strong>Not done:</strong>", "reason must be given")
	o.post("/act/run-cancel", form+"&reason=strike", "<strong>Done.</strong>", "1 refunded",
		"<strong>Cancelled:</strong> strike")
	o.see("/search?q="+b.Tickets[0].ID, ">refunded 770.00 UAH</span>", "run cancel")
	uid := fmt.Sprintf(`"by":{"uid":%d`, os.Getuid())
	for _, kind := range []string{"run.moved", "run.cancelled"} {
		line := regexp.MustCompile(`.*"` + kind + `".*`).FindString(o.journal())
		if !strings.Contains(line, uid) {
			t.Errorf("%s does not say who did it: %s", kind, line)
		}
	}
}

// What came of an act is told once: a page that is loaded again does not say that it was done again.
func TestWhatCameOfAnActIsToldOnce(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := o.PostForm(
		o.base+"/act/outbox-retry",
		url.Values{"message": {"all"}, "desk-back": {"/messages"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	o.read(resp)
	to := resp.Header.Get("Location")
	if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/messages?") {
		t.Fatal(resp.StatusCode, to)
	}
	o.see(to, "<strong>Done.</strong>")
	o.lacks(o.see(to), "<strong>Done.</strong>")
}

// An act leads back to a page of the desk, wherever a form says.
func TestAnActLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, back := range []string{"https://example.com/", "//example.com/", "///example.com",
		"/..//example.com", "javascript:alert(1)", "example.com", "/\\example.com", "", "%zz"} {
		resp, err := o.PostForm(
			o.base+"/act/outbox-retry",
			url.Values{"message": {"all"}, "desk-back": {back}},
		)
		if err != nil {
			t.Fatal(err)
		}
		o.read(resp)
		to, err := url.Parse(resp.Header.Get("Location"))
		if err != nil || to.IsAbs() || to.Host != "" || strings.Contains(to.String(), `\`) {
			t.Errorf("%q leads to %s", back, to)
		}
	}
	resp, err := o.PostForm(
		o.base+"/act/run-cancel",
		url.Values{"trip": {trip, "kl-0700"}, "date": {date}, "reason": {"x"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if body := o.read(resp); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a field given twice: %d %s", resp.StatusCode, body)
	}
	for _, op := range []string{"import", "rotate-keys", "idtoken", "no-such"} {
		resp, err := o.PostForm(o.base+"/act/"+op, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.read(resp); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", op, resp.StatusCode)
		}
	}
}
