package ledger

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/server/wire"
	"waybill/store"
)

// A snapshot is a line of each: the clock and the timetable, and every partner, user, session, report, feed,
// request with a key, message, changed run, form, run and booking, in the order they came into being, so that
// the same state is always the same bytes. Later lines name earlier ones, runs by number.

// snapshotVersion rises with what a snapshot must have; the journal is read instead of an earlier one.
const snapshotVersion = 3

// Freeze returns what writes the state as it is now.
func (c *Codec) Freeze(s *State) func(io.Writer) error {
	f := &frozen{
		codec:    c,
		head:     *s,
		partners: s.Partners.All(),
		users:    s.Accounts.Users(),
		sessions: s.Accounts.Sessions(),
		reports:  s.Reports.All(),
		feeds:    s.frozenFeeds(),
		requests: s.KeyedRequests.frozen(),
		messages: s.Outbox.All(),
		changes:  s.Bookings.AllChanges(),
		sold:     s.Bookings.Freeze(),
		asked:    maps.Clone(s.KeyedRequests.askedFor),
	}
	f.head.Geolocation = maps.Clone(s.Geolocation)
	return f.write
}

// frozen is the state at an instant. What it points to never changes.
type frozen struct {
	codec    *Codec
	head     State // of which only what the first line has
	partners []*auth.Partner
	users    []*auth.User
	sessions []*auth.Session
	reports  []*report.Report
	feeds    []frozenFeed
	requests []*KeyedRequest
	messages []*Message
	changes  []*booking.RunChange
	sold     booking.Frozen
	asked    map[booking.ID]*Idempotency // by ticket

	out  io.Writer
	line wire.Coder // what is written next
	err  error      // the first of out
}

// write writes a snapshot's lines.
func (f *frozen) write(out io.Writer) error {
	f.out = out
	f.line = wire.Coder{W: new(wire.Writer)}
	f.writeLine(func(c *wire.Coder) {
		codeHead(c, &f.head)
	})
	writeRows(f, "partner", f.partners)
	writeRows(f, "user", f.users)
	writeRows(f, "session", f.sessions)
	writeRows(f, "report", f.reports)
	for _, feed := range f.feeds {
		f.writeLine(feed.code)
	}
	writeRows(f, "retry", f.requests)
	slices.SortFunc(f.messages, func(a, b *Message) int {
		return strings.Compare(a.ID, b.ID)
	})
	writeRows(f, "message", f.messages)
	writeRows(f, "change", f.changes)
	numbers := f.writeRuns()
	whole := wholeBooking{
		runs:    f.sold.Runs,
		numbers: numbers,
		asks:    f.sold.Asks,
		asked:   f.asked,
	}
	for _, b := range f.sold.Bookings {
		whole.Booking = booking.Booking{}
		if b != nil {
			whole.Booking = *b
		}
		f.writeLine(whole.code)
	}
	return f.err
}

// writeLine writes a line, unless one before it could not be written.
func (f *frozen) writeLine(members func(*wire.Coder)) {
	if f.err != nil {
		return
	}
	w := f.line.W
	w.B = w.B[:0]
	f.line.Object("", func() {
		members(&f.line)
	})
	w.B = append(w.B, '\n')
	_, f.err = f.out.Write(w.B)
}

// writeRows writes what is rare enough for encoding/json, a line each.
func writeRows[T any](f *frozen, name string, list []*T) {
	for _, x := range list {
		f.writeLine(func(c *wire.Coder) {
			c.JSON(name, x)
		})
	}
}

// writeRuns writes the runs, each after its form, and returns their numbers.
func (f *frozen) writeRuns() map[*booking.Run]int32 {
	numbers := make(map[*booking.Run]int32, len(f.sold.Runs))
	written := map[*schedule.Form]bool{}
	for i, r := range f.sold.Runs {
		numbers[r] = int32(i)
		if !written[r.Form] {
			written[r.Form] = true
			f.writeLine(func(c *wire.Coder) {
				f.codec.form(c, "form", &r.Form)
			})
		}
		f.writeLine(func(c *wire.Coder) {
			f.codec.run(c, "run", &r)
		})
	}
	return numbers
}

// Thaw reads what Freeze wrote. The lines are read on a goroutine of their own, so that bookings are put back
// while the next are read.
func (c *Codec) Thaw(from io.Reader) (*State, error) {
	t := &thawing{codec: c, state: NewState()}
	batches := make(chan []*wholeBooking, 4)
	var err error
	go func() {
		defer close(batches)
		err = t.read(from, batches)
	}()
	for batch := range batches {
		for _, b := range batch {
			restored := b.Booking // without what is around it
			t.state.Bookings.RestoreBooking(&restored, b.asks)
			maps.Copy(t.state.KeyedRequests.askedFor, b.asked)
		}
	}
	return t.state, err
}

// thawing is a snapshot that is being read.
type thawing struct {
	codec *Codec
	state *State
	runs  []*booking.Run  // by number
	batch []*wholeBooking // read and not sent yet
	begun bool            // a booking was read: only bookings may follow
	older bool            // an earlier version wrote it
}

// read reads the lines of a snapshot after its first, restores what comes before the bookings, and sends
// these.
func (t *thawing) read(from io.Reader, batches chan<- []*wholeBooking) error {
	const batchSize = 256
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1<<18), math.MaxInt)
	for n := 2; lines.Scan(); n++ {
		c := &wire.Coder{R: wire.NewReader(lines.Bytes())}
		c.Object("", func() {
			t.readLine(c)
		})
		c.R.End()
		if t.older {
			return store.ErrOlder
		}
		if err := c.R.Err(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if len(t.batch) == batchSize {
			batches <- t.batch
			t.batch = nil
		}
	}
	batches <- t.batch
	return lines.Err()
}

// readLine reads the members of a line.
func (t *thawing) readLine(c *wire.Coder) {
	s := t.state
	if c.R.At("booking") { // by far the most
		t.readBooking(c)
		return
	}
	if t.begun {
		c.R.Reject("comes after a booking")
	}
	switch {
	case c.R.At("version"):
		t.older = codeHead(c, s)
	case c.R.At("clock"): // those before version 2 begin so
		t.older = true
		c.R.Skip()
	case readRow(c, "partner", s.Partners.Restore):
	case readRow(c, "user", s.Accounts.RestoreUser):
	case readRow(c, "session", s.Accounts.RestoreSession):
	case readRow(c, "report", s.Reports.Restore):
	case readRow(c, "retry", s.KeyedRequests.put):
	case readRow(c, "message", s.Outbox.Put):
	case c.R.At("feed"):
		var f frozenFeed
		f.code(c)
		s.EventFeeds[f.partner] = &EventFeed{seqs: f.lines}
	case readRow(c, "change", s.Bookings.RestoreChange):
	case c.R.At("form"):
		var f *schedule.Form
		t.codec.form(c, "form", &f)
	case c.R.At("run"):
		var r *booking.Run
		t.codec.run(c, "run", &r)
		if c.R.Err() == nil {
			s.Bookings.KnowRun(r)
			t.runs = append(t.runs, r)
		}
	default:
		c.R.Reject("is no line of a snapshot")
	}
}

// readBooking reads a booking, which is restored later.
func (t *thawing) readBooking(c *wire.Coder) {
	t.begun = true
	b := &wholeBooking{runs: t.runs}
	b.code(c)
	t.batch = append(t.batch, b)
}

// readRow reads what encoding/json wrote, if the line is that.
func readRow[T any](c *wire.Coder, name string, restore func(*T)) bool {
	if !c.R.At(name) {
		return false
	}
	x := new(T)
	c.JSON(name, x)
	if c.R.Err() == nil {
		restore(x)
	}
	return true
}

// codeHead codes the first line. What an earlier version wrote is not read any further.
func codeHead(c *wire.Coder, s *State) (older bool) {
	version := snapshotVersion
	wire.Number(c, "version", &version)
	switch {
	case version < snapshotVersion:
		c.Ignore("clock")
		c.Ignore("timetable")
		c.Ignore("geolocation")
		return true
	case version > snapshotVersion:
		c.R.Reject("is of a later version")
	}
	c.JSON("clock", &s.Clock)
	c.String("timetable", &s.TimetableHash)
	if c.Optional("geolocation", len(s.Geolocation) > 0) {
		c.JSON("geolocation", &s.Geolocation)
	}
	return false
}

// wholeBooking is a booking with all that is remembered of it.
type wholeBooking struct {
	booking.Booking
	runs    []*booking.Run
	numbers map[*booking.Run]int32
	asks    map[booking.ID]booking.Ask  // by ticket
	asked   map[booking.ID]*Idempotency // by ticket
}

// code codes a booking.
func (b *wholeBooking) code(c *wire.Coder) {
	c.Object("booking", func() {
		wire.ID(c, "id", &b.ID)
		wire.ID(c, "partner", &b.Partner)
		wire.Number(c, "created", &b.Created)
		wire.Number(c, "updated", &b.Updated)
		wire.List(c, "tickets", &b.Tickets, func(t *booking.Ticket) {
			c.Object("", func() {
				b.codeTicket(c, t)
			})
		})
	})
}

// codeTicket codes a ticket. What is usual is left out: it is most of a snapshot.
func (b *wholeBooking) codeTicket(c *wire.Coder, t *booking.Ticket) {
	wire.ID(c, "id", &t.ID)
	wire.NumberUnless(c, "created", &t.Created, b.Created)
	currency := string(t.Currency[:])
	c.String("currency", &currency)
	if !c.Writing() {
		copy(t.Currency[:], currency)
	}
	wire.NumberUnless(c, "phase", &t.Phase, 0)
	wire.NumberUnless(c, "was", &t.Was, 0)
	wire.NumberUnless(c, "carrier", &t.Carrier, 0)
	if c.Optional("noticed", t.Noticed) {
		c.Bool("noticed", &t.Noticed)
	}
	wire.NumberUnless(c, "earlier", &t.Earlier, 0)
	wire.NumberUnless(c, "asked", &t.Asked, 0)
	b.codeAsk(c, t)
	legs := t.Legs[:0]
	if c.Writing() {
		legs = t.Itinerary()
	}
	wire.List(c, "legs", &legs, func(l *booking.Leg) {
		b.codeLeg(c, l)
	})
	if n := len(legs); n < 1 || n > len(t.Legs) {
		c.R.Reject("a ticket has no leg, or more than two")
	}
	codePassenger(c, "passenger", &t.Passenger)
}

// codeAsk codes what a provider is asked about a ticket.
func (b *wholeBooking) codeAsk(c *wire.Coder, t *booking.Ticket) {
	ask, isAsked := b.asks[t.ID]
	if !c.Optional("key", isAsked) {
		return
	}
	under := b.asked[t.ID]
	wire.ID(c, "key", &ask.Key)
	wire.Number(c, "action", &ask.Action)
	c.String("request", &ask.Request)
	codeIdempotency(c, &under)
	if c.Writing() {
		return
	}
	if b.asks == nil {
		b.asks = map[booking.ID]booking.Ask{}
		b.asked = map[booking.ID]*Idempotency{}
	}
	b.asks[t.ID] = ask
	if under != nil {
		b.asked[t.ID] = under
	}
}

// codeLeg codes a leg, which names its run by number.
func (b *wholeBooking) codeLeg(c *wire.Coder, l *booking.Leg) {
	c.Object("", func() {
		run := b.numbers[l.Run]
		wire.Number(c, "run", &run)
		if !c.Writing() && run >= 0 && int(run) < len(b.runs) {
			l.Run = b.runs[run]
		}
		wire.Number(c, "from", &l.From)
		wire.Number(c, "to", &l.To)
		wire.Number(c, "seat", &l.Seat)
		wire.NumberUnless(c, "discount", &l.Discount, -1)
		wire.Number(c, "amount", &l.Amount)
		wire.NumberUnless(c, "refund", &l.Refund, 0)
	})
	if l.Run == nil {
		c.R.Reject("a leg names a run that is not there")
	}
}
