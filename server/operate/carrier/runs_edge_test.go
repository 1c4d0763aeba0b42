package carrier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbox"
	"waybill/server/reach/provider"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// paidFor sells seats on a run, and pays for them.
func paidFor(t *testing.T, s *server.Server, key, query string, n int) string {
	t.Helper()
	a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, query), n))
	if a.Status != 201 {
		t.Fatal(a)
	}
	id := a.Data.Booking.ID
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", ""); a.Status != 200 {
		t.Fatal(a)
	}
	return id
}

// shown is as much of an answer about a booking as these tests look at.
type shown struct {
	Data struct {
		Booking struct {
			DepartureDate string
			Tickets       []struct {
				Status       string
				RefundAmount *float64
				Slices       []struct{ DepartureDate string }
			}
		}
	}
}

// show returns a booking as its partner sees it.
func show(t *testing.T, s *server.Server, key, id string) (x shown) {
	t.Helper()
	r := httptest.NewRequest("GET", "/v2/bookings/"+id, nil)
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil || len(x.Data.Booking.Tickets) == 0 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return x
}

// sound verifies a directory that is in use.
func sound(t *testing.T, dir string) {
	t.Helper()
	if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}

// Decision runs.timetable: what was sold by another timetable than is in force leaves,
// once the run is moved, when the bus does; refunds still count to the latest departure that the ticket ever
// had.
func TestWhatAnotherTimetableSoldLeavesWithTheBus(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	id := paidFor(t, s, key, rig.KyivLviv, 1)
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{"stop_times.txt": {
		{"kl-0530,05:30:00,05:30:00", "kl-0530,04:30:00,04:30:00"},
	}}))
	if at := show(t, s, key, id).Data.Booking.DepartureDate; at != "2026-11-25T03:30:00.000Z" {
		t.Errorf("an import alone moves what was sold to %s", at)
	}
	said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", "40")
	if err != nil || !strings.Contains(said, "at 2026-11-25 05:10 +02:00") {
		t.Error(said, err)
	}
	const leaves = "2026-11-25T03:10:00.000Z"
	if at := show(t, s, key, id).Data.Booking.Tickets[0].Slices[0].DepartureDate; at != leaves {
		t.Errorf("the ticket leaves at %s, the bus at %s", at, leaves)
	}
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		ticket := &st.Bookings.Any(ids.Of(id)).Tickets[0]
		if by := ticket.RefundsBy(); by.UTC().Format(time.RFC3339) != "2026-11-25T03:30:00Z" {
			t.Errorf("refunds count to %s", by)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// Moved again, and by nothing against the timetable: it still is where the bus is.
	if said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", "0"); err != nil {
		t.Error(said, err)
	}
	if at := show(t, s, key, id).Data.Booking.DepartureDate; at != "2026-11-25T02:30:00.000Z" {
		t.Errorf("it leaves at %s", at)
	}
	if said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", "0"); err != nil ||
		!strings.Contains(said, "nothing to change") {
		t.Error(said, err)
	}
	rig.CompareWithReplay(t, s, dir, false)
	sound(t, dir)
}

// A run that the timetable has no longer, and that was moved and moved back, is shown as its tickets are.
func TestAWithdrawnRunIsShownAsItsTicketsAre(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	id := paidFor(t, s, key, rig.KyivLviv, 1)
	for _, minutes := range []string{"60", "0"} {
		if said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", minutes); err != nil {
			t.Fatal(said, err)
		}
	}
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"trips.txt":      {{"r-kyiv-lviv,weekdays,kl-0530,", "r-kyiv-lviv,weekdays,kl-0531,"}},
		"stop_times.txt": {{"kl-0530,", "kl-0531,"}},
	}))
	at := show(t, s, key, id).Data.Booking.DepartureDate
	err := s.Store.View(func(st ledger.State, now time.Time) {
		name := st.Bookings.Any(ids.Of(id)).Tickets[0].Legs[0].Run
		run := st.Bookings.Present(st.Timetable(), ids.RunName{Trip: "kl-0530", Day: name.Day})
		if got := run.Dep(0).UTC().Format("2006-01-02T15:04:05.000Z"); got != at {
			t.Errorf("the run leaves at %s, its ticket at %s", got, at)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A crash between an answer of the provider and what follows from it leaves nothing: the next start finishes
// the cancellation, also when the run would be over by then, and others are sold as before.
func TestAStartFinishesCancellations(t *testing.T) {
	for name, at := range map[string]time.Time{
		"before the departure": rig.Start.Add(time.Hour),
		"when it is over":      rig.Start.Add(8 * 24 * time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			copied := filepath.Join(t.TempDir(), "copy")
			s, key := rig.Demo(t, server.Config{Dir: dir})
			id := paidFor(t, s, key, rig.KyivLviv, 2)
			if said, err := rig.ChangeRun(s, "cancel", "kl-0530"); err != nil {
				t.Fatal(said, err)
			}
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			// As if the tickets had been asked about when the run was cancelled: the line names none of them.
			uncancel(t, copied)
			s2, key := rig.Demo(t, server.Config{Dir: copied, Now: func() time.Time { return at }})
			for _, ticket := range show(t, s2, key, id).Data.Booking.Tickets {
				if ticket.Status != "Refund" || ticket.RefundAmount == nil {
					t.Errorf("%+v", ticket)
				}
			}
			offer := rig.Call(t, s2, key, "GET", "/v2/offers?"+rig.KyivLviv+"&departureDate="+
				at.AddDate(0, 0, 7).Format(time.DateOnly), "").Data.Offers[0].ID
			if a := rig.Call(t, s2, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)); a.Status != 201 {
				t.Errorf("a booking after it: %+v", a)
			}
			rig.CompareWithReplay(t, s2, copied, false)
		})
	}
}

// uncancel takes the tickets out of the line that cancels a run.
func uncancel(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"snapshots", "tree"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"checkpoint", "checkpoints.log"} {
		os.Remove(filepath.Join(dir, name)) // there may be none
	}
	file := filepath.Join(dir, rig.JournalFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	format, err := os.ReadFile(filepath.Join(dir, "FORMAT"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if strings.Contains(line, `"type":"run.cancelled"`) {
			start := strings.Index(line, `"tickets":[`)
			end := strings.Index(line[start:], "]") + start + 1
			for !strings.HasPrefix(line[end:], `,"before"`) {
				end += strings.Index(line[end:], "]") + 1
			}
			before := regexp.MustCompile(`"before":{[^}]*}`)
			lines[i] = line[:start] + `"tickets":null` + before.ReplaceAllString(line[end:], `"before":{}`)
		}
	}
	if err := os.WriteFile(file, []byte(rig.Rechained(string(format), lines)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A ticket that the provider refuses while its run is cancelled is as it would be without the question.
func TestARefusedTicketOfACancelledRun(t *testing.T) {
	asked := make(chan bool)
	answer := make(chan error)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		asked = make(chan bool)
		answer = make(chan error)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(_ context.Context, _ provider.Confirmation) error {
				asked <- true
				return <-answer
			}})
		defer s.Close()
		id := rig.Call(
			t,
			s,
			key,
			"POST",
			"/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 1),
		).Data.Booking.ID
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
		<-asked
		if said, err := rig.ChangeRun(s, "cancel", "kl-0530"); err != nil ||
			!strings.Contains(said, "follow after it: 1") {
			t.Fatal(said, err)
		}
		answer <- errors.New("no")
		synctest.Wait()
		if got := show(t, s, key, id).Data.Booking.Tickets[0].Status; got != "Canceled" {
			t.Errorf("it is %s", got)
		}
		rig.CompareWithReplay(t, s, dir, false)
	})
}

// Decision runs.tickets: a ride that was moved away from the other is said to be missed, and
// is not sold; a ticket that stays valid has new papers.
func TestAChangeThatIsMissedIsTold(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), MaxTransfers: 1})
		defer s.Close()
		b, _ := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
		unpaid, _ := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", ""); a.Status != 200 {
			t.Fatal(a)
		}
		var second, first ids.RunName
		s.Store.View(func(st ledger.State, _ time.Time) {
			legs := st.Bookings.Any(ids.Of(b)).Tickets[0].Legs
			first = ids.RunName{Trip: legs[0].Run.Form.Trip, Day: legs[0].Run.Day}
			second = ids.RunName{Trip: legs[1].Run.Form.Trip, Day: legs[1].Run.Day}
		})
		said, err := rig.ChangeRun(s, "move", second.Trip, "date", second.Day.String(), "minutes", "-720")
		if err != nil || !strings.Contains(said, "miss their connection and need your help: 2") {
			t.Errorf("%s, %v; %s", said, err, first)
		}
		time.Sleep(time.Second)
		var news string
		for about, text := range rig.Letters(t, dir) {
			if strings.HasPrefix(about, "New time") {
				news = text
			}
		}
		for _, want := range []string{"Change is no longer possible: ask the carrier",
			"is no longer possible: ask the carrier\n", "неможлива"} {
			if !strings.Contains(news, want) {
				t.Errorf("there is no %q in\n%s", want, news)
			}
		}
		a := rig.Call(t, s, key, "POST", "/v2/bookings/"+unpaid+"/pay", "")
		if a.Status != 409 {
			t.Errorf("a change that cannot be made is paid for: %+v", a)
		}
		files, err := filepath.Glob(filepath.Join(dir, "outbox/*.eml"))
		if err != nil {
			t.Fatal(err)
		}
		papers := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			papers += strings.Count(string(text), "ticket.ics")
		}
		if papers < 2 {
			t.Errorf("%d entries for a calendar: the moved ticket has none", papers)
		}
	})
}

// What a passenger is told of a run is what its line says: the reason of this change, and not of an earlier
// one of the other ride, or of a later one.
func TestWhatIsToldOfARunIsOfItsLine(t *testing.T) {
	p := rig.NewPeer(t, rig.Always(503))
	s, key := rig.Demo(t, server.Config{MessengerURL: p.URL, MaxTransfers: 1})
	b, _ := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
	var runs []ids.RunName
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		for _, l := range st.Bookings.Any(ids.Of(b)).Tickets[0].Itinerary() {
			runs = append(runs, ids.RunName{Trip: l.Run.Form.Trip, Day: l.Run.Day})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, reason := range []string{"snow", "strike"} {
		said, err := rig.ChangeRun(
			s,
			"move",
			runs[i].Trip,
			"date",
			runs[i].Day.String(),
			"minutes",
			"5",
			"reason",
			reason,
		)
		if err != nil {
			t.Fatal(said, err)
		}
	}
	beside := &web.Core{Config: s.Config, Log: s.Log, Store: s.Store, Base: s.Base, TicketKey: s.TicketKey}
	beside.Timetable.Store(s.Timetable.Load())
	room := outbox.New(beside) // the server's own sends what it is asked for
	told := func() (list []string) {
		err := s.Store.View(func(st ledger.State, _ time.Time) {
			for _, m := range st.Outbox.All() {
				booked, ticket := st.Bookings.AnyTicket(m.Ticket)
				if m.To == booking.ToEmail {
					continue
				}
				list = append(list, room.Letter(m, booked, ticket).Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, reason := range []string{"snow", "strike"} {
		n := 0
		for _, text := range told() {
			n += strings.Count(text, "Reason: "+reason)
		}
		if n != 1 {
			t.Errorf("%q is told %d times: %q", reason, n, told())
		}
	}
}

// What an import changes of runs that were sold is named: that they leave at another time, or no longer call
// where tickets begin; the waybill says what was sold.
func TestAnImportNamesWhatTicketsSayOtherwise(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	paidFor(t, s, key, rig.KyivLviv, 2)
	imported := func(replace map[string][][2]string) string {
		var out bytes.Buffer
		if err := s.Admin.Import(rig.FeedWith(t, replace), "changed", admin.ImportOptions{},
			&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if said := imported(nil); strings.Contains(said, "kl-0530") {
		t.Errorf("the same timetable again says %s", said)
	}
	earlier := map[string][][2]string{
		"stop_times.txt": {{"kl-0530,05:30:00,05:30:00", "kl-0530,05:00:00,05:00:00"}},
	}
	said := imported(earlier)
	if !strings.Contains(said, "trip kl-0530 on 2026-11-25 leaves at another time than tickets say: 2;") {
		t.Error(said)
	}
	if _, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", "0"); err != nil {
		t.Error(err)
	}
	if said := imported(earlier); strings.Contains(said, "kl-0530") {
		t.Errorf("after their passengers were told: %s", said)
	}
	said = imported(
		map[string][][2]string{"stop_times.txt": {{"kl-0530,05:30:00,05:30:00,1,kyiv-central-1,,\n", ""}}},
	)
	if !strings.Contains(said, "trip kl-0530 on 2026-11-25 no longer calls where tickets begin or end: 2;") {
		t.Error(said)
	}
	var list strings.Builder
	err := s.Admin.Do(
		"manifest",
		&admin.Act{Form: url.Values{"trip": {"kl-0530"}, "date": {rig.RunDay}}, Out: &list},
	)
	if err != nil ||
		strings.Count(list.String(), "(sold from Kyiv Central Bus Station, platform 1 to Lviv") != 2 {
		t.Error(list.String(), err)
	}
}

// A crash between an answer of the provider and what follows from it leaves a ticket that lives on a
// cancelled run. An operator who then answers about another, with no server running, finishes that too:
// verify holds the line that cancels against all who live.
func TestAnAnswerFinishesWhatACrashLeftOfACancellation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		type question struct {
			ticket string
			answer chan error
		}
		asked := make(chan question)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(_ context.Context, c provider.Confirmation) error {
				q := question{c.Ticket.String(), make(chan error)}
				asked <- q
				return <-q.answer
			}})
		offer := rig.Offer(t, s, key, rig.KyivLviv)
		made := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 2)).Data.Booking
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+made.ID+"/pay", "")
		first, second := <-asked, <-asked
		if said, err := rig.ChangeRun(s, "cancel", "kl-0530"); err != nil {
			t.Fatal(said, err)
		}
		first.answer <- nil
		synctest.Wait()
		copied := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		cutAfter(t, copied, `"type":"ticket.paid"`)
		offline, err := server.Open(server.Config{Dir: copied, Now: rig.BubbleClock(), Verb: true})
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{
			"ticket": {second.ticket},
			"answer": {"confirmed"},
			"reason": {"their list has it"},
		}
		if err := offline.Admin.Do("ticket-answer", &admin.Act{Form: form, Out: io.Discard}); err != nil {
			t.Error(err)
		}
		if err := offline.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, copied)
		again, key := rig.Demo(t, server.Config{Dir: copied, Now: rig.BubbleClock()})
		for _, ticket := range show(t, again, key, made.ID).Data.Booking.Tickets {
			if ticket.Status != "Refund" || ticket.RefundAmount == nil {
				t.Errorf("of a cancelled run: %+v", ticket)
			}
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		second.answer <- nil
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// cutAfter leaves of a directory what a crash would that came after the last line of a kind, with nothing
// that vouches for the lines after it.
func cutAfter(t *testing.T, dir, kind string) {
	t.Helper()
	for _, name := range []string{"snapshots", "tree", "checkpoint", "checkpoints.log"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, rig.JournalFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(string(text), kind)
	end := last + strings.Index(string(text[last:]), "\n") + 1
	if last < 0 || end == len(text) {
		t.Fatalf("nothing follows %s", kind)
	}
	if err := os.Truncate(file, int64(end)); err != nil {
		t.Fatal(err)
	}
}
