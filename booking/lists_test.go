package booking

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// Pages of tickets are those of the whole list, wherever they begin, also after tickets were moved and
// bookings emptied.
func TestPagesOfTicketsAreThoseOfTheWholeList(t *testing.T) {
	form := &schedule.Form{Trip: "t", Stops: make([]schedule.FormStop, 2), Bus: schedule.Bus{Seats: 49}}
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := NewRecorder()
		partner := ids.ID{1}
		newID := func() (id ids.ID) {
			for i := range id {
				id[i] = byte(rnd.Uint32())
			}
			return id
		}
		var tickets []ids.ID
		now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		for n := range 120 {
			now = now.Add(time.Hour)
			if n%5 == 4 {
				ticket := tickets[rnd.IntN(len(tickets))]
				to := newID()
				if e, err := s.Move(ticket, nil, to); err == nil && rnd.IntN(2) == 0 {
					if err := s.ApplyMoved(Line{Time: now}, e); err != nil {
						t.Fatal(err)
					}
				} else if b, _ := s.AnyTicket(tickets[rnd.IntN(len(tickets))]); b != nil {
					if e, err := s.Move(ticket, &b.ID, to); err == nil {
						if err := s.ApplyMoved(Line{Time: now}, e); err != nil {
							t.Fatal(err)
						}
					}
				}
				continue
			}
			run := NewRun(form, schedule.DayOf(now)+schedule.Day(rnd.IntN(3)),
				now.Unix()+int64(rnd.IntN(3))*86400, []int32{0, 0})
			e := &Created{
				ID:      newID(),
				Partner: partner,
				Legs:    []SoldLeg{{Run: run.ID, To: 1, Discount: -1}},
			}
			if s.RunByID(run.ID) == nil {
				e.Runs = []*Run{run}
			}
			for range 1 + rnd.IntN(4) {
				id := newID()
				e.Tickets, tickets = append(e.Tickets, NewTicket{
					ID:    id,
					Seats: []int16{1},
				}), append(tickets, id)
			}
			if err := s.ApplyCreated(Line{Time: now}, e); err != nil {
				t.Fatal(err)
			}
		}
		var all []Order
		bookings := slices.Collect(s.Freeze().All())
		for _, b := range slices.Backward(bookings) {
			for i := range b.Tickets {
				all = append(all, Order{b, &b.Tickets[i]})
			}
		}
		for range 300 {
			var leaves, made *schedule.Day
			if day := schedule.DayOf(now) - schedule.Day(rnd.IntN(7)); rnd.IntN(2) == 0 {
				leaves = &day
			}
			if day := schedule.DayOf(now) - schedule.Day(rnd.IntN(6)); rnd.IntN(2) == 0 {
				made = &day
			}
			var want []Order
			for _, o := range all {
				if (leaves == nil || schedule.DayOf(o.Booking.Departure()) == *leaves) &&
					(made == nil || schedule.DayOf(time.UnixMilli(o.Booking.Created)) == *made) {
					want = append(want, o)
				}
			}
			skip := rnd.IntN(len(all) + 2)
			take := 1 + rnd.IntN(50)
			orders := s.Orders(partner, leaves, made)
			page, total := orders.Page(skip, take)
			part := want[min(skip, len(want)):min(skip+take, len(want))]
			if total != len(want) || !slices.EqualFunc(page, part, same) {
				t.Fatalf("seed %d, skip %d, take %d: %d of %d, want %d of %d", seed, skip, take, len(page),
					total, len(part), len(want))
			}
		}
	}
}

// same reports whether two are the same ticket in the same booking.
func same(x, y Order) bool {
	return x.Booking.ID == y.Booking.ID && x.Ticket.ID == y.Ticket.ID
}
