// Package ledger defines what Waybill remembers, the events that change it, and how both are written to the
// journal and to snapshots.
//
// [State] is everything there is to remember, to read and to decide on. It changes by events only (but for
// the timetable, which a start loads from the file that an event names), each of which is a line of the
// journal: an [Entry] is an event with what else its line says, as who did it. Only this package applies
// entries. A [Store] has a server's state, in a directory that makes it durable; a reader of a journal makes
// a state of its own ([NewReplay]).
//
//	st, _, err := ledger.Open(options)
//	seq, err := st.Update(func(s ledger.State, now time.Time) ([]ledger.Entry, error) {
//		e, err := s.Bookings.SetCarrier(now, ticket, booking.Confirmed)
//		return ledger.Entries(e), err
//	}, nil)
//
// Lines of the same type are a kind. Everything that the program knows about a kind stands in one entry of
// the table [kinds]: the type's name, how a line is coded, how it changes the state, what may precede it, and
// how many events of a partner's feed it is. A new kind of line is a new entry. [Weigh] says how
// many bytes a line takes at most. Single lines are read by themselves, without the state: the events that a
// line is in a partner's feed ([Events]), the answer to a request ([ReadAnswer]), who did it ([WrittenBy]).
//
// [Codec] turns entries into the bytes of lines and back, and states into snapshots and back. Its Model says
// all of it to those who replay a journal.
//
// The package knows no HTTP, and decides nothing: that the packages of the state's parts do.
package ledger

import (
	"fmt"
	"maps"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// State is everything that the server remembers. It has a field for each part, and none of these has a method
// that changes it: what does is in inner, which no other package reaches. Values are read by methods.
type State struct {
	Partners      *auth.Partners
	Bookings      *booking.State
	Accounts      *auth.Accounts
	Reports       *report.State
	KeyedRequests *KeyedRequests
	Outbox        *Outbox
	inner         *inner
}

// inner has what changes the parts, and the values that belong to no package of their own.
type inner struct {
	partners auth.PartnerRecorder
	bookings booking.Recorder
	accounts auth.AccountRecorder
	reports  report.Recorder

	clock Clock
	// geolocation has the settings of FMS objects by users, by the object's id.
	geolocation map[string]bool
	// timetableHash names the timetable in force by its content; "" is none yet.
	timetableHash string
	feeds         map[ids.ID]*EventFeed // by partner
	lastLines     lastLines

	// timetable is the value that the hash names. It lies beside the journal and not in it: after a replay
	// it is nil until a start has loaded it.
	timetable *schedule.Timetable
}

// Clock returns the directory's test clock.
func (s State) Clock() Clock { return s.inner.clock }

// TimetableHash returns the name of the timetable in force; "" is none yet.
func (s State) TimetableHash() string { return s.inner.timetableHash }

// Timetable returns the timetable in force; nil where none was loaded, as after a replay.
func (s State) Timetable() *schedule.Timetable { return s.inner.timetable }

// Geolocation returns the settings of FMS objects by users, by the object's id.
func (s State) Geolocation() map[string]bool { return maps.Clone(s.inner.geolocation) }

// EventFeed returns the feed of a partner, who has a key.
func (s State) EventFeed(partner ids.ID) *EventFeed { return s.inner.feeds[partner] }

// PartnerOf returns the partner of a booking.
func (s State) PartnerOf(id ids.ID) ids.ID {
	partner, found := s.Bookings.PartnerOf(id)
	if !found {
		panic("there is no booking " + id.String()) // the journal's reader says in which line
	}
	return partner
}

// newState returns the state before the first line.
func newState() State {
	partners, bookings := auth.NewPartners(), booking.NewRecorder()
	accounts, reports := auth.NewAccounts(), report.NewRecorder()
	return State{
		Partners:      partners.Partners(),
		Bookings:      bookings.State(),
		Accounts:      accounts.Accounts(),
		Reports:       reports.State(),
		KeyedRequests: newRequests(),
		Outbox:        newOutbox(),
		inner: &inner{
			partners:    partners,
			bookings:    bookings,
			accounts:    accounts,
			reports:     reports,
			geolocation: map[string]bool{},
			feeds:       map[ids.ID]*EventFeed{},
		},
	}
}

// NewReplay returns the state before the first line, and apply, which brings it along a journal: it is called
// for each line. Its error says which line names what is not there.
func NewReplay() (s State, apply func(*journal.Line, Entry) error) {
	s = newState()
	return s, func(l *journal.Line, x Entry) error {
		if x.Event == nil {
			return nil // the line is the store's own
		}
		if err := s.apply(l.Stamp, x); err != nil {
			return fmt.Errorf("line %d: %w", l.Seq, err)
		}
		return nil
	}
}

// Clock is the directory's test clock (decisions clock.test, clock.frozen).
type Clock struct {
	Set bool `json:"set"`
	// Ever says that it was set at some time, even if it was given up since.
	Ever     bool  `json:"ever,omitzero"`
	OffsetMs int64 `json:"offsetMs"` // milliseconds ahead of the machine's clock; 0 while it stands still
	// Still is the instant at which it stands still; zero while it ticks.
	Still time.Time `json:"still,omitzero"`
	// Began is where it was started, if nothing had been sold before: the directory's creation by its own
	// clock.
	Began time.Time `json:"began,omitzero"`
}

// At returns the directory's time at a time of the machine's clock.
func (c Clock) At(now time.Time) time.Time {
	if !c.Still.IsZero() {
		return c.Still
	}
	return now.Add(time.Duration(c.OffsetMs) * time.Millisecond)
}

// Event is one change of the state: a pointer to the type that a kind of line has.
type Event any

// Entry is one line of the journal, on its way there or read from there.
type Entry struct {
	Event       Event
	By          *By          // who did it, of an administrative act; it does not change the state
	Before      *Before      // of a line that changes bookings
	Idempotency *Idempotency // of the request that it comes of; nil without an Idempotency-Key
}

// Entries returns entries that have nothing but their events.
func Entries[E any](events ...E) []Entry {
	var list []Entry
	for _, e := range events {
		list = append(list, Entry{Event: e})
	}
	return list
}

// Idempotency is the part of a line that names its request, where the partner sent an Idempotency-Key
// (decision idempotency.key). Each line of the request names the key; the last has the status, and the
// answer in its personal part, but for a sale, whose answer is made again from the line.
type Idempotency struct {
	Key string `json:"key"`
	// Hash is the hex SHA-256 of method, path and body. That of a sale, whose body has names, is personal;
	// "" where it was erased.
	Hash   string `json:"hash,omitempty"`
	Status int    `json:"status,omitempty"` // of the answer; 0 while it is not known

	// Reply writes the answer's body, after the event was applied and without the lock. It is nil in a line
	// that was read.
	Reply func(*wire.Writer) `json:"-"`
	Salt  ids.ID             `json:"-"` // of the personal part
}

// Answers reports whether the line has the answer.
func (x *Idempotency) Answers() bool {
	return x != nil && x.Status != 0
}

// reply returns the answer's body.
func (x *Idempotency) reply() string {
	if x.Reply == nil {
		return ""
	}
	var w wire.Writer
	x.Reply(&w)
	return string(w.B)
}

// personalPart returns the personal part of a line with an answer.
func (x *Idempotency) personalPart() any {
	return &struct {
		Salt  ids.ID `json:"salt"`
		Reply string `json:"reply"`
	}{x.Salt, x.reply()}
}

// The events that belong to no other package.
type (
	// ClockSet says that the directory's clock was started, moved, stopped, or, with Real, given up.
	ClockSet struct {
		Real     bool      `json:"real"`
		OffsetMs int64     `json:"offsetMs"`
		Still    time.Time `json:"still,omitzero"` // see Clock
		Began    time.Time `json:"began,omitzero"` // see Clock
	}
	// TimetableImported says which timetable is in force from then on.
	TimetableImported struct {
		Hash    string `json:"sha256"`
		Feed    string `json:"feed"` // what it was called
		Cities  int    `json:"cities"`
		Routes  int    `json:"routes"`
		Trips   int    `json:"trips"`
		Skipped int    `json:"skipped"` // rows

		Loaded *schedule.Timetable `json:"-"` // nil in a replay
	}
	// GeolocationSet says that a user turned the geolocation of a bus's FMS object on or off, whatever
	// timetables say.
	GeolocationSet struct {
		Object string `json:"fmsObject"`
		On     bool   `json:"isGeolocation"`
		User   ids.ID `json:"user"`
	}
	// WorldForked says that the directory is a world of a test bench, and where it has left its parent
	// directory (decision worlds.forks). The world does not send messages that its parent had yet to send.
	WorldForked struct {
		World  string `json:"world"`
		From   string `json:"from"`   // the parent world
		Origin string `json:"origin"` // that directory's name
		Seq    uint64 `json:"seq"`    // the last line that both have
		Hash   string `json:"hash"`   // its hash there, in hex
	}
	// KeysRotated says that offers are signed with a new key.
	KeysRotated struct{}
	// Answered records the answer to a keyed request that has no other line for it.
	Answered struct {
		Partner ids.ID `json:"partner"`
		Booking ids.ID `json:"booking"` // the id in the request's path
	}
)
