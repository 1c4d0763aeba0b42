package desk_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/server/lab/rig"
	"waybill/server/ledger"
)

// runForm is what the forms of the run's page have in common.
const runForm = "trip=" + trip + "&date=" + date

// section returns the part of a page from the form of an act on to the end of it; "" where it has none.
func section(page, op string) string {
	return regexp.MustCompile(`(?s)<section id="` + op + `">.*?</section>`).FindString(page)
}

// act posts a form of the run's page, and returns where the browser lands and the page there.
func (o *operator) act(op, form string) (to, page string) {
	o.Helper()
	client := o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	fields, err := url.ParseQuery(runForm + "&desk-back=" + url.QueryEscape(run) + "&" + form)
	if err != nil {
		o.Fatal(err)
	}
	resp, err := client.PostForm(o.base+"/act/"+op, fields)
	if err != nil {
		o.Fatal(err)
	}
	o.read(resp)
	to = resp.Header.Get("Location")
	return to, o.see(to)
}

// Decision desk.run: what came of an act stands at its form, where the browser lands, and nowhere else: a
// preview with the button that does it, a refusal, and that it is done.
func TestWhatCameOfAnActStandsAtItsForm(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	if page := o.see(run); strings.Contains(page, "grave") {
		t.Error("a run can be changed without a preview")
	}
	for _, x := range []struct{ op, form, says, button string }{
		{"run-move", "minutes=30&reason=snow&dry-run=true", "leaves 30 minutes later", "Move the run"},
		{"run-move", "minutes=999&reason=snow", "<strong>Not done:</strong>", ""},
		{"run-move", "minutes=30&reason=snow", "<strong>Done.</strong>", ""},
		{"run-restore", "reason=thaw&dry-run=true", "leaves as its timetable says again", "Take it back"},
		{"run-cancel", "reason=strike&dry-run=true", "is cancelled", "Cancel the run"},
		{"run-cancel", "reason=strike", "<strong>Done.</strong>", ""},
		{"run-move", "minutes=30&reason=snow", "the run is cancelled", ""},
		{"run-restore", "reason=over&dry-run=true", "is no longer cancelled", "Take it back"},
	} {
		to, page := o.act(x.op, x.form)
		if !strings.HasPrefix(to, "/run?") || !strings.HasSuffix(to, "#"+x.op) {
			t.Errorf("%s %s leads to %s", x.op, x.form, to)
		}
		if strings.Count(page, `role="status"`) != 1 {
			t.Errorf("%s %s: what came of it is not said once", x.op, x.form)
		}
		at := section(page, x.op)
		if !strings.Contains(at, x.says) || !strings.Contains(at, `role="status"`) {
			t.Errorf("%s %s: there is no %q in %s", x.op, x.form, x.says, at)
		}
		if got := strings.Contains(at, `class="grave">`+x.button); got != (x.button != "") {
			t.Errorf("%s %s: the button is there: %v, in %s", x.op, x.form, got, at)
		}
	}
}

// Decision desk.run: a preview and a refusal keep what was typed, and the button of a preview does what the
// preview was of. A preview that would change nothing has no button.
func TestAPreviewKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	_, page := o.act("run-move", "minutes=-45&reason=%22early%22+%3Cbus%3E&dry-run=true")
	at := html.UnescapeString(section(page, "run-move"))
	for _, want := range []string{
		`required value="-45"`,
		`maxlength="500" value=""early" <bus>"`,
		`<input type="hidden" name="minutes" value="-45">`,
		`<input type="hidden" name="reason" value=""early" <bus>">`,
	} {
		if !strings.Contains(at, want) {
			t.Errorf("there is no %s in %s", want, at)
		}
	}
	_, page = o.act("run-move", "minutes=999&reason=late")
	if at := section(page, "run-move"); !strings.Contains(at, `required value="999"`) ||
		!strings.Contains(at, `value="late"`) {
		t.Errorf("a refusal forgets what was typed: %s", at)
	}
	_, page = o.act("run-move", "minutes=0&reason=none&dry-run=true")
	if at := section(page, "run-move"); !strings.Contains(at, "nothing to change") ||
		strings.Contains(at, "grave") {
		t.Errorf("it can be done though nothing changes: %s", at)
	}
}

// Decision desk.run: what can be changed stands above the seats, and cancelling says before that it cannot be
// taken back where tickets end with it, and only there.
func TestCancellingSaysBeforeThatItIsForGood(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	const final = "It cannot be taken back:"
	page := o.see(run)
	if strings.Index(page, "Change this run") > strings.Index(page, `id="seats"`) {
		t.Error("the seats stand above what can be changed")
	}
	if strings.Contains(page, final) {
		t.Error("a run without tickets cannot be taken back")
	}
	o.book("Ukrainka", "Franko")
	at := section(o.see(run), "run-cancel")
	if !strings.Contains(at, final+"</strong> 2 tickets end with it") {
		t.Errorf("it does not say so: %s", at)
	}
	o.ask("POST", "/test/clock", `{"advance":"21m"}`, nil)
	if at := section(o.see(run), "run-cancel"); strings.Contains(at, final) {
		t.Errorf("tickets that have lapsed end with the run: %s", at)
	}
}

// Decision desk.run: "Take it back" is there where run restore -dry-run would succeed, and nowhere else;
// where a change stays, the page says why.
func TestTakeItBackIsThereWhereItWouldSucceed(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		before func(*operator)
		there  bool
		says   string
	}{
		"as its timetable says": {func(*operator) {}, false, ""},
		"moved":                 {func(o *operator) { o.act("run-move", "minutes=30&reason=snow") }, true, ""},
		"moved with tickets": {func(o *operator) {
			o.book("Ukrainka")
			o.act("run-move", "minutes=30&reason=snow")
		}, false, "The move cannot be taken back: tickets were sold for the run at its new time"},
		"cancelled": {func(o *operator) { o.act("run-cancel", "reason=strike") }, true, ""},
		"cancelled with tickets": {func(o *operator) {
			o.book("Ukrainka")
			o.act("run-cancel", "reason=strike")
		}, false, "The cancellation cannot be taken back: tickets were cancelled with the run"},
		"over": {func(o *operator) {
			o.act("run-cancel", "reason=strike")
			o.ask("POST", "/test/clock", `{"advance":"240h"}`, nil)
		}, false, "The run is over: nothing can be changed any more."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			o.enter()
			x.before(o)
			page := o.see(run)
			if at := section(page, "run-restore"); (at != "") != x.there || !strings.Contains(page, x.says) {
				t.Errorf("taking it back is there: %v, want %v and %q:\n%s", at != "", x.there, x.says, page)
			}
			_, dry := o.act("run-restore", "reason=dry&dry-run=true")
			if at := section(dry, "run-restore"); strings.Contains(at, "Take it back") != x.there {
				t.Errorf("run restore -dry-run says %s", at)
			}
		})
	}
}

// cells returns the row of a ticket on the run's page, as text.
func cells(page, ticket string) string {
	row := regexp.MustCompile(`(?s)<tr id="` + ticket + `">.*?</tr>`).FindString(page)
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(row, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// Decision desk.run: the page lists the tickets of a cancelled run as they are now, with what comes back of
// each, so that one can say who had been on the bus.
func TestACancelledRunListsItsTickets(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	lapsed := o.book("Kobylianska").Data.Booking.Tickets[0].ID
	o.ask("POST", "/test/clock", `{"advance":"21m"}`, nil)
	b := o.book("Ukrainka", "Franko").Data.Booking
	paid, held := b.Tickets[0].ID, b.Tickets[1].ID
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+paid+`"]}`, nil)
	page := o.see(run, "3 tickets for this run")
	got := cells(page, paid) + "; " + cells(page, held) + "; " + cells(page, lapsed)
	if !strings.HasPrefix(got, "1 Test Ukrainka Kyiv – Lviv paid ") ||
		!strings.Contains(got, "; 2 Test Franko Kyiv – Lviv held ") ||
		!strings.Contains(got, "; 1 Test Kobylianska Kyiv – Lviv lapsed ") {
		t.Errorf("before: %s", got)
	}
	if strings.Index(page, lapsed) < strings.Index(page, `<tr id="`+held) {
		t.Error("who has lost the seat stands before who has one")
	}
	o.act("run-cancel", "reason=strike")
	page = o.see(run, "The run is cancelled, so no seat is taken.")
	if got := cells(page, paid); !regexp.MustCompile(`^1 Test Ukrainka Kyiv – Lviv refunded \d+\.00 UAH `).
		MatchString(got) {
		t.Errorf("who had paid: %s", got)
	}
	if got := cells(page, held); !strings.HasPrefix(got, "2 Test Franko Kyiv – Lviv cancelled ") {
		t.Errorf("who had not: %s", got)
	}
	if got := cells(page, lapsed); !strings.HasPrefix(got, "1 Test Kobylianska Kyiv – Lviv lapsed ") {
		t.Errorf("who never paid: %s", got)
	}
}

// Decision messages.told: each ticket of a run has its messages, by how each left: one that became a file has
// a link to it as long as it is there, one that is parked says why, one that waits says so.
func TestATicketOfARunHasItsMessages(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	id := b.Tickets[0].ID
	messages := func() string { return cells(o.see(run), id) }
	if got := messages(); !strings.HasSuffix(got, " held none") {
		t.Errorf("before anything was sent: %s", got)
	}
	o.ask("POST", "/v2/bookings/"+b.ID+"/book", "", nil)
	rig.Eventually(t, "the e-mail is a file, and the text is sent", func() bool {
		return strings.HasSuffix(messages(), " booked booked, e-mail: file booked, text: sent")
	})
	link := regexp.MustCompile(`href="(/letter\?name=[^"]*)">file`).FindStringSubmatch(o.see(run))
	if link == nil {
		t.Fatal("the file has no link")
	}
	o.see(html.UnescapeString(link[1]), "Your ticket is booked")
	files, err := filepath.Glob(filepath.Join(o.dir, "outbox", "*.eml"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if got := messages(); !strings.Contains(got, "booked, e-mail: file which is gone") {
		t.Errorf("after the file went: %s", got)
	}
	o.goesWrong(`{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"message-fails"}`)
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	rig.Eventually(t, "both are parked", func() bool {
		got := messages()
		return strings.Contains(got, "paid, e-mail: refused ") &&
			strings.Contains(got, "paid, text: refused ")
	})
	// Nobody wakes what sends messages, and the clock stands still.
	_, err = o.front.Server.Store.Update(func(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
		e := new(ledger.MessagesRetried)
		for _, m := range st.Outbox.All() {
			e.IDs = append(e.IDs, m.ID)
		}
		return ledger.Entries(e), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := messages(); strings.Count(got, ": waiting ") != 2 || strings.Contains(got, "refused") {
		t.Errorf("while they wait: %s", got)
	}
}

// Decision desk.readings: who is shown the names of a run's tickets is recorded, each passenger once, whether
// in the list or on the seats; who was forgotten is none. A run without tickets records nothing.
func TestReadingARunIsRecorded(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	if list := o.readings(run); list != nil {
		t.Errorf("an empty run: %q", list)
	}
	b := o.book("Ukrainka", "Franko").Data.Booking
	o.book("Lysenko")
	want := func(people int) {
		t.Helper()
		said := fmt.Sprintf(`"data":{"page":"/run","run":{"trip":"%s","date":"%s"},"people":%d,"by":{`, trip, date,
			people)
		if list := o.readings(run); len(list) != 1 || !strings.Contains(list[0], said) {
			t.Errorf("%q, want %s", list, said)
		}
	}
	want(3)
	o.post("/act/forget", "booking="+b.ID+"&reason=asked")
	want(1)
	if page := o.see(run); strings.Contains(page, "Ukrainka") || !strings.Contains(page, "(erased)") {
		t.Error("who was forgotten has a name")
	}
}

// A run's tickets are in pages of a hundred, none of which is out of reach; those who sit in the bus have
// their names in its picture on each page, and are recorded there.
func TestTicketsOfARunAreInPages(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	var all []string
	for range 6 {
		var names []string
		for i := range 19 {
			names = append(names, fmt.Sprintf("Franko%d", i))
		}
		for _, ticket := range o.book(names...).Data.Booking.Tickets {
			all = append(all, ticket.ID)
		}
		o.ask("POST", "/test/clock", `{"advance":"21m"}`, nil)
	}
	o.book("Ukrainka")
	first := o.see(run, "115 tickets for this run", "Ukrainka T.")
	links := regexp.MustCompile(`<a href="(/run\?[^"]*tickets=2&[^"]*#tickets)"`).FindStringSubmatch(first)
	if links == nil {
		t.Fatal("there is no way to the second page")
	}
	second := o.see(html.UnescapeString(links[1]), "Ukrainka T.")
	for _, ticket := range all {
		row := `<tr id="` + ticket
		if strings.Contains(first, row) == strings.Contains(second, row) {
			t.Fatalf("%s is not on one of the pages", ticket)
		}
	}
	if list := o.readings("/run?" + runForm + "&tickets=2"); len(list) != 1 ||
		!strings.Contains(list[0], `"people":16,`) {
		t.Errorf("the second page has 15 in its list, and one in the bus: %q", list)
	}
	for _, bad := range []string{"tickets=0", "tickets=x", "stop=0", "stop=4", "stop=-1"} {
		if status, _ := o.get("/run?" + runForm + "&" + bad); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

// Decision desk.run: the bus is drawn with who sits where, as it is where most seats are taken, or after the
// stop that was chosen; a seat that is taken on a part of the way has a strip that says on which.
func TestTheBusIsDrawnAfterAStop(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.bookFrom("rivne", trip, "Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	picture := regexp.MustCompile(`(?s)<svg.*</svg>`)
	full := picture.FindString(o.see(run))
	for _, want := range []string{
		"<title id=\"bus-says\">From Rivne Bus Station, platform 2 to Lviv",
		"1 of 19 seats are taken</title>",
		"<title>Seat 1: paid, Test Ukrainka</title>",
		`<text x="5" y="15">1 paid</text><text x="5" y="30">Ukrainka T.</text>`,
		`<rect class="free" stroke="currentColor" stroke-opacity=".5" x="0" y="39" width="64" height="7"/>` +
			`<rect class="paid" stroke="currentColor" stroke-opacity=".5" x="64" y="39" width="32" height="7"/>`,
		"<title>Seat 19: free</title>",
	} {
		if !strings.Contains(full, want) {
			t.Errorf("there is no %s in\n%s", want, full)
		}
	}
	at := o.see("/run?" + runForm + "&stop=1")
	empty := picture.FindString(at)
	if !strings.Contains(empty, "0 of 19 seats are taken") || strings.Contains(empty, "Ukrainka") {
		t.Errorf("from the first stop on:\n%s", empty)
	}
	if n := strings.Count(at, `aria-current="true"`); n != 1 {
		t.Errorf("%d stops are said to be drawn", n)
	}
}

// Decision desk.run: a run that is over says so, and when it arrived, or would have.
func TestARunThatIsOverSaysSo(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	if page := o.see(run); strings.Contains(page, "<strong>Over:") {
		t.Error("a run that is to come is over")
	}
	o.act("run-cancel", "reason=strike")
	o.ask("POST", "/test/clock", `{"advance":"240h"}`, nil)
	o.see(run, "<strong>Over:</strong> it would have arrived in Lviv on", "Wed 25 Nov 13:25")
	o.see(strings.Replace(run, trip, "kl-0700", 1), "<strong>Over:</strong> it has arrived in Lviv on")
	if _, page := o.act("run-restore", "reason=late"); !strings.Contains(section(page, "run-restore"),
		"the run is over") {
		t.Error("a refusal after it is over is not said at its form")
	}
}
