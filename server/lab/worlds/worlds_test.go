package worlds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/backup"
	"waybill/server/proof/events"
	"waybill/server/proof/history"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// start is where the worlds' clock stands.
var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// control is a tester at the control listener of a demo.
type control struct {
	t   *testing.T
	c   *Control
	dir string
	url string
	key string
	log *rig.Logged
}

// newControl serves a demo on a clock that stands still, from a seed.
func newControl(t *testing.T) *control {
	t.Helper()
	return startControl(t, bench.Settings{
		TestClock: true,
		StartAt:   start,
		Frozen:    true,
		Seed:      seed.New(1),
		Watch:     true,
	})
}

// startControl is newControl with settings.
func startControl(t *testing.T, set bench.Settings) *control {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	log := new(rig.Logged)
	b := bench.New(set)
	cfg := server.Config{
		Dir:          dir,
		FS:           rig.Unsynced(dir),
		Log:          slog.New(slog.NewTextHandler(log, nil)),
		Lab:          b.Lab(),
		MaxTransfers: 1,
	}
	f, err := front.Listen(cfg, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	s := f.Server
	rig.ImportDemo(t, s)
	key, err := s.Admin.AddPartner("anna", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Serve()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := Listen(ln, f, b)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
		f.Close()
	})
	return &control{t, c, dir, c.URL(), key, log}
}

// reply is an answer, read whole.
type reply struct {
	*http.Response
	body string
	err  error // of the connection
}

// ask makes a request of any server.
func (x *control) ask(method, url, body string, header ...string) reply {
	x.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	r.Header.Set("x-api-key", x.key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	// A connection for each: what is kept would be tried again by the client itself.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp, string(b), err}
}

// call makes a call of the control listener, and wants a status.
func (x *control) call(want int, method, path, body string) reply {
	x.t.Helper()
	r := x.ask(method, x.url+path, body)
	if r.err != nil || r.StatusCode != want {
		x.t.Fatalf("%s %s %s: %v %v %s, want %d", method, path, body, r.err, r.Response, r.body, want)
	}
	// There are messages to passengers among the answers.
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		x.t.Errorf("%s %s: Cache-Control %q", method, path, got)
	}
	return r
}

// member returns a value of a JSON text: names of members, and numbers of elements.
func member(t *testing.T, text string, path ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, step := range path {
		switch at := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[at]
		case int:
			list, _ := v.([]any)
			if at >= len(list) {
				t.Fatalf("no %v in %s", path, text)
			}
			v = list[at]
		}
	}
	return v
}

// world makes a world, and returns its address.
func (x *control) world(name, from string) string {
	x.t.Helper()
	r := x.call(201, "POST", "/worlds", fmt.Sprintf(`{"name":%q,"from":%q}`, name, from))
	return member(x.t, r.body, "data", "world", "baseUrl").(string)
}

// offer finds an offer in a world.
func (x *control) offer(base string) string {
	x.t.Helper()
	const search = "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25"
	r := x.ask("GET", base+search, "")
	return member(x.t, r.body, "data", "offers", 0, "id").(string)
}

const passengers = `[{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com",` +
	`"phones":[{"phone":"+380441234567"}]},` +
	`{"firstName":"Ivan","lastName":"Franko","email":"ivan@example.com"}]`

// book books two seats in a world, and returns the booking's id.
func (x *control) book(base string) string {
	x.t.Helper()
	r := x.ask("POST", base+"/v2/bookings", fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`,
		x.offer(base), passengers))
	if r.err != nil || r.StatusCode != 201 {
		x.t.Fatalf("%v %s", r.err, r.body)
	}
	return member(x.t, r.body, "data", "booking", "id").(string)
}

// bookings counts those of a world.
func (x *control) bookings(base string) int {
	x.t.Helper()
	r := x.ask("GET", base+"/v2/bookings", "")
	return int(member(x.t, r.body, "data", "total").(float64))
}

// Decision worlds.forks: a world is a copy of another as it is when it is made, and lives by itself.
func TestAWorldIsACopyThatLivesByItself(t *testing.T) {
	x := newControl(t)
	main := member(t, x.call(200, "GET", "/worlds/main", "").body, "data", "world", "baseUrl").(string)
	x.book(main)
	offered := x.offer(main)
	a := x.world("a", "main")
	// What its parent has offered can be bought there: it has the same keys.
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`, offered, passengers)
	if r := x.ask("POST", a+"/v2/bookings", body); r.StatusCode != 201 {
		t.Error(r.body)
	}
	x.book(a)
	b := x.world("b", "a")
	for base, want := range map[string]int{main: 1, a: 3, b: 3} {
		if got := x.bookings(base); got != want {
			t.Errorf("%s has %d bookings, want %d", base, got, want)
		}
	}
	x.ask("POST", a+"/test/clock", `{"advance":"21m"}`)
	list := x.call(200, "GET", "/worlds", "").body
	list = strings.TrimSuffix(strings.TrimPrefix(list, `{"data":{"worlds":[`), "]}}\n")
	if want := strings.Join([]string{
		`{"name":"main","baseUrl":"` + main + `","from":null,"now":"2026-11-20T08:00:00.000Z","faults":[]}`,
		`{"name":"a","baseUrl":"` + a + `","from":"main","now":"2026-11-20T08:21:00.000Z","faults":[]}`,
		`{"name":"b","baseUrl":"` + b + `","from":"a","now":"2026-11-20T08:00:00.000Z","faults":[]}`,
	}, ","); list != want {
		t.Errorf("the worlds are\n%s\nwant\n%s", list, want)
	}
	// Reset and restore: at the same address.
	r := x.call(200, "PUT", "/worlds/a", `{"from":"main"}`)
	if got := member(t, r.body, "data", "world", "baseUrl"); got != a || x.bookings(a) != 1 {
		t.Errorf("at %s, with %d bookings", got, x.bookings(a))
	}
	x.call(200, "PUT", "/worlds/a", `{"from":"b"}`)
	if got := x.bookings(a); got != 3 {
		t.Errorf("%d bookings, want 3", got)
	}
	x.call(204, "DELETE", "/worlds/b", "")
	if r := x.ask("GET", b+"/livez", ""); r.err == nil {
		t.Error("a world that is gone answers")
	}
	x.call(404, "GET", "/worlds/b", "")
	if _, err := os.Stat(filepath.Join(x.dir, "worlds", "b")); err == nil {
		t.Error("its directory is there")
	}
}

// Decision worlds.forks: a copy knows what its parent has in memory only: at what time of a day a partner
// called the legacy interface last, and when a session was last used.
func TestAWorldKnowsWhatItsParentHasInMemory(t *testing.T) {
	x := newControl(t)
	main := x.c.find(Main).Front
	rig.AddUser(t, main.Server, admin.Self(), auth.Person{Email: "demo@example.com"}, "correct-horse",
		"zorevia-lines", "ADMIN")
	token := new(bytes.Buffer)
	act := &admin.Act{Form: url.Values{"email": {"demo@example.com"}}, Out: token}
	if err := main.Server.Admin.Do("idtoken", act); err != nil {
		t.Fatal(err)
	}
	body := `{"idToken":"` + strings.TrimSpace(token.String()) + `"}`
	in := x.ask("POST", main.URL+"/v2/auth/idp/login", body)
	var cookie strings.Builder
	for _, c := range in.Cookies() {
		cookie.WriteString(c.Name + "=" + c.Value + "; ")
	}
	x.ask("POST", main.URL+"/test/clock", `{"advance":"1m"}`)
	for _, path := range []string{"/rest/orders", "/v2/reports/company/orders"} {
		if r := x.ask("GET", main.URL+path, "", "Cookie", cookie.String()); r.StatusCode != 200 {
			t.Fatal(path, r.body)
		}
	}
	x.ask("POST", main.URL+"/test/clock", `{"now":"2027-02-18T08:01:00Z"}`) // 90 days after, to the minute
	x.world("a", "main")
	x.world("b", "a")
	x.call(200, "PUT", "/worlds/a", `{"from":"a"}`)
	for _, name := range []string{Main, "a", "b"} {
		of := x.c.find(name).Front
		if r := x.ask("GET", of.URL+"/rest/orders", ""); r.StatusCode != 410 {
			t.Errorf("%s: %d, want 410", name, r.StatusCode)
		}
		err := of.Server.Store.View(func(st ledger.State, _ time.Time) {
			if at := st.Accounts.Sessions()[0].LastUsed(); !at.Equal(start.Add(time.Minute)) {
				t.Errorf("%s: the session was last used at %v", name, at)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Decision worlds.forks: what a tester says wrong is answered clearly, and changes nothing.
func TestCallsThatCannotBe(t *testing.T) {
	x := newControl(t)
	x.world("a", "main")
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{409, "POST", "/worlds", `{"name":"a","from":"main"}`},
		{409, "POST", "/worlds", `{"name":"main","from":"a"}`},
		{409, "PUT", "/worlds/main", `{"from":"a"}`},
		{409, "DELETE", "/worlds/main", ""},
		{404, "POST", "/worlds", `{"name":"b","from":"nobody"}`},
		{404, "PUT", "/worlds/a", `{"from":"nobody"}`},
		{404, "PUT", "/worlds/nobody", `{"from":"main"}`},
		{404, "DELETE", "/worlds/nobody", ""},
		{404, "GET", "/worlds/nobody/outbox", ""},
		{404, "GET", "/nothing", ""},
		{405, "PATCH", "/worlds/a", ""},
		{400, "POST", "/worlds", `{"name":"../a"}`},
		{400, "POST", "/worlds", `{"name":""}`},
		{400, "POST", "/worlds", `{"from":"main"}`},
		{400, "POST", "/worlds", `{"name":"` + strings.Repeat("a", 41) + `"}`},
		{400, "PUT", "/worlds/a", `{}`},
		{400, "PUT", "/worlds/a/faults", `{}`},
	} {
		x.call(c.status, c.method, c.path, c.body)
	}
	// A page of a browser makes no worlds, and finds none under another name.
	foreign := x.ask("POST", x.url+"/worlds", `{"name":"b"}`, "Origin", "https://example.com")
	if foreign.StatusCode != 403 {
		t.Errorf("another origin: %d", foreign.StatusCode)
	}
	r, _ := http.NewRequest("GET", x.url+"/worlds", nil)
	r.Host = "example.com"
	if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != 403 {
		t.Errorf("another name: %v %v", resp, err)
	}
	if got := len(member(t, x.call(200, "GET", "/worlds", "").body, "data", "worlds").([]any)); got != 2 {
		t.Errorf("%d worlds, want 2", got)
	}
}

// There may be as many worlds as the limit says, besides main, and not one more. One that is removed makes
// room.
func TestThereAreAsManyWorldsAsMayBe(t *testing.T) {
	x := newControl(t)
	x.c.most = 2
	x.world("a", "main")
	x.world("b", "a")
	if r := x.call(409, "POST", "/worlds", `{"name":"c"}`); !strings.Contains(r.body, "there are 2 worlds") {
		t.Error(r.body)
	}
	x.call(200, "PUT", "/worlds/b", `{"from":"main"}`)
	x.call(204, "DELETE", "/worlds/a", "")
	x.world("c", "b")
	x.call(409, "POST", "/worlds", `{"name":"d"}`)
}

// While an erasure is not complete, no world is made that would have what is to be erased. Its name is free
// then, and the world that was to become a copy is as it was.
func TestNoWorldIsMadeWhilePersonalDataIsBeingErased(t *testing.T) {
	x := newControl(t)
	main := x.c.find(Main)
	a := x.world("a", "main")
	booked := x.book(a)
	outbox := filepath.Join(x.dir, ledger.OutboxDir)
	if err := os.RemoveAll(outbox); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outbox, nil, 0o600); err != nil { // no letter can be removed from it
		t.Fatal(err)
	}
	forget := func() error {
		return main.Front.Server.Admin.Do("forget", &admin.Act{
			By:   admin.Self(),
			Form: url.Values{"booking": {x.book(main.Front.URL)}, "reason": {"asked"}},
			Out:  io.Discard,
		})
	}
	if err := forget(); err == nil {
		t.Fatal("the erasure is complete")
	}
	refused := func(method, path, body string) {
		t.Helper()
		r := x.call(503, method, path, body)
		if !strings.Contains(r.body, events.ErrErasing.Error()) || r.Header.Get("Retry-After") == "" {
			t.Errorf("%v %s", r.Header, r.body)
		}
	}
	refused("POST", "/worlds", `{"name":"b"}`)
	refused("PUT", "/worlds/a", `{"from":"main"}`)
	if x.status(a, booked, 1) == "" {
		t.Error("the world is not as it was")
	}
	ln, err := ListenAt(anyPort)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.c.MakeNumbered([]net.Listener{ln}); !errors.Is(err, events.ErrErasing) {
		t.Error(err)
	}
	if left, err := os.ReadDir(Dir(x.dir)); err != nil || len(left) != 1 || left[0].Name() != "a" {
		t.Errorf("there are %v, %v", left, err)
	}
	if err := os.Remove(outbox); err != nil {
		t.Fatal(err)
	}
	if err := forget(); err != nil {
		t.Fatal(err)
	}
	x.world("b", "main")
	x.call(200, "PUT", "/worlds/a", `{"from":"main"}`)
}

// Decision worlds.forks: every world is a whole directory, and never signs under its parent's name.
func TestAWorldIsAWholeDirectoryOfItsOwnName(t *testing.T) {
	x := newControl(t)
	main := member(t, x.call(200, "GET", "/worlds/main", "").body, "data", "world", "baseUrl").(string)
	x.ask("POST", main+"/v2/bookings/"+x.book(main)+"/pay", "")
	a := x.world("a", "main")
	x.world("b", "a")
	x.ask("POST", a+"/v2/bookings/"+x.book(a)+"/pay", "")
	names := map[string]bool{}
	keys := map[string]bool{}
	for _, name := range []string{"", "worlds/a", "worlds/b"} {
		dir := durable.Dir(filepath.Join(x.dir, name))
		if _, err := verify.Directory(dir, true, inspect.Expected{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		note, _ := checkpoint.Newest(dir)
		origin, _, _ := bytes.Cut(note, []byte("\n"))
		key, err := checkpoint.PublicKey(dir)
		if err != nil {
			t.Error(err)
		}
		names[string(origin)] = true
		keys[string(key)] = true
		if _, err := backup.Backup(dir, true, durable.Dir(filepath.Join(t.TempDir(), "out"))); err != nil {
			t.Errorf("%s: backup: %v", name, err)
		}
		var story bytes.Buffer
		if err := history.Log(dir, true, history.Filter{}, history.Style{}, &story); err != nil {
			t.Errorf("%s: log: %v", name, err)
		}
		tells := strings.Contains(story.String(), "the world "+filepath.Base(name)+" of a test bench")
		if tells != (name != "") {
			t.Errorf("%s: %s", name, &story)
		}
	}
	if len(names) != 3 || len(keys) != 3 {
		t.Errorf("%d names and %d keys for 3 directories", len(names), len(keys))
	}
}

// Decision seed.streams: from a seed, two copies of one world answer one script alike, byte for byte.
func TestTwoCopiesAnswerAlike(t *testing.T) {
	x := newControl(t)
	x.world("base", "main")
	play := func(name, from string) (answers string) {
		base := x.world(name, from)
		id := x.book(base)
		for _, path := range []string{"/pay", "/pay", "/cancel"} {
			r := x.ask("POST", base+"/v2/bookings/"+id+path, "")
			answers += fmt.Sprintln(r.Status, r.Header, r.body)
		}
		return answers + x.call(200, "GET", "/worlds/"+name+"/outbox", "").body
	}
	first := play("a", "base")
	if again := play("b", "base"); again != first {
		t.Errorf("they differ:\n%s\n%s", first, again)
	}
	journal := func() string {
		b, err := os.ReadFile(filepath.Join(x.dir, "worlds", "a", "journal", "000000000001.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := journal()
	x.call(204, "DELETE", "/worlds/a", "")
	if play("a", "base"); journal() != before {
		t.Error("the journals of two worlds of one name differ")
	}
}

// Decision worlds.forks: a world does not send what its parent has yet to send.
func TestAWorldDoesNotSendWhatItsParentHasToSend(t *testing.T) {
	x := newControl(t)
	a := x.world("a", "main")
	x.call(200, "PUT", "/worlds/a/faults", `[{"on":"*","do":"message-fails"}]`)
	x.ask("POST", a+"/v2/bookings/"+x.book(a)+"/pay", "")
	outbox := x.call(200, "GET", "/worlds/a/outbox", "").body
	if got := len(member(t, outbox, "data", "messages").([]any)); got != 3 {
		t.Fatalf("%d messages, want 3", got)
	}
	x.world("b", "a")
	body := x.call(200, "GET", "/worlds/b/outbox", "").body
	if body != `{"data":{"messages":[]}}`+"\n" {
		t.Error(body)
	}
	body = x.call(200, "GET", "/worlds/b/faults", "").body
	if body != `{"data":{"faults":[]}}`+"\n" {
		t.Error(body)
	}
}

// A killed process leaves its worlds; the next start removes them.
func TestCleanRemovesWhatAKilledProcessHasLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(Dir(dir), "a", "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(Dir(dir)); err == nil {
		t.Error("they are there")
	}
}

// Who is forgotten is in no outbox any more.
func TestTheOutboxForgets(t *testing.T) {
	x := newControl(t)
	a := x.world("a", "main")
	x.ask("POST", a+"/v2/bookings/"+x.book(a)+"/pay", "")
	act := &admin.Act{
		By:   admin.Self(),
		Form: url.Values{"email": {"lesia@example.com"}, "reason": {"asked for"}},
		Out:  io.Discard,
	}
	if err := x.c.find("a").Front.Server.Admin.Do("forget", act); err != nil {
		t.Fatal(err)
	}
	body := x.call(200, "GET", "/worlds/a/outbox", "").body
	if strings.Contains(body, "lesia@example.com") || strings.Contains(body, "+380441234567") {
		t.Error(body)
	}
}

// A world that is replaced beside calls about it is the old one or the new one.
func TestCallsBesideAReplacement(t *testing.T) {
	x := newControl(t)
	x.world("a", "main")
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 20 {
				x.call(200, "PUT", "/worlds/a/faults", `[{"on":"*","do":"hangup-after"}]`)
				x.call(200, "GET", "/worlds/a", "")
			}
		})
	}
	for range 5 {
		x.call(200, "PUT", "/worlds/a", `{"from":"main"}`)
	}
	calls.Wait()
}
