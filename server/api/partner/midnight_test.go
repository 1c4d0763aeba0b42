package partner_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// Interface, GET /v2/bookings: departureDate keeps the bookings of a UTC day, from its first instant to its
// last.
func TestADepartureAtMidnightUTCIsOfTheDayThatStarts(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	// From Bila Tserkva at 23:59:59Z on the 25th, from Uman a second later; both on the 26th there.
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{"stop_times.txt": {
		{"ko-2300,24:15:00,24:20:00,2", "ko-2300,25:50:00,25:59:59,2"},
		{"ko-2300,26:00:00,26:15:00,3", "ko-2300,26:00:00,26:00:00,3"},
	}}))
	ids := map[string]string{}
	for _, from := range []string{"bila-tserkva", "uman"} {
		found := rig.Call(t, s, key, "GET",
			"/v2/offers?departureDate=2026-11-26&arrivalCitySlug=odesa&departureCitySlug="+from, "")
		if len(found.Data.Offers) == 0 {
			t.Fatal("no offer from", from)
		}
		ids[from] = rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(found.Data.Offers[0].ID, 1)).Data.Booking.ID
	}
	for day, want := range map[string]string{
		"2026-11-25": ids["bila-tserkva"],
		"2026-11-26": ids["uman"],
		"2026-11-24": "",
		"2026-11-27": "",
	} {
		r := httptest.NewRequest("GET", "/v2/bookings?departureDate="+day, nil)
		r.Header.Set("x-api-key", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var a struct {
			Data struct {
				Bookings []struct{ ID, DepartureDate string }
				Total    int
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		list := a.Data.Bookings
		if want == "" && len(list) > 0 || want != "" &&
			(len(list) != 1 || list[0].ID != want || list[0].DepartureDate[:10] != day) ||
			a.Data.Total != len(list) {
			t.Errorf("%s: %+v, want %q", day, a, want)
		}
	}
}
