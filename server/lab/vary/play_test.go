package vary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"waybill/auth"
	"waybill/server"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// client is somebody who calls a demo whose clock stands still, and leans on nothing that varies.
type client struct {
	t      *testing.T
	dir    string
	s      *server.Server
	key    string
	cookie string // of a session; "" is none
	heard  []heard
}

// heard is an answer.
type heard struct {
	asked  string // method and what stands for the path
	status int
	header http.Header
	body   string
}

// start serves a new directory from a seed, of which 0 is none.
func start(t *testing.T, number uint64, varies bool) *client {
	t.Helper()
	x := &client{t: t, dir: filepath.Join(t.TempDir(), "d")}
	x.open(number, varies)
	rig.ImportDemo(t, x.s)
	key, err := x.s.Admin.AddPartner("anna", nil)
	if err != nil {
		t.Fatal(err)
	}
	x.key = key
	return x
}

// open serves the directory.
func (x *client) open(number uint64, varies bool) {
	x.t.Helper()
	set := bench.Settings{
		TestClock: true,
		StartAt:   rig.Start,
		Frozen:    true,
		Vary:      varies,
	}
	if number > 0 {
		set.Seed = seed.New(number)
	}
	s, err := server.Open(server.Config{
		Dir:          x.dir,
		FS:           rig.Unsynced(x.dir),
		Lab:          bench.New(set).Lab(),
		MaxTransfers: 1,
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.s = s
	x.t.Cleanup(func() { s.Close() })
}

// ask makes a request with headers, name and value in turn.
func (x *client) ask(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("x-api-key", x.key)
	if x.cookie != "" {
		r.Header.Set("Cookie", x.cookie)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	x.s.Handler().ServeHTTP(w, r)
	return w
}

// hear makes a request, keeps the answer under a name, and returns its JSON.
func (x *client) hear(name, method, target, body string, header ...string) any {
	w := x.ask(method, target, body, header...)
	x.heard = append(x.heard, heard{
		asked:  name,
		status: w.Code,
		header: w.Header().Clone(),
		body:   w.Body.String(),
	})
	return decode(x.t, w.Body.String())
}

// decode returns what a JSON text says; nil where it is none.
func decode(t *testing.T, text string) (v any) {
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	if in.Decode(&v) != nil {
		return nil
	}
	return v
}

// at follows names and numbers into an answer; nil is what is not there.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// with returns the element of a list that has a text at a path.
func with(list any, text string, path ...any) any {
	for _, e := range list.([]any) {
		if at(e, path...) == text {
			return e
		}
	}
	return nil
}

const search = "departureCitySlug=kyiv&arrivalCitySlug=warsaw"

// offer returns an offer of one slice: of those the one whose trip has the first id.
func (x *client) offer() (id string) {
	list := decode(x.t, x.ask("GET", "/v2/offers?departureDate=2026-11-25&"+search, "").Body.String())
	first := ""
	for _, o := range at(list, "data", "offers").([]any) {
		trip := at(o, "slices", 0, "carriage", "id").(string)
		if at(o, "slices", 1) == nil && (first == "" || trip < first) {
			first = trip
			id = at(o, "id").(string)
		}
	}
	return id
}

// travellers are three, who are told apart by their first names.
const travellers = `[{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com",` +
	`"phones":[{"phone":"+380441234567"},{"phone":"+380441234568"}]},` +
	`{"firstName":"Ivan","lastName":"Franko","email":"ivan@example.com"},` +
	`{"firstName":"Taras","lastName":"Shevchenko"}]`

// play asks everything once that has an id or a list. It leans on nothing that varies.
func (x *client) play() {
	x.hear("GET cities", "GET", "/v2/cities", "")
	x.hear("GET city", "GET", "/v2/cities/kyiv", "")
	x.hear("GET schedule", "GET", "/v2/offers/schedule?date=2026-11-25&days=3&"+search, "")
	x.hear("GET offers", "GET", "/v2/offers?departureDate=2026-11-25&"+search, "")
	x.hear("GET stop", "GET", "/v2/stops/kyiv-central-2", "")
	x.hear("GET unknown", "GET", "/v2/stops/nowhere", "")
	x.hear("GET bad offers", "GET", "/v2/offers?passengers=none", "")
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`, x.offer(), travellers)
	made := x.hear("POST booking", "POST", "/v2/bookings", body, "Idempotency-Key", "one")
	booking := "/v2/bookings/" + at(made, "data", "booking", "id").(string)
	ids := map[string]string{}
	for _, name := range []string{"Lesia", "Ivan", "Taras"} {
		ticket := with(at(made, "data", "booking", "tickets"), name, "passenger", "firstName")
		ids[name] = at(ticket, "id").(string)
	}
	both := fmt.Sprintf(`{"ticketIds": [ %q,%q]}`, ids["Lesia"], ids["Ivan"])
	x.hear("GET booking", "GET", booking, "")
	x.hear("GET rules", "GET", booking+"/refund-rules", "")
	x.hear("POST preview", "POST", booking+"/pay/preview", both)
	x.hear("POST pay", "POST", booking+"/pay", both, "Idempotency-Key", "two")
	x.hear("POST pay again", "POST", booking+"/pay", both, "Idempotency-Key", "three")
	x.hear("POST preview of what is paid", "POST", booking+"/pay/preview", both)
	x.hear("POST book", "POST", booking+"/book", fmt.Sprintf(`{"orderIds":[%q]}`, ids["Taras"]))
	x.hear("GET ticket", "GET", "/v2/tickets/"+ids["Lesia"], "")
	x.hear("GET document", "GET", "/v2/tickets/"+ids["Lesia"]+"/document", "")
	x.hear("GET bookings", "GET", "/v2/bookings", "")
	x.move(ids["Taras"])
	x.hear("GET events", "GET", "/v2/events", "")
	x.hear("GET orders", "GET", "/rest/orders", "")
	x.hear("GET order", "GET", "/rest/orders/"+ids["Ivan"], "")
	x.hear("PATCH orders", "PATCH", "/rest/orders",
		fmt.Sprintf(`{"status":"Canceled","ordersIds":[%q]}`, ids["Ivan"]))
	x.hear("POST cancel", "POST", booking+"/cancel", fmt.Sprintf(`{"ticketIds":[%q]}`, ids["Lesia"]))
	x.signIn()
	x.hear("GET session", "GET", "/v2/auth/session", "")
	month := `{"startDate":"2026-11-01T00:00:00Z","endDate":"2026-12-01T00:00:00Z"}`
	report := x.hear("POST report", "POST", "/v2/reports/company/orders", month)
	x.hear("GET reports", "GET", "/v2/reports/company/orders", "")
	id := at(report, "data", "report", "id").(string)
	link := x.hear("GET download", "GET", "/v2/reports/company/orders/"+id+"/download", "")
	_, token, _ := strings.Cut(at(link, "data", "url").(string), "/v2/reports/files/")
	x.hear("GET file", "GET", "/v2/reports/files/"+token, "")
}

// move moves a ticket to a booking of its own, as an operator does, who knows ids as the journal has them.
func (x *client) move(ticket string) {
	move := &admin.Act{
		By:   ledger.By{UID: 1000, User: "olena"},
		Form: map[string][]string{"ticket": {ticket[:22]}, "booking": {"new"}},
		Out:  new(bytes.Buffer),
	}
	if err := x.s.Admin.Do("ticket-move", move); err != nil {
		x.t.Fatal(err)
	}
}

// signIn begins a session of a company's user.
func (x *client) signIn() {
	person := auth.Person{Email: "olena@example.com", FirstName: "Olena", LastName: "Pchilka"}
	if _, err := x.s.Admin.AddUser(person, "correct horse", "zorevia-lines", "ADMIN"); err != nil {
		x.t.Fatal(err)
	}
	token := new(bytes.Buffer)
	mint := &admin.Act{
		By:   ledger.By{UID: 1000, User: "olena"},
		Form: map[string][]string{"email": {person.Email}},
		Out:  token,
	}
	if err := x.s.Admin.Do("idtoken", mint); err != nil {
		x.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"idToken":%q}`, strings.TrimSpace(token.String()))
	x.hear("POST login", "POST", "/v2/auth/idp/login", body)
	login := http.Response{Header: x.heard[len(x.heard)-1].header}
	for _, c := range login.Cookies() {
		if c.Name == "waybill_access" {
			x.cookie = c.Name + "=" + c.Value
		}
	}
}
