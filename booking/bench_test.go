package booking

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// BenchmarkSell is of a booking for two on a run with many holds: a bus of 1,000 seats and eight stops, of
// which 480 seats are held until their window is over. Create decides only, and Sell changes the state too.
func BenchmarkSell(b *testing.B) {
	const day, stops = 20_000, 8
	x := &schedule.Tables{
		Companies: []schedule.Company{{
			ID:   "c",
			Zone: "UTC",
		}}, Cities: []schedule.City{{ID: "a", Slug: "a", Zone: "UTC"}},
		Routes: []schedule.Route{{ID: "r"}}, Buses: []schedule.Bus{{
			ID:    "b",
			Seats: 1000,
		}}, Services: []schedule.Service{{First: day, Bits: []uint64{1}}},
		Patterns: []schedule.Pattern{{}}, Times: []schedule.Times{nil}, Trips: []schedule.Trip{{ID: "t"}},
	}
	for i := range int32(stops) {
		x.Stops = append(x.Stops, schedule.Stop{ID: fmt.Sprint(i)})
		x.Patterns[0].Stops, x.Times[0] = append(x.Patterns[0].Stops, i), append(x.Times[0], i*600, i*600)
	}
	tt, err := schedule.New(x)
	if err != nil {
		b.Fatal(err)
	}
	leg := []schedule.Leg{{Day: day, From: 1, To: 6}}
	sale := NewSale(tt, leg, []int64{35000}, "UAH", schedule.Day(day).In(time.UTC))
	two := []Passenger{NewPassenger("Lesia", "Ukrainka", "", []string{}),
		NewPassenger("Ivan", "Franko", "", []string{})}
	s := NewRecorder()
	now := schedule.Day(day - 10_000).In(time.UTC)
	n := uint64(0)
	id := func() (id ids.ID) {
		n++
		binary.BigEndian.PutUint64(id[:], n)
		return id
	}
	create := func() *Created {
		e, err := s.Create(now, sale, &Created{
			ID:         id(),
			Passengers: two,
			Tickets:    []NewTicket{{ID: id()}, {ID: id()}},
		})
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	sell := func() {
		now = now.Add(window / 240)
		if err := s.ApplyCreated(Line{Time: now}, create()); err != nil {
			b.Fatal(err)
		}
	}
	for range 240 {
		sell()
	}
	b.Run("Create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			create()
		}
	})
	b.Run("Sell", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sell()
		}
	})
}
