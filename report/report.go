// Package report keeps the reports of orders that companies ask for, and writes them as CSV ([Write]).
//
// A [State] is changed only by events, as in package booking. The package has no lock, clock or I/O of its
// own.
package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"waybill/booking"
)

// OrderBy is what a report's range and order go by (interface, Report).
type OrderBy string

const (
	CreatedAt     OrderBy = "CreatedAt"
	DepartureDate OrderBy = "DepartureDate"

	MaxRange = 366 * 24 * time.Hour // the longest a report covers (interface, Limits)
	Life     = 7 * 24 * time.Hour   // how long after its completion it can be downloaded (contract §10)
)

// Report is a company's report. It is immutable; a change makes a new one.
type Report struct {
	Ordered
	Created    time.Time `json:"created"`
	Completed  time.Time `json:"completed,omitzero"` // zero: it is still queued
	Downloaded time.Time `json:"downloaded,omitzero"`
	SHA256     string    `json:"sha256,omitempty"` // of the file, in hex
}

// Ordered says that a user asked for a report.
type Ordered struct {
	ID      booking.ID `json:"report"`
	Company string     `json:"company"` // its id
	User    booking.ID `json:"user"`
	OrderBy OrderBy    `json:"orderBy"`
	Start   time.Time  `json:"startDate"` // inclusive
	End     time.Time  `json:"endDate"`   // inclusive
}

// Completed says that a report's file is there, whole and durable.
type Completed struct {
	ID     booking.ID `json:"report"`
	Rows   int        `json:"rows"`
	SHA256 string     `json:"sha256"`
}

// Downloaded says that a report was fetched for the first time.
type Downloaded struct {
	ID booking.ID `json:"report"`
}

// State is all that is remembered of reports. It has no method that changes it: see [Recorder].
type State struct {
	list      []*Report // in the order they were asked for
	byID      map[booking.ID]int
	byCompany map[string][]int
	queued    map[int]bool   // those whose files are still to be written
	waiting   map[string]int // how many of these there are, by company
	// done are those whose files are there, by company, in the order of their completion, and so of their
	// expiry. Some of the first may have expired.
	done map[string][]int
}

// Recorder is a State with the methods that change it, each as an event says. Whoever makes the State holds
// the one Recorder of it, and hands out the State alone.
type Recorder struct{ *state }

type state = State // under a name that no other package can set the field by

// NewRecorder returns the state before the first report.
func NewRecorder() Recorder {
	return Recorder{&State{
		byID:      map[booking.ID]int{},
		byCompany: map[string][]int{},
		queued:    map[int]bool{},
		waiting:   map[string]int{},
		done:      map[string][]int{},
	}}
}

// State returns what is recorded, to read and to decide on.
func (s Recorder) State() *State { return s.state }

// ErrNotFound is the reason why not for an unknown report, another company's, and one whose time is over.
var ErrNotFound = errors.New("report: not found")

// Expires is when the file goes; false while it is queued.
func (r *Report) Expires() (time.Time, bool) {
	return r.Completed.Add(Life), !r.Completed.IsZero()
}

// Find returns a report that has not expired; company "" is any. The error is ErrNotFound.
func (s *State) Find(id booking.ID, company string, now time.Time) (*Report, error) {
	if i, ok := s.byID[id]; ok && (company == "" || s.list[i].Company == company) {
		at, done := s.list[i].Expires()
		if !done || now.Before(at) {
			return s.list[i], nil
		}
	}
	return nil, ErrNotFound
}

// List returns a page of a company's reports, the newest first, and how many there are.
func (s *State) List(company string, skip, take int) (page []*Report, total int) {
	of := s.byCompany[company]
	for i := len(of) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.list[of[i]])
	}
	return page, len(of)
}

// Waiting returns how many reports of a company are not written yet.
func (s *State) Waiting(company string) int {
	return s.waiting[company]
}

// Kept returns how many reports of a company are not written yet or have not expired, and when the first of
// them expires; zero where none is written. It does not look through them.
func (s *State) Kept(company string, now time.Time) (n int, expires time.Time) {
	done := s.done[company]
	gone := s.expired(done, now)
	if gone < len(done) {
		expires, _ = s.list[done[gone]].Expires()
	}
	return s.waiting[company] + len(done) - gone, expires
}

// NextExpiry returns when a report expires, of whatever company; zero where none is to.
func (s *State) NextExpiry(now time.Time) (first time.Time) {
	for company := range s.done {
		_, expires := s.Kept(company, now)
		if first.IsZero() || !expires.IsZero() && expires.Before(first) {
			first = expires
		}
	}
	return first
}

// expired returns how many of a company's completed reports have expired: they are the first.
func (s *State) expired(done []int, now time.Time) int {
	return sort.Search(len(done), func(n int) bool {
		expires, _ := s.list[done[n]].Expires()
		return now.Before(expires)
	})
}

// Queued returns the reports whose files are not there yet, the oldest first.
func (s *State) Queued() (list []*Report) {
	for _, i := range slices.Sorted(maps.Keys(s.queued)) {
		list = append(list, s.list[i])
	}
	return list
}

// All returns all reports in the order they were asked for.
func (s *State) All() []*Report {
	return slices.Clone(s.list)
}

// Restore puts a report back as a snapshot has it.
func (s Recorder) Restore(r *Report) {
	i := len(s.list)
	s.byID[r.ID] = i
	s.byCompany[r.Company] = append(s.byCompany[r.Company], i)
	s.list = append(s.list, r)
	if r.Completed.IsZero() {
		s.queue(i, true)
		return
	}
	s.shelve(i)
}

// shelve adds a report that is completed to its company's. Those of one instant are in the order in which
// they were ordered, as a snapshot has them.
func (s Recorder) shelve(i int) {
	done := s.done[s.list[i].Company]
	after := sort.Search(len(done), func(n int) bool {
		order := s.list[done[n]].Completed.Compare(s.list[i].Completed)
		return order > 0 || order == 0 && done[n] > i
	})
	s.done[s.list[i].Company] = slices.Insert(done, after, i)
}

// unshelve takes a report from its company's that are completed.
func (s Recorder) unshelve(i int) {
	company := s.list[i].Company
	s.done[company] = slices.DeleteFunc(s.done[company], func(other int) bool { return other == i })
}

// queue notes that a report's file is to be written, or is.
func (s Recorder) queue(i int, on bool) {
	if s.queued[i] == on {
		return
	}
	company := s.list[i].Company
	if on {
		s.queued[i] = true
		s.waiting[company]++
		return
	}
	delete(s.queued, i)
	s.waiting[company]--
	if s.waiting[company] == 0 {
		delete(s.waiting, company)
	}
}

// Requeue has files written anew.
func (s Recorder) Requeue(ids []booking.ID) {
	for _, id := range ids {
		s.change(id, func(r *Report) {
			r.Completed = time.Time{}
			r.SHA256 = ""
		})
	}
}

// ApplyOrdered queues a report.
func (s Recorder) ApplyOrdered(now time.Time, e *Ordered) {
	s.Restore(&Report{Ordered: *e, Created: now})
}

// ApplyCompleted remembers that a report's file is written.
func (s Recorder) ApplyCompleted(now time.Time, e *Completed) {
	s.change(e.ID, func(r *Report) {
		r.Completed = now
		r.SHA256 = e.SHA256
	})
	company := s.list[s.byID[e.ID]].Company
	s.done[company] = slices.Delete(s.done[company], 0, s.expired(s.done[company], now))
}

// ApplyDownloaded remembers the first download of a report.
func (s Recorder) ApplyDownloaded(now time.Time, e *Downloaded) {
	s.change(e.ID, func(r *Report) {
		if r.Downloaded.IsZero() { // journals of versions before may say it twice
			r.Downloaded = now
		}
	})
}

func (s Recorder) change(id booking.ID, f func(*Report)) {
	i, ok := s.byID[id]
	if !ok {
		panic("there is no report " + id.String()) // the journal's reader says in which line
	}
	before := s.list[i].Completed
	n := *s.list[i]
	f(&n)
	if !before.IsZero() && !n.Completed.Equal(before) {
		s.unshelve(i)
	}
	s.list[i] = &n
	s.queue(i, n.Completed.IsZero())
	if !n.Completed.IsZero() && !n.Completed.Equal(before) {
		s.shelve(i)
	}
}

// Columns are a report's, in their order (contract §10).
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
	r *Report,
	bookings iter.Seq[*booking.Booking],
	now time.Time,
	partner func(booking.ID) string,
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

// round returns the first rows after last, in order; more reports whether there are others.
func (r *Report) round(bookings iter.Seq[*booking.Booking], last row) (round []row, more bool) {
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
			x := row{t.Created, b, t, r.part(t)}
			if x.legs == nil {
				continue
			}
			if r.OrderBy == DepartureDate {
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

// part returns the legs of a ticket that the report's company runs (contract §10); nil where it runs none.
func (r *Report) part(t *booking.Ticket) []booking.Leg {
	legs := t.Itinerary()
	first := slices.IndexFunc(legs, r.runs)
	if first < 0 {
		return nil
	}
	end := first + 1
	for end < len(legs) && r.runs(legs[end]) {
		end++
	}
	return legs[first:end]
}

func (r *Report) runs(l booking.Leg) bool {
	return l.Run.Form.Company.ID == r.Company
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
