package partner_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/api/search"
	"waybill/server/lab/rig"
)

// Decision limits.table: what is just within a limit of a body passes, and one more is 400.
func TestListsOfABodyAtTheirLimits(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	// A bus of the demo with a hundred seats, so that the limit is what decides.
	rig.Import(t, s,
		rig.FeedWith(t,
			map[string][][2]string{"waybill_buses.txt": {{"bus-zor-01,zorevia,19,",
				"bus-zor-01,zorevia,200,"}}}))
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv&passengers=150")
	booked := rig.NewBookingID(t, s, key)
	phones := func(n int) string {
		return strings.Repeat(`{"phone":"+380441234567"},`, n-1) + `{"phone":"+380441234567"}`
	}
	ids := func(n int) string { return strings.Repeat(`"x",`, n-1) + `"x"` }
	for _, c := range []struct {
		what, target, body string
		status             int
	}{
		{"100 passengers", "/v2/bookings", rig.BookingBody(offer, 100), 201},
		{"101 passengers", "/v2/bookings", rig.BookingBody(offer, 101), 400},
		{"10 phones", "/v2/bookings", strings.Replace(rig.BookingBody(offer, 1), `"Ukrainka"`, `"Ukrainka","phones":[`+phones(10)+`]`, 1), 201},
		{"11 phones", "/v2/bookings", strings.Replace(rig.BookingBody(offer, 1), `"Ukrainka"`, `"Ukrainka","phones":[`+phones(11)+`]`, 1), 400},
		{"1,000 ids", "/v2/bookings/" + booked + "/pay", `{"ticketIds":[` + ids(1000) + `]}`, 404},
		{"1,001 ids", "/v2/bookings/" + booked + "/pay", `{"ticketIds":[` + ids(1001) + `]}`, 400},
		{"1,001 ids under the other name", "/v2/bookings/" + booked + "/pay", `{"orderIds":[` + ids(1001) + `]}`, 400},
	} {
		if a := rig.Call(t, s, key, "POST", c.target, c.body); a.Status != c.status {
			t.Errorf("%s: %d, want %d: %+v", c.what, a.Status, c.status, a.Errors)
		}
	}
}

// Of more than 24 currencies as many are offered as can be booked, the interface's among them.
func TestNoCurrencyIsOfferedThatCannotBeBooked(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	var attributes strings.Builder
	var rules strings.Builder
	for a := range 2 {
		for b := range 20 {
			id := fmt.Sprintf("many-%d-%d", a, b)
			fmt.Fprintf(&attributes, "%s,10.00,%c%cX,1,0,zorevia\n", id, 'A'+a, 'A'+b)
			rules.WriteString(id + ",r-frankivsk-bukovel,ivano-frankivsk,bukovel\n")
		}
	}
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"fare_attributes.txt": {{"zor-ua25-uah,110.00", attributes.String() + "zor-ua25-uah,110.00"}},
		"fare_rules.txt": {{"zor-ua50-uah,r-frankivsk-bukovel,ivano-frankivsk,nadvirna\n",
			"zor-ua50-uah,r-frankivsk-bukovel,ivano-frankivsk,nadvirna\n" + rules.String()}},
	}))
	body := rig.Ask(s, key, "GET", "/v2/offers?departureDate=2026-11-25&"+rig.Bukovel, "").Body.String()
	var answer struct {
		Data struct {
			Offers []struct {
				ID     string
				Prices []struct{ Currency string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Offers) == 0 {
		t.Fatal(err, body)
	}
	offered := answer.Data.Offers[0]
	if len(offered.Prices) != search.MaxFares || !strings.Contains(fmt.Sprint(offered.Prices), "{UAH}") {
		t.Errorf("%d currencies are offered: %v", len(offered.Prices), offered.Prices)
	}
	for _, price := range offered.Prices {
		order := strings.Replace(rig.BookingBody(offered.ID, 1), `"UAH"`, `"`+price.Currency+`"`, 1)
		if a := rig.Call(t, s, key, "POST", "/v2/bookings", order); a.Status == 400 {
			t.Errorf("%s is offered, and cannot be booked", price.Currency)
		}
	}
}

// What was altered in a sealed file of the journal is neither an event nor an answer that is given again.
func TestAlteredLinesAreNeitherEventsNorAnswers(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	offer := rig.Offer(t, s, key, rig.Bukovel)
	w := rig.KeyedCall(s, key, "book", "/v2/bookings", rig.BookingBody(offer, 1))
	if w.Code != 201 {
		t.Fatal(w.Body)
	}
	if w := rig.KeyedCall(s, key, "book", "/v2/bookings", rig.BookingBody(offer, 1)); w.Code != 201 ||
		w.Header().Get("Idempotent-Replayed") != "true" {
		t.Fatal(w.Code, w.Body)
	}
	for _, change := range [][2]string{{`"currency":"UAH"`, `"currency":"EUR"`},
		{`"firstName":"Lesia"`, `"firstName":"Olena"`}} {
		name := filepath.Join(dir, "journal/000000000001.jsonl")
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), change[0]) {
			t.Fatal(err, change)
		}
		err = os.WriteFile(name, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if w := rig.Ask(s, key, "GET", "/v2/events", ""); w.Code != 500 {
			t.Errorf("with %s the events are %d %s", change[1], w.Code, w.Body)
		}
		if w := rig.KeyedCall(s, key, "book", "/v2/bookings", rig.BookingBody(offer, 1)); w.Code != 500 {
			t.Errorf("with %s the answer is given again: %d %s", change[1], w.Code, w.Body)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
