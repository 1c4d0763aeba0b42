package desk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
	"waybill/server/operate/door"
	"waybill/store/durable"
)

// start is where the clock stands.
var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

const (
	trip = "kl-0530" // from Kyiv to Lviv
	date = "2026-11-25"
	run  = "/run?date=" + date + "&trip=" + trip
)

// operator is somebody at the desk of a demo, on a clock that stands still.
type operator struct {
	*testing.T
	http.Client
	dir     string
	front   *front.Front
	bench   *bench.Bench
	base    string // of the desk
	link    string // that lets a browser in
	service string // the URL of the service
	key     string // of the partner anna
}

// newOperator serves a demo, and opens the door to its desk.
func newOperator(t *testing.T) *operator {
	t.Helper()
	return newOperatorOn(t, filepath.Join(t.TempDir(), "d"), nil)
}

// newOperatorOn does the same in a directory, by a file system; nil is one that is not synced.
func newOperatorOn(t *testing.T, dir string, fsys durable.FS) *operator {
	t.Helper()
	return newOperatorWith(t, server.Config{Dir: dir, FS: fsys})
}

// newOperatorWith does the same with a configuration.
func newOperatorWith(t *testing.T, cfg server.Config) *operator {
	t.Helper()
	o := &operator{T: t, dir: cfg.Dir}
	o.bench = bench.New(bench.Settings{TestClock: true, StartAt: start, Frozen: true, Watch: true})
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.Lab = o.bench.Lab()
	cfg.MaxTransfers = 1
	if cfg.FS == nil {
		cfg.FS = rig.Unsynced(cfg.Dir)
	}
	f, err := front.Listen(cfg, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	rig.ImportDemo(t, f.Server)
	if o.key, err = f.Server.Admin.AddPartner("anna", nil); err != nil {
		t.Fatal(err)
	}
	f.Serve()
	o.front = f
	o.service = f.URL
	o.base, o.link = o.openDoor()
	o.Jar, _ = cookiejar.New(nil)
	o.Transport = browser{}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
		f.Close()
	})
	return o
}

// browser says with each form which page it comes from.
type browser struct{}

func (browser) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		r = r.Clone(r.Context())
		r.Header.Set("Origin", "http://"+r.URL.Host)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// openDoor opens a door to the desk, and returns where it is, and the link that lets a browser in.
func (o *operator) openDoor() (base, link string) {
	o.Helper()
	socket, err := front.Socket(o.dir)
	if err != nil {
		o.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.Fatal(err)
	}
	d := door.New(ln.Addr().String(), socket)
	browsers := &http.Server{
		Handler:           d,
		ConnContext:       door.ConnContext,
		ReadHeaderTimeout: time.Minute,
	}
	go browsers.Serve(ln)
	o.Cleanup(func() { browsers.Close() })
	return "http://" + ln.Addr().String(), d.Link()
}

// enter goes in by the link.
func (o *operator) enter() {
	o.Helper()
	if _, body := o.get(strings.TrimPrefix(o.link, o.base)); !strings.Contains(body, "<h1>Today</h1>") {
		o.Fatal(body)
	}
}

// get opens a page.
func (o *operator) get(path string) (status int, body string) {
	o.Helper()
	resp, err := o.Get(o.base + path)
	if err != nil {
		o.Fatal(err)
	}
	return resp.StatusCode, o.read(resp)
}

// read reads an answer.
func (o *operator) read(resp *http.Response) string {
	o.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		o.Fatal(err)
	}
	return string(b)
}

// see opens a page, which must have some texts.
func (o *operator) see(path string, wanted ...string) string {
	o.Helper()
	status, body := o.get(path)
	o.has(path, status, body, wanted)
	return body
}

// has complains about a page that is not there, or has not some texts.
func (o *operator) has(what string, status int, body string, wanted []string) {
	o.Helper()
	if status != http.StatusOK {
		o.Errorf("%s: status %d: %s", what, status, body)
	}
	seen := html.UnescapeString(body)
	for _, text := range wanted {
		if !strings.Contains(seen, text) {
			o.Errorf("%s: there is no %q in\n%s", what, text, seen)
		}
	}
}

// post posts a form, and follows where it leads, to a page that must have some texts.
func (o *operator) post(path, form string, wanted ...string) string {
	o.Helper()
	fields, err := url.ParseQuery(form)
	if err != nil {
		o.Fatal(err)
	}
	resp, err := o.PostForm(o.base+path, fields)
	if err != nil {
		o.Fatal(err)
	}
	body := o.read(resp)
	o.has("POST "+path+" "+form, resp.StatusCode, body, wanted)
	return body
}

// ask makes a request of the service as the partner, and reads some of its answer.
func (o *operator) ask(method, path, body string, into any) {
	o.Helper()
	r, err := http.NewRequest(method, o.service+path, strings.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	r.Header.Set("x-api-key", o.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := new(http.Client).Do(r)
	if err != nil {
		o.Fatal(err)
	}
	text := o.read(resp)
	if resp.StatusCode > 299 {
		o.Fatalf("%s %s: %s", method, path, text)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			o.Fatal(err)
		}
	}
}

// goesWrong puts a rule of what goes wrong in force, in the place of those before.
func (o *operator) goesWrong(rule string) {
	o.Helper()
	if err := o.bench.SetFaults([]byte("[" + rule + "]")); err != nil {
		o.Fatal(err)
	}
}

// booked is a booking that was made.
type booked struct {
	Data struct {
		Booking struct {
			ID      string
			Tickets []struct{ ID string }
		}
	}
}

// book books seats on the run for people by their last names, each with an e-mail address.
func (o *operator) book(names ...string) booked {
	o.Helper()
	return o.bookOn(trip, names...)
}

// bookOn books seats on a trip from Kyiv to Lviv.
func (o *operator) bookOn(trip string, names ...string) (b booked) {
	o.Helper()
	return o.bookFrom("kyiv", trip, names...)
}

// bookFrom books seats on a trip from a city on its way to Lviv.
func (o *operator) bookFrom(city, trip string, names ...string) (b booked) {
	o.Helper()
	var found struct {
		Data struct {
			Offers []struct {
				ID     string
				Slices []struct{ Carriage struct{ ID string } }
			}
		}
	}
	o.ask("GET", "/v2/offers?departureCitySlug="+city+"&arrivalCitySlug=lviv&departureDate="+date, "", &found)
	offer := ""
	for _, x := range found.Data.Offers {
		if x.Slices[0].Carriage.ID == trip {
			offer = x.ID
		}
	}
	var people []string
	for _, name := range names {
		people = append(people, fmt.Sprintf(
			`{"firstName":"Test","lastName":%q,"email":"p@example.com","phones":[{"phone":"+380441234567"}]}`,
			name,
		))
	}
	o.ask("POST", "/v2/bookings", fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`,
		offer, strings.Join(people, ",")), &b)
	return b
}

// journal returns the lines of the directory.
func (o *operator) journal() string {
	o.Helper()
	var all bytes.Buffer
	err := fs.WalkDir(os.DirFS(o.dir), "journal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(o.dir, path))
		all.Write(b)
		return err
	})
	if err != nil {
		o.Fatal(err)
	}
	return all.String()
}
