package server

import (
	"testing"

	"waybill/store"
)

// Contract §5: seats stay taken where the trip still exists, also those of a ride both of whose stops are gone.
func TestARideWhoseStopsAreGoneKeepsItsSeat(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	token := anOffer(t, s, key, "departureCitySlug=nadvirna&arrivalCitySlug=yaremche")
	if a := call(t, s, key, "POST", "/v2/bookings", bookingBody(token, 3)); a.status != 201 {
		t.Fatal(a)
	}
	importFeed(t, s, feedWith(t, map[string][][2]string{"stop_times.txt": {
		{"fb-0900,09:45:00,09:50:00,2,nadvirna-bus,,\n", ""}, {"fb-0900,10:25:00,10:30:00,3,yaremche-bus,,\n", ""},
	}}))
	if n := seatsLeft(t, s, bukovel); n != 0 {
		t.Errorf("%d seats are left, all three are taken", n)
	}
	importFeed(t, s, feedWith(t, nil))
	if n := seatsLeft(t, s, bukovel); n != 0 {
		t.Errorf("%d seats are left after the old feed came back", n)
	}
	if _, err := Verify(store.Dir(dir), true, nil); err != nil {
		t.Error(err)
	}
}
