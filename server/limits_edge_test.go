package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server/api/search"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/history"
)

// Decision limits.table: what is just within a limit of a body passes, and one more is 400.
func TestListsOfABodyAtTheirLimits(t *testing.T) {
	s, key := demoServer(t, Config{})
	// A bus of the demo with a hundred seats, so that the limit is what decides.
	importFeed(t, s,
		feedWith(t,
			map[string][][2]string{"waybill_buses.txt": {{"bus-zor-01,zorevia,19,",
				"bus-zor-01,zorevia,200,"}}}))
	offer := anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv&passengers=150")
	booked := newBookingID(t, s, key)
	phones := func(n int) string {
		return strings.Repeat(`{"phone":"+380441234567"},`, n-1) + `{"phone":"+380441234567"}`
	}
	ids := func(n int) string { return strings.Repeat(`"x",`, n-1) + `"x"` }
	for _, c := range []struct {
		what, target, body string
		status             int
	}{
		{"100 passengers", "/v2/bookings", bookingBody(offer, 100), 201},
		{"101 passengers", "/v2/bookings", bookingBody(offer, 101), 400},
		{"10 phones", "/v2/bookings", strings.Replace(bookingBody(offer, 1), `"Ukrainka"`, `"Ukrainka","phones":[`+phones(10)+`]`, 1), 201},
		{"11 phones", "/v2/bookings", strings.Replace(bookingBody(offer, 1), `"Ukrainka"`, `"Ukrainka","phones":[`+phones(11)+`]`, 1), 400},
		{"1,000 ids", "/v2/bookings/" + booked + "/pay", `{"ticketIds":[` + ids(1000) + `]}`, 404},
		{"1,001 ids", "/v2/bookings/" + booked + "/pay", `{"ticketIds":[` + ids(1001) + `]}`, 400},
		{"1,001 ids under the other name", "/v2/bookings/" + booked + "/pay", `{"orderIds":[` + ids(1001) + `]}`, 400},
	} {
		if a := call(t, s, key, "POST", c.target, c.body); a.status != c.status {
			t.Errorf("%s: %d, want %d: %+v", c.what, a.status, c.status, a.Errors)
		}
	}
}

// Decision reports.kept: a company has 20 reports that are not written; the 21st is 429, until one is.
func TestReportsThatAreNotWrittenAreLimited(t *testing.T) {
	v := newVisitor(t)
	v.s.Reporting.Lock() // none is written
	order := func() int {
		return v.ask("POST", "/v2/reports/company/orders",
			`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`).Code
	}
	for n := range web.MaxQueuedReports {
		if status := order(); status != 202 {
			t.Errorf("report %d: %d", n+1, status)
		}
	}
	w := v.ask("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`)
	if w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	v.s.Reporting.Unlock()
	if err := v.s.company.WriteReports(); err != nil {
		t.Fatal(err)
	}
	if status := order(); status != 202 {
		t.Errorf("when they are written: %d", status)
	}
}

// Decision sessions.limit: a user's 51st sign-in ends the first session, and the others go on.
func TestTheFirstOfManySessionsEnds(t *testing.T) {
	v := newVisitor(t)
	first := v.cookies
	session := func() int { return v.ask("GET", "/v2/auth/session", "").Code }
	for range web.MaxSessions - 1 {
		v.signIn()
	}
	second := v.cookies
	v.cookies = first
	if status := session(); status != 200 {
		t.Fatalf("with 50 sessions the first is %d", status)
	}
	v.signIn()
	last := v.cookies
	v.cookies = first
	if status := session(); status != 401 {
		t.Errorf("with one more the first is %d", status)
	}
	v.cookies = second
	if status := session(); status != 200 {
		t.Errorf("and another is %d", status)
	}
	v.cookies = last
	if status := session(); status != 200 {
		t.Errorf("and the last is %d", status)
	}
}

// The page has a row for each size that a client chooses, with the number that the code has.
func TestThePageOfLimits(t *testing.T) {
	s, _ := demoServer(t, Config{})
	page := ask(s, "", "GET", "/docs/limits", "").Body.String()
	rows := map[string]string{}
	shown := regexp.MustCompile(`(?s)<dt>(.*?)</dt><dd>(.*?)</dd>`).FindAllStringSubmatch(page, -1)
	for _, row := range shown {
		rows[row[1]] = row[2]
	}
	for what, wants := range map[string][]string{
		"body of a request":                {"256 KiB", "413"},
		"problems in a 400":                {"100, and 64 KiB", "how many more"},
		"passengers of a booking":          {"100", "400"},
		"phones of a passenger":            {"10", "400"},
		"requests that wait for events":    {"64 of a partner", "at once"},
		"connections":                      {"at most 10000", "a quarter", "longest idle"},
		"sessions of a user":               {"50", "the oldest ends"},
		"reports that are not written yet": {"20 of a company", "429"},
		"reports that are kept":            {"200 of a company, and 500 MB of files", "429", "oldest has expired"},
		"answers that clients do not take": {"16 MiB", "128 MiB", "taken longest ago is closed"},
		"requests a second":                {"each whole 50000 bytes", "429"},
	} {
		for _, want := range wants {
			if !strings.Contains(rows[what], want) {
				t.Errorf("the row of %s has no %q: %s", what, want, rows[what])
			}
		}
	}
}

// Of more than 24 currencies as many are offered as can be booked, the interface's among them.
func TestNoCurrencyIsOfferedThatCannotBeBooked(t *testing.T) {
	s, key := demoServer(t, Config{})
	var attributes strings.Builder
	var rules strings.Builder
	for a := range 2 {
		for b := range 20 {
			id := fmt.Sprintf("many-%d-%d", a, b)
			fmt.Fprintf(&attributes, "%s,10.00,%c%cX,1,0,zorevia\n", id, 'A'+a, 'A'+b)
			rules.WriteString(id + ",r-frankivsk-bukovel,ivano-frankivsk,bukovel\n")
		}
	}
	importFeed(t, s, feedWith(t, map[string][][2]string{
		"fare_attributes.txt": {{"zor-ua25-uah,110.00", attributes.String() + "zor-ua25-uah,110.00"}},
		"fare_rules.txt": {{"zor-ua50-uah,r-frankivsk-bukovel,ivano-frankivsk,nadvirna\n",
			"zor-ua50-uah,r-frankivsk-bukovel,ivano-frankivsk,nadvirna\n" + rules.String()}},
	}))
	body := ask(s, key, "GET", "/v2/offers?departureDate=2026-11-25&"+bukovel, "").Body.String()
	var answer struct {
		Data struct {
			Offers []struct {
				ID     string
				Prices []struct{ Currency string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Offers) == 0 {
		t.Fatal(err, body)
	}
	offered := answer.Data.Offers[0]
	if len(offered.Prices) != search.MaxFares || !strings.Contains(fmt.Sprint(offered.Prices), "{UAH}") {
		t.Errorf("%d currencies are offered: %v", len(offered.Prices), offered.Prices)
	}
	for _, price := range offered.Prices {
		order := strings.Replace(bookingBody(offered.ID, 1), `"UAH"`, `"`+price.Currency+`"`, 1)
		if a := call(t, s, key, "POST", "/v2/bookings", order); a.status == 400 {
			t.Errorf("%s is offered, and cannot be booked", price.Currency)
		}
	}
}

// Decision reports.dates: of two first downloads at a time the first is the one that counts.
func TestAReportIsDownloadedForTheFirstTimeOnce(t *testing.T) {
	dir := t.TempDir()
	v := newVisitorOn(t, dir)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { ask(v.s, "", "GET", v.names["LINK"], "") })
	}
	wg.Wait()
	v.s.Close()
	if n := strings.Count(journalText(t, dir), `"type":"report.downloaded"`); n != 1 {
		t.Errorf("the journal says %d times that the report was downloaded for the first time", n)
	}
}

func journalText(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// Decision acts.by: each line that an administrative act writes says who did it, and no other line does.
func TestLinesOfAdministrativeActsSayWhoDidThem(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	b := call(t, s, key, "POST", "/v2/bookings", bookingBody(anOffer(t, s, key, bukovel), 2)).Data.Booking
	feed, _ := filepath.Abs("../testdata/demo")
	acts := []struct {
		op   string
		form url.Values
		kind string
	}{
		{"import", url.Values{"feed": {feed}}, "timetable.imported"},
		{"partner-add", url.Values{"name": {"new"}}, "partner.key_added"},
		{"partner-revoke", url.Values{"name": {"new"}}, "partner.revoked"},
		{"ticket-move", url.Values{"ticket": {b.Tickets[0].ID}, "booking": {"new"}}, "ticket.moved"},
		{"ticket-status", url.Values{"ticket": {b.Tickets[0].ID}, "status": {"Prepaid"}}, "ticket.carrier"},
		{"rotate-keys", nil, "keys.rotated"},
		{"user-add", url.Values{
			"email":      {"a@example.com"},
			"first-name": {"A"},
			"last-name":  {"B"},
			"password":   {"secret"},
			"company":    {"zorevia-lines"},
			"role":       {"ADMIN"},
		}, "user.added"},
		{"user-add", url.Values{"email": {"a@example.com"}, "company": {"wislovia-coach"}, "role": {"ADMIN"}}, "user.access_given"},
		{"user-remove", url.Values{"email": {"a@example.com"}}, "user.removed"},
		{"forget", url.Values{"booking": {b.ID}, "reason": {"asked"}}, "personal.erased"},
	}
	const by = `"by":{"uid":1000,"user":"olena","login":"root"}`
	olena := ledger.By{UID: 1000, User: "olena", Login: "root"}
	for _, a := range acts {
		before := strings.Count(journalText(t, dir), by)
		err := s.Admin.Do(a.op, &admin.Act{
			By:   olena,
			Form: a.form,
			Out:  new(strings.Builder),
		})
		if err != nil {
			t.Fatalf("%s: %v", a.op, err)
		}
		text := journalText(t, dir)
		if !regexp.MustCompile(`"type":"`+regexp.QuoteMeta(a.kind)+`","data":{[^\n]*`+
			regexp.QuoteMeta(by)).MatchString(text) || strings.Count(text, by) != before+1 {
			t.Errorf("%s writes no line of the type %s with %s", a.op, a.kind, by)
		}
	}
	var out strings.Builder
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := history.Log(storeDir(dir), false, history.Filter{}, history.Style{}, &out)
	if err != nil || strings.Count(out.String(), "; by olena (1000), logged in as root\n") != len(acts) {
		t.Errorf("%v\n%s", err, &out)
	}
	for line := range strings.Lines(journalText(t, dir)) {
		kind := strings.Split(strings.Split(line, `"type":"`)[1], `"`)[0]
		if strings.Contains(line,
			`"by":`) == (kind == "booking.created" || kind == "opened" || kind == "tickets.uncompleted") {
			t.Errorf("%s: %s", kind, line)
		}
	}
}

// What was altered in a sealed file of the journal is neither an event nor an answer that is given again.
func TestAlteredLinesAreNeitherEventsNorAnswers(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	offer := anOffer(t, s, key, bukovel)
	w := keyedCall(s, key, "book", "/v2/bookings", bookingBody(offer, 1))
	if w.Code != 201 {
		t.Fatal(w.Body)
	}
	if w := keyedCall(s, key, "book", "/v2/bookings", bookingBody(offer, 1)); w.Code != 201 ||
		w.Header().Get("Idempotent-Replayed") != "true" {
		t.Fatal(w.Code, w.Body)
	}
	for _, change := range [][2]string{{`"currency":"UAH"`, `"currency":"EUR"`},
		{`"firstName":"Lesia"`, `"firstName":"Olena"`}} {
		name := filepath.Join(dir, "journal/000000000001.jsonl")
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), change[0]) {
			t.Fatal(err, change)
		}
		err = os.WriteFile(name, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if w := ask(s, key, "GET", "/v2/events", ""); w.Code != 500 {
			t.Errorf("with %s the events are %d %s", change[1], w.Code, w.Body)
		}
		if w := keyedCall(s, key, "book", "/v2/bookings", bookingBody(offer, 1)); w.Code != 500 {
			t.Errorf("with %s the answer is given again: %d %s", change[1], w.Code, w.Body)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Decision journal.durable: GET session shows nothing that a crash could undo: it waits until the session is
// on disk.
func TestASessionIsShownOnceItIsOnDisk(t *testing.T) {
	dir := t.TempDir()
	v := newVisitorOn(t, dir)
	// The snapshot lock of the store is no part of this: a slow sync is made by a file system that waits.
	disk := &slowSync{FS: storeDir(dir), release: make(chan bool)}
	v.s.Close()
	s, err := Open(Config{Dir: dir, FS: disk, TestClock: true, Now: func() time.Time { return scriptStart }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v.s = s
	v.signIn()
	disk.slow.Store(true)
	signedIn := make(chan bool)
	go func() {
		if _, err := s.Admin.AddPartner("slow", nil); err != nil {
			t.Error(err)
		}
		close(signedIn)
	}()
	<-disk.reached()
	shown := make(chan int)
	go func() { shown <- v.ask("GET", "/v2/auth/session", "").Code }()
	select {
	case status := <-shown:
		t.Errorf("it is shown (%d) before what was written before it is on disk", status)
	case <-time.After(50 * time.Millisecond):
	}
	disk.slow.Store(false)
	close(disk.release)
	<-signedIn
	if status := <-shown; status != 200 {
		t.Errorf("status %d", status)
	}
}

// reportsOf is a company's user who orders reports.
type reportsOf struct{ *visitor }

func (v reportsOf) order() *httptest.ResponseRecorder {
	return v.ask("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`)
}

// write writes what is queued, as far as it has room, and returns how many reports are still queued.
func (v reportsOf) write() (queued int) {
	v.t.Helper()
	if err := v.s.company.WriteReports(); err != nil {
		v.t.Fatal(err)
	}
	v.s.Store.View(func(st ledger.State, _ time.Time) { queued = len(st.Reports.Queued()) })
	return queued
}

// refused checks that no more may be ordered until the oldest report has expired.
func (v reportsOf) refused() {
	v.t.Helper()
	w := v.order()
	seconds, _ := strconv.Atoi(w.Header().Get("Retry-After"))
	if w.Code != 429 || seconds < 6*24*3600 || seconds > 7*24*3600 {
		v.t.Errorf("one more: %d, Retry-After %d s: %s", w.Code, seconds, w.Body)
	}
}

// pass moves the clock so that all reports expire.
func (v reportsOf) pass() {
	v.t.Helper()
	if w := v.ask("POST", "/test/clock", `{"advance":"168h"}`); w.Code != 200 {
		v.t.Fatal(w.Code, w.Body)
	}
	v.names["TOKEN"] = v.admin("idtoken", "email", "demo@example.com")
	v.signIn()
}

// fileBytes returns how many bytes the files of reports have.
func (v reportsOf) fileBytes() (bytes int64) {
	files, err := filepath.Glob(filepath.Join(v.s.options.Dir, ledger.ReportDir, "*"))
	if err != nil {
		v.t.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			v.t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// restart opens the directory again, where the files of a company's reports may have so many bytes.
func (v reportsOf) restart(bytes int64) {
	v.t.Helper()
	dir := v.s.options.Dir
	if err := v.s.Close(); err != nil {
		v.t.Fatal(err)
	}
	v.s, _ = demoServer(v.t, Config{Dir: dir, TestClock: true, ReportBytes: bytes})
	v.signIn()
}

// A company has 200 reports that are kept; the next is 429 until the oldest has expired, also after a
// restart.
func TestReportsThatAreKeptAreLimited(t *testing.T) {
	v := reportsOf{newVisitor(t)}
	for kept := 1; kept < web.MaxKeptReports; kept++ { // the visitor has one
		if w := v.order(); w.Code != 202 {
			t.Fatalf("report %d: %d %s", kept+1, w.Code, w.Body)
		}
		if kept%web.MaxQueuedReports == 0 {
			v.write()
		}
	}
	v.refused()
	v.write()
	v.restart(0)
	v.refused()
	v.pass()
	if w := v.order(); w.Code != 202 {
		t.Errorf("once the others have expired: %d %s", w.Code, w.Body)
	}
}

// The files of a company's reports have so many bytes at most. A report that was ordered and does not fit
// stays queued until others have expired, and no more may be ordered where there is no room at all. One that
// is larger by itself is written once it is alone.
func TestFilesOfReportsAreLimited(t *testing.T) {
	v := reportsOf{newVisitor(t)}
	one := v.fileBytes()
	if one == 0 {
		t.Fatal("the visitor's report has no file")
	}
	v.restart(2*one + one/2)
	for n := range 3 {
		if w := v.order(); w.Code != 202 {
			t.Fatalf("report %d: %d %s", n+2, w.Code, w.Body)
		}
	}
	for range 2 { // neither the first time nor later
		if queued := v.write(); queued != 2 || v.fileBytes() != 2*one {
			t.Errorf("%d are queued, and files have %d bytes; want 2 and %d", queued, v.fileBytes(), 2*one)
		}
	}
	v.restart(2 * one)
	v.refused()
	v.pass()
	if queued := v.write(); queued != 0 || v.fileBytes() != 2*one {
		t.Errorf("%d are queued, and files have %d bytes, once the others have expired", queued,
			v.fileBytes())
	}
	v.pass()
	v.restart(one / 2)
	if w := v.order(); w.Code != 202 {
		t.Fatal(w.Code, w.Body)
	}
	if queued := v.write(); queued != 0 || v.fileBytes() != one {
		t.Errorf("%d are queued, and files have %d bytes, though it is alone", queued, v.fileBytes())
	}
}
