package ledger

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
)

// A snapshot is a line of each: the clock and the timetable, and every partner, user, session, report, feed,
// request with a key, message, count of messages that have left, newest of these, page of all of these,
// changed run, question to a provider, form, run and booking, in the order they came into being, so that the
// same state is always the same bytes. Later lines name earlier ones, runs by number. A booking is as the
// memory has it, packed, in base64; its passengers stand beside it in plain text.

// snapshotVersion rises with what a snapshot must have; the journal is read instead of another one.
const snapshotVersion = 10

// Freeze returns a function that writes the state as it is now.
func (c *Codec) Freeze(s State) func(io.Writer) error {
	f := &frozen{
		codec:      c,
		head:       *s.inner,
		partners:   s.Partners.All(),
		users:      s.Accounts.Users(),
		sessions:   s.Accounts.Sessions(),
		reports:    s.Reports.All(),
		feeds:      s.frozenFeeds(),
		requests:   s.KeyedRequests.frozen(),
		messages:   s.Outbox.All(),
		counts:     s.Outbox.frozenCounts(),
		left:       s.Outbox.NewestLeft(),
		deliveries: s.Outbox.Deliveries(),
		changes:    s.Bookings.AllChanges(),
		sold:       s.Bookings.Freeze(),
		asked:      maps.Clone(s.KeyedRequests.askedFor),
	}
	f.head.geolocation = maps.Clone(s.inner.geolocation)
	return f.write
}

// frozen is the state at an instant. Nothing that it points to ever changes.
type frozen struct {
	codec      *Codec
	head       inner // of which the first line has some members
	partners   []*auth.Partner
	users      []*auth.User
	sessions   []*auth.Session
	reports    []*report.Report
	feeds      []frozenFeed
	requests   []*KeyedRequest
	messages   []*Message
	counts     []*leftCount
	left       []*Left
	deliveries Deliveries
	changes    []*booking.RunChange
	sold       booking.Frozen
	asked      map[ids.ID]*Idempotency // by ticket

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
		return cmp.Or(a.At.Compare(b.At), compareLines(a, b)) // as they came
	})
	writeRows(f, "message", f.messages)
	writeRows(f, "left", f.counts)
	writeRows(f, "sent", f.left)
	for _, page := range f.deliveries {
		f.writeLine(func(c *wire.Coder) {
			writeDeliveries(c, page)
		})
	}
	writeRows(f, "change", f.changes)
	writeRows(f, "ask", f.askRows())
	f.writeRuns()
	for i := range f.sold.Len() {
		b := f.sold.Packed(i)
		f.writeLine(func(c *wire.Coder) {
			c.W.Base64("booking", b.Facts)
			c.W.String("passengers", b.Passengers)
		})
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

// writeRows writes values that are rare enough for encoding/json, a line each.
func writeRows[T any](f *frozen, name string, list []*T) {
	for _, x := range list {
		f.writeLine(func(c *wire.Coder) {
			c.JSON(name, x)
		})
	}
}

// writeRuns writes the runs, each after its form.
func (f *frozen) writeRuns() {
	written := map[*schedule.Form]bool{}
	for _, r := range f.sold.Runs {
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
}

// Thaw reads a state that Freeze's function has written. The lines are read on a goroutine of their own, so
// that bookings are put back while the next are read.
func (c *Codec) Thaw(from io.Reader) (State, error) {
	t := &thawing{
		codec:    c,
		state:    newState(),
		batches:  make(chan packedBatch, batches),
		restored: make(chan packedBatch, batches),
	}
	for range batches - 1 {
		t.restored <- packedBatch{}
	}
	var wrong, err error
	bookings := t.state.inner.bookings.Restore()
	go func() {
		defer close(t.batches)
		err = t.read(from)
	}()
	for batch := range t.batches {
		if wrong == nil {
			wrong = batch.restore(bookings)
		}
		t.restored <- batch
	}
	if wrong == nil && err == nil {
		bookings.Done()
	}
	for _, x := range t.asks {
		if wrong == nil && err == nil {
			wrong = t.state.restoreAsk(x)
		}
	}
	return t.state, cmp.Or(err, wrong)
}

// thawing is a snapshot that is being read.
type thawing struct {
	codec   *Codec
	state   State
	batches chan packedBatch
	// restored are batches whose room is used again.
	restored chan packedBatch
	batch    packedBatch // read and not sent yet
	facts    []byte      // room for those of a booking
	asks     []*askRow   // to be put back once the tickets are there
	begun    bool        // a booking was read: only bookings may follow
}

const (
	batches   = 5   // of bookings, between those who read and put back
	batchSize = 256 // bookings
)

// packedBatch is bookings that were read, packed, one behind the other, and where each ends.
type packedBatch struct {
	text []byte
	ends []int
}

// restore puts the bookings back.
func (x *packedBatch) restore(bookings *booking.Restoring) error {
	start := 0
	for _, end := range x.ends {
		// A text for each: it is given up when the booking changes.
		if err := bookings.Booking(string(x.text[start:end])); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// read reads the lines of a snapshot after its first, restores what comes before the bookings, and sends
// these.
func (t *thawing) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1<<18), math.MaxInt)
	c := &wire.Coder{R: new(wire.Reader)}
	for n := 2; lines.Scan(); n++ {
		c.R.Reset(lines.Bytes())
		c.Open("")
		t.readLine(c)
		c.Close()
		c.R.End()
		if err := c.R.Err(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	t.batches <- t.batch
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
		codeHead(c, s.inner)
	case readRow(c, "partner", s.inner.partners.Restore):
	case readRow(c, "user", s.inner.accounts.RestoreUser):
	case readRow(c, "session", s.inner.accounts.RestoreSession):
	case readRow(c, "report", s.inner.reports.Restore):
	case readRow(c, "retry", s.KeyedRequests.put):
	case readRow(c, "message", s.Outbox.put):
	case readRow(c, "left", s.Outbox.restoreCount):
	case readRow(c, "sent", s.Outbox.rememberLeft):
	case c.R.At("told"):
		s.Outbox.readDeliveries(c)
	case c.R.At("feed"):
		var f frozenFeed
		f.code(c)
		s.inner.feeds[f.partner] = &EventFeed{seqs: f.lines}
	case readRow(c, "change", s.inner.bookings.RestoreChange):
	case readRow(c, "ask", t.ask):
	case c.R.At("form"):
		var f *schedule.Form
		t.codec.form(c, "form", &f)
	case c.R.At("run"):
		var r *booking.Run
		if known := t.codec.run(c, "run", &r); !known {
			c.R.Reject(errNoForm.Error())
		}
		if c.R.Err() == nil {
			s.inner.bookings.KnowRun(r)
		}
	default:
		c.R.Reject("is no line of a snapshot")
	}
}

// readBooking reads a booking, which is restored later.
func (t *thawing) readBooking(c *wire.Coder) {
	t.begun = true
	x := &t.batch
	t.facts = c.R.Base64("booking", t.facts[:0])
	c.R.Member("passengers")
	passengers := c.R.Bytes()
	if len(t.facts) > 0 {
		x.text = append(booking.AppendText(x.text, t.facts), passengers...)
	}
	x.ends = append(x.ends, len(x.text))
	if len(x.ends) == batchSize && c.R.Err() == nil {
		t.batches <- t.batch
		t.batch = <-t.restored
		t.batch.text = t.batch.text[:0]
		t.batch.ends = t.batch.ends[:0]
	}
}

// readRow reads a value that encoding/json wrote, if the line has it.
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

// codeHead codes the first line.
func codeHead(c *wire.Coder, s *inner) {
	version := snapshotVersion
	wire.Number(c, "version", &version)
	if version != snapshotVersion {
		c.R.Reject("is of another version")
	}
	c.JSON("clock", &s.clock)
	c.String("timetable", &s.timetableHash)
	if c.Optional("geolocation", len(s.geolocation) > 0) {
		c.JSON("geolocation", &s.geolocation)
	}
}

// askRow is a question to the provider about a ticket, with its Idempotency-Key.
type askRow struct {
	Ticket  ids.ID         `json:"ticket"`
	Key     ids.ID         `json:"key"`
	Action  booking.Action `json:"action"`
	Request string         `json:"request"`
	Under   *Idempotency   `json:"retry,omitempty"`
}

// askRows returns the questions to the provider, by ticket.
func (f *frozen) askRows() (list []*askRow) {
	for _, ticket := range slices.SortedFunc(maps.Keys(f.sold.Asks), ids.ID.Compare) {
		ask := f.sold.Asks[ticket]
		list = append(list, &askRow{ticket, ask.Key, ask.Action, ask.Request, f.asked[ticket]})
	}
	return list
}

// ask adds a question to the provider.
func (t *thawing) ask(x *askRow) {
	t.asks = append(t.asks, x)
}

// restoreAsk puts back a question about a ticket, which is there.
func (s State) restoreAsk(x *askRow) error {
	if _, ticket := s.Bookings.AnyTicket(x.Ticket); ticket == nil {
		return fmt.Errorf("the provider is asked about %s, which is no ticket", x.Ticket)
	}
	s.inner.bookings.RestoreAsk(x.Ticket, booking.Ask{Key: x.Key, Action: x.Action, Request: x.Request})
	if x.Under != nil {
		s.KeyedRequests.askedFor[x.Ticket] = x.Under
	}
	return nil
}
