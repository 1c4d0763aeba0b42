package conform_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	testbench "waybill/server/lab/bench"
	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
)

// like has a run compare with another world of the bench.
func (b *bench) like(opt *conform.Options, name string) {
	opt.LikeURL = b.world(name)
	opt.LikeKey = b.opt.Key
}

// Decision conform.like: this server is like itself, whatever is done at both, clock moves included; and what
// was booked there is canceled there, too.
func TestThisServerIsLikeItself(t *testing.T) {
	b := newBench(t)
	opt := b.opt
	opt.BaseURL = b.world("judged")
	opt.Beyond = true
	b.like(&opt, "reference")
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	if err != nil || sum.Failed > 0 || sum.Passed < 290 || sum.Left != nil {
		t.Errorf("%v, left %v: %s", err, sum.Left, out.String())
	}
	r, _ := http.NewRequest("GET", opt.LikeURL+"/v2/bookings", nil)
	r.Header.Set("x-api-key", opt.LikeKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if n := strings.Count(string(body), `"createdAt"`); n < 10 {
		t.Errorf("%d bookings were made there", n)
	}
	if regexp.MustCompile(`"status":"(Processing|Confirmed|Uncompleted)"`).Match(body) {
		t.Errorf("a ticket is left there: %s", body)
	}
}

// In a world of a test bench the other server is not asked, and stays what it is compared with.
func TestLikeBesideAWorld(t *testing.T) {
	b := newBench(t)
	opt := b.opt
	opt.BaseURL = b.base
	opt.ControlURL = b.control
	opt.Strict = true
	b.like(&opt, "reference")
	for _, opt.Stage = range []int{5, 7} {
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil || sum.Failed > 0 || sum.Left != nil {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}

// What differs is a failure, in words that lead to what is wrong.
func TestWhatIsNotLike(t *testing.T) {
	b := newBench(t)
	reference := b.world("reference")
	for i, c := range []struct{ broken, says string }{
		{"2.01 GET /v2/offers/schedule ; shift departureDateTime -2h",
			`departures are 2 h early: is the service day counted in UTC\?`},
		{"2.01 GET /v2/offers/schedule ; shift departureDateTime 24h",
			`departures are 1 day late: is the date a day in the departure city\?`},
		{"2.01 GET /v2/offers/schedule ; shift departureDateTime 1h", `departures are 1 h late: .*noon minus 12 h`},
		{"2.01 GET /v2/offers/schedule ; shift arrivalDateTime 1h",
			`arrivals are 1 h late: is the zone that of the city where one alights\?`},
		{"2.01 GET /v2/offers/schedule ; rest data.departures", `1 of \d+ departures are missing, the first at 20`},
		{"2.01 GET /v2/offers/schedule ; more data.departures", `1 departures too many, the first at 20`},
		{"2.01 GET /v2/offers/schedule ; scale amount 100", `a price is \d+, but at the other.*whole units`},
		{"2.01 GET /v2/offers/schedule ; scale amount 1.25", `a price is .*is the discount that is in force taken off`},
		{"2.01 GET /v2/offers/schedule ; set data.departures[*].price.amount 1", `a price is 1, but at the other server`},
		{"2.01 GET /v2/offers/schedule ; set data.departures[*].seatsLeft 3", `seatsLeft is 3, but at the other server \d+: which`},
		{"2.01 GET /v2/offers/schedule ; set data.departures[*].routeName null", `routeName is null, but at the other server "`},
		{"1.01 GET /v2/cities$ ; set data.total 7", `data.total is 7, but at the other server 40: is it counted before`},
		{"1.01 GET /v2/cities$ ; set data.cities[3].name \"Nowhere\"", `cities\[\d+\].name is "Nowhere"`},
		{"1.16 GET /v2/stops/ ; set data.stop.type \"BUS_STOP\"", `data.stop.type is "BUS_STOP"`},
		{"3.01 GET /v2/offers$ ; rest data.offers", `1 of \d+ offers are missing`},
		{"3.04 GET /v2/offers$ ; set data.offers[*].refundRules []", `\d+ of \d+ refundRules are missing, the first`},
		{"4.02 GET /v2/bookings/[^/]+$ ; shift departureDate 2h", `departures are 2 h late: is the service day counted`},
		{"4.44 GET /v2/bookings$ ; status-if 400 200", `it accepts what the other server refuses with 400 VALIDATION_ERROR`},
		{"4.01 POST /v2/bookings$ ; refuse 409 CONFLICT full",
			`it refuses with 409 CONFLICT what the other server accepts`},
		{"5.12 POST /pay$ ; status-if 404 409", `it answers 409 NOT_FOUND, but the other server 404 NOT_FOUND`},
		{"5.12 POST /pay$ ; set errors[0].errorCode \"MISSING\"", `the errorCode is MISSING, but at the other server NOT_FOUND`},
		{"7.15 POST /cancel$ ; set data.booking.tickets[*].refundAmount 5", `refundAmount is 5, but at the other server`},
	} {
		if !*rig.Long && i%4 != 0 {
			continue
		}
		x, ok := parseBreak(c.broken)
		if !ok {
			t.Fatalf("%q is no breakage", c.broken)
		}
		opt := b.opt
		opt.Stage = x.stage()
		opt.From, opt.To, opt.Date = "kyiv", "warsaw", "2026-11-25"
		opt.LikeURL = reference
		opt.LikeKey = b.opt.Key
		judged := b.base
		if opt.Stage > 3 { // what is booked for one would be missing for the next
			name := fmt.Sprint(i)
			judged = b.world("judged-" + name)
			defer b.drop("judged-" + name)
			b.like(&opt, "reference-"+name)
			defer b.drop("reference-" + name)
		}
		opt.BaseURL = newProxy(t, judged, b.opt.Key, x, nil)
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil || sum.Failed == 0 || !regexp.MustCompile(c.says).MatchString(out.String()) {
			t.Errorf("%s is not said as %s: %v\n%s", c.broken, c.says, err, failures(out.String()))
		}
	}
}

// Where clocks tick, what comes of them may lie two seconds apart; all else is equal.
func TestLikeWhereClocksTick(t *testing.T) {
	b := startBench(t, testbench.Settings{Watch: true})
	opt := b.opt
	opt.BaseURL = b.world("judged")
	opt.Beyond = true
	b.like(&opt, "reference")
	for _, opt.Stage = range []int{2, 3, 4} {
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil || sum.Failed > 0 || sum.Passed < 30 {
			t.Errorf("%v: %s", err, out.String())
		}
	}
	for by, isSaid := range map[string]bool{"-500ms": false, "-5s": true} {
		x, _ := parseBreak("4.02 GET /v2/bookings/[^/]+$ ; shift paymentRequiredBy " + by)
		opt.Stage = 4
		opt.BaseURL = newProxy(t, b.world("shifted"+by[1:]), b.opt.Key, x, nil)
		b.like(&opt, "reference"+by[1:])
		var out strings.Builder
		if _, err := conform.Run(opt, &out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "paymentRequiredBy is \"") != isSaid {
			t.Errorf("by %s it is said: %v\n%s", by, !isSaid, failures(out.String()))
		}
	}
}

// failures returns the lines of what failed, and those below them.
func failures(out string) string {
	var list strings.Builder
	failed := false
	for line := range strings.Lines(out) {
		if line[0] != ' ' {
			failed = strings.HasPrefix(line, "fail")
		}
		if failed {
			list.WriteString(line[:min(len(line), 200)])
		}
	}
	return list.String()
}

// Both clocks stand still where they can, at one instant: else a run ends before it has begun.
func TestLikeNeedsClocksThatStandStill(t *testing.T) {
	b := newBench(t)
	ticking := startBench(t, testbench.Settings{
		TestClock: true,
		StartAt:   time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		Watch:     true,
	})
	later := b.world("later")
	resp, err := http.Post(later+"/test/clock", "application/json", strings.NewReader(`{"advance":"1m"}`))
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	for _, c := range []struct{ base, like, says string }{
		{ticking.base, b.base, "the clock of -base-url is ticking"},
		{b.base, ticking.base, "the clock of -like is ticking"},
		{b.base, later, "its clock is at 2026-11-20T08:01"},
		{b.base, "http://127.0.0.1:1", "-like: "},
	} {
		opt := b.opt
		opt.BaseURL = c.base
		opt.LikeURL = c.like
		opt.LikeKey = "a-key"
		if _, err := conform.Run(opt, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}

// The order of an offer's prices is open: a server that lists them the other way round is like this one.
func TestLikeBooksInOneCurrencyWhateverTheOrderOfPrices(t *testing.T) {
	b := newBench(t)
	target, err := url.Parse(b.world("judged"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`"prices":\[([^\]]*)\]`)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body = list.ReplaceAllFunc(body, func(found []byte) []byte {
			prices := strings.SplitAfter(string(list.FindSubmatch(found)[1]), "},")
			prices[len(prices)-1] += ","
			slices.Reverse(prices)
			return []byte(`"prices":[` + strings.TrimSuffix(strings.Join(prices, ""), ",") + "]")
		})
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return nil
	}
	turned := httptest.NewServer(proxy)
	defer turned.Close()
	opt := b.opt
	opt.BaseURL = turned.URL
	opt.Stage = 4
	b.like(&opt, "reference")
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	if err != nil || sum.Failed > 0 || sum.Passed < 60 {
		t.Errorf("%v: %s", err, out.String())
	}
}
