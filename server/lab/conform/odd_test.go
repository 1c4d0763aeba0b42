package conform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf16"

	"waybill/server"
	testbench "waybill/server/lab/bench"
	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
)

// oddServers are right, and unlike the demo: in what they sell, in how they write an answer, in what they
// have besides, and in who uses them.
var oddServers = []struct {
	name    string
	feed    [][3]string // file, what in each of its lines is replaced, and by what; see changedFeed
	write   func([]byte) []byte
	noClock bool
	still   bool // without a clock, all the same
	others  bool // sell and cancel beside
	least   int  // rules that are shown all the same
}{
	{name: "buses of one seat", feed: [][3]string{
		{"waybill_buses.txt", `^(bus-[^,]*,[^,]*),\d+`, "$1,1"},
		{"trips.txt", `^((?:[^,]*,){5}[01]),,`, "$1,bus-zor-01,"},
	}, least: 190},
	{name: "buses of two seats, but for a trip without a bus", feed: [][3]string{
		{"waybill_buses.txt", `^(bus-[^,]*,[^,]*),\d+`, "$1,2"},
	}, least: 324},
	{name: "no discounts", feed: [][3]string{{"waybill_discounts.txt", `^d-.*\n`, ""}}, least: 340},
	{name: "one currency", feed: [][3]string{
		{"fare_attributes.txt", `^[a-z0-9]+-[a-z0-9]+-(pln|czk|eur|usd),.*\n`, ""},
		{"fare_rules.txt", `^[a-z0-9]+-[a-z0-9]+-(pln|czk|eur|usd),.*\n`, ""},
	}, least: 342},
	{name: "quotes, backslashes and dollars in names", feed: [][3]string{
		{"areas.txt", `^([a-z-]+),([^,"]+),`, `$1,"$2 ""\x$$y"" \",`},
		{"stops.txt", `^([a-z0-9-]+),([^,"]+),`, `$1,"$2 ""\u0041"" $$from",`},
		{"translations.txt", `^(areas,area_name,[a-z]+),([^,"]+),`, `$1,"$2 \""",`},
	}, least: 343},
	{name: "one pair of cities", feed: [][3]string{
		{"areas.txt", `^(?:[^akl]|k[^y]|l[^v]).*\n`, ""},
		{"stop_areas.txt", `^(?:[^akl]|k[^y]|l[^v]).*\n`, ""},
	}, least: 340},
	{name: "indented answers", write: func(body []byte) []byte {
		var out bytes.Buffer
		if json.Indent(&out, body, "\t", "    ") != nil {
			return body // no JSON
		}
		return append(out.Bytes(), "\r\n\n"...)
	}, least: 343},
	{name: "answers in ASCII", write: inASCII, least: 343},
	{name: "no test clock", noClock: true, least: 312},
	{name: "no test clock, and no time that passes", noClock: true, still: true, least: 310},
	{name: "one currency, which is not that of the schedule", feed: [][3]string{
		{"fare_attributes.txt", `^[a-z0-9]+-[a-z0-9]+-(uah|czk|pln|usd),.*\n`, ""},
		{"fare_rules.txt", `^[a-z0-9]+-[a-z0-9]+-(uah|czk|pln|usd),.*\n`, ""},
	}, least: 320},
	{name: "others sell beside", others: true, least: 335},
}

// inASCII writes all that is beyond ASCII as escapes.
func inASCII(body []byte) []byte {
	if !json.Valid(body) {
		return body
	}
	var out strings.Builder
	for _, c := range string(body) {
		if c < 0x80 {
			out.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&out, `\u%04X`, unit)
		}
	}
	return []byte(out.String())
}

// changedFeed is the demo feed with what the expressions match replaced in all lines.
func changedFeed(t *testing.T, changes [][3]string) fs.FS {
	t.Helper()
	feed := rig.FeedWith(t, nil).(fstest.MapFS)
	for _, c := range changes {
		expr := regexp.MustCompile("(?m)" + c[1])
		file := feed[c[0]]
		if !expr.Match(file.Data) {
			t.Fatalf("%s has no %s", c[0], c[1])
		}
		file.Data = expr.ReplaceAll(file.Data, []byte(c[2]))
	}
	return feed
}

// seller is another partner, who sells a seat now and then and gives back the last one.
type seller struct {
	mutex sync.Mutex
	base  string
	key   string
	seen  int
	held  string // a booking
}

// look sells after some of the searches that it sees.
func (s *seller) look(r *http.Request, body []byte) {
	var list struct {
		Data struct {
			Offers []struct {
				ID     string
				Prices []struct{ Currency string }
			}
		}
	}
	if r.URL.Path != "/v2/offers" || json.Unmarshal(body, &list) != nil || len(list.Data.Offers) == 0 {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.seen++
	if s.seen%7 != 0 {
		return
	}
	if s.held != "" {
		s.post("/v2/bookings/"+s.held+"/cancel", "{}")
	}
	o := list.Data.Offers[0]
	s.held = s.post("/v2/bookings", fmt.Sprintf(`{"offerId":%q,"currency":%q,`+
		`"passengers":[{"firstName":"A","lastName":"B"}]}`, o.ID, o.Prices[0].Currency))
}

// post sends a body, and returns the id of the booking that the answer shows.
func (s *seller) post(path, body string) string {
	r, _ := http.NewRequest("POST", s.base+path, strings.NewReader(body))
	r.Header.Set("x-api-key", s.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var shown struct {
		Data struct{ Booking struct{ ID string } }
	}
	text, _ := io.ReadAll(resp.Body)
	json.Unmarshal(text, &shown)
	return shown.Data.Booking.ID
}

// now is what the clock of the bench shows.
func (b *bench) now() time.Time {
	b.t.Helper()
	resp, err := http.Get(b.base + "/test/clock")
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var shown struct{ Data struct{ Now time.Time } }
	if err := json.NewDecoder(resp.Body).Decode(&shown); err != nil {
		b.t.Fatal(err)
	}
	return shown.Data.Now
}

// No right server fails, however unlike the demo it is. By default two of these are played, with -long all.
func TestNoRightServerFails(t *testing.T) {
	for i, odd := range oddServers {
		if i%5 != 3 && !*rig.Long {
			continue
		}
		t.Run(odd.name, func(t *testing.T) {
			feed := changedFeed(t, odd.feed)
			b := startBenchOf(t, testbench.Settings{
				TestClock: true,
				StartAt:   time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
				Frozen:    !odd.noClock || odd.still,
			}, func(s *server.Server) { rig.Import(t, s, feed) })
			to, err := url.Parse(b.base)
			if err != nil {
				t.Fatal(err)
			}
			s := &seller{base: b.base, key: b.opt.Key2}
			opt := b.opt
			opt.BaseURL = serveProxy(t, &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(to)
					r.Out.Host = r.In.Host // links in answers lead here
					if odd.noClock {
						r.Out.URL.Path = strings.Replace(r.Out.URL.Path, "/test/", "/no-test/", 1)
					}
				},
				ModifyResponse: func(resp *http.Response) error {
					body, err := io.ReadAll(resp.Body)
					if odd.others {
						s.look(resp.Request, body)
					}
					if odd.noClock { // which is not the machine's
						resp.Header.Set("Date", b.now().Format(http.TimeFormat))
					}
					if odd.write != nil {
						body = odd.write(body)
					}
					answerWith(resp, body)
					return err
				},
			})
			var out strings.Builder
			sum, err := conform.Run(opt, &out)
			if err != nil || sum.Failed > 0 || sum.Passed < odd.least || sum.Left != nil {
				t.Errorf("%v: %d are shown, not %d: %s", err, sum.Passed, odd.least, out.String())
			}
		})
	}
}
