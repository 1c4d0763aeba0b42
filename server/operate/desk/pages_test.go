package desk_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/history"
	"waybill/store/durable"
)

// Decision desk.pages: a booking has its story in words, its tickets, and what each action would do; its
// tickets are moved, and its passengers forgotten, from its page.
func TestABookingTellsItsStory(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka", "Franko").Data.Booking
	page := "/booking?id=" + b.ID
	o.see(
		page,
		"makes booking",
		"/journal?until=",
		"<strong>pay</strong>: is allowed",
		"<strong>cancel</strong>: with no refund",
		"To be paid by",
		`<bdi>Test Ukrainka</bdi>: <span class="chip held">held</span>`,
	)
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	o.see(page, "<strong>pay</strong> is refused", "<strong>cancel</strong>: refunded 770.00 UAH of 770.00",
		`<span class="chip paid">paid</span>`)
	o.ask("POST", "/test/clock", `{"advance":"21m"}`, nil)
	o.see(page, "by time alone", `<span class="chip lapsed">lapsed</span>`)
	o.see("/ticket?id="+b.Tickets[0].ID, "Ukrainka", "<svg")
	back := "&desk-back=" + url.QueryEscape(page)
	o.post("/act/ticket-move", "ticket="+b.Tickets[1].ID+"&booking=new"+back, "<strong>Done.</strong>")
	o.post(
		"/act/ticket-status",
		"ticket="+b.Tickets[0].ID+"&status=Prepaid"+back,
		"<strong>Done.</strong>",
		"<small>carrier: prepaid</small>",
	)
	cancel := "tickets=" + b.Tickets[1].ID + "&reason=strike" + back
	o.post("/act/ticket-cancel", cancel+"&dry-run=true", "<strong>Preview.</strong>", "with no refund")
	o.post("/act/ticket-cancel", cancel, "<strong>Done.</strong>")
	if strings.Contains(o.see(o.leads(b.Tickets[1].ID)), "Cancel it") {
		t.Error("the desk offers to cancel what is canceled")
	}
	o.see("/search?q=ukra", "Test Ukrainka", "1 ticket,")
	o.see("/search?q=380441234567", "2 tickets,")
	o.see("/search?q=nobody", "Nothing was found.")
	o.post("/act/forget", "booking="+b.ID+"&reason=asked+for"+back, "<strong>Done.</strong>", "(erased)")
	if seen := o.see("/search?q=ukra", "Nothing was found."); strings.Contains(seen, "Ukrainka") {
		t.Error(seen)
	}
}

// Decision desk.pages: a name that turns the direction of what follows stands alone: in its own element,
// in a cell or in an attribute.
func TestNamesThatTurnTheDirectionStandAlone(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	const name = "\u202eUkrainka"
	b := o.book(name).Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	alone := regexp.MustCompile(`(<(bdi|td|p|title)[^<>]*>|="[^"]*)[^<>"]*$`)
	run := "?trip=" + trip + "&date=" + date
	for _, page := range []string{"/booking?id=" + b.ID, "/search?q=ukrainka", "/run" + run, "/waybill" + run,
		"/ticket?id=" + b.Tickets[0].ID} {
		before, text, found := strings.Cut(o.see(page, "Ukrainka"), name)
		for ; found; before, text, found = strings.Cut(text, name) {
			if !alone.MatchString(before) {
				t.Errorf("%s: it follows %q", page, before[max(0, len(before)-60):])
			}
		}
	}
}

// Decision desk.journal: the journal is shown as it grows, each line in words, its hash after that of the
// line before.
func TestTheJournalIsShownAsItGrows(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.see("/journal", "timetable.imported", "in force", "partner.key_added", "Lines written since")
	for i := range 30 {
		o.addPartner(fmt.Sprintf("p%d", i))
	}
	newest := o.see("/journal", `"p29"`, "Older lines")
	hashes := regexp.MustCompile(`its hash: (\w{64})|line before: (\w{64})`).FindAllStringSubmatch(newest, -1)
	if len(hashes) != 50 {
		t.Fatalf("%d hashes of 25 lines", len(hashes))
	}
	for i := 0; i+2 < len(hashes); i += 2 { // the newest line first; of a line the one before comes first
		if hashes[i][2] != hashes[i+3][1] {
			t.Errorf("line %d from above names another hash than the line before has", i/2+1)
		}
	}
	o.see("/journal?until=3", "opened", "Newer lines")
	o.see("/journal?until=999999999", `"p29"`)
	for _, bad := range []string{"0", "-1", "x", "99999999999999999999"} {
		if status, _ := o.get("/journal?until=" + bad); status != http.StatusBadRequest {
			t.Errorf("until %s: %d", bad, status)
		}
	}
	o.post("/verify", "", "<strong>Sound.</strong>", "lines")
}

// The journal tells each line as it was, in the words of the verb log: what came of a ticket later does not
// change what is said of the line that it was paid by.
func TestTheJournalTellsEachLineAsItWas(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "{}", nil)
	o.ask("POST", "/v2/bookings/"+b.ID+"/cancel", "{}", nil)
	var log bytes.Buffer
	err := history.Log(durable.Dir(o.dir), true, history.Filter{}, history.Style{}, &log)
	if err != nil {
		t.Fatal(err)
	}
	paid := "ticket " + b.Tickets[0].ID + " of booking " + b.ID + " is Confirmed/Paid, seat 1"
	if !strings.Contains(log.String(), paid+";") {
		t.Fatalf("the log does not say %q:\n%s", paid, &log)
	}
	page := html.UnescapeString(o.see("/journal", "ticket.paid", "tickets.canceled"))
	line := regexp.MustCompile(`(?m)^\S+ \S+  #\d+  \S+  (.*?)(; by .*)?$`)
	said := line.FindAllStringSubmatch(log.String(), -1)
	if len(said) < 6 {
		t.Fatalf("%d lines in\n%s", len(said), &log)
	}
	for _, line := range said {
		if !strings.Contains(page, "<p>"+line[1]+"</p>") {
			t.Errorf("the page does not say %q:\n%s", line[1], page)
		}
	}
}

// Of a long journal, a page that would read more than 100,000 lines to say in words what its lines did asks
// first: until then it shows their own data, and not what holds now.
func TestALongJournalIsReadWhenAskedFor(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	_, err := o.front.Server.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return ledger.Entries(slices.Repeat([]*ledger.KeysRotated{{}}, 100_000)...), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := o.book("Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "{}", nil)
	paid := "is Confirmed/Paid, seat 1"
	page := o.see("/journal", "<p>ticket "+b.Tickets[0].ID+", booking "+b.ID, "&story=\">Read them</a>")
	if strings.Contains(page, paid) {
		t.Error("more than 100,000 lines were read without being asked for")
	}
	if page = o.see("/journal?story=", paid); strings.Contains(page, "Read them") {
		t.Error("what is told is offered again")
	}
}

// A line that was altered in its file is not shown as one of the journal.
func TestAnAlteredLineIsNotShown(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	file := filepath.Join(o.dir, "journal", "000000000001.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Replace(text, []byte(`"anna"`), []byte(`"hans"`), 1)
	if err := os.WriteFile(file, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	status, body := o.get("/journal")
	if status != http.StatusInternalServerError || strings.Contains(body, "hans") ||
		!strings.Contains(body, "The journal is damaged") {
		t.Errorf("%d %s", status, body)
	}
	o.post("/verify", "", "<strong>Not sound:</strong>", "000000000001.jsonl", "line 5")
	o.see("/booking?id="+b.ID, "The journal is damaged", "Test Ukrainka")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Where a line far before those of a page was altered, the page says so, and shows these in their own data:
// what they did cannot be told.
func TestLinesAfterDamageAreShownInTheirOwnData(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	for i := range 30 {
		o.addPartner(fmt.Sprintf("p%d", i))
	}
	told := `partner add: "p29"`
	o.see("/journal", told)
	file := filepath.Join(o.dir, "journal", "000000000001.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Replace(text, []byte(`"anna"`), []byte(`"hans"`), 1)
	if err := os.WriteFile(file, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	page := o.see("/journal", "The journal is damaged before these lines", "line 5", "name p29")
	if strings.Contains(page, told) {
		t.Error("what a line did is told by lines that were altered")
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is shown of a line is what stands in the file, so that somebody can hash it.
func TestALineIsShownAsItIsWritten(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka")
	page := html.UnescapeString(o.see("/journal", "booking.created"))
	shown := regexp.MustCompile(
		`(?s)line before</dt><dd><code>(\w{64}).*?<pre>\{"hash":"(\w{64})",([^…]*?(?:"personal":\{…\}\})?)</pre>`,
	)
	lines := shown.FindAllStringSubmatch(page, -1)
	if len(lines) < 4 {
		t.Fatalf("%d lines in\n%s", len(lines), page)
	}
	for _, line := range lines {
		hashed, _, _ := strings.Cut(line[3], `,"personal":{…}`)
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(line[1]+hashed))); got != line[2] {
			t.Errorf("the hash is %s, and not %s, of %s", got, line[2], line[3])
		}
	}
	if strings.Contains(page, "Ukrainka") {
		t.Error("the journal shows a name")
	}
}

// A run that an import has withdrawn, and one whose bus has become too small, say so, and have nothing free.
func TestARunThatIsNotSoldSaysSo(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka", "Franko")
	o.importWith("waybill_buses.txt", "bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,1,")
	o.see("/runs?date="+date+"&q="+trip, "more passengers than seats")
	o.see(run, "More passengers than seats:", "no longer in the bus")
	o.importWith(
		"trips.txt",
		"weekdays,"+trip+",",
		"weekdays,kl-0531,",
		"stop_times.txt",
		trip+",",
		"kl-0531,",
	)
	o.see("/runs?date="+date+"&q="+trip, "not in the timetable", `class="number">0</td>`)
	o.see(run, "No longer in the timetable:")
	o.see("/", "is no longer in the timetable")
	o.ask("POST", "/test/clock", `{"advance":"240h"}`, nil)
	o.see(run, "The run is over: nothing can be changed any more.")
}

// importWith imports the demo with texts of its files replaced: a file, what it has, what it is to have.
func (o *operator) importWith(changes ...string) {
	o.Helper()
	feed := fstest.MapFS{}
	files, err := filepath.Glob("../../../testdata/demo/*.txt")
	if err != nil {
		o.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			o.Fatal(err)
		}
		name := filepath.Base(file)
		for i := 0; i < len(changes); i += 3 {
			if changes[i] == name {
				if !strings.Contains(string(text), changes[i+1]) {
					o.Fatalf("%s has no %q", name, changes[i+1])
				}
				text = bytes.ReplaceAll(text, []byte(changes[i+1]), []byte(changes[i+2]))
			}
		}
		feed[name] = &fstest.MapFile{Data: text}
	}
	if err := o.front.Server.Admin.Import(feed, "changed", admin.ImportOptions{}, io.Discard); err != nil {
		o.Fatal(err)
	}
}

// Decision desk.pages: messages are shown as the passenger reads them, and those that are parked are tried
// again.
func TestMessagesAreShownAsPassengersReadThem(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	o.goesWrong(`{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"message-fails"}`)
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	o.see("/messages", "<strong>refused</strong>", "your ticket is paid", "Try it again", "p@example.com")
	o.post("/act/outbox-retry", "message=all&desk-back=/messages", "<strong>Done.</strong>",
		"No message is waiting.", "1 e-mail is a file in the folder outbox", "; no e-mail leaves this "+
			"machine")
	letters := o.see("/messages", "E-mails that became files", b.Tickets[0].ID)
	link := regexp.MustCompile(`href="(/letter[^"]+)"`).FindStringSubmatch(letters)
	if link == nil {
		t.Fatal(letters)
	}
	o.see(
		html.UnescapeString(link[1]),
		"your ticket is paid",
		"Kyiv",
		"ticket.ics",
		"ticket.html",
		"Its ticket",
		"Київ",
	)
	for _, name := range []string{"../checkpoint", "../keys/tickets", "x.eml", "", "%00"} {
		if status, _ := o.get("/letter?name=" + name); status != http.StatusNotFound {
			t.Errorf("letter %q: %d", name, status)
		}
	}
}

// The desk has no page for what only verbs and the control listener do: such an address is that of no page.
func TestAnAddressThatIsGoneIsThatOfNoPage(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	status, nowhere := o.get("/nowhere")
	if status != http.StatusNotFound {
		t.Fatal(status, nowhere)
	}
	for _, path := range []string{"/partners", "/users", "/test"} {
		if status, body := o.get(path); status != http.StatusNotFound || body != nowhere {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/test/clock", "/test/faults", "/test/worlds", "/act/partner-add",
		"/act/partner-revoke", "/act/user-add", "/act/user-remove"} {
		resp, err := o.PostForm(o.base+path, url.Values{"name": {"anna"}, "advance": {"21m"}})
		if err != nil {
			t.Fatal(err)
		}
		if body := o.read(resp); resp.StatusCode != http.StatusNotFound || body != nowhere {
			t.Errorf("POST %s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// A page that is not there says so, and every page has a policy that lets no script run.
func TestPagesHaveAPolicy(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	for _, path := range []string{"/", "/runs", run, "/search", "/booking?id=" + b.ID, "/journal",
		"/messages",
		"/waybill?date=" + date + "&trip=" + trip, "/ticket?id=" + b.Tickets[0].ID,
		"/nothing", "/booking?id=x", "/ticket?id=x", "/run?trip=none&date=" + date, "/run?trip=a&date=b",
		"/runs?date=25.11.2026", "/waybill?trip=none&date=" + date} {
		resp, err := o.Get(o.base + path)
		if err != nil {
			t.Fatal(err)
		}
		body := o.read(resp)
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			resp.Header.Get(
				"Cache-Control",
			) != "no-store" || resp.Header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, resp.Header)
		}
		if resp.StatusCode == http.StatusInternalServerError || strings.Contains(body, "<script") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// A name with markup in it is shown as it is written, on every page that has it.
func TestANameIsNoMarkup(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	const name = `<b>"&'`
	b := o.book(name).Data.Booking
	form := "trip=" + trip + "&date=" + date + "&desk-back=" + url.QueryEscape(run)
	o.post(
		"/act/run-move",
		form+"&minutes=30&reason="+url.QueryEscape(name),
		"Moved by +30 minutes:</strong> "+name,
	)
	for _, path := range []string{"/search?q=" + url.QueryEscape(name), "/booking?id=" + b.ID, run,
		"/journal", "/", "/waybill?date=" + date + "&trip=" + trip,
		"/ticket?id=" + b.Tickets[0].ID} {
		if body := o.see(path); strings.Contains(body, name) || strings.Contains(body, "<b>") {
			t.Errorf("%s has the name as markup", path)
		}
	}
}

// Decision pages.clock: the papers that a test bench prints say so, at the top, and do not hide it in print.
func TestPapersOfATestBenchSayItsClock(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka").Data.Booking
	const bar = `<main>
<p class="clock"><strong>TEST CLOCK</strong> <time datetime="2026-11-20T08:00:00Z">` +
		`Fri 20 Nov 2026 08:00:00 UTC</time> <span>frozen</span></p>`
	for _, path := range []string{
		"/waybill?date=" + date + "&trip=" + trip,
		"/ticket?id=" + b.Tickets[0].ID,
	} {
		if body := o.see(path, bar, ".clock { border: "); strings.Contains(body, "@media print") {
			t.Errorf("%s prints otherwise than it shows", path)
		}
	}
}
