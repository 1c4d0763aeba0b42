package ledger

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// kind says everything about the lines whose event is a *T. All fields but name and apply may be nil.
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
	// events returns what the line is in the feeds of partners (/v2/events). One that names no type, time or
	// partner has the line's.
	events func(*T) []FeedEvent
	// after remembers what else comes of the event, as messages to passengers.
	after func(State, journal.Stamp, *T)
	// offers is set where searches rest on the line: it changes the timetable, a run, a partner or a key.
	offers bool
}

// anyKind is a kind without the type of its event.
type anyKind interface {
	typeName() string
	newEvent() Event
	applyEntry(State, journal.Stamp, Entry) error
	codeEvent(*Codec, *lineCoder, Event)
	checkEvent(State, time.Time, Event) error
	before(State, Event) *Before
	eventsOf(Event) []FeedEvent
}

// kinds is the table: one entry for each kind of line.
var kinds = slices.Concat(bookingKinds, runKinds, accountKinds, operatingKinds)

// kindNamed returns the kind of the lines that have a type; nil where there is none.
func kindNamed(name string) anyKind {
	i := slices.IndexFunc(kinds, func(k anyKind) bool { return k.typeName() == name })
	if i < 0 {
		return nil
	}
	return kinds[i]
}

// kindsByEvent has the kinds by the types of their events.
var kindsByEvent = map[reflect.Type]anyKind{}

func init() {
	for _, k := range kinds {
		kindsByEvent[reflect.TypeOf(k.newEvent())] = k
	}
}

// kindOf returns the kind of an event.
func kindOf(e Event) anyKind {
	k := kindsByEvent[reflect.TypeOf(e)]
	if k == nil {
		panic(fmt.Sprintf("ledger: %T is not an event", e))
	}
	return k
}

// Kinds returns the types of all lines that hold an event.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.typeName())
	}
	return names
}

// IsKind reports whether there are lines of a type: a reader that passes over lines must know that they are
// none of a later version.
func IsKind(name string) bool { return kindNamed(name) != nil }

func (k *kind[T]) typeName() string { return k.name }

func (k *kind[T]) newEvent() Event { return new(T) }

// apply changes the state as an entry says. Its error says what the entry names and the state does not have.
func (s State) apply(at journal.Stamp, x Entry) error { return kindOf(x.Event).applyEntry(s, at, x) }

func (k *kind[T]) applyEntry(s State, at journal.Stamp, x Entry) error {
	e := x.Event.(*T)
	if err := k.apply(s, at, e); err != nil {
		return err
	}
	if k.after != nil {
		k.after(s, at, e)
	}
	var partner ids.ID // that the line belongs to
	switch {
	case k.partner != nil:
		partner = k.partner(s, e)
	case k.booking != nil:
		partner = s.PartnerOf(k.booking(e))
	}
	if k.offers {
		s.inner.lastLines.offers = at.Seq
	}
	if partner != (ids.ID{}) {
		s.feed(partner).line = at.Seq
	}
	for _, event := range k.eventsOf(e) {
		s.feed(cmp.Or(event.Partner, partner)).add(at)
	}
	if x.Idempotency != nil {
		s.KeyedRequests.record(at, partner, x)
	}
	return nil
}

// Check returns an error where an entry cannot follow the state. It checks again what was decided and
// recorded; verify calls it for each line.
func Check(s State, at journal.Stamp, x Entry) error {
	if err := kindOf(x.Event).checkEvent(s, at.Time, x.Event); err != nil {
		return err
	}
	return s.checkBefore(x)
}

func (k *kind[T]) checkEvent(s State, now time.Time, e Event) error {
	if k.check == nil {
		return nil
	}
	return k.check(s, now, e.(*T))
}

// Before returns, for each booking that an event will change, the line that changed it last. It is nil for
// an event that changes none.
func (s State) Before(e Event) *Before { return kindOf(e).before(s, e) }

func (k *kind[T]) before(s State, e Event) *Before {
	switch {
	case k.booking != nil:
		return &Before{One: s.lineOf(k.booking(e.(*T)))}
	case k.bookings != nil:
		return s.beforeEach(k.bookings(s, e.(*T)))
	}
	return nil
}

func (k *kind[T]) eventsOf(e Event) []FeedEvent {
	if k.events == nil {
		return nil
	}
	return k.events(e.(*T))
}

// in makes a kind's apply of a method that applies the event to a part of the state.
func in[P, T any](part func(State) P,
	apply func(P, time.Time, *T) error) func(State, journal.Stamp, *T) error {
	return func(s State, at journal.Stamp, e *T) error { return apply(part(s), at.Time, e) }
}

// partners, accounts and reports are parts of the state.
func partners(s State) auth.PartnerRecorder { return s.inner.partners }

func accounts(s State) auth.AccountRecorder { return s.inner.accounts }

func reports(s State) report.Recorder { return s.inner.reports }

// sold makes a kind's apply of a method that applies the event to the bookings.
func sold[T any](apply func(booking.Recorder, booking.Line, *T) error) func(State, journal.Stamp, *T) error {
	return func(s State, at journal.Stamp, e *T) error {
		return apply(s.inner.bookings, booking.Line(at), e)
	}
}

// nothing is the apply of a line that changes no state.
func nothing[T any](State, journal.Stamp, *T) error { return nil }

// checked makes a kind's check of a method that checks the event against the bookings.
func checked[T any](check func(*booking.State, time.Time, *T) error) func(State, time.Time, *T) error {
	return func(s State, now time.Time, e *T) error { return check(s.Bookings, now, e) }
}
