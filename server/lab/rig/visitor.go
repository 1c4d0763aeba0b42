package rig

import (
	"bytes"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// Visitor calls a server as a partner and a company's user at once, and knows what the document's parameters
// stand for.
type Visitor struct {
	T       *testing.T
	S       *server.Server
	Dir     string
	Key     string
	Cookies []*http.Cookie
	Names   map[string]string // OFFER and the like
}

// NewVisitor opens a directory of its own.
func NewVisitor(t *testing.T) *Visitor { return NewVisitorOn(t, t.TempDir()) }

// NewVisitorOn opens a directory in which a visitor has booked, has signed in and has had a report written.
// One is made for all tests of a package, closed, and copied for each: a password takes long.
func NewVisitorOn(t *testing.T, dir string) *Visitor {
	t.Helper()
	visited.Do(func() { visited.visit(t) })
	if visited.files == nil {
		t.Fatal("the first visit has failed")
	}
	if err := os.CopyFS(dir, visited.files); err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(server.Config{
		Dir: dir,
		FS:  Unsynced(dir),
		Lab: TestClock(),
		Now: func() time.Time { return Start },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.Close() == nil {
			Keep(t, dir)
		}
	})
	v := visited.visitor
	v.T = t
	v.S = s
	v.Dir = dir
	v.Cookies = slices.Clone(v.Cookies)
	v.Names = maps.Clone(v.Names)
	return &v
}

// visited is a visit that visitors copy.
var visited visit

type visit struct {
	sync.Once
	visitor Visitor
	files   fstest.MapFS // of its directory
}

// visit makes the visit.
func (x *visit) visit(t *testing.T) {
	dir := t.TempDir()
	v := firstVisitor(t, dir)
	if err := v.S.Close(); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		file := &fstest.MapFile{Mode: fs.ModeDir | 0o700}
		if !d.IsDir() {
			file.Mode = 0o600
			file.Data, err = os.ReadFile(path)
		}
		files[filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	x.visitor = *v
	x.files = files
}

// firstVisitor opens a directory, books, signs in, and has a report written.
func firstVisitor(t *testing.T, dir string) *Visitor {
	s, key := Demo(t, server.Config{Dir: dir, Lab: TestClock()})
	v := &Visitor{
		T:     t,
		S:     s,
		Dir:   dir,
		Key:   key,
		Names: map[string]string{"DATE": "2026-11-22", "PASSWORD": "correct-horse"},
	}
	person := auth.Person{Email: "demo@example.com", FirstName: "Demo", LastName: "User"}
	AddUser(t, s, admin.Self(), person, v.Names["PASSWORD"], "zorevia-lines", "ADMIN")
	v.Names["TOKEN"] = v.Admin("idtoken", "email", "demo@example.com")
	v.Find("GET", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-22", "",
		`"offers":\[{"id":"([^"]+)"`, "OFFER")
	v.Find("POST", "/v2/bookings",
		`{"offerId":"$OFFER","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`,
		`"id":"([^"]+)".*"tickets":\[{"id":"([^"]+)"`, "BOOKING", "TICKET")
	v.SignIn()
	v.Find("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`, `"report":{"id":"([^"]+)"`,
		"REPORT")
	WriteReports(t, s)
	v.Find("GET", "/v2/reports/company/orders/$REPORT/download", "", `http://example.com(/[^"]+/([^"]+))"`,
		"LINK", "FILE")
	return v
}

// WriteReports has the reports written that are queued.
func WriteReports(t *testing.T, s *server.Server) {
	t.Helper()
	s.RunDue()
	if n := QueuedReports(t, s); n > 0 {
		t.Fatalf("%d reports could not be written", n)
	}
}

// QueuedReports returns how many reports are to be written.
func QueuedReports(t *testing.T, s *server.Server) (n int) {
	t.Helper()
	err := s.Store.View(func(st ledger.State, _ time.Time) { n = len(st.Reports.Queued()) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// SignIn signs the company's user in anew.
func (v *Visitor) SignIn() {
	v.Cookies = v.Ask("POST", "/v2/auth/idp/login", `{"idToken":"$TOKEN"}`).Result().Cookies()
}

// Admin does something as a verb does, and returns what that prints.
func (v *Visitor) Admin(op string, pairs ...string) string {
	form := url.Values{}
	out := new(bytes.Buffer)
	for pair := range slices.Chunk(pairs, 2) {
		form.Set(pair[0], pair[1])
	}
	if err := v.S.Admin.Do(op, &admin.Act{Form: form, Out: out}); err != nil {
		v.T.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// Fill replaces names: $OFFER and the like.
func (v *Visitor) Fill(text string) string {
	for name, value := range v.Names {
		text = strings.ReplaceAll(text, "$"+name, value)
	}
	return text
}

// Ask sends a request, and holds the answer against the document.
func (v *Visitor) Ask(method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, v.Fill(target), strings.NewReader(v.Fill(body)))
	r.Header.Set("x-api-key", v.Key)
	for _, c := range v.Cookies {
		r.AddCookie(c)
	}
	w := send(v.S, r)
	for _, problem := range Undocumented(r, w) {
		v.T.Errorf("%s %s: not as the document says: %s", method, target, problem)
	}
	return w
}

// Find keeps what an answer has, by name.
func (v *Visitor) Find(method, target, body, expression string, names ...string) {
	w := v.Ask(method, target, body)
	found := regexp.MustCompile(expression).FindStringSubmatch(w.Body.String())
	if found == nil {
		v.T.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
	for i, name := range names {
		v.Names[name] = found[i+1]
	}
}

// Target returns an operation's method and path.
func (v *Visitor) Target(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	id := "$BOOKING"
	for part, name := range map[string]string{
		"/rest/":    "$TICKET",
		"/tickets/": "$TICKET",
		"/reports/": "$REPORT",
		"/stops/":   "kyiv-central-1",
	} {
		if strings.Contains(path, part) {
			id = name
		}
	}
	return method, strings.NewReplacer("{id}", id, "{slug}", "kyiv", "{token}", "$FILE", "{fmsObjectId}",
		"fms-zor-02").Replace(path)
}
