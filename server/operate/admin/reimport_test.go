package admin_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Decision timetable.rides: seats stay taken where the trip still exists, also those of a ride both of whose
// stops are gone.
func TestARideWhoseStopsAreGoneKeepsItsSeat(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	token := rig.Offer(t, s, key, "departureCitySlug=nadvirna&arrivalCitySlug=yaremche")
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(token, 3)); a.Status != 201 {
		t.Fatal(a)
	}
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{"stop_times.txt": {
		{"fb-0900,09:45:00,09:50:00,2,nadvirna-bus,,\n", ""},
		{"fb-0900,10:25:00,10:30:00,3,yaremche-bus,,\n", ""},
	}}))
	if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 0 {
		t.Errorf("%d seats are left, all three are taken", n)
	}
	rig.Import(t, s, rig.FeedWith(t, nil))
	if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 0 {
		t.Errorf("%d seats are left after the old feed came back", n)
	}
	if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}

// Decision seats.surplus: while more seats are sold than a smaller bus has nothing more is, whichever of the
// seats are given back; the import names such runs, and verify tells the surplus.
func TestASmallerBusIsNotSoldBeyondItsSize(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	query := "departureCitySlug=kyiv&arrivalCitySlug=lviv"
	book := func(passengers int) rig.Answer {
		return rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, query), passengers))
	}
	group := book(15).Data.Booking
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+group.ID+"/pay", ""); a.Status != 200 {
		t.Fatal(a)
	}
	var out bytes.Buffer
	smaller := rig.FeedWith(t,
		map[string][][2]string{"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,12,"}}})
	if err := s.Admin.Import(smaller, "smaller", admin.ImportOptions{}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "on 2026-11-25: 15 seats are taken, its bus has 12 now") {
		t.Errorf("the import says\n%s", &out)
	}
	books := func() string {
		rep, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(rep.Books.Surplus.Lines(), rep.Books.String()), "\n")
	}
	if books := books(); !strings.Contains(books, "15 seats are taken, its bus has 12") {
		t.Errorf("verify says %s", books)
	}
	// One of the seats that the smaller bus still has is given back, three times; twelve passengers are left
	// then.
	for i := range 4 {
		if n := seatsOnSmallBuses(t, s, query); n != 0 {
			t.Errorf("after %d were cancelled %d seats are left", i, n)
		}
		if i == 3 {
			break
		}
		a := rig.Call(t, s, key, "POST", "/v2/bookings/"+group.ID+"/cancel",
			`{"ticketIds":["`+group.Tickets[i].ID+`"]}`)
		if a.Status != 200 {
			t.Fatal(a)
		}
	}
	if books := books(); strings.Contains(books, "its bus has") {
		t.Errorf("verify says %s", books)
	}
	// Seats that the smaller bus does not have are sold all the same.
	if books := books(); !strings.Contains(books, "with 12 seats, 12 sold, 0 held, 0 free") {
		t.Errorf("verify says %s", books)
	}
	a := rig.Call(t, s, key, "POST", "/v2/bookings/"+group.ID+"/cancel",
		`{"ticketIds":["`+group.Tickets[14].ID+`"]}`)
	if a.Status != 200 {
		t.Fatal(a)
	}
	if a := book(1); a.Status != 201 {
		t.Errorf("with eleven passengers: %+v", a)
	}
	rig.CompareWithReplay(t, s, dir, false)
}

// seatsOnSmallBuses returns the seats left on departures by buses with at most 19; 0 where none is listed.
func seatsOnSmallBuses(t *testing.T, s *server.Server, query string) int {
	t.Helper()
	a := rig.Call(t, s, "", "GET", "/v2/offers/schedule?date=2026-11-25&take=100&"+query, "")
	left := 0
	for _, d := range a.Data.Departures {
		if d.SeatsLeft <= 19 {
			left = max(left, d.SeatsLeft)
		}
	}
	return left
}

// Decision tickets.revival: a ticket whose hold ran out is not revived on a run that the timetable no longer
// has; one that was paid stays as sold. The import names such runs.
func TestAWithdrawnRunIsNotRevived(t *testing.T) {
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Now: clock.Now})
	one := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
	other := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+other.ID+"/pay", ""); a.Status != 200 {
		t.Fatal(a)
	}
	var out bytes.Buffer
	without := rig.FeedWith(t, map[string][][2]string{"trips.txt": {{",fb-0900,", ",fb-0901,"}},
		"stop_times.txt": {
			{"fb-0900,09:00:00", "fb-0901,09:00:00"}, {"fb-0900,09:45:00", "fb-0901,09:45:00"},
			{"fb-0900,10:25:00", "fb-0901,10:25:00"}, {"fb-0900,11:15:00", "fb-0901,11:15:00"},
		}})
	if err := s.Admin.Import(without, "without", admin.ImportOptions{}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if want := "trip fb-0900 on 2026-11-25 is no longer in the timetable: 2 tickets stay as sold\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the import does not say %q:\n%.3000s", want, &out)
	}
	clock.Move(21 * time.Minute)
	a := rig.Ask(s, key, "POST", "/v2/bookings/"+one.ID+"/pay", "")
	if a.Code != 409 || !strings.Contains(a.Body.String(), `"reason":"CHANGED"`) ||
		!strings.Contains(a.Body.String(), one.Tickets[0].ID) {
		t.Errorf("a run that does not run is paid: %d %s", a.Code, a.Body)
	}
	if a := rig.Ask(s, key, "POST", "/v2/bookings/"+other.ID+"/cancel", ""); a.Code != 200 ||
		!strings.Contains(a.Body.String(), `"status":"Refund"`) {
		t.Errorf("what was paid is %d %s", a.Code, a.Body)
	}
}

// withoutZhytomyr is the demo feed in which kl-0530, from Kyiv to Lviv, no longer calls at Zhytomyr.
func withoutZhytomyr(t *testing.T) fs.FS {
	return rig.FeedWith(t, map[string][][2]string{
		"stop_times.txt": {{"kl-0530,07:30:00,07:40:00,2,zhytomyr-bus,,\n", ""}},
	})
}

// bookSeat books a seat from one city to another on the run of kl-0530 on 2026-11-25.
func bookSeat(t *testing.T, s *server.Server, key, from, to string) (booking, seat string) {
	t.Helper()
	query := "departureDate=2026-11-25&departureCitySlug=" + from + "&arrivalCitySlug=" + to
	offers := rig.Call(t, s, key, "GET", "/v2/offers?"+query, "")
	for _, o := range offers.Data.Offers {
		if o.Slices[0].Carriage.Name != "ZL 1/1" {
			continue
		}
		a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(o.ID, 1))
		if a.Status != 201 {
			t.Fatal(a)
		}
		return a.Data.Booking.ID, a.Data.Booking.Tickets[0].Slices[0].Seat.Label
	}
	t.Fatalf("kl-0530 is not offered from %s to %s: %+v", from, to, offers)
	return "", ""
}

// Decision timetable.rides: a stop that leaves the timetable makes no ride smaller. A ticket whose hold ran
// out does not get its seat back where somebody was sold it who now travels along.
func TestARevivedTicketTakesNobodysSeatAfterAnImport(t *testing.T) {
	dir := t.TempDir()
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now})
	lapsed, seat := bookSeat(t, s, key, "zhytomyr", "rivne")
	clock.Move(21 * time.Minute)
	other, taken := bookSeat(t, s, key, "kyiv", "rivne")
	if seat != "1" || taken != "1" {
		t.Fatalf("seats %s and %s, want 1 and 1: that of who did not pay is free", seat, taken)
	}
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+other+"/pay", ""); a.Status != 200 {
		t.Fatal(a)
	}
	rig.Import(t, s, withoutZhytomyr(t))
	a := rig.Call(t, s, key, "POST", "/v2/bookings/"+lapsed+"/pay", "")
	if got := a.Data.Booking.Tickets[0].Slices[0].Seat.Label; a.Status != 200 || got != "2" {
		t.Errorf("%d, seat %s, want the next that is free, 2", a.Status, got)
	}
	if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
		t.Error(err)
	}
	rig.CompareWithReplay(t, s, dir, false)
}

// Decision timetable.rides: a stop that is away for one timetable and then back brings nobody onto another's
// seat.
func TestAStopThatIsAwayForATimetableSellsNoSeatTwice(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	one, first := bookSeat(t, s, key, "zhytomyr", "lviv")
	rig.Import(t, s, withoutZhytomyr(t))
	other, second := bookSeat(t, s, key, "kyiv", "rivne")
	if first != "1" || second != "2" {
		t.Errorf("seats %s and %s, want 1 and 2: who boards in Zhytomyr may board in Kyiv", first, second)
	}
	rig.Import(t, s, rig.FeedWith(t, nil))
	for _, id := range []string{one, other} {
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", ""); a.Status != 200 {
			t.Error(a)
		}
	}
	if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
		t.Error(err)
	}
	rig.CompareWithReplay(t, s, dir, false)
}

// Decision seats.surplus: two tickets that only a later timetable brings together on a seat are a surplus.
// The import and verify name the seat and both tickets, and nothing is wrong.
func TestAnImportNamesASeatThatTwoTicketsHave(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	one, _ := bookSeat(t, s, key, "kyiv", "zhytomyr")
	other, seat := bookSeat(t, s, key, "zhytomyr", "rivne")
	if seat != "1" {
		t.Fatalf("seat %s, want 1, which is free from Zhytomyr on", seat)
	}
	ticket := func(id string) string {
		return rig.Call(t, s, key, "GET", "/v2/bookings/"+id, "").Data.Booking.Tickets[0].ID
	}
	want := "trip kl-0530 on 2026-11-25: seat 1 belongs to the tickets " + ticket(one) + " and " +
		ticket(other) +
		" on the same part of the run"
	var out bytes.Buffer
	err := s.Admin.Import(withoutZhytomyr(t), "without", admin.ImportOptions{}, &out)
	if err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("the import does not say %q: %v\n%s", want, err, &out)
	}
	rep, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{})
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.Books.Surplus.Lines(); len(got) != 1 || got[0] != want {
		t.Errorf("verify names %q, want %q", got, want)
	}
	rig.Import(t, s, rig.FeedWith(t, nil))
	if rep, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil ||
		len(rep.Books.Surplus.Lines()) != 0 {
		t.Errorf("with the first timetable again: %q, %v", rep.Books.Surplus.Lines(), err)
	}
}

// Decision feed.over: a feed of which no day is left replaces no timetable that has days, and with -strict
// none; else that is said. A start, the metrics and Today say when a timetable ends.
func TestATimetableThatSellsNothing(t *testing.T) {
	over := rig.FeedWith(t, map[string][][2]string{
		"calendar.txt":       {{"20240101,20361231", "20140101,20161231"}},
		"calendar_dates.txt": {{",202", ",201"}},
	})
	// The buses of its last service day leave stops after midnight.
	late := rig.FeedWith(t, map[string][][2]string{
		"calendar.txt":       {{",20361231", ",20261119"}},
		"calendar_dates.txt": {{",202", ",201"}},
	})
	never := rig.FeedWith(t, map[string][][2]string{
		"calendar.txt":       {{",1", ",0"}},
		"calendar_dates.txt": {{",1\n", ",2\n"}},
	})
	tripless := rig.FeedWith(t, map[string][][2]string{"stop_times.txt": {{"trip_id,", "id,"}}})
	dir := t.TempDir()
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	log := new(rig.Logged)
	cfg := server.Config{Dir: dir, Now: func() time.Time { return now }}
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	s, err := server.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	imports := func(feed fs.FS, strict, fails bool, want string) {
		t.Helper()
		var out bytes.Buffer
		before := s.Timetable.Load()
		err := s.Admin.Import(feed, "feed", admin.ImportOptions{Strict: strict}, &out)
		if said := fmt.Sprint(out.String(), err); (err != nil) != fails || !strings.Contains(said, want) ||
			fails && s.Timetable.Load() != before {
			t.Errorf("an import does not say %q, or changes what it must not: %s", want, said)
		}
	}
	imports(over, true, true, "with -strict nothing is changed")
	imports(over, false, false, "no day of the feed is left")
	imports(never, false, false, "no day of the feed is left")
	imports(never, true, true, "with -strict nothing is changed")
	imports(tripless, false, true, "of stop_times.txt: trip_id … is missing: the header has no such column")
	imports(tripless, false, true, "rows skipped\nthe feed has no usable trip: what is skipped or not used is")
	imports(late, true, false, "is in force")
	imports(over, false, true, "has days until 2026-11-20; nothing is changed")
	imports(rig.FeedWith(t, nil), true, false, "is in force")
	imports(over, false, true, "has days until 2037-01-01; nothing is changed")
	imports(never, false, true, "has days until 2037-01-01; nothing is changed")
	metric := "waybill_timetable_last_day_timestamp_seconds 2114380800\n" // 2037-01-01
	if page := rig.Ask(s, "", "GET", "/metrics", "").Body.String(); !strings.Contains(page, metric) {
		t.Errorf("the metrics have no %q", metric)
	}
	for _, at := range []struct {
		now  time.Time
		want string
	}{
		{time.Date(2036, 12, 24, 21, 59, 0, 0, time.UTC), ""},
		{time.Date(2036, 12, 24, 23, 0, 0, 0, time.UTC), "the last day of the timetable is 2037-01-01: import"},
		{time.Date(2037, 1, 1, 21, 59, 0, 0, time.UTC), "the last day of the timetable is 2037-01-01: import"},
		{time.Date(2037, 1, 2, 8, 0, 0, 0, time.UTC), "all days of the timetable are over"},
	} {
		s.Close()
		now = at.now
		if s, err = server.Open(cfg); err != nil {
			t.Fatal(err)
		}
		if at.want != "" && !log.Has("WARN", at.want) || at.want == "" && log.Has("WARN", "the timetable") {
			t.Errorf("a start at %v does not say %q, or too much", at.now, at.want)
		}
	}
	imports(over, false, false, "no day of the feed is left")
	s.Close()
}

// Decision desk.today: where a ticket has the run's time by the clock, at another instant, a law has changed
// the clock: the import names its zone.
func TestAnImportNamesAClockThatHasChanged(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	rig.BookForLesia(t, s, key, rig.KyivLviv)
	zone := [][2]string{{"Europe/Kyiv", "Europe/Istanbul"}}
	var out bytes.Buffer
	feed := rig.FeedWith(t, map[string][][2]string{"agency.txt": zone, "areas.txt": zone, "stops.txt": zone})
	err := s.Admin.Import(feed, "law", admin.ImportOptions{}, &out)
	const want = "leaves at another time than tickets say: 1, as the clock of Europe/Istanbul has changed since"
	if err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("the import does not say %q: %v\n%s", want, err, &out)
	}
}
