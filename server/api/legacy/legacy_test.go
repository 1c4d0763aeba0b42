package legacy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
)

// deprecation asks a server since when its legacy interface is deprecated.
func deprecation(s *server.Server) string {
	return rig.Ask(s, "", "GET", "/rest/orders", "").Header().Get("Deprecation")
}

// Decision legacy.sunset: a directory whose test clock was started before anything was sold was made when
// that clock says. It stays so when the clock is moved, given up, and read from the journal again.
func TestLegacySinceOfATestClock(t *testing.T) {
	began := time.Date(2024, 6, 1, 8, 0, 0, 0, time.UTC)
	cfg := server.Config{Dir: t.TempDir(), Now: func() time.Time { return rig.Start }}
	s, _ := rig.Demo(t, cfg) // its first line is of scriptStart
	want := fmt.Sprintf("@%d", began.Unix())
	for i, step := range []func(*server.Config){
		func(c *server.Config) { c.Lab = rig.ClockFrom(began) },
		func(c *server.Config) { c.Lab = rig.ClockFrom(began.AddDate(0, 0, 7)) }, // it has a clock
		func(c *server.Config) { c.Lab = rig.NoClock() },
		func(*server.Config) {},
	} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		step(&cfg)
		var err error
		if s, err = server.Open(cfg); err != nil {
			t.Fatal(i, err)
		}
		t.Cleanup(func() { s.Close() })
		if got := deprecation(s); got != want {
			t.Errorf("start %d: %s, want %s", i, got, want)
		}
		w := rig.Ask(s, "", "POST", "/test/clock", `{"advance":"48h"}`)
		if ticks := cfg.Lab.Around != nil; ticks && w.Code != 200 {
			t.Error(i, w.Code, w.Body)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.LegacySince = rig.Start.Add(time.Hour) // outweighs the directory's
	s, err := server.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := deprecation(s); got != fmt.Sprintf("@%d", cfg.LegacySince.Unix()) {
		t.Error(got)
	}
}

// A test clock that is started where something was sold already makes the directory no younger.
func TestLegacySinceOfATestClockAfterSales(t *testing.T) {
	cfg := server.Config{Dir: t.TempDir(), MaxTransfers: 1}
	s, key := rig.Demo(t, cfg)
	token := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	if w := rig.Ask(s, key, "POST", "/v2/bookings", rig.BookingBody(token, 1)); w.Code != 201 {
		t.Fatal(w.Code, w.Body)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Lab = rig.ClockFrom(rig.Start.AddDate(0, 1, 0))
	s, _ = rig.Demo(t, cfg)
	if got := deprecation(s); got != fmt.Sprintf("@%d", rig.Start.Unix()) {
		t.Error(got)
	}
}

// Decision legacy.gone: the 90 days of a partner older than the deprecation count from the deprecation.
func TestLegacyDeprecatedAfterThePartnerCame(t *testing.T) {
	at := rig.Start
	since := rig.Start.AddDate(0, 2, 0)
	s, busy := rig.Demo(t, server.Config{LegacySince: since, Now: func() time.Time { return at }})
	quiet, err := s.Admin.AddPartner("olha", nil)
	if err != nil {
		t.Fatal(err)
	}
	at = since.AddDate(0, 0, 90).Add(-time.Millisecond)
	if w := rig.Ask(s, busy, "GET", "/rest/orders", ""); w.Code != http.StatusOK {
		t.Error(w.Code, w.Body)
	}
	until := "no legacy call  gone for it from " + since.AddDate(0, 0, 90).Format(time.RFC3339)
	var list bytes.Buffer
	if err := s.Admin.Do("partner-list", &admin.Act{
		Form: nil,
		Out:  &list,
	}); err != nil || !strings.Contains(list.String(), until) {
		t.Errorf("%v\n%s", err, &list)
	}
	at = at.Add(time.Millisecond)
	if w := rig.Ask(s, quiet, "GET", "/rest/orders", ""); w.Code != http.StatusGone {
		t.Error(w.Code, w.Body)
	}
}

// README, legacy: PATCH: a line for each booking whose tickets are canceled, for each ticket that is paid.
func TestLegacyPatchLines(t *testing.T) {
	s, key := rig.Demo(t, server.Config{MaxTransfers: 1})
	token := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	var ids []string
	before := 0
	for range 2 {
		w := rig.Ask(s, key, "POST", "/v2/bookings", rig.BookingBody(token, 2))
		var got rig.Answer
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 201 {
			t.Fatal(w.Code, err)
		}
		for _, ticket := range got.Data.Booking.Tickets {
			ids = append(ids, ticket.ID)
		}
		before, _ = strconv.Atoi(w.Header().Get("Waybill-Seq"))
	}
	for _, c := range []struct {
		what  string
		lines int
	}{{`"paymentStatus":"Paid"`, 5}, {`"status":"Canceled"`, 2}} {
		// the first with the day's first legacy call
		// Tickets of the two bookings in turn.
		w := rig.Ask(s, key, "PATCH", "/rest/orders",
			fmt.Sprintf(`{"ordersIds":[%q,%q,%q,%q],%s}`, ids[0], ids[2], ids[1], ids[3], c.what))
		seq, _ := strconv.Atoi(w.Header().Get("Waybill-Seq"))
		if w.Code != 200 || seq != before+c.lines {
			t.Errorf("%s: %d, seq %d after %d: %s", c.what, w.Code, seq, before, w.Body)
		}
		before = seq
	}
}
