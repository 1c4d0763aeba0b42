// Package table writes a report of orders as CSV that spreadsheets read ([Write]). It writes to an io.Writer
// and knows nothing of where the file lies or who asked for it.
package table

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/report"
)

// Columns are a report's, in their order (decision reports.columns).
var Columns = strings.Split("orderId,bookingId,createdAt,departureLocal,departureUtc,route,from,to,seat,"+
	"firstName,lastName,email,phones,price,currency,discount,status,paymentStatus,refundAmount,source,partner", ",")

// row is a company's part of an order, and what it is sorted by.
type row struct {
	at      int64 // Unix milliseconds
	booking *booking.Booking
	ticket  *booking.Ticket
	legs    []booking.Leg // those that the company runs
}

func compare(a, b row) int {
	return cmp.Or(cmp.Compare(a.at, b.at), slices.Compare(a.ticket.ID[:], b.ticket.ID[:]))
}

const room = 1 << 15 // how many rows are written at a time

// Write writes a company's orders as they stand at an instant: all tickets that travel with it and lie in the
// report's range, in its order, those of the same instant by id. It returns their number. A row is the
// company's own part of an order: the legs that it runs, with their share of the price and of what came back,
// so that the parts of an order add up to it.
//
// It takes memory for so many rows only: each round picks out of all bookings the first that are not written
// yet.
func Write(
	ctx context.Context,
	to io.Writer,
	r *report.Report,
	bookings iter.Seq[*booking.Booking],
	now time.Time,
	partner func(ids.ID) string,
) (rows int, err error) {
	out := csv.NewWriter(bufio.NewWriterSize(to, 1<<16))
	out.UseCRLF = true // RFC 4180
	out.Write(Columns)
	cells := make([]string, 0, len(Columns))
	last := row{
		at:     math.MinInt64,
		ticket: new(booking.Ticket),
	}
	for more := true; more && err == nil; err = ctx.Err() {
		var round []row
		round, more = roundOf(r, bookings, last)
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

// roundOf returns the first rows after last, in order; more reports whether there are others.
func roundOf(r *report.Report, bookings iter.Seq[*booking.Booking], last row) (round []row, more bool) {
	first := r.Start.UnixMilli()
	end := r.End.UnixMilli()
	cut := func() {
		if slices.SortFunc(round, compare); len(round) > room {
			round = round[:room]
			more = true
		}
	}
	for b := range bookings {
		for i := range b.Tickets {
			t := &b.Tickets[i]
			x := row{t.Created, b, t, part(r, t)}
			if x.legs == nil {
				continue
			}
			if r.OrderBy == report.DepartureDate {
				x.at = x.departure().UnixMilli()
			}
			if x.at < first || x.at > end || compare(x, last) <= 0 || more && compare(x, round[room-1]) > 0 {
				continue
			}
			round = append(round, x)
			if len(round) == 2*room {
				cut()
			}
		}
	}
	cut()
	return round, more
}

// part returns the legs of a ticket that the report's company runs (decision reports.rows); nil where it runs
// none.
func part(r *report.Report, t *booking.Ticket) []booking.Leg {
	legs := t.Itinerary()
	runs := func(l booking.Leg) bool {
		return l.Run.Form.Company.ID == r.Company
	}
	first := slices.IndexFunc(legs, runs)
	if first < 0 {
		return nil
	}
	end := first + 1
	for end < len(legs) && runs(legs[end]) {
		end++
	}
	return legs[first:end]
}

// departure is when the part starts.
func (x *row) departure() time.Time {
	return x.legs[0].Run.Dep(x.legs[0].From)
}

func appendCells(cells []string, x row, now time.Time, partner string) []string {
	t := x.ticket
	first := x.legs[0]
	last := x.legs[len(x.legs)-1]
	from := &first.Run.Form.Stops[first.From]
	to := &last.Run.Form.Stops[last.To]
	zone := time.FixedZone("", int(first.Run.Offsets[first.From]))
	var seats []string
	var price, back int64
	discount := ""
	refund := ""
	for _, l := range x.legs {
		seats = append(seats, strconv.Itoa(int(l.Seat)))
		price += l.Amount
		back += l.Refund
		if l.Discount >= 0 && discount == "" {
			discount = hundredths(l.Run.Form.Discounts[l.Discount].Percent)
		}
	}
	if t.Phase == booking.Refunded {
		refund = hundredths(back)
	}
	firstName, lastName, email, phones := t.Passenger.Fields()
	status, payment := t.Status(now)
	const utc, local = "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000-07:00"
	return append(cells,
		Text(t.ID.String()), Text(x.booking.ID.String()), time.UnixMilli(t.Created).UTC().Format(utc),
		x.departure().In(zone).Format(local), x.departure().UTC().Format(utc),
		Text(first.Run.Form.Route.Name), Text(from.City.Name), Text(to.City.Name), strings.Join(seats, " "),
		Text(firstName), Text(lastName), Text(email), Text(strings.Join(phones, " ")),
		hundredths(price), string(t.Currency[:]), discount, status, payment, refund, Text(t.Source()),
		Text(partner))
}

// hundredths writes money in minor units, or hundredths of a per cent. A number stays one, whatever its sign.
func hundredths(v int64) string {
	sign := ""
	if v < 0 {
		sign = "-"
		v = -v
	}
	return fmt.Sprintf("%s%d.%02d", sign, v/100, v%100)
}

// Text defuses a cell that a spreadsheet would read as a formula: an apostrophe before it makes it text there
// too.
func Text(s string) string {
	visible := strings.TrimLeftFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Z, unicode.C)
	})
	if strings.IndexAny(visible, "=+-@＝＋－＠") == 0 || strings.IndexAny(s, "\t\r\n") == 0 {
		return "'" + s
	}
	return s
}
