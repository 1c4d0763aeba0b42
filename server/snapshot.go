package server

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"waybill/booking"
	"waybill/schedule"
	"waybill/server/wire"
	"waybill/store"
)

// coder writes the journal's and snapshots' JSON, or reads it: one description of an object, its members in order,
// does both, so that they cannot disagree. What it reads is what it wrote, byte for byte in its form.
type coder struct {
	w *wire.Writer // nil when reading
	r *wire.Reader
}

func (c *coder) writing() bool { return c.w != nil }

func (c *coder) object(name string, members func()) {
	if c.writing() {
		c.w.Object(name)
		members()
		c.w.EndObject()
		return
	}
	c.r.Member(name)
	c.r.Literal("{")
	members()
	c.r.Literal("}")
}

// optional tells whether a member is there: when writing, as given.
func (c *coder) optional(name string, there bool) bool {
	return c.writing() && there || !c.writing() && c.r.At(name)
}

func (c *coder) string(name string, v *string) {
	if c.writing() {
		c.w.String(name, *v)
		return
	}
	c.r.Member(name)
	*v = c.r.String()
}

func (c *coder) bool(name string, v *bool) {
	if c.writing() {
		c.w.Bool(name, *v)
		return
	}
	c.r.Member(name)
	*v = c.r.Bool()
}

// json is a value that is rare enough for encoding/json; v points to it.
func (c *coder) json(name string, v any) {
	if c.writing() {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("server: %T cannot be written: %v", v, err))
		}
		c.w.Raw(name, text)
		return
	}
	c.r.Member(name)
	if text := c.r.Raw(); text != nil {
		if err := json.Unmarshal(text, v); err != nil {
			c.r.Reject(err.Error())
		}
	}
}

func number[T ~int | ~int16 | ~int32 | ~int64 | ~uint8](c *coder, name string, v *T) {
	if c.writing() {
		c.w.Int(name, int64(*v))
		return
	}
	c.r.Member(name)
	n := c.r.Int()
	if *v = T(n); int64(*v) != n {
		c.r.Reject(fmt.Sprintf("%s %d is out of range", name, n))
	}
}

// unless is a whole number that is left out where it is what it mostly is.
func unless[T ~int16 | ~int64 | ~uint8](c *coder, name string, v *T, mostly T) {
	if c.optional(name, *v != mostly) {
		number(c, name, v)
	} else if !c.writing() { // what is written is shared
		*v = mostly
	}
}

// id is 128 random bits.
func id[T ~[16]byte](c *coder, name string, v *T) {
	if c.writing() {
		writeID(c.w, name, [16]byte(*v))
		return
	}
	c.r.Member(name)
	text := c.r.Bytes()
	var room [18]byte
	n, err := base64.RawURLEncoding.Strict().Decode(room[:], text[:min(len(text), 22)])
	if err != nil || n != 16 || len(text) != 22 {
		c.r.Reject(name + " is not an id")
	}
	*v = T(room[:16])
}

// text is a value with a form in text.
func text[T any](c *coder, name string, v *T, format func(T) string, parse func(string) (T, bool)) {
	if c.writing() {
		c.w.String(name, format(*v))
		return
	}
	c.r.Member(name)
	s := c.r.String()
	var ok bool
	if *v, ok = parse(s); !ok {
		c.r.Reject(fmt.Sprintf("%s %q is not what is expected", name, s))
	}
}

func list[T any](c *coder, name string, v *[]T, item func(*T)) {
	if c.writing() {
		c.w.Array(name)
		for i := range *v {
			item(&(*v)[i])
		}
		c.w.EndArray()
		return
	}
	c.r.Member(name)
	c.r.Literal("[")
	for c.r.More() {
		*v = append(*v, *new(T))
		item(&(*v)[len(*v)-1])
	}
}

// A snapshot is a line of each: the clock and the timetable, and every partner, user, session, report, feed, request
// with a key, message, form, run and booking, in the order they came into being, so that the same state is always the same bytes. Later lines name
// earlier ones, runs by number.

// snapshotVersion rises with what a snapshot must have; the journal is read instead of an earlier one.
const snapshotVersion = 3

// freeze gives what writes the state as it is now.
func (j *journal) freeze(s *State) func(io.Writer) error {
	head := *s
	head.Geolocation = maps.Clone(s.Geolocation)
	partners, users, sessions, reports := s.Partners.All(), s.Accounts.Users(), s.Accounts.Sessions(), s.Reports.All()
	frozen, feeds := s.Bookings.Freeze(), s.frozenFeeds()
	retries, messages := s.Retries.frozen(), slices.Collect(maps.Values(s.Outbox.messages))
	return func(to io.Writer) (err error) {
		var w wire.Writer
		c := &coder{w: &w}
		line := func(members func()) {
			if err == nil {
				w.B = w.B[:0]
				c.object("", members)
				w.B = append(w.B, '\n')
				_, err = to.Write(w.B)
			}
		}
		line(func() { codeHead(c, &head) })
		rows(line, c, "partner", partners)
		rows(line, c, "user", users)
		rows(line, c, "session", sessions)
		rows(line, c, "report", reports)
		for _, f := range feeds {
			line(func() { f.code(c) })
		}
		rows(line, c, "retry", retries)
		slices.SortFunc(messages, func(a, b *message) int { return strings.Compare(a.ID, b.ID) })
		rows(line, c, "message", messages)
		numbers := make(map[*booking.Run]int32, len(frozen.Runs))
		forms := map[*schedule.Form]bool{}
		for i, r := range frozen.Runs {
			numbers[r] = int32(i)
			if !forms[r.Form] {
				forms[r.Form] = true
				line(func() { j.form(c, "form", &r.Form) })
			}
			line(func() { j.run(c, "run", &r) })
		}
		for _, b := range frozen.Bookings {
			whole := wholeBooking{runs: frozen.Runs, numbers: numbers, asks: frozen.Asks}
			if b != nil {
				whole.Booking = *b
			}
			line(func() { whole.code(c) })
		}
		return err
	}
}

// thaw reads what freeze wrote: on a goroutine of its own, so that bookings are put back while the next are read.
func (j *journal) thaw(from io.Reader) (*State, error) {
	s, batches := newState(), make(chan []*wholeBooking, 4)
	var err error
	go func() {
		defer close(batches)
		err = j.readSnapshot(from, s, batches)
	}()
	for batch := range batches {
		for _, b := range batch {
			restored := b.Booking // without what is around it
			s.Bookings.RestoreBooking(&restored, b.asks)
		}
	}
	return s, err
}

// readSnapshot reads the lines of a snapshot after its first, restores what comes before the bookings, and sends these.
func (j *journal) readSnapshot(from io.Reader, s *State, batches chan<- []*wholeBooking) error {
	const batchSize = 256
	var runs []*booking.Run
	var batch []*wholeBooking
	begun, older := false, false // nothing else comes after the first booking
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1<<18), math.MaxInt)
	for n := 2; ; n++ {
		if !lines.Scan() {
			batches <- batch
			return lines.Err()
		}
		c := &coder{r: wire.NewReader(lines.Bytes())}
		c.object("", func() {
			switch {
			case !begun && c.r.At("version"):
				older = codeHead(c, s)
			case !begun && c.r.At("clock"): // it begins as those before version 2 do
				older = true
				c.r.Skip()
			case !begun && (row(c, "partner", s.Partners.Restore) || row(c, "user", s.Accounts.RestoreUser) ||
				row(c, "session", s.Accounts.RestoreSession) || row(c, "report", s.Reports.Restore) || row(c, "retry", s.Retries.put) || row(c, "message", s.Outbox.put)):
			case !begun && c.r.At("feed"):
				var f frozenFeed
				f.code(c)
				s.Feeds[f.partner] = &feed{lines: f.lines}
			case !begun && c.r.At("form"):
				var f *schedule.Form
				j.form(c, "form", &f)
			case !begun && c.r.At("run"):
				var r *booking.Run
				if j.run(c, "run", &r); c.r.Err() == nil {
					s.Bookings.RestoreRun(r)
					runs = append(runs, r)
				}
			default:
				begun = true
				b := &wholeBooking{runs: runs}
				b.code(c)
				batch = append(batch, b)
			}
		})
		c.r.End()
		if older {
			return store.ErrOlder
		}
		if err := c.r.Err(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if len(batch) == batchSize {
			batches <- batch
			batch = nil
		}
	}
}

// rows writes what is rare enough for encoding/json, a line each.
func rows[T any](line func(func()), c *coder, name string, list []*T) {
	for _, x := range list {
		line(func() { c.json(name, x) })
	}
}

// row reads one of them, if the line is one.
func row[T any](c *coder, name string, restore func(*T)) bool {
	if !c.r.At(name) {
		return false
	}
	x := new(T)
	if c.json(name, x); c.r.Err() == nil {
		restore(x)
	}
	return true
}

// codeHead is the first line. What an earlier version wrote is not read any further.
func codeHead(c *coder, s *State) (older bool) {
	version := snapshotVersion
	number(c, "version", &version)
	switch {
	case version < snapshotVersion:
		for _, member := range []string{"clock", "timetable", "geolocation"} {
			if c.r.At(member) {
				c.r.Member(member)
				c.r.Skip()
			}
		}
		return true
	case version > snapshotVersion:
		c.r.Reject("is of a later version")
	}
	c.json("clock", &s.Clock)
	c.string("timetable", &s.TimetableHash)
	if c.optional("geolocation", len(s.Geolocation) > 0) {
		c.json("geolocation", &s.Geolocation)
	}
	return false
}

// wholeBooking is a booking with all that is remembered of it.
type wholeBooking struct {
	booking.Booking
	runs    []*booking.Run
	numbers map[*booking.Run]int32
	asks    map[booking.ID]booking.Ask
}

func (b *wholeBooking) code(c *coder) {
	c.object("booking", func() {
		id(c, "id", &b.ID)
		id(c, "partner", &b.Partner)
		number(c, "created", &b.Created)
		number(c, "updated", &b.Updated)
		list(c, "tickets", &b.Tickets, func(t *booking.Ticket) { c.object("", func() { b.codeTicket(c, t) }) })
	})
}

func (b *wholeBooking) codeTicket(c *coder, t *booking.Ticket) {
	id(c, "id", &t.ID)
	unless(c, "created", &t.Created, b.Created)
	currency := string(t.Currency[:])
	if c.string("currency", &currency); !c.writing() {
		copy(t.Currency[:], currency)
	}
	unless(c, "phase", &t.Phase, 0)
	unless(c, "was", &t.Was, 0)
	unless(c, "carrier", &t.Carrier, 0)
	if c.optional("noticed", t.Noticed) {
		c.bool("noticed", &t.Noticed)
	}
	unless(c, "asked", &t.Asked, 0)
	ask, asked := b.asks[t.ID]
	if c.optional("key", asked) {
		id(c, "key", &ask.Key)
		number(c, "action", &ask.Action)
		c.string("request", &ask.Request)
		codeRetry(c, &ask.Retry)
		if !c.writing() {
			if b.asks == nil {
				b.asks = map[booking.ID]booking.Ask{}
			}
			b.asks[t.ID] = ask
		}
	}
	legs := t.Legs[:0]
	if c.writing() {
		legs = t.Itinerary()
	}
	list(c, "legs", &legs, func(l *booking.Leg) {
		c.object("", func() {
			run := b.numbers[l.Run]
			number(c, "run", &run)
			if !c.writing() && run >= 0 && int(run) < len(b.runs) {
				l.Run = b.runs[run]
			}
			number(c, "from", &l.From)
			number(c, "to", &l.To)
			number(c, "seat", &l.Seat)
			unless(c, "discount", &l.Discount, -1)
			number(c, "amount", &l.Amount)
			unless(c, "refund", &l.Refund, 0)
		})
		if l.Run == nil {
			c.r.Reject("a leg names a run that is not there")
		}
	})
	if n := len(legs); n < 1 || n > len(t.Legs) {
		c.r.Reject("a ticket has no leg, or more than two")
	}
	codePassenger(c, "passenger", &t.Passenger)
}
