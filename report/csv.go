package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"waybill/booking"
)

// Columns are a report's, in their order (contract §10).
var Columns = strings.Split("orderId,bookingId,createdAt,departureLocal,departureUtc,route,from,to,seat,"+
	"firstName,lastName,email,phones,price,currency,discount,status,paymentStatus,refundAmount,source,partner", ",")

// row is an order of a report and what it is sorted by.
type row struct {
	at      int64 // Unix milliseconds
	booking *booking.Booking
	ticket  *booking.Ticket
}

func compare(a, b row) int {
	return cmp.Or(cmp.Compare(a.at, b.at), slices.Compare(a.ticket.ID[:], b.ticket.ID[:]))
}

// room is how many rows are sorted at a time.
const room = 1 << 15

// Write writes a company's orders as they stand at an instant: all tickets of
// the bookings that travel with it and lie in the report's range, in its
// order, those of the same instant by id. It gives their number.
//
// It takes memory for so many rows only: each round goes through all bookings and keeps
// the first rows that come after those already written.
func Write(ctx context.Context, to io.Writer, r *Report, bookings []*booking.Booking, now time.Time, partner func(booking.ID) string) (rows int, err error) {
	out := csv.NewWriter(bufio.NewWriterSize(to, 1<<16))
	out.UseCRLF = true // RFC 4180
	out.Write(Columns)
	cells := make([]string, 0, len(Columns))
	last := row{at: math.MinInt64, ticket: new(booking.Ticket)}
	for more := true; more && err == nil; err = ctx.Err() {
		var round []row
		round, more = r.round(bookings, last)
		for _, x := range round {
			cells = appendCells(cells[:0], x, now, partner(x.booking.Partner))
			out.Write(cells)
			last = x
		}
		rows += len(round)
	}
	out.Flush()
	return rows, cmp.Or(err, out.Error())
}

// round gives the first rows after last, in order; more tells that there are others.
func (r *Report) round(bookings []*booking.Booking, last row) (round []row, more bool) {
	first, end := r.Start.UnixMilli(), r.End.UnixMilli()
	cut := func() {
		if slices.SortFunc(round, compare); len(round) > room {
			round, more = round[:room], true
		}
	}
	for _, b := range bookings {
		if b == nil {
			continue
		}
		for i := range b.Tickets {
			t := &b.Tickets[i]
			x := row{t.Created, b, t}
			if r.OrderBy == DepartureDate {
				x.at = t.Departure().UnixMilli()
			}
			if x.at < first || x.at > end || !travelsWith(t, r.Company) || compare(x, last) <= 0 || more && compare(x, round[room-1]) > 0 {
				continue
			}
			if round = append(round, x); len(round) == 2*room {
				cut()
			}
		}
	}
	cut()
	return round, more
}

// travelsWith tells whether a ticket is an order of a company (contract §8).
func travelsWith(t *booking.Ticket, company string) bool {
	return slices.ContainsFunc(t.Itinerary(), func(l booking.Leg) bool { return l.Run.Form.Company.ID == company })
}

func appendCells(cells []string, x row, now time.Time, partner string) []string {
	t := x.ticket
	legs := t.Itinerary()
	first, last := legs[0], legs[len(legs)-1]
	from, to := &first.Run.Form.Stops[first.From], &last.Run.Form.Stops[last.To]
	zone := time.FixedZone("", int(first.Run.Offsets[first.From]))
	var seats []string
	discount, refund := "", ""
	for _, l := range legs {
		seats = append(seats, strconv.Itoa(int(l.Seat)))
		if l.Discount >= 0 && discount == "" {
			discount = hundredths(l.Run.Form.Discounts[l.Discount].Percent)
		}
	}
	if t.Phase == booking.Refunded {
		refund = hundredths(t.Refund)
	}
	firstName, lastName, email, phones := t.Passenger.Fields()
	status, payment := t.Status(now)
	const utc, local = "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000-07:00"
	return append(cells,
		text(t.ID.String()), text(x.booking.ID.String()), time.UnixMilli(t.Created).UTC().Format(utc),
		t.Departure().In(zone).Format(local), t.Departure().UTC().Format(utc),
		text(first.Run.Form.Route.Name), text(from.City.Name), text(to.City.Name), strings.Join(seats, " "),
		text(firstName), text(lastName), text(email), text(strings.Join(phones, " ")),
		hundredths(t.Price()), string(t.Currency[:]), discount, status, payment, refund, text(t.Source()), text(partner))
}

// hundredths writes money in minor units, or a percentage in hundredths. It is a number and stays one, whatever its sign.
func hundredths(v int64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	return fmt.Sprintf("%s%d.%02d", sign, v/100, v%100)
}

// text defuses a cell of text that a spreadsheet would read as a formula: an
// apostrophe before it makes it text there too.
func text(s string) string {
	visible := strings.TrimLeftFunc(s, unicode.IsSpace)
	if visible != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(visible)[0]) || s != "" && strings.ContainsRune("\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}
