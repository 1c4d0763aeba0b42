package booking

import (
	"strings"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// sold returns a state with one booking of a ticket from the first stop to the last, made at an instant, and
// the ticket.
func sold(t *testing.T, at time.Time) (Recorder, *Ticket) {
	t.Helper()
	s := NewRecorder()
	run := NewRun(oneTrip(t).Form(0), 100, at.Add(72*time.Hour).Unix(), make([]int32, stops))
	s.KnowRun(run)
	s.add(oneTicket(run, 1, at), at)
	_, ticket := s.AnyTicket(ids.ID{1, 1})
	return s, ticket
}

// oneTicket returns a booking, numbered n, of seat 1 of a run.
func oneTicket(run *Run, n byte, at time.Time) *Booking {
	return &Booking{
		ID:      ids.ID{n},
		Partner: ids.ID{n, 9},
		Created: at.UnixMilli(),
		Tickets: []Ticket{{
			ID:      ids.ID{n, 1},
			Created: at.UnixMilli(),
			Legs: [2]Leg{{
				Run:      run,
				To:       stops - 1,
				Seat:     1,
				Discount: -1,
				Amount:   10_001,
			}},
		}},
	}
}

// A booking, and each of its tickets, is found by the partner who made it, and by nobody else.
func TestABookingIsItsPartnersAlone(t *testing.T) {
	s, _ := sold(t, time.UnixMilli(0))
	for _, c := range []struct {
		who     string
		partner ids.ID
		finds   bool
	}{
		{"its partner", ids.ID{1, 9}, true},
		{"another partner", ids.ID{2, 9}, false},
		{"no partner", ids.ID{}, false},
	} {
		if b := s.Booking(c.partner, ids.ID{1}); (b != nil) != c.finds {
			t.Errorf("%s finds the booking: %t, want %t", c.who, b != nil, c.finds)
		}
		if b, x := s.Ticket(c.partner, ids.ID{1, 1}); (b != nil) != c.finds || (x != nil) != c.finds {
			t.Errorf("%s finds the ticket: %t, want %t", c.who, x != nil, c.finds)
		}
	}
}

// An unpaid ticket has its seat up to the end of its window, and not a millisecond longer; then it is
// Uncompleted, and the seat is free. Nothing has to happen for that.
func TestAnUnpaidTicketHasItsSeatForTwentyMinutes(t *testing.T) {
	at := time.UnixMilli(1_000)
	s, ticket := sold(t, at)
	tt := oneTrip(t)
	end := at.Add(20 * time.Minute)
	for _, c := range []struct {
		now  time.Time
		want string
		left int
	}{
		{at, "Processing", 69},
		{end.Add(-time.Millisecond), "Processing", 69},
		{end, "Uncompleted", 70},
		{end.Add(time.Hour), "Uncompleted", 70},
	} {
		got, _ := ticket.Status(c.now)
		left, _ := s.SeatsLeft(tt, &schedule.Leg{Day: 100, To: stops - 1}, schedule.MaxSeats, c.now)
		if got != c.want || left != c.left {
			t.Errorf("%s after the sale: it is %s, and %d seats are free, want %s and %d", c.now.Sub(at), got,
				left, c.want, c.left)
		}
	}
}

// Within the grace all of the price comes back; then what the first rule says whose hours are still ahead,
// to the second, and half a cent of it is rounded up; after the last rule nothing.
func TestWhatComesBackOfAPrice(t *testing.T) {
	at := time.UnixMilli(0)
	_, ticket := sold(t, at)
	form := *ticket.Legs[0].Run.Form
	form.Rules = []schedule.RefundRule{
		{ID: "a", Hours: 48, Percent: 9_000},
		{ID: "b", Hours: 24, Percent: 2_550},
	}
	ticket.Legs[0].Run.Form = &form
	leaves := ticket.Departure()
	for _, c := range []struct {
		now  time.Time
		want int64
	}{
		{at, 10_001},
		{at.Add(20*time.Minute - time.Millisecond), 10_001},
		{at.Add(20 * time.Minute), 9_001},
		{leaves.Add(-48 * time.Hour), 9_001},
		{leaves.Add(-48*time.Hour + time.Millisecond), 2_550},
		{leaves.Add(-24 * time.Hour), 2_550},
		{leaves.Add(-24*time.Hour + time.Millisecond), 0},
		{leaves, 0},
	} {
		var canceled CanceledTicket
		canceled.refund(ticket, c.now)
		if canceled.Refund != c.want {
			t.Errorf("%s before it leaves, %s after the sale: %d comes back, want %d", leaves.Sub(c.now),
				c.now.Sub(at), canceled.Refund, c.want)
		}
	}
}

// An audit finds a seat that two tickets have, also where the sets of seats that sales decide by agree.
func TestAnAuditFindsASeatThatIsSoldTwice(t *testing.T) {
	at := time.UnixMilli(0)
	s, ticket := sold(t, at)
	tt := oneTrip(t)
	if _, err := s.Audit(tt, at); err != nil {
		t.Fatalf("of one ticket: %v", err)
	}
	s.add(oneTicket(ticket.Legs[0].Run, 2, at), at)
	if _, err := s.Audit(tt, at); err == nil || !strings.Contains(err.Error(), "seat 1 of trip t") {
		t.Errorf("two tickets have the same seat, and the audit says %v, want that it names the seat", err)
	}
}

// An audit goes through two halves of the bookings at a time. Of two mistakes it tells that of the earlier
// booking; what no program has sold is an error, wherever it is.
func TestAnAuditTellsTheFirstMistake(t *testing.T) {
	at := time.UnixMilli(0)
	tt := oneTrip(t)
	for range 20 {
		s, ticket := sold(t, at)
		run := ticket.Legs[0].Run
		for n := byte(2); n < 10; n++ {
			b := oneTicket(run, n, at)
			b.Tickets[0].Legs[0].Seat = int16(n)
			if n == 3 || n == 8 {
				b.Tickets[0].Phase = Refunded // and was never paid
			}
			s.add(b, at)
		}
		want := "ticket " + ids.ID{3, 1}.String() + " was refunded"
		if _, err := s.Audit(tt, at); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %s", err, want)
		}
	}
	for _, n := range []byte{2, 9} {
		s, ticket := sold(t, at)
		run := ticket.Legs[0].Run
		for i := byte(2); i < 10; i++ {
			b := oneTicket(run, i, at)
			b.Tickets[0].Legs[0].Seat = int16(i)
			if i == n {
				b.Tickets[0].Legs[0].To = 99
			}
			s.add(b, at)
		}
		if _, err := s.Audit(tt, at); err == nil || !strings.Contains(err.Error(), "cannot be drawn up") {
			t.Errorf("a ride beyond its run, in booking %d: %v", n, err)
		}
	}
}

// Verify finds a seat that another ticket has also where the run is sold in a form for the first time.
func TestTheFirstSaleInANewFormIsChecked(t *testing.T) {
	at := time.UnixMilli(0)
	s, ticket := sold(t, at)
	form := *ticket.Legs[0].Run.Form
	form.Name = "renamed"
	other, err := schedule.DecodeForm(form.Encode())
	if err != nil {
		t.Fatal(err)
	}
	run := NewRun(other, 100, ticket.Legs[0].Run.Start, make([]int32, stops))
	e := &Created{
		Forms:   []*schedule.Form{other},
		Runs:    []*Run{run},
		Legs:    []SoldLeg{{Run: run.ID, From: 1, To: 2, Discount: -1}},
		Tickets: []NewTicket{{Seats: []int16{1}}},
	}
	if err := s.CheckCreated(at, e); err == nil || !strings.Contains(err.Error(), "seat 1 of trip t") {
		t.Errorf("seat 1 is another ticket's, and the check says %v", err)
	}
	e.Tickets[0].Seats[0] = 2
	if err := s.CheckCreated(at, e); err != nil {
		t.Errorf("seat 2 is nobody's: %v", err)
	}
}
