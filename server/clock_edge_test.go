package server_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/stand"
)

// Decision windows.end: an offer is over at 20:00.000, also when that comes between looking it up and selling
// it.
func TestAnOfferExpiresBetweenLookingUpAndSelling(t *testing.T) {
	var at, step atomic.Int64
	at.Store(rig.Start.UnixMilli())
	s, key := rig.Demo(t, server.Config{Now: func() time.Time { return time.UnixMilli(at.Add(step.Load())) }})
	token := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	over := rig.Start.Add(web.OfferLife).UnixMilli()
	step.Store(1) // each look at the clock takes a millisecond
	sold := 0
	expired := 0
	for before := int64(12); before > 0; before-- {
		at.Store(over - before)
		r := httptest.NewRequest("POST", "/v2/bookings", strings.NewReader(rig.BookingBody(token, 1)))
		r.Header.Set("x-api-key", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch {
		case w.Code == 400 && strings.Contains(w.Body.String(), "OFFER_EXPIRED"):
			expired++
		case w.Code == 201 && !strings.Contains(w.Body.String(), `"createdAt":"2026-11-20T08:2`):
			sold++
		default:
			t.Fatalf("%d ms before: %d %s", before, w.Code, w.Body)
		}
		at.Store(over - 1000)
	}
	if sold == 0 || expired == 0 {
		t.Errorf("%d sold, %d expired: the edge was not met", sold, expired)
	}
}

// A directory that takes long to open is started like any other: a test clock that starts now starts when the
// directory is open, and one that starts at an instant is held against the last line that was found, and not
// against the line that the start itself has written.
func TestATestClockStartsOnADirectoryThatTakesLongToOpen(t *testing.T) {
	for name, startAt := range map[string]time.Time{
		"now":            {},
		"at an instant":  rig.Start.Add(time.Hour),
		"one just after": rig.Start.Add(time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, key := rig.Demo(t, server.Config{Dir: dir})
			rig.NewBookingID(t, s, key)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var looks atomic.Int64
			now := func() time.Time {
				return rig.Start.Add(2*time.Hour + time.Duration(looks.Load())*time.Minute)
			}
			s, err := server.Open(server.Config{
				Dir: dir,
				Lab: rig.ClockFrom(startAt),
				Now: func() time.Time { // each look at it takes a minute
					looks.Add(1)
					return now()
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var at time.Time
			err = s.Store.View(func(_ ledger.State, instant time.Time) {
				at = instant
			})
			if err != nil {
				t.Fatal(err)
			}
			if startAt.IsZero() {
				startAt = now()
			}
			if ahead := at.Sub(startAt).Abs(); ahead > time.Hour {
				t.Errorf("it is %s, an hour away from %s", at, startAt)
			}
		})
	}
}

// A clock that would go back, while there are bookings, is not started.
func TestATestClockDoesNotStartBeforeTheLastLine(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	rig.NewBookingID(t, s, key)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(server.Config{
		Dir: dir,
		Lab: rig.ClockFrom(rig.Start.Add(-time.Hour)),
		Now: func() time.Time { return rig.Start.Add(time.Hour) },
	})
	if !errors.Is(err, stand.ErrClock) {
		t.Errorf("%v, want %v", err, stand.ErrClock)
	}
	if err == nil {
		s.Close()
	}
}
