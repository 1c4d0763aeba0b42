package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/booking"
	"waybill/schedule/ids"
)

// columns are a report's, in their order (decision reports.columns).
var columns = strings.Split("orderId,bookingId,createdAt,departureLocal,departureUtc,route,from,to,seat,"+
	"firstName,lastName,email,phones,price,currency,discount,status,paymentStatus,refundAmount,source,partner", ",")

// Write writes a company's orders as they stand at an instant: all tickets that travel with it and lie in the
// report's range, in its order, those of the same instant by id. It returns their number. A row is the
// company's own part of an order: the legs that it runs, with their share of the price and of what came back,
// so that the parts of an order add up to it.
//
// It takes memory for the rows of a round only: each round picks out of all bookings the first that are not
// written yet.
func Write(
	ctx context.Context,
	to io.Writer,
	r *Report,
	bookings Bookings,
	now time.Time,
	partner func(ids.ID) string,
) (rows int, err error) {
	w := writing{
		out:     csv.NewWriter(bufio.NewWriterSize(to, 1<<16)),
		rounds:  newRounds(r, bookings),
		now:     now,
		partner: partner,
	}
	err = w.all(ctx)
	return w.rows, err
}

// writing is a report that is being written.
type writing struct {
	rounds  *rounds
	out     *csv.Writer
	now     time.Time
	partner func(ids.ID) string

	rows  int // that are written
	cells []string
}

// all writes the file.
func (w *writing) all(ctx context.Context) (err error) {
	w.out.UseCRLF = true // RFC 4180
	w.out.Write(columns)
	for err == nil && w.rounds.advance() {
		err = w.round(ctx)
	}
	w.out.Flush()
	return cmp.Or(err, w.out.Error())
}

// round writes the rows of a round.
func (w *writing) round(ctx context.Context) error {
	var b booking.Booking
	rows := w.rounds.rows
	for i, r := range rows {
		if i == 0 || r.booking != rows[i-1].booking {
			w.rounds.bookings.Read(int(r.booking), &b)
		}
		w.row(&b, &b.Tickets[r.ticket])
		if err := cmp.Or(ctx.Err(), w.out.Error()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// row writes a ticket's row.
func (w *writing) row(b *booking.Booking, t *booking.Ticket) {
	legs := part(w.rounds.report, t)
	first := legs[0]
	last := legs[len(legs)-1]
	from := &first.Run.Form.Stops[first.From]
	to := &last.Run.Form.Stops[last.To]
	var room [2]string
	seats := room[:0]
	route := ""
	var price, back int64
	discount := ""
	refund := ""
	for _, l := range legs {
		seats = append(seats, strconv.Itoa(int(l.Seat)))
		if route != "" {
			route += "; "
		}
		route += l.Run.Form.Route.Name
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
	status, payment := t.Status(w.now)
	departs := departure(legs)
	w.cells = append(w.cells[:0],
		Text(t.ID.String()), Text(b.ID.String()), inUTC(time.UnixMilli(t.Created)),
		withOffset(first.Run.Local(departs, first.From)), inUTC(departs),
		Text(route), Text(from.City.Name), Text(to.City.Name), strings.Join(seats, " "),
		Text(firstName), Text(lastName), Text(email), Text(strings.Join(phones, " ")),
		hundredths(price), string(t.Currency[:]), discount, status, payment, refund, Text(t.Source()),
		Text(w.partner(b.Partner)))
	w.out.Write(w.cells)
	w.rows++
}

// inUTC writes an instant as 2026-11-20T08:30:00.000Z.
func inUTC(t time.Time) string {
	var room [32]byte
	return string(append(appendWall(room[:0], t.UTC()), 'Z'))
}

// withOffset writes an instant as 2026-11-20T10:30:00.000+02:00.
func withOffset(t time.Time) string {
	var room [32]byte
	return string(t.AppendFormat(appendWall(room[:0], t), "-07:00"))
}

// appendWall appends what the clock of an instant's zone shows, with milliseconds. Package time writes RFC
// 3339 in a third of the time that a layout with milliseconds takes.
func appendWall(b []byte, t time.Time) []byte {
	b = t.AppendFormat(b, time.RFC3339)
	b = b[:len(time.DateTime)]
	ms := t.Nanosecond() / 1e6
	return append(b, '.', '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10))
}

// hundredths writes money in minor units, or hundredths of a per cent. A number stays one, whatever its sign.
func hundredths(v int64) string {
	var room [24]byte
	b := room[:0]
	if v < 0 {
		b = append(b, '-')
		v = -v
	}
	b = strconv.AppendInt(b, v/100, 10)
	return string(append(b, '.', '0'+byte(v/10%10), '0'+byte(v%10)))
}

// Text defuses a cell that a spreadsheet would read as a formula: an apostrophe before it makes it text there
// too.
func Text(s string) string {
	first, _ := utf8.DecodeRuneInString(s)
	if unicode.IsLetter(first) {
		return s // as almost all are
	}
	visible := strings.TrimLeftFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Z, unicode.C)
	})
	begins, _ := utf8.DecodeRuneInString(visible)
	if strings.ContainsRune("=+-@＝＋－＠", begins) || strings.ContainsRune("\t\r\n", first) {
		return "'" + s
	}
	return s
}
