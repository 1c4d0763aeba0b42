package booking

import (
	"reflect"
	"testing"
	"time"

	"waybill/schedule/ids"
)

// A state that is put back from a snapshot finds what the one before found: also where a forged journal has
// an id twice, whose later booking is found.
func TestWhatIsPutBackIsFoundAsBefore(t *testing.T) {
	run := NewRun(oneTrip(t).Form(0), 100, 0, make([]int32, stops))
	before := NewRecorder()
	before.KnowRun(run)
	bookings := []Booking{
		{ID: ids.ID{1}, Tickets: []Ticket{{ID: ids.ID{11}}, {ID: ids.ID{12}}}},
		{ID: ids.ID{2}, Tickets: []Ticket{{ID: ids.ID{21}}}},
		{ID: ids.ID{3}, Tickets: []Ticket{{ID: ids.ID{31}}, {ID: ids.ID{11}}}},
		{ID: ids.ID{2}, Tickets: []Ticket{{ID: ids.ID{41}}}},
	}
	for _, b := range bookings {
		for i := range b.Tickets {
			b.Tickets[i].Legs[0] = Leg{
				Run:      run,
				To:       1,
				Seat:     1,
				Discount: -1,
			}
		}
		before.add(&b, time.UnixMilli(0))
	}
	after := NewRecorder()
	after.KnowRun(NewRun(run.Form, run.Day, run.Start, run.Offsets))
	restoring := after.Restore()
	frozen := before.Freeze()
	for i := range frozen.Len() {
		if err := restoring.Booking(frozen.packed.At(i)); err != nil {
			t.Fatal(err)
		}
	}
	restoring.Done()
	number := func(b *Booking) int { // that was found; -1 for none
		if b == nil {
			return -1
		}
		return int(b.number)
	}
	for _, id := range []ids.ID{{1}, {2}, {3}, {4}} {
		if was, is := number(before.Any(id)), number(after.Any(id)); was != is {
			t.Errorf("by id %d booking number %d was found, and after the start number %d", id[0], was, is)
		}
	}
	for _, id := range []ids.ID{{11}, {12}, {21}, {31}, {41}, {51}} {
		in, _ := before.AnyTicket(id)
		now, _ := after.AnyTicket(id)
		if was, is := number(in), number(now); was != is {
			t.Errorf("ticket %d was found in booking number %d, and after the start in %d", id[0], was, is)
		}
	}
	if before.byTicket.Len() != after.byTicket.Len() || before.byID.Len() != after.byID.Len() {
		t.Errorf("%d tickets of %d bookings are known, want %d of %d", after.byTicket.Len(), after.byID.Len(),
			before.byTicket.Len(), before.byID.Len())
	}
}

// Each booking is read as it is, whatever was in its room before, and the reader may rest after each.
func TestABookingIsReadInTheRoomOfAnother(t *testing.T) {
	run := NewRun(oneTrip(t).Form(0), 100, 0, make([]int32, stops))
	s := NewRecorder()
	s.KnowRun(run)
	leg := Leg{Run: run, To: 1, Seat: 1, Discount: -1}
	for n, tickets := range []int{3, 1, 0, 2} {
		b := &Booking{ID: ids.ID{byte(n)}, Partner: ids.ID{7}}
		for i := range tickets {
			b.Tickets = append(b.Tickets, Ticket{
				ID:        ids.ID{byte(n), byte(i)},
				Legs:      [2]Leg{leg},
				Passenger: NewPassenger("Lesia", "", "", []string{}),
				Carrier:   Carrier(n % 2),
			})
			if n == 0 {
				b.Tickets[i].Legs[1] = leg // of which the next must have nothing
			}
		}
		s.add(b, time.UnixMilli(0))
	}
	s.packed.Set(2, "") // its tickets have moved away
	frozen := s.Freeze()
	steps := 0
	frozen.Step = func() { steps++ }
	var b Booking
	for i := range frozen.Len() {
		want := frozen.At(i)
		found := frozen.Read(i, &b)
		if found != (want != nil) || found && !reflect.DeepEqual(&b, want) {
			t.Errorf("booking %d is read as %v, %t, want %v", i, b, found, want)
		}
	}
	if steps != frozen.Len() {
		t.Errorf("%d steps of %d bookings", steps, frozen.Len())
	}
}
