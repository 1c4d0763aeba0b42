package history_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/history"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
	"waybill/store/durable"
	"waybill/store/inspect"

	"github.com/google/go-cmp/cmp"
)

// playStory makes a booking that is asked about, refused, booked, revived, paid, moved, given a carrier
// status, and refunded, in a directory; it gives the ids by the names that the story has for them.
func playStory(t *testing.T, dir string) (ids map[string]string) {
	ids = map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		refusal := fmt.Errorf("not now: %w", outbound.ErrRefused)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				return refusal
			}})
		requests := 0
		post := func(path, body string) {
			requests++
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("X-Request-Id", fmt.Sprintf("r%d", requests))
			r.Header.Set("x-api-key", key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code/100 != 2 && refusal == nil {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		admin := func(op, form string) string {
			values, _ := url.ParseQuery(form)
			var out strings.Builder
			err := s.Admin.Do(op, &admin.Act{
				By:   ledger.By{UID: 1000, User: "olena"},
				Form: values,
				Out:  &out,
			})
			if err != nil {
				t.Error(op, err)
			}
			return strings.TrimSpace(out.String())
		}
		offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=warsaw")
		b := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 3)).Data.Booking
		ids["B"] = b.ID
		ids["T1"] = b.Tickets[0].ID
		ids["T2"] = b.Tickets[1].ID
		ids["T3"] = b.Tickets[2].ID
		time.Sleep(5 * time.Minute)
		post("/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+ids["T1"]+`"]}`)
		refusal = nil
		post("/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+ids["T1"]+`"]}`)
		time.Sleep(20 * time.Minute)
		post("/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+ids["T2"]+`"]}`)
		post("/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+ids["T1"]+`"]}`)
		ids["B2"] = admin("ticket-move", "booking=new&ticket="+ids["T2"])
		admin("ticket-status", "status=Prepaid&ticket="+ids["T1"])
		time.Sleep(48 * time.Hour)
		post("/v2/bookings/"+b.ID+"/cancel", `{"ticketIds":["`+ids["T1"]+`"]}`)
		post("/v2/bookings/"+ids["B2"]+"/cancel", "")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return ids
}

// Decision log.words: of a ticket with a change both seats are told; the books count such tickets.
func TestLogTellsBothSeatsOfAChange(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir, MaxTransfers: 1})
	b, ticket := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
	rig.NewBookingID(t, s, key)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/cancel", ""); a.Status != 200 {
		t.Fatal(a)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := history.Log(durable.Dir(dir), false, history.Filter{Booking: b}, history.Style{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"; ticket " + ticket + " seat 1, then seat 1;",
		"Canceled/Unpaid, seat 1, then seat 1 given back"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story has no %q:\n%s", want, &out)
		}
	}
	rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{})
	const books = "2 bookings, 2 tickets on 3 seats (1 with a change), 1 Canceled"
	if err != nil || !strings.HasPrefix(rep.Books.String(), books) {
		t.Errorf("the books are %q, %v", rep.Books, err)
	}
}

// Decision log.words: the story of a booking is told in words, with what time alone did, for the tickets that
// moved too.
func TestLogTellsTheStoryOfABooking(t *testing.T) {
	dir := t.TempDir()
	ids := playStory(t, dir)
	rig.Erase(t, dir, "Ukrainka")
	at := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	tell := func(f history.Filter) string {
		var out strings.Builder
		if err := history.Log(durable.Dir(dir), false, f, history.Style{}, &out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for name, id := range ids {
			text = strings.ReplaceAll(text, id, name)
		}
		text = regexp.MustCompile(`request [\w-]{22}`).ReplaceAllString(text, "request r0")
		return "\n" + text
	}
	story := tell(history.Filter{Booking: ids["B"], At: &at})
	story, standing, _ := strings.Cut(story, "{")
	if diff := cmp.Diff(storyOfB, story); diff != "" {
		t.Errorf("the story of a booking (-want +got):\n%s\n%s", diff, story)
	}
	if !strings.HasPrefix(standing, `"id":"B",`) || !strings.Contains(standing, `"status":"Completed"`) ||
		!strings.Contains(standing, `"firstName":""`) {
		t.Errorf("as it stood: %s", standing)
	}
	if diff := cmp.Diff(storyOfT2, tell(history.Filter{Ticket: ids["T2"], At: &at})); diff != "" {
		t.Errorf("the story of a ticket (-want +got):\n%s", diff)
	}
	// The booking it moved to has the ticket's whole story, and its own.
	moved, _, _ := strings.Cut(tell(history.Filter{Booking: ids["B2"], At: &at}), "{")
	if diff := cmp.Diff(storyOfT2, moved); diff != "" {
		t.Errorf("the story of the booking it moved to (-want +got):\n%s", diff)
	}
	early := at.Add(-8 * 24 * time.Hour)
	if got := tell(history.Filter{Booking: ids["B"], At: &early}); got != "\nthere was no booking B\n" {
		t.Errorf("before the booking: %s", got)
	}
	early = rig.Start.Add(20 * time.Minute) // the window is over at 20:00.000
	if got := tell(history.Filter{
		Booking: ids["B"],
		At:      &early,
	}); !strings.Contains(got, "(derived)  ticket T3 of booking B is Uncompleted") {
		t.Errorf("at the end of the window: %s", got)
	}
	// Before a move, it is not part of the story.
	early = rig.Start.Add(time.Hour / 4)
	if got := tell(history.Filter{Booking: ids["B2"], At: &early}); got != "\nthere was no booking B2\n" {
		t.Errorf("before the move: %s", got)
	}
}

const storyOfB = `
2026-11-20 08:00:00.000  #4  booking.created  partner "anna" makes booking B, passengers: 3, whose names are erased; trip kw-0800 of 2026-11-25, "Kyiv" (kyiv-central-2) to "Warsaw" (warsaw-west-5), leaves 2026-11-25 08:00 +02:00, 1764.00 UAH each; ticket T1 seat 1; ticket T2 seat 2; ticket T3 seat 3; request r0
2026-11-20 08:05:00.000  #5  ticket.asked  the provider is asked to book for partner "anna": ticket T1 of booking B is Processing/Unpaid, seat 1; request r1
2026-11-20 08:05:00.000  #6  ticket.refused  the provider refuses to book for partner "anna": ticket T1 of booking B is Processing/Unpaid, seat 1; request r1
2026-11-20 08:05:00.000  #7  ticket.asked  the provider is asked to book for partner "anna": ticket T1 of booking B is Processing/Unpaid, seat 1; request r2
2026-11-20 08:05:00.000  #8  ticket.booked  booked for partner "anna": ticket T1 of booking B is Confirmed/Booked, seat 1; request r2
2026-11-20 08:20:00.000  (derived)  ticket T2 of booking B is Uncompleted/Unpaid, seat 2 given back: 20 minutes without payment
2026-11-20 08:20:00.000  (derived)  ticket T3 of booking B is Uncompleted/Unpaid, seat 3 given back: 20 minutes without payment
2026-11-20 08:20:00.000  #9  tickets.uncompleted  noted: 2 tickets of booking B were Uncompleted from 2026-11-20 08:20:00.000 on
2026-11-20 08:25:00.000  #10  ticket.asked  the provider is asked to pay with a new seat for partner "anna": ticket T2 of booking B is Processing/Unpaid, seat 2; request r3
2026-11-20 08:25:00.000  #11  ticket.paid  paid for partner "anna": ticket T2 of booking B is Confirmed/Paid, seat 2; request r3
2026-11-20 08:25:00.000  #12  ticket.asked  the provider is asked to pay for partner "anna": ticket T1 of booking B is Confirmed/Booked, seat 1; request r4
2026-11-20 08:25:00.000  #13  ticket.paid  paid for partner "anna": ticket T1 of booking B is Confirmed/Paid, seat 1; request r4
2026-11-20 08:25:00.000  #14  ticket.moved  ticket move: ticket T2 of booking B2 is Confirmed/Paid, seat 2, no longer of booking B; by olena (1000)
2026-11-20 08:25:00.000  #15  ticket.carrier  ticket status, by the carrier: ticket T1 of booking B is Prepaid/Paid, seat 1; by olena (1000)
2026-11-22 08:25:00.000  #16  tickets.canceled  partner "anna" cancels: ticket T1 of booking B is Refund/Paid, seat 1 given back, refunded 1587.60 UAH of 1764.00 (rule rr-zor-24h: 90.00 %); request r5
2026-11-22 08:25:00.000  #17  tickets.canceled  partner "anna" cancels: ticket T2 of booking B2 is Refund/Paid, seat 2 given back, refunded 1587.60 UAH of 1764.00 (rule rr-zor-24h: 90.00 %); request r6
2026-11-24 22:00:00.000  (derived)  booking B is Boarding
2026-11-25 06:00:00.000  (derived)  booking B is InTransit
2026-11-26 06:00:00.000  (derived)  booking B is Completed
`
const storyOfT2 = `
2026-11-20 08:00:00.000  #4  booking.created  partner "anna" makes booking B, passengers: 3, whose names are erased; trip kw-0800 of 2026-11-25, "Kyiv" (kyiv-central-2) to "Warsaw" (warsaw-west-5), leaves 2026-11-25 08:00 +02:00, 1764.00 UAH each; ticket T1 seat 1; ticket T2 seat 2; ticket T3 seat 3; request r0
2026-11-20 08:20:00.000  (derived)  ticket T2 of booking B is Uncompleted/Unpaid, seat 2 given back: 20 minutes without payment
2026-11-20 08:20:00.000  #9  tickets.uncompleted  noted: 2 tickets of booking B were Uncompleted from 2026-11-20 08:20:00.000 on
2026-11-20 08:25:00.000  #10  ticket.asked  the provider is asked to pay with a new seat for partner "anna": ticket T2 of booking B is Processing/Unpaid, seat 2; request r3
2026-11-20 08:25:00.000  #11  ticket.paid  paid for partner "anna": ticket T2 of booking B is Confirmed/Paid, seat 2; request r3
2026-11-20 08:25:00.000  #14  ticket.moved  ticket move: ticket T2 of booking B2 is Confirmed/Paid, seat 2, no longer of booking B; by olena (1000)
2026-11-22 08:25:00.000  #17  tickets.canceled  partner "anna" cancels: ticket T2 of booking B2 is Refund/Paid, seat 2 given back, refunded 1587.60 UAH of 1764.00 (rule rr-zor-24h: 90.00 %); request r6
`

// Decision log.words: verbs use the directory's clock. What time did since the last line is told by it.
func TestLogUsesTheDirectorysClock(t *testing.T) {
	dir := t.TempDir()
	start := time.Now().AddDate(1, 0, 0)
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: time.Now, Lab: rig.ClockFrom(start)})
	found := rig.Call(t, s, key, "GET", "/v2/offers?"+rig.Bukovel+"&departureDate="+start.AddDate(0, 0,
		3).Format(time.DateOnly), "")
	id := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(found.Data.Offers[0].ID, 1)).Data.Booking.ID
	for _, advance := range []string{"19m", "1m"} {
		rig.Call(t, s, key, "POST", "/test/clock", `{"advance":"`+advance+`"}`)
		var out strings.Builder
		err := history.Log(durable.Dir(dir), true, history.Filter{Booking: id}, history.Style{},
			&out)
		if err != nil || strings.Contains(out.String(), "(derived)  ticket") != (advance == "1m") {
			t.Errorf("%v, after %s:\n%s", err, advance, &out)
		}
	}
}

// What is no booking's is told in words too, without a secret.
func TestLogOfTheOffice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig.PlayOffice(t, dir, func() {})
	var out strings.Builder
	if err := history.Log(durable.Dir(dir), false, history.Filter{}, history.Style{},
		&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`opened  after creation`, `clock\.set  the clock is now \S+ ahead of the machine's`,
		`import: the timetable "\w+" is in force: \d+ cities`,
		`partner add: "anna" \(\S{22}\) has a new key, whose hash is [0-9a-f]{64}; companies, if limited: \[\]`, `companies, if limited: \["zorevia-lines" "vltavia-bus"\]`,
		`partner revoke: the keys with the hashes \[[0-9a-f]{64}\] of partner "anna"`,
		`user add: the new user \S{22} is ADMIN of company "zorevia-lines"`,
		`user remove: user`, `signs in for company "zorevia": session`, `session \S{22} is refreshed, and lasts until`,
		`report\.ordered  report \S{22}, company zorevia`, `report\.completed  report \S{22}, rows \d+`,
		`partner "anna" calls the legacy interface, for the first time on this day`, `geolocation\.set  .*fms-zor-02`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("nothing is told like %s:\n%s", want, &out)
		}
	}
	for _, secret := range []string{"pbkdf2", "olena@", "access ", "Robert", "Kovalenko", "refresh "} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("the log shows %s", secret)
		}
	}
	if strings.Contains(out.String(), "(derived)") {
		t.Error("what time did is only told for a booking or ticket")
	}
	// Damage is told after all that is before it.
	name := filepath.Join(dir, "journal/000000000001.jsonl")
	text, err := os.ReadFile(name)
	if err != nil ||
		os.WriteFile(name, []byte(strings.Replace(string(text), `"ticket.moved"`, `"ticket.mowed"`, 1)),
			0o600) != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`makes booking (\S{22}),`).FindStringSubmatch(out.String())[1]
	out.Reset()
	if err := history.Log(durable.Dir(dir), false, history.Filter{Booking: id}, history.Style{},
		&out); err == nil || !strings.Contains(out.String(), "makes booking") {
		t.Errorf("%v after\n%s", err, &out)
	}
}

// Decision messages.as: the log says how messages left.
func TestLogSaysHowMessagesLeft(t *testing.T) {
	tell := func(dir string) string {
		var out strings.Builder
		if err := history.Log(durable.Dir(dir), false, history.Filter{}, history.Style{}, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	id, _ := rig.BookForLesia(t, s, key, rig.KyivLviv)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", ""); a.Status != http.StatusOK {
		t.Fatal(a)
	}
	_, err := s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return ledger.Entries(&ledger.MessagesSent{IDs: []string{"5-1"}, As: ledger.SentAsFile}), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if said := tell(dir); !strings.Contains(said, "messages to passengers sent as file: 5-1\n") {
		t.Error(said)
	}
}
