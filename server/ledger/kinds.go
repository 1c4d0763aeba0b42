package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/booking/ids"
	"waybill/report"
	"waybill/schedule"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// kind describes the lines whose event is a *T. All fields but name and apply may be nil.
type kind[T any] struct {
	// name is the line's type.
	name string
	// apply changes the state as the event says. Its error says what the event names and the state does not
	// have.
	apply func(State, journal.Stamp, *T) error

	// code writes the event's members, and reads them. Without it, encoding/json does.
	code func(*Codec, *lineCoder, *T)
	// check returns why the event cannot follow the state. It re-checks a decision that was recorded, for
	// verify.
	check func(State, time.Time, *T) error
	// booking returns the one booking that the line changes. bookings returns all of them, of a kind that may
	// change several; none of the two is set where the line changes no booking. See Before.
	booking  func(*T) ids.ID
	bookings func(State, *T) []ids.ID
	// partner returns the partner that the line belongs to, once it was applied. Without it, that is the
	// booking's.
	partner func(State, *T) ids.ID
	// feedCount returns how many events of the partner's feed (/v2/events) the line is. Package excerpt reads
	// them.
	feedCount func(*T) int
	// after remembers what else comes of the event, as messages to passengers.
	after func(State, journal.Stamp, *T)
	// offers is set where searches rest on the line: it changes the timetable, a run, a partner or a key.
	offers bool
}

// anyKind is a kind without the type of its event, so that all kinds fit into one table. The fields that were
// nil have their defaults.
type anyKind struct {
	name  string
	event reflect.Type // *T

	apply     func(State, journal.Stamp, Event) error
	code      func(*Codec, *lineCoder, Event)
	check     func(State, time.Time, Event) error
	before    func(State, Event) *Before
	partner   func(State, Event) ids.ID
	feedCount func(Event) int
	after     func(State, journal.Stamp, Event)
	offers    bool
}

// any returns the kind as an entry of the table.
func (k kind[T]) any() anyKind {
	x := anyKind{
		name:   k.name,
		event:  reflect.TypeFor[*T](),
		offers: k.offers,
		apply: func(s State, at journal.Stamp, e Event) error {
			return k.apply(s, at, e.(*T))
		},
		code: codePlain,
		check: func(State, time.Time, Event) error {
			return nil
		},
		before: func(State, Event) *Before {
			return nil
		},
		partner: func(State, Event) ids.ID {
			return ids.ID{}
		},
		feedCount: func(Event) int { return 0 },
		after:     func(State, journal.Stamp, Event) {},
	}
	if k.code != nil {
		x.code = func(c *Codec, l *lineCoder, e Event) {
			l.data.Open("")
			k.code(c, l, e.(*T))
			l.readBefore()
			l.readBy()
			l.data.Ignore("personal") // the store's hash of the personal part
			l.data.Close()
		}
	}
	if k.check != nil {
		x.check = func(s State, now time.Time, e Event) error {
			return k.check(s, now, e.(*T))
		}
	}
	if k.booking != nil {
		x.before = func(s State, e Event) *Before {
			return s.beforeOne(k.booking(e.(*T)))
		}
		x.partner = func(s State, e Event) ids.ID {
			return s.PartnerOf(k.booking(e.(*T)))
		}
	}
	if k.bookings != nil {
		x.before = func(s State, e Event) *Before {
			return s.beforeEach(k.bookings(s, e.(*T)))
		}
	}
	if k.partner != nil {
		x.partner = func(s State, e Event) ids.ID {
			return k.partner(s, e.(*T))
		}
	}
	if k.feedCount != nil {
		x.feedCount = func(e Event) int {
			return k.feedCount(e.(*T))
		}
	}
	if k.after != nil {
		x.after = func(s State, at journal.Stamp, e Event) {
			k.after(s, at, e.(*T))
		}
	}
	return x
}

// on makes a kind's apply of a method that applies the event to a part of the state. in selects the part.
func on[P, T any](in func(State) P, apply func(P, time.Time, *T)) func(State, journal.Stamp, *T) error {
	return func(s State, at journal.Stamp, e *T) error {
		apply(in(s), at.Time, e)
		return nil
	}
}

// to is on for a method that returns an error.
func to[P, T any](in func(State) P, apply func(P, time.Time, *T) error) func(State, journal.Stamp,
	*T) error {
	return func(s State, at journal.Stamp, e *T) error { return apply(in(s), at.Time, e) }
}

// sold makes a kind's apply of a method that applies the event to the bookings.
func sold[T any](apply func(booking.Recorder, booking.Line, *T) error) func(State, journal.Stamp,
	*T) error {
	return func(s State, at journal.Stamp, e *T) error {
		return apply(s.inner.bookings, booking.Line(at), e)
	}
}

// nothing is the apply of a line that changes no state.
func nothing[T any](State, journal.Stamp, *T) error { return nil }

// checked makes a kind's check of a method that checks the event against the bookings.
func checked[T any](check func(*booking.State, time.Time, *T) error) func(State, time.Time, *T) error {
	return func(s State, now time.Time, e *T) error {
		return check(s.Bookings, now, e)
	}
}

// keeper, partners, accounts and reports return what events change: all of the state, or a part.
func keeper(s State) State { return s }

func partners(s State) auth.PartnerRecorder { return s.inner.partners }

func accounts(s State) auth.AccountRecorder { return s.inner.accounts }

func reports(s State) report.Recorder { return s.inner.reports }

// one is the feedCount of a line that is one event.
func one[T any](*T) int { return 1 }

// kinds is the table: one entry for each kind of line.
var kinds = slices.Concat(bookingKinds, runKinds, accountKinds, operatingKinds)

// Kinds returns the types of all lines that hold an event.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kindOf returns the kind of an event.
func kindOf(e Event) *anyKind {
	i := slices.IndexFunc(kinds, func(k anyKind) bool {
		return k.event == reflect.TypeOf(e)
	})
	if i < 0 {
		panic(fmt.Sprintf("ledger: %T is not an event", e))
	}
	return &kinds[i]
}

// kindNamed returns the kind of the lines that have a type; nil where there is none.
func kindNamed(name string) *anyKind {
	i := slices.IndexFunc(kinds, func(k anyKind) bool {
		return k.name == name
	})
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// IsKind reports whether there are lines of a type: a reader that passes over lines must know that they are
// none of a later version.
func IsKind(name string) bool { return kindNamed(name) != nil }

// apply changes the state as an entry says. Its error says what the entry names and the state does not have.
func (s State) apply(at journal.Stamp, x Entry) error {
	k := kindOf(x.Event)
	if err := k.apply(s, at, x.Event); err != nil {
		return err
	}
	k.after(s, at, x.Event)
	s.noteLastLines(k, at, x)
	if n := k.feedCount(x.Event); n > 0 {
		s.feed(k.partner(s, x.Event)).add(at, n)
	}
	if x.Idempotency != nil {
		s.KeyedRequests.record(at, k.partner(s, x.Event), x)
	}
	return nil
}

// Check returns an error where an entry cannot follow the state. It checks again what was decided and
// recorded; verify calls it for each line.
func Check(s State, at journal.Stamp, x Entry) error {
	if err := kindOf(x.Event).check(s, at.Time, x.Event); err != nil {
		return err
	}
	return s.checkBefore(x)
}

// Codec writes and reads lines and snapshots. What was sold earlier is named by later lines, so it keeps the
// forms it has seen. Verify reads lines while it looks at a snapshot.
type Codec struct {
	mu    sync.Mutex
	forms map[string]*schedule.Form // by key
}

// NewCodec returns a codec that has seen nothing yet.
func NewCodec() *Codec {
	return &Codec{forms: map[string]*schedule.Form{}}
}

// learn keeps a form.
func (c *Codec) learn(f *schedule.Form) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forms[f.Key()] = f
}

// known returns a form that was seen; nil where none has the key.
func (c *Codec) known(key string) *schedule.Form {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forms[key]
}

// lineCoder is an entry between its event and its bytes.
type lineCoder struct {
	data     wire.Coder
	personal wire.Coder // of the personal part
	entry    Entry

	// Of what is read:
	readers [2]wire.Reader // of the data and the personal part
	part    []byte         // the personal part
	erased  bool           // its personal part was erased
	missing bool           // it names a form that no line before it has
}

// Encode appends an entry's data and personal part.
func (c *Codec) Encode(x Entry, data, personal []byte) (name string, d, p []byte) {
	k := kindOf(x.Event)
	l := &lineCoder{
		data:     wire.Coder{W: &wire.Writer{B: data}},
		personal: wire.Coder{W: &wire.Writer{B: personal}},
		entry:    x,
	}
	k.code(c, l, x.Event)
	l.appendBefore()
	if x.By != nil {
		l.append("by", x.By)
	}
	return k.name, l.data.W.B, l.personal.W.B
}

// Decode reads what Encode wrote. A kind, a member or a form that it does not know is journal.ErrNewer: lines
// that a program finds have a hash that follows, so that they were written as they stand. A line that lacks a
// member, or names a form that no line before it has, was written by no program.
func (c *Codec) Decode(name string, data, personal []byte) (Entry, error) {
	k := kindNamed(name)
	if k == nil {
		return Entry{}, fmt.Errorf("%w: unknown type %q", journal.ErrNewer, name)
	}
	l := &lineCoder{
		entry:  Entry{Event: reflect.New(k.event.Elem()).Interface()},
		part:   personal,
		erased: bytes.HasPrefix(personal, []byte(`{"erased":`)),
	}
	l.data.R = &l.readers[0]
	l.data.R.Reset(data)
	l.personal.R = &l.readers[1]
	l.personal.R.Reset(personal)
	l.data.R.Exact, l.personal.R.Exact = true, true
	k.code(c, l, l.entry.Event)
	l.data.R.End()
	l.personal.R.End()
	err := cmp.Or(l.data.R.Err(), l.personal.R.Err())
	if err != nil {
		if !isMember(data) || !isMember(personal) {
			return l.entry, journal.ErrNotJSON
		}
		if member := k.lacks(data); member != "" {
			return l.entry, fmt.Errorf("%s: it has no member %q", name, member)
		}
		return l.entry, fmt.Errorf("%w: %s: %v", journal.ErrNewer, name, err)
	}
	if l.missing {
		return l.entry, errNoForm
	}
	return l.entry, nil
}

// isMember reports whether bytes can stand as a member of a line that is JSON, or are none. So can a member
// that is given twice, of which only the beginning is before the comma.
func isMember(text []byte) bool {
	return len(text) == 0 || json.Valid(slices.Concat([]byte(`{"":`), text, []byte("}")))
}

// errNoForm is the error of a line whose run has a form that no line before it has.
var errNoForm = errors.New("a run names a form that is not known")

// Personal is an event with a personal part of its own. PersonalPart returns a pointer to that, or nil where
// the event has none.
type Personal interface{ PersonalPart() any }

// codePlain codes an event that is rare enough for encoding/json. One with a personal part of its own returns
// a pointer to that; the personal part of the others is the answer, where the line has one.
func codePlain(_ *Codec, l *lineCoder, e Event) {
	own, hasOwn := e.(Personal)
	if l.data.Writing() {
		l.data.JSON("", e)
		if l.entry.Idempotency != nil {
			l.append(idempotencyMember, l.entry.Idempotency)
		}
	} else {
		l.readPlain(e)
	}
	switch {
	case l.erased:
		l.personal.JSON("", new(struct {
			Erased string `json:"erased"`
		}))
	case hasOwn:
		if part := own.PersonalPart(); part != nil {
			l.personal.JSON("", part)
			l.refuseNull(own)
		}
	case l.entry.Idempotency.Answers():
		l.personal.JSON("", l.entry.Idempotency.personalPart())
	}
}

// refuseNull rejects a null in a personal part, which leaves what a pointer points to as it was.
func (l *lineCoder) refuseNull(x Personal) {
	again, err := json.Marshal(x.PersonalPart())
	if l.part != nil && (err != nil || !bytes.Equal(again, l.part)) {
		l.personal.R.Reject("has a null")
	}
}

// besides are what may follow an event's own members, in this order.
var besides = []string{idempotencyMember, beforeMember, "by", "personal"}

// readPlain reads an event, and what stands beside its members: the Idempotency-Key, the lines before, and
// who did it.
func (l *lineCoder) readPlain(e Event) {
	r := l.data.R
	var own wire.Writer // the event's members
	own.Object("")
	rest := besides
	r.Object(func(name []byte) {
		value := r.Raw()
		at := slices.Index(rest, string(name))
		if at < 0 && len(rest) < len(besides) {
			r.Reject("stands in another place")
		}
		rest = rest[at+1:]
		switch string(name) {
		case "by":
			r.Unmarshal(value, new(By))
		case beforeMember:
			l.entry.Before = new(Before)
			r.Unmarshal(value, l.entry.Before)
		case idempotencyMember:
			l.entry.Idempotency = new(Idempotency)
			r.Unmarshal(value, l.entry.Idempotency)
		case "personal": // the store's hash of the personal part
		default:
			own.Raw(string(name), value)
		}
	})
	own.EndObject()
	r.Unmarshal(own.B, e)
}

// readBy passes over who did it, in a line that codes its members itself; see ReadBy.
func (l *lineCoder) readBy() {
	if !l.data.Writing() && l.data.Optional("by", false) {
		l.data.JSON("by", new(By))
	}
}

// append adds a member to the data's object, as its last.
func (l *lineCoder) append(name string, v any) {
	w := l.data.W
	w.B = bytes.TrimSuffix(w.B, []byte("}"))
	l.data.JSON(name, v)
	w.EndObject()
}

// codeIdempotency codes the Idempotency-Key of a line that codes its members itself.
func (l *lineCoder) codeIdempotency() {
	codeIdempotency(&l.data, &l.entry.Idempotency)
}

// idempotencyMember is what the member with the Idempotency-Key is called in lines and snapshots.
const idempotencyMember = "retry"

// codeIdempotency codes the Idempotency-Key of a line.
func codeIdempotency(c *wire.Coder, x **Idempotency) {
	if !c.Optional(idempotencyMember, *x != nil) {
		return
	}
	if !c.Writing() {
		*x = new(Idempotency)
	}
	c.JSON(idempotencyMember, *x)
}
