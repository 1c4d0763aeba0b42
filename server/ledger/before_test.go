package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// changesBookings are the types of lines that change bookings.
var changesBookings = map[string]bool{
	"booking.created": true, "ticket.asked": true, "ticket.refused": true, "ticket.paid": true,
	"ticket.booked": true, "tickets.canceled": true, "tickets.uncompleted": true, "ticket.carrier": true,
	"ticket.moved": true, "run.cancelled": true, "run.moved": true,
}

// Decision lines.before: each line that changes a booking names the booking's line before it. What is held
// against it here follows from the lines alone.
func TestEachLineOfABookingNamesTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	at := rig.Start
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: func() time.Time { return at }})
	kept := bookedFor(t, s, key, 2).Data.Booking
	other := bookedFor(t, s, key, 1).Data.Booking
	for _, path := range []string{kept.ID + "/pay", other.ID + "/book", other.ID + "/cancel"} {
		rig.Call(t, s, key, "POST", "/v2/bookings/"+path, "")
	}
	lapsed := bookedFor(t, s, key, 1).Data.Booking
	at = at.Add(21 * time.Minute)
	rig.Call(t, s, key, "POST", "/v2/bookings/"+lapsed.ID+"/pay", "")
	act(t, s, "ticket-move", url.Values{"ticket": {kept.Tickets[0].ID}, "booking": {"new"}})
	act(t, s, "ticket-status", url.Values{"ticket": {kept.Tickets[1].ID}, "status": {"Prepaid"}})
	trip, date := runOf(t, s, kept.ID)
	run := url.Values{"trip": {trip}, "date": {date}, "reason": {"fog"}, "minutes": {"10"}}
	act(t, s, "run-move", run)
	act(t, s, "run-cancel", run)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	last := map[string]uint64{}
	seen := map[string]bool{}
	_, err := inspect.Read(durable.Dir(dir), false, func(_ journal.Place, l *journal.Line) error {
		seen[l.Type] = true
		var data struct{ Before json.RawMessage }
		if err := json.Unmarshal(l.Data, &data); err != nil {
			return err
		}
		if changesBookings[l.Type] != (data.Before != nil) {
			t.Errorf("line %d, %s: %s", l.Seq, l.Type, l.Data)
		}
		if data.Before == nil {
			return nil
		}
		named := map[string]uint64{}
		if json.Unmarshal(data.Before, &named) != nil {
			var one struct{ Booking string }
			before, err := strconv.ParseUint(string(data.Before), 10, 64)
			if json.Unmarshal(l.Data, &one) != nil || err != nil {
				t.Errorf("line %d: %s", l.Seq, l.Data)
			}
			named[one.Booking] = before
		}
		for id, before := range named {
			if before != last[id] {
				t.Errorf("line %d, %s: before is %d, want %d", l.Seq, l.Type, before, last[id])
			}
			last[id] = l.Seq
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind := range changesBookings {
		if !seen[kind] && kind != "ticket.asked" && kind != "ticket.refused" { // of a provider
			t.Errorf("there is no %s", kind)
		}
	}
}

// A line that names another line before it than there is, or none, is found out.
func TestAWrongBeforeIsFoundOut(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	b := bookedFor(t, s, key, 1).Data.Booking
	paid := &booking.TicketPaid{Settled: booking.Settled{
		Booking: ids.Of(b.ID),
		Ticket:  ids.Of(b.Tickets[0].ID),
	}}
	err := s.Store.View(func(st ledger.State, now time.Time) {
		check := func(before *ledger.Before) error {
			return ledger.Check(st, journal.Stamp{Time: now}, ledger.Entry{Event: paid, Before: before})
		}
		right := st.Before(paid)
		if err := check(right); err != nil {
			t.Error(err)
		}
		each := map[ids.ID]uint64{paid.Booking: right.One}
		for _, wrong := range []*ledger.Before{nil, {}, {One: right.One + 1}, {Each: each}} {
			if err := check(wrong); err == nil || !strings.Contains(err.Error(), "before") {
				t.Errorf("%v: %v", wrong, err)
			}
		}
		answered := ledger.Entry{Event: &ledger.Answered{}, Before: right}
		if ledger.Check(st, journal.Stamp{Time: now}, answered) == nil {
			t.Error("an answer may have a before")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bookedFor makes a booking on one run for so many.
func bookedFor(t *testing.T, s *server.Server, key string, passengers int) (a rig.Answer) {
	t.Helper()
	offer := rig.Offer(t, s, key, rig.KyivLviv)
	return rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, passengers))
}

// act does what an operator asks for.
func act(t *testing.T, s *server.Server, op string, form url.Values) {
	t.Helper()
	err := s.Admin.Do(op, &admin.Act{By: ledger.By{UID: 1000}, Form: form, Out: new(strings.Builder)})
	if err != nil {
		t.Fatal(op, form, err)
	}
}

// runOf returns the run of a booking's first ticket, as operators name it.
func runOf(t *testing.T, s *server.Server, id string) (trip, date string) {
	t.Helper()
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		run := st.Bookings.Any(ids.Of(id)).Tickets[0].Legs[0].Run
		trip, date = run.Form.Trip, run.Day.String()
	})
	if err != nil {
		t.Fatal(err)
	}
	return trip, date
}

// Of the lines that name a booking twice, or what is not there, each is told by what it names.
func TestWhatALineNamesMustBeThere(t *testing.T) {
	lines := rig.SoldLines(t)
	first := lines[0]
	codec := ledger.NewCodec()
	sale, err := codec.Decode(first.Type, first.Data, first.Personal)
	if err != nil {
		t.Fatal(err)
	}
	made := sale.Event.(*booking.Created)
	with := func(change func(*booking.Created)) ledger.Event {
		e := *made
		change(&e)
		return &e
	}
	nobody := ids.ID{9}
	settled := booking.Settled{Booking: made.ID, Ticket: made.Tickets[0].ID}
	for want, e := range map[string]ledger.Event{
		"booking " + made.ID.String() + " already exists": made,
		"form": with(func(e *booking.Created) { e.ID = nobody }),
		"run": with(func(e *booking.Created) {
			e.ID = nobody
			e.Forms = nil
		}),
		"ticket " + made.Tickets[0].ID.String() + " already exists": with(func(e *booking.Created) {
			e.ID = nobody
			e.Forms = nil
			e.Runs = nil
		}),
		"is of partner " + nobody.String() + ", which does not exist": with(func(e *booking.Created) {
			e.ID = ids.ID{8}
			e.Partner = nobody
		}),
		"booking " + nobody.String() + " does not exist": &booking.CarrierSet{Booking: nobody},
		"ticket " + nobody.String() + " of booking":      &booking.Refused{Booking: made.ID, Ticket: nobody},
		"gets 2 seats for 1 legs": &booking.TicketPaid{Settled: booking.Settled{
			Booking: settled.Booking,
			Ticket:  settled.Ticket,
			Seats:   []int16{1, 2},
		}},
		"ticket " + nobody.String(): &booking.TicketsCanceled{
			Booking: made.ID,
			Tickets: []booking.CanceledTicket{{ID: settled.Ticket}, {ID: nobody}},
		},
	} {
		k := stateOf(t, made.Partner)
		if err := model.Apply(k, first.Stamp, sale); err != nil {
			t.Fatal(err)
		}
		err := model.Apply(k, journal.Stamp{Seq: 2, Time: first.Time}, ledger.Entry{Event: e})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %s", e, err, want)
		}
		if b := k.Bookings.Any(made.ID); b.Line != first.Seq || k.Bookings.Count() != 1 {
			t.Errorf("%T was refused and has changed something", e)
		}
	}
}

// A line that lacks a member is no line of a newer program: no program wrote it.
func TestALineThatLacksAMember(t *testing.T) {
	l := rig.SoldLines(t)[0]
	for _, member := range []string{`"partner":`, `"legs":`, `"tickets":`} {
		data := strings.Replace(string(l.Data), member, `"by":{"uid":1},"x`+member[1:], 1)
		_, err := ledger.NewCodec().Decode(l.Type, []byte(data), l.Personal)
		if !errors.Is(err, journal.ErrNewer) {
			t.Errorf("with another member for %s: %v", member, err)
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(l.Data, &all); err != nil {
		t.Fatal(err)
	}
	request := `"request":` + string(all["request"]) + `,`
	data := strings.Replace(string(l.Data), request, "", 1)
	_, err := ledger.NewCodec().Decode(l.Type, []byte(data), l.Personal)
	if errors.Is(err, journal.ErrNewer) || !strings.Contains(fmt.Sprint(err), `no member "request"`) {
		t.Error(err)
	}
}

// Of the lines about users, sessions, messages and reports that name what is not there, too.
func TestWhatOtherLinesNameMustBeThere(t *testing.T) {
	nobody := ids.ID{9}
	user, session := nobody, nobody
	vira := ids.ID{3}
	added := &auth.UserAdded{User: vira, Access: auth.Access{Company: auth.Company{ID: "a"}}}
	linked := &auth.Linked{Issuer: "x", Subject: auth.HashOf("y")}
	for _, c := range []struct {
		event ledger.Event
		what  string
	}{
		{&auth.AccessGiven{User: user}, "user " + nobody.String()},
		{&auth.UserRemoved{User: user}, "user " + nobody.String()},
		{&auth.SessionStarted{Session: session, User: user}, "user " + nobody.String()},
		{&auth.SessionStarted{Session: session, User: user, Link: linked}, "user " + nobody.String()},
		{&auth.SessionStarted{User: vira, Company: "b"}, `access of user ` + vira.String() + ` to company "b"`},
		{&auth.SessionRefreshed{Session: session}, "session " + nobody.String()},
		{&auth.SessionEnded{Session: session}, "session " + nobody.String()},
		{&ledger.MessageParked{ID: "7-1"}, "message 7-1"},
		{&ledger.MessagesRetried{IDs: []string{"7-2"}}, "message 7-2"},
		{&ledger.GeolocationSet{User: user}, "user " + nobody.String()},
		{&report.Ordered{User: nobody, Company: "a"}, "user " + nobody.String()},
		{&report.Ordered{User: vira, Company: "b"}, `access of user ` + vira.String() + ` to company "b"`},
		{&report.Completed{ID: nobody}, "report " + nobody.String()},
		{&report.Downloaded{ID: nobody}, "report " + nobody.String()},
		{&ledger.PersonalErased{Reports: []ids.ID{nobody}}, "report " + nobody.String()},
	} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%T: it panics: %v", c.event, p)
				}
			}()
			k := stateOf(t, ids.ID{1})
			if err := model.Apply(k, journal.Stamp{Seq: 2}, ledger.Entry{Event: added}); err != nil {
				t.Error(err)
			}
			err := model.Apply(k, journal.Stamp{Seq: 3}, ledger.Entry{Event: c.event})
			if err == nil || !strings.Contains(err.Error(), c.what+" does not exist") {
				t.Errorf("%T: %v, want that there is no %s", c.event, err, c.what)
			}
		}()
	}
}

// model is that of the ledger.
var model = ledger.NewCodec().Model()

// stateOf returns a state with a partner.
func stateOf(t testing.TB, partner ids.ID) ledger.State {
	t.Helper()
	s := model.New()
	known := ledger.Entry{Event: &auth.KeyAdded{Partner: partner, Name: "anna"}}
	if err := model.Apply(s, journal.Stamp{}, known); err != nil {
		t.Fatal(err)
	}
	return s
}
