package server

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server/web"
)

// Contract §8: an offer is over at 20:00.000, also when that comes between looking it up and selling it.
func TestAnOfferExpiresBetweenLookingUpAndSelling(t *testing.T) {
	var at, step atomic.Int64
	at.Store(scriptStart.UnixMilli())
	s, key := demoServer(t, Config{Now: func() time.Time { return time.UnixMilli(at.Add(step.Load())) }})
	token := anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	over := scriptStart.Add(web.OfferLife).UnixMilli()
	step.Store(1) // each look at the clock takes a millisecond
	sold := 0
	expired := 0
	for before := int64(12); before > 0; before-- {
		at.Store(over - before)
		r := httptest.NewRequest("POST", "/v2/bookings", strings.NewReader(bookingBody(token, 1)))
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
