package carrier_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/reach/provider"
)

// list returns the passenger list of the run in a form.
func list(t *testing.T, s *server.Server, option, value string) string {
	t.Helper()
	var out bytes.Buffer
	form := url.Values{"trip": {"kl-0530"}, "date": {rig.RunDay}, option: {value}}
	if err := s.Admin.Do("manifest", &admin.Act{Form: form, Out: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// onTheDay is an instant on the day on which the run leaves, three quarters of an hour before it does.
var onTheDay = time.Date(2026, 11, 25, 2, 45, 0, 0, time.UTC)

// Decision manifest.rows: a seat that is held has a row without a name, by boarding stop and seat as all
// others, which says until when, by the clock of the run's first stop: without the day on the run's own.
func TestAHeldSeatIsARowWithoutAName(t *testing.T) {
	s, key := rig.Demo(t, server.Config{Now: func() time.Time { return onTheDay }})
	offer := rig.Offer(t, s, key, rig.KyivLviv)
	held := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1))
	if held.Status != 201 {
		t.Fatal(held)
	}
	paidFor(t, s, key, rig.KyivLviv, 1)
	rows, err := csv.NewReader(strings.NewReader(list(t, s, "format", "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ticket := held.Data.Booking.Tickets[0].ID
	if got := rows[1]; got[0] != "held" || got[1] != "1" || got[2]+got[3]+got[4] != "" ||
		got[7] != "held until 05:05" || got[8] != "held until 05:05" || got[9] != ticket {
		t.Errorf("a held seat is %q", got)
	}
	if got := rows[2]; got[0] != "passenger" || got[1] != "2" || got[2] == "" || got[8] != "Paid" {
		t.Errorf("a passenger is %q", got)
	}
	for format, want := range map[string]string{
		"text": "1 passenger, 1 seat held; read at",
		"html": "19 seats, 1 passenger, 1 seat held</p>",
	} {
		text := list(t, s, "format", format)
		if !strings.Contains(text, want) || strings.Count(text, "held until 05:05") != 1 {
			t.Errorf("%s has no %q:\n%s", format, want, text)
		}
	}
}

// Decision manifest.rows: In, Out and Taken count held seats with the others: a driver compares them with the
// bus.
func TestInOutAndTakenCountHeldSeats(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	paidFor(t, s, key, rig.KyivLviv, 2)
	offer := rig.Offer(t, s, key, rig.KyivLviv)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 3)); a.Status != 201 {
		t.Fatal(a)
	}
	page := list(t, s, "format", "html")
	for _, want := range []string{
		"platform 1<td class=\"n\">0<td class=\"n\">5<td class=\"n\">5<td class=\"n\">14<td", // out, in, taken, free
		"<td class=\"n\">5<td class=\"n\">0<td class=\"n\"><td class=\"n\"><td",
		"<title>2 sold, 3 held of 19 seats</title>",
		`<rect class="sold" width="10" height="6"/><rect class="held" x="10" width="15" height="6"/>`,
		": 5\n", // above those who board
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in\n%s", want, page)
		}
	}
}

// Decision manifest.rows: -json is the data of the answer over HTTP, which has no held seats, whatever its
// totals say.
func TestTheListForProgramsHasNoHeldSeats(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	offer := rig.Offer(t, s, key, rig.KyivLviv)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 2)); a.Status != 201 {
		t.Fatal(a)
	}
	paidFor(t, s, key, rig.KyivLviv, 1)
	var x struct {
		Passengers []struct{ Seat string }
		Totals     struct {
			Passengers int
			Segments   []struct{ Taken int }
		}
	}
	text := list(t, s, "json", "true")
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		t.Fatal(err)
	}
	if len(x.Passengers) != 1 || x.Passengers[0].Seat != "3" || x.Totals.Passengers != 1 ||
		x.Totals.Segments[0].Taken != 3 || strings.Contains(text, "held") {
		t.Errorf("the list is %s", text)
	}
}

// Decision manifest.rows: a seat that is kept until the provider answers is held until then.
func TestASeatTheProviderIsAskedAboutIsHeldUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan bool)
		answer := make(chan error)
		s, key := rig.Demo(t, server.Config{
			Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				asked <- true
				return <-answer
			},
		})
		defer s.Close()
		offer := rig.Offer(t, s, key, rig.KyivLviv)
		id := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)).Data.Booking.ID
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
		<-asked
		if text := list(t, s, "format", "text"); !strings.Contains(text, "held until the provider answers") ||
			!strings.Contains(text, "0 passengers, 1 seat held;") {
			t.Error(text)
		}
		answer <- nil
		synctest.Wait()
		if text := list(t, s, "format", "text"); !strings.Contains(text, "1 passenger; read at") {
			t.Error(text)
		}
	})
}
