package rig

import (
	"bytes"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/operate/admin"
)

// SoldWhile has two seats of a journey sold, and something else done once the offer was looked up, before the
// sale.
func SoldWhile(t *testing.T, dir, query string, do func(*server.Server)) (*server.Server,
	*httptest.ResponseRecorder) {
	t.Helper()
	// A booking's id is made in between.
	between := func() {}
	times := 0
	s, key := Demo(t, server.Config{Dir: dir, NewID: func() [16]byte {
		f := between
		between = func() {}
		f()
		return web.RandomID()
	}})
	offer := Offer(t, s, key, query)
	between = func() {
		times++
		do(s)
	}
	// Without an id of its own the request's were the first that is made.
	w := Ask(s, key, "POST", "/v2/bookings", BookingBody(offer, 2), "X-Request-Id: given")
	if times != 1 {
		t.Errorf("it was done %d times", times)
	}
	return s, w
}

// A journey, and the day of its runs.
const (
	KyivLviv = "departureCitySlug=kyiv&arrivalCitySlug=lviv"
	RunDay   = "2026-11-25" // that of the offers of Offer
)

// ChangeRun does something with a run as the operator, and returns what that said.
func ChangeRun(s *server.Server, do, trip string, more ...string) (string, error) {
	form := url.Values{
		"trip":   {trip},
		"date":   {RunDay},
		"reason": {"snow"},
	}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	var out strings.Builder
	err := s.Admin.Do("run-"+do, &admin.Act{Form: form, Out: &out})
	return out.String(), err
}

// FeedWith is the demo feed with lines replaced.
func FeedWith(t testing.TB, replace map[string][][2]string) fs.FS {
	t.Helper()
	feed := fstest.MapFS{}
	files, _ := filepath.Glob(File("testdata/demo/*.txt"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		for _, r := range replace[name] {
			if !strings.Contains(string(text), r[0]) {
				t.Fatalf("%s has no %q", name, r[0])
			}
			text = []byte(strings.ReplaceAll(string(text), r[0], r[1]))
		}
		feed[name] = &fstest.MapFile{Data: text}
	}
	return feed
}

// Import has a feed come into force.
func Import(t testing.TB, s *server.Server, feed fs.FS) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Admin.Import(feed, "changed", admin.ImportOptions{}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
}

// SeatsLeft returns how many seats the first departure has, 0 where there is none.
func SeatsLeft(t *testing.T, s *server.Server, query string) int {
	t.Helper()
	a := Call(t, s, "", "GET", "/v2/offers/schedule?date=2026-11-25&"+query, "")
	if len(a.Data.Departures) == 0 {
		return 0
	}
	return a.Data.Departures[0].SeatsLeft
}
