package waybilltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"waybill/server/front"
)

// recorder is a test that fails or passes, and is none.
type recorder struct {
	testing.TB
	name     string
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Name() string      { return r.name }
func (r *recorder) Output() io.Writer { return io.Discard }
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// runAs plays a test of a name to its end, and returns how it has failed.
func runAs(t *testing.T, name string, test func(testing.TB)) []string {
	r := &recorder{TB: t, name: name}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		test(r)
	}()
	<-ended
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r.failures
}

// answer is as much of any answer as these tests look at.
type answer struct {
	Status int    `json:"-"`
	Text   string `json:"-"`
	Data   struct {
		Now      time.Time
		Frozen   bool
		Total    int
		Offers   []struct{ ID string }
		Bookings []struct{ ID string }
		Booking  struct {
			ID      string
			Tickets []struct{ ID, Status, PaymentStatus string }
		}
	}
	Errors []struct{ ErrorCode string }
}

// call makes a request of a server, over a connection of its own. No answer has the status 0.
func call(t testing.TB, w *World, method, path, body string) (a answer) {
	t.Helper()
	r, err := http.NewRequest(method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-api-key", w.Key)
	r.Header.Set("X-Shop", "kiosk")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return a
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	a.Status = resp.StatusCode
	a.Text = string(text)
	return a
}

const search = "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25"

// book books one seat, and returns the booking's id.
func book(t testing.TB, w *World) string {
	t.Helper()
	offers := call(t, w, "GET", search, "").Data.Offers
	if len(offers) == 0 {
		t.Fatal("no offers")
	}
	a := call(t, w, "POST", "/v2/bookings", `{"offerId":"`+offers[0].ID+`","currency":"UAH","passengers":[
		{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com"}]}`)
	if a.Status != 201 {
		t.Fatal(a.Text)
	}
	return a.Data.Booking.ID
}

// bookings counts the bookings of a server.
func bookings(t testing.TB, w *World) int {
	t.Helper()
	return call(t, w, "GET", "/v2/bookings", "").Data.Total
}

// The server answers on this machine, sells the demo's timetable to the key, and its clock stands still.
func TestAServerInTheTestsProcess(t *testing.T) {
	w := Start(t)
	if !strings.HasPrefix(w.URL, "http://127.0.0.1:") {
		t.Errorf("it is at %s", w.URL)
	}
	a := call(t, w, "GET", "/test/clock", "")
	if want := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC); !a.Data.Now.Equal(want) || !a.Data.Frozen {
		t.Errorf("its clock: %s", a.Text)
	}
	book(t, w)
	if n := bookings(t, w); n != 1 {
		t.Errorf("%d bookings", n)
	}
}

// story is what a test does to see each kind of answer, with the journal's lines.
func story(t testing.TB, options ...Option) string {
	var all strings.Builder
	tell := func(w *World) {
		all.WriteString(w.Key + "\n")
		id := book(t, w)
		for _, path := range []string{"/v2/bookings/" + id, search} {
			all.WriteString(call(t, w, "GET", path, "").Text)
		}
		all.WriteString(call(t, w, "POST", "/v2/bookings/"+id+"/pay", "").Text)
		fmt.Fprint(&all, w.Outbox(), len(w.Requests()))
		journal, err := os.ReadFile(filepath.Join(w.dir, "journal/000000000001.jsonl"))
		if err != nil {
			t.Fatalf("%v", err)
		}
		all.Write(journal)
	}
	w := Start(t, options...)
	tell(w)
	tell(w.World(t))
	return all.String()
}

// A test sees the same bytes each time, as its seed is made of its name, unless it is given one.
func TestTheBytesAreTheSameEachTime(t *testing.T) {
	var told []string
	tell := func(name string, options ...Option) {
		failures := runAs(t, name, func(t testing.TB) { told = append(told, story(t, options...)) })
		if failures != nil {
			t.Error(failures)
		}
	}
	tell("TestSale")
	tell("TestSale")
	tell("TestOther")
	tell("TestSale", Seed(1))
	tell("TestSale", Seed(1))
	if told[0] != told[1] || told[3] != told[4] {
		t.Errorf("two runs differ:\n%s\n%s", told[0], told[1])
	}
	key, _, _ := strings.Cut(told[0], "\n")
	if strings.HasPrefix(told[2], key) || strings.HasPrefix(told[3], key) {
		t.Error("another name or seed makes no difference")
	}
}

// Advance moves the clock, and what is due by then has happened: a window ends to the millisecond.
func TestAdvanceMovesTheClock(t *testing.T) {
	w := Start(t)
	path := "/v2/bookings/" + book(t, w)
	for _, step := range []struct {
		by   time.Duration
		want string
	}{
		{20*time.Minute - time.Millisecond, "Processing"},
		{time.Millisecond, "Uncompleted"},
	} {
		w.Advance(step.by)
		if got := call(t, w, "GET", path, "").Data.Booking.Tickets[0].Status; got != step.want {
			t.Errorf("after %s more the ticket is %s", step.by, got)
		}
	}
}

// Faults has things go wrong: an answer is lost, and the ticket is paid all the same.
func TestFaultsGoWrong(t *testing.T) {
	w := Start(t)
	pay := "/v2/bookings/" + book(t, w) + "/pay"
	w.Faults(`[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"hangup-after"}]`)
	if a := call(t, w, "POST", pay, ""); a.Status != 0 {
		t.Errorf("there is an answer: %s", a.Text)
	}
	if a := call(t, w, "POST", pay, ""); a.Status != 409 || a.Errors[0].ErrorCode != "CONFLICT" {
		t.Errorf("the ticket was not paid: %s", a.Text)
	}
}

// Outbox has each message, with what became of it.
func TestOutboxHasTheMessages(t *testing.T) {
	w := Start(t)
	if list := w.Outbox(); len(list) > 0 {
		t.Errorf("before any sale: %v", list)
	}
	paid := call(t, w, "POST", "/v2/bookings/"+book(t, w)+"/pay", "")
	w.Faults(`[{"on":"*","do":"message-fails"}]`)
	call(t, w, "POST", "/v2/bookings/"+book(t, w)+"/pay", "")
	list := w.Outbox()
	if len(list) != 2 {
		t.Fatalf("%d messages: %v", len(list), list)
	}
	want := Message{
		ID:       list[0].ID,
		Kind:     "mail",
		To:       "lesia@example.com",
		Subject:  list[0].Subject,
		Text:     list[0].Text,
		State:    "sent",
		As:       "file",
		TicketID: paid.Data.Booking.Tickets[0].ID,
	}
	if list[0] != want || want.ID == "" || want.Subject == "" || want.Text == "" {
		t.Errorf("the first: %+v", list[0])
	}
	if parked := list[1]; parked.State != "parked" || parked.Reason == "" || parked.As != "" {
		t.Errorf("the second: %+v", parked)
	}
}

// Requests has what clients have sent and how it was answered, but no key.
func TestRequestsAreRemembered(t *testing.T) {
	w := Start(t)
	call(t, w, "POST", "/v2/bookings?x=1", `{}`)
	w.Advance(time.Minute) // is no request
	list := w.Requests()
	if len(list) != 1 {
		t.Fatalf("%d requests: %v", len(list), list)
	}
	r := list[0]
	asked := fmt.Sprintln(r.At.Format(time.RFC3339), r.Method, r.Path, r.Query, r.Headers["X-Shop"], *r.Body)
	if asked != "2026-11-20T08:00:00Z POST /v2/bookings x=1 [kiosk] {}\n" || r.Headers.Get("X-Api-Key") != "" {
		t.Errorf("it was asked %s, with %v", asked, r.Headers)
	}
	answered := fmt.Sprintln(r.Status, r.ErrorCode, r.Partner, r.Took)
	if answered != "400 VALIDATION_ERROR demo 0s\n" || r.RequestID == "" {
		t.Errorf("it was answered %s, %q", answered, r.RequestID)
	}
}

// A world is a copy for a subtest: it begins as its parent is, what happens in one does not show in another,
// also where they run at once, and it ends with its subtest.
func TestAWorldIsACopy(t *testing.T) {
	w := Start(t)
	book(t, w)
	w.Advance(time.Minute)
	var first *World
	t.Run("copies", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				x := w.World(t)
				if i == 0 {
					first = x
				}
				for range i {
					book(t, x)
				}
				x.Advance(time.Duration(i) * time.Hour)
				now := call(t, x, "GET", "/test/clock", "").Data.Now
				if n := bookings(t, x); n != 1+i || now.Hour() != 8+i || now.Minute() != 1 || x.Key != w.Key {
					t.Errorf("%d bookings, %s", n, now)
				}
			})
		}
	})
	if n := bookings(t, w); n != 1 {
		t.Errorf("its parent has %d bookings", n)
	}
	if a := call(t, first, "GET", "/v2/cities", ""); a.Status != 0 {
		t.Errorf("it answers after its subtest: %s", a.Text)
	}
	if _, err := os.Stat(first.dir); !os.IsNotExist(err) {
		t.Errorf("its directory is there: %v", err)
	}
}

// A directory that verify would find wrong fails the test as it ends, a world's too.
func TestWhatVerifyFindsFailsTheTest(t *testing.T) {
	for _, isWorld := range []bool{false, true} {
		failures := runAs(t, "TestSale", func(t testing.TB) {
			w := Start(t)
			if isWorld {
				w = w.World(t)
			}
			book(t, w)
			name := filepath.Join(w.dir, "journal/000000000001.jsonl")
			journal, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v", err)
			}
			changed := bytes.Replace(journal, []byte(`"Ukrainka"`), []byte(`"Kosach.."`), 1)
			if bytes.Equal(changed, journal) {
				t.Fatalf("nothing is changed")
			}
			if err := os.WriteFile(name, changed, 0o600); err != nil {
				t.Fatalf("%v", err)
			}
		})
		if len(failures) != 1 || !strings.Contains(failures[0], "waybilltest: verify: damaged: ") {
			t.Errorf("of a world %t: %q", isWorld, failures)
		}
	}
}

// What a method cannot do fails the test.
func TestWhatCannotBeDoneFailsTheTest(t *testing.T) {
	for want, do := range map[string]func(t testing.TB){
		"the clock cannot be moved by -1s: ": func(t testing.TB) { Start(t).Advance(-time.Second) },
		"the faults [{}]: ":                  func(t testing.TB) { Start(t).Faults("[{}]") },
		"is not of the years 1970 to 2199":   func(t testing.TB) { Start(t, At(time.Time{})) },
		"the server cannot start: the timetable: ": func(t testing.TB) {
			Start(t, Feed(fstest.MapFS{}))
		},
	} {
		failures := runAs(t, "TestSale", do)
		if len(failures) != 1 || !strings.Contains(failures[0], want) {
			t.Errorf("%q is not in %q", want, failures)
		}
	}
}

// Another feed is sold, and the clock starts elsewhere, where options say so.
func TestAnotherFeedAndAnotherTime(t *testing.T) {
	feed := fstest.MapFS{}
	names, err := fs.Glob(front.DemoFeed(), "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(front.DemoFeed(), name)
		if err != nil {
			t.Fatal(err)
		}
		feed[name] = &fstest.MapFile{Data: bytes.ReplaceAll(text, []byte("lviv"), []byte("leopolis"))}
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)
	w := Start(t, Feed(feed), At(at))
	if now := call(t, w, "GET", "/test/clock", "").Data.Now; !now.Equal(at) {
		t.Errorf("the clock starts at %s", now)
	}
	const other = "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=leopolis&departureDate=2030-01-05"
	a := call(t, w, "GET", other, "")
	if len(a.Data.Offers) == 0 {
		t.Errorf("nothing is sold to Leopolis: %s", a.Text)
	}
}
