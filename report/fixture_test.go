package report

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
)

var update = flag.Bool("update", false, "write the golden files anew")

// day0 is the service day of all runs; departures are counted from it.
var day0 = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

const hour = int64(time.Hour / time.Second)

// run is a trip of a company over cities, an hour apart, from an hour of day0 on; the clocks are ahead of UTC
// by so many seconds.
func run(company, route string, start int64, ahead int32, cities ...string) *booking.Run {
	f := &schedule.Form{
		Trip: company + " " + route, Company: schedule.Company{
			ID:     company,
			Source: schedule.OwnSource,
		}, Route: schedule.Route{Name: route},
		Discounts: []schedule.Discount{{ID: "d5", Percent: 500}, {ID: "d12", Percent: 1250}},
	}
	var offsets []int32
	for i, city := range cities {
		at := int32(hour) * int32(i)
		f.Stops = append(f.Stops, schedule.FormStop{City: schedule.City{Name: city}, Arr: at, Dep: at + 300})
		offsets = append(offsets, ahead)
	}
	return booking.NewRun(f, schedule.DayOf(day0), day0.Unix()+start*hour, offsets)
}

// leg is a ride on a run, all of it, without a discount.
func leg(r *booking.Run, seat int16, amount int64) booking.Leg {
	return booking.Leg{Run: r, To: int16(len(r.Form.Stops) - 1), Seat: seat, Discount: -1, Amount: amount}
}

// id is the n-th in order.
func id(n int) (id ids.ID) {
	id[0] = 0x40 // no text of it starts with a character that a spreadsheet minds
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// ticket is the n-th, with legs, created so long after day0.
func ticket(n int, created time.Duration, legs ...booking.Leg) booking.Ticket {
	t := booking.Ticket{
		ID:        id(n),
		Created:   day0.Add(created).UnixMilli(),
		Currency:  [3]byte{'E', 'U', 'R'},
		Phase:     booking.Paid,
		Passenger: booking.NewPassenger("Anna", "Kovalenko", "anna@example.com", nil),
	}
	copy(t.Legs[:], legs)
	return t
}

// bookingOf puts tickets into the booking n of partner 1.
func bookingOf(n int, tickets ...booking.Ticket) *booking.Booking {
	return &booking.Booking{
		ID:      id(1_000_000 + n),
		Partner: id(1),
		Created: tickets[0].Created,
		Tickets: tickets,
	}
}

// made are bookings by number.
type made []*booking.Booking

func (m made) Len() int { return len(m) }

func (m made) Read(number int, into *booking.Booking) bool {
	*into = *m[number]
	return true
}

// always is a range that everything is in.
func always(company string, by OrderBy) *Report {
	return &Report{Ordered: Ordered{
		Company: company,
		OrderBy: by,
		Start:   day0.AddDate(-1, 0, 0),
		End:     day0.AddDate(1, 0, 0),
	}}
}

// partners names the partners of the tests.
func partners(p ids.ID) string {
	return map[ids.ID]string{id(1): "Квитки онлайн", id(2): "=cmd|' /C calc'!A0"}[p]
}

// written returns a report's file as it is two days after day0.
func written(t testing.TB, r *Report, list ...*booking.Booking) string {
	t.Helper()
	var b bytes.Buffer
	n, err := Write(context.Background(), &b, r, made(list), day0.AddDate(0, 0, 2), partners)
	if err != nil {
		t.Fatal(err)
	}
	if rows := parsed(t, b.String()); len(rows) != n+1 {
		t.Errorf("%d rows are counted, %d written", n, len(rows)-1)
	}
	return b.String()
}

// parsed reads a file as RFC 4180 has it.
func parsed(t testing.TB, text string) [][]string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = len(columns)
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return rows
}

// column returns the cells under a name.
func column(t testing.TB, text, name string) (cells []string) {
	t.Helper()
	rows := parsed(t, text)
	for i, c := range rows[0] {
		for _, row := range rows[1:] {
			if c == name {
				cells = append(cells, row[i])
			}
		}
	}
	return cells
}

// golden compares a file with the one that is kept, byte by byte.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".csv")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what it was:\n%s", path, got)
	}
}
