package report

import (
	"io"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
)

// BenchmarkWrite writes a report of 100,000 orders of a server's bookings: by their creation, which is the
// order of the bookings, and by departure.
func BenchmarkWrite(b *testing.B) {
	sold := frozen(b)
	for _, by := range []OrderBy{CreatedAt, DepartureDate} {
		b.Run(string(by), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := Write(b.Context(), io.Discard, always("north", by), sold, day0, partners)
				if err != nil || n != rows {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// frozen are bookings for two, one a second, on ten runs in turn.
func frozen(b *testing.B) booking.Frozen {
	sold := booking.NewRecorder()
	var runs []*booking.Run
	for hour := range int64(10) {
		runs = append(runs, run("north", "R", 23-2*hour, 0, "A", "B"))
	}
	two := []booking.Passenger{
		booking.NewPassenger("Lesia", "Ukrainka", "lesia@example.com", []string{"+380501112233"}),
		booking.NewPassenger("Ivan", "Franko", "ivan@example.com", nil),
	}
	for i := range rows / 2 {
		r := runs[i%len(runs)]
		e := &booking.Created{
			ID:         id(rows + i),
			Partner:    id(1),
			Currency:   "EUR",
			Legs:       []booking.SoldLeg{{Run: r.ID, To: 1, Amount: 4500, Discount: -1}},
			Passengers: two,
			Tickets: []booking.NewTicket{
				{ID: shuffled(2 * i), Seats: []int16{1}},
				{ID: shuffled(2*i + 1), Seats: []int16{2}},
			},
		}
		if i < len(runs) {
			e.Runs = []*booking.Run{r}
		}
		at := booking.Line{Seq: uint64(i + 1), Time: day0.Add(time.Duration(i) * time.Second)}
		if err := sold.ApplyCreated(at, e); err != nil {
			b.Fatal(err)
		}
	}
	return sold.State().Freeze()
}

// shuffled returns the n-th of ids in no order.
func shuffled(n int) (x ids.ID) {
	x = id(n)
	x[8] = byte(n * 0x9d)
	return x
}
