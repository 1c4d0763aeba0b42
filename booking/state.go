package booking

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"waybill/booking/seating"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// State remembers all bookings. It has no method that changes it: see [Recorder].
type State struct {
	packed     pageList // bookings by number, see pack; "" once all tickets have moved away
	room       []byte   // to pack one in
	fresh      Booking  // room for one that is being sold
	byID       *ids.Index
	byTicket   *ids.Index
	lists      map[listKey][]uint32 // numbers of bookings, rising
	forms      map[string]*schedule.Form
	runs       map[ids.RunID]*Run
	order      []*Run // in the order they were first sold
	seatings   map[schedule.RunKey]*seats
	asks       map[ids.ID]Ask // by ticket
	runChanges map[schedule.RunKey]*RunChange

	// late has unpaid tickets that were moved into a booking of another age. The order of the bookings does
	// not say when their windows end; see Overdue
	late map[ids.ID]bool
}

// Ask is a question to the provider, which has not confirmed it.
type Ask struct {
	Key     ids.ID // the idempotency id
	Action  Action
	Request string
}

// Recorder is a State with the methods that change it, each as an event says. The package that makes the
// State holds its one Recorder, and hands out the State alone.
type Recorder struct{ *state }

type state = State // under a name that no other package can set the field by

// NewRecorder returns the state before the first booking.
func NewRecorder() Recorder {
	return Recorder{&State{
		byID:       ids.NewIndex(),
		byTicket:   ids.NewIndex(),
		lists:      map[listKey][]uint32{},
		forms:      map[string]*schedule.Form{},
		runs:       map[ids.RunID]*Run{},
		seatings:   map[schedule.RunKey]*seats{},
		asks:       map[ids.ID]Ask{},
		runChanges: map[schedule.RunKey]*RunChange{},
		late:       map[ids.ID]bool{},
	}}
}

// State returns what is recorded, to read and to decide on.
func (s Recorder) State() *State { return s.state }

// Any finds a booking of any partner; nil when there is none.
func (s *State) Any(id ids.ID) *Booking {
	for n := range s.byID.Candidates(id) {
		if b := s.at(n); b.ID == id {
			return b
		}
	}
	return nil
}

// PartnerOf returns the partner of a booking, and whether there is such a booking. Its tickets are not read.
func (s *State) PartnerOf(id ids.ID) (partner ids.ID, found bool) {
	for n := range s.byID.Candidates(id) {
		if own, partner := packedIDs(s.packed.At(int(n))); own == id {
			return partner, true
		}
	}
	return ids.ID{}, false
}

// at returns the booking with a number; nil once all tickets have moved away.
func (s *State) at(number uint32) *Booking {
	return bookingAt(&s.packed.frozenPages, s.order, int(number))
}

// bookingAt returns the booking with a number.
func bookingAt(packed *frozenPages, runs []*Run, number int) *Booking {
	b := new(Booking)
	if !readBooking(packed, runs, number, b) {
		return nil
	}
	return b
}

// readBooking fills b with the booking that has a number, and reports whether there is one.
func readBooking(packed *frozenPages, runs []*Run, number int, b *Booking) bool {
	text := packed.At(number)
	if text == "" {
		return false
	}
	b.number = uint32(number)
	if err := b.unpack(split(text), runs); err != nil {
		panic(err) // what is in memory was packed here
	}
	return true
}

// Booking finds a partner's booking; nil when there is none, or it is another partner's.
func (s *State) Booking(partner, id ids.ID) *Booking {
	if b := s.Any(id); b != nil && b.Partner == partner {
		return b
	}
	return nil
}

// Ticket finds a partner's ticket and the booking it is in; nil when there is none, or it is another
// partner's.
func (s *State) Ticket(partner, id ids.ID) (*Booking, *Ticket) {
	b, t := s.AnyTicket(id)
	if b != nil && b.Partner == partner {
		return b, t
	}
	return nil, nil
}

// AnyTicket finds a ticket of any partner and the booking it is in; nil when there is none.
func (s *State) AnyTicket(id ids.ID) (*Booking, *Ticket) {
	for n := range s.byTicket.Candidates(id) {
		b := s.at(n)
		if t := b.find(id); t != nil {
			return b, t
		}
	}
	return nil, nil
}

func (b *Booking) find(id ids.ID) *Ticket {
	for i := range b.Tickets {
		if b.Tickets[i].ID == id {
			return &b.Tickets[i]
		}
	}
	return nil
}

// EachPending calls f for each ticket whose confirmation the provider has not answered.
func (s *State) EachPending(f func(*Booking, *Ticket, Ask)) {
	for _, id := range slices.SortedFunc(maps.Keys(s.asks), ids.ID.Compare) {
		if b, t := s.AnyTicket(id); t.Pending != 0 {
			f(b, t, s.asks[id])
		}
	}
}

// Ask returns the question to the provider about a ticket; false where it was answered, or never asked.
func (s *State) Ask(ticket ids.ID) (Ask, bool) {
	ask, ok := s.asks[ticket]
	return ask, ok
}

// AskKey returns the idempotency id for a question about a ticket: the id of the same question, if that was
// not answered, or fresh.
func (s *State) AskKey(ticket ids.ID, action Action, fresh ids.ID) ids.ID {
	if ask, ok := s.asks[ticket]; ok && ask.Action == action {
		return ask.Key
	}
	return fresh
}

// RunByID finds a run that was sold; nil when none was.
func (s *State) RunByID(id ids.RunID) *Run {
	return s.runs[id]
}

// Count returns how many bookings there have been.
func (s *State) Count() int {
	return s.packed.Len()
}

// add makes a booking known, with the next number.
func (s Recorder) add(b *Booking, now time.Time) {
	s.keepNew(b, s.pack(b), now)
	b.markRuns()
	s.learn(s.byID, b.ID, b.number)
	for i := range b.Tickets {
		s.learn(s.byTicket, b.Tickets[i].ID, b.number)
	}
}

// keepNew keeps a booking, as it is packed, with the next number; it is not found by its id yet.
func (s Recorder) keepNew(b *Booking, text string, now time.Time) {
	b.number = uint32(s.packed.Len())
	s.packed.Append(text)
	s.relist(nil, b)
	for i := range b.Tickets {
		t := &b.Tickets[i]
		s.keepLate(b, t)
		for _, l := range t.Itinerary() {
			l.Run.seats.Add(l.hold(t.ID, t.until()), now.UnixMilli())
			l.Run.seats.addBooking(b.number)
		}
	}
}

// learn has a booking found by an id, its own or a ticket's. Only a forged journal has two with the same
// id; then the later is found.
func (s Recorder) learn(x *ids.Index, id ids.ID, number uint32) {
	for n := range x.Candidates(id) {
		if s.at(n).has(id) {
			x.Replace(id, n, number)
			return
		}
	}
	x.Add(id, number)
}

// has reports whether an id is the booking's, or one of its tickets'.
func (b *Booking) has(id ids.ID) bool {
	return b != nil && (b.ID == id || b.find(id) != nil)
}

// put keeps a booking as it is now.
func (s Recorder) put(b *Booking) {
	b.markRuns()
	s.packed.Set(int(b.number), s.pack(b))
}

// markRuns notes the booking's last line as one that all of its runs rest on.
func (b *Booking) markRuns() {
	for i := range b.Tickets {
		for _, l := range b.Tickets[i].Itinerary() {
			l.Run.seats.line = max(l.Run.seats.line, b.Line)
		}
	}
}

// KnowRun makes a run known in the form it was sold in: a new run, or one of a snapshot, in the snapshot's
// order.
func (s Recorder) KnowRun(r *Run) {
	if s.runs[r.ID] != nil {
		return
	}
	form := r.Form.Key()
	key := r.key()
	r.Form = cmp.Or(s.forms[form], r.Form) // shared by all its runs
	r.seats = cmp.Or(s.seatings[key], &seats{change: s.runChanges[key]})
	s.forms[form] = r.Form
	s.seatings[key] = r.seats
	r.seats.sold = append(r.seats.sold, r)
	r.seats.Sell(r.Form)
	s.runs[r.ID] = r
	r.number = uint32(len(s.order))
	s.order = append(s.order, r)
}

// Sale is a journey that is about to be sold, with its price. It is worked out before the lock is taken.
type Sale struct {
	Timetable *schedule.Timetable
	runs      []*Run // in the form they would be sold in
	legs      []SoldLeg
	currency  string
	until     time.Time // when the offer expires
}

// NewSale makes a Sale of a journey, from a timetable.
func NewSale(tt *schedule.Timetable, legs []schedule.Leg, amounts []int64, currency string,
	until time.Time) *Sale {
	s := &Sale{Timetable: tt, currency: currency, until: until}
	for i := range legs {
		l := &legs[i]
		start := tt.Start(l)
		run := NewRun(tt.Form(l.Trip), l.Day, start, tt.Offsets(l.Trip, start))
		s.runs = append(s.runs, run)
		s.legs = append(s.legs, SoldLeg{run.ID, l.From, l.To, amounts[i], int16(tt.Discount(l))})
	}
	return s
}

// NotSold is the reason why a sale is refused.
type NotSold struct {
	Code Code // NoSeats, Departed or Changed; with the last two no seat is left
	Left int
}

// Error returns the reason.
func (e *NotSold) Error() string {
	if e.Code == NoSeats {
		return fmt.Sprintf("only %d seats are left (%s)", e.Left, e.Code)
	}
	return fmt.Sprintf("not sold (%s)", e.Code)
}

// Create decides on a new booking for the passengers of a request, with seats for its tickets. All get
// seats or none does (decision seats.whole): then the error is *NotSold. An offer that has expired is
// ErrExpired. asked has all of the sale that is not decided here, and is not changed.
func (s *State) Create(now time.Time, sale *Sale, asked *Created) (*Created, error) {
	if !now.Before(sale.until) {
		return nil, ErrExpired
	}
	if !sale.runs[0].Dep(sale.legs[0].From).After(now) {
		return nil, &NotSold{Code: Departed}
	}
	e := *asked
	e.Tickets = slices.Clone(asked.Tickets)
	left := schedule.MaxSeats
	for i, run := range sale.runs {
		held := cmp.Or(s.seatings[run.key()], new(seats))
		ride := seating.Ride{Form: run.Form, From: sale.legs[i].From, To: sale.legs[i].To}
		free := held.Free(run.Form, ride, now)
		left = min(left, free.Left)
		for k, seat := range free.Seats.Together(len(e.Tickets)) {
			e.Tickets[k].Seats = append(slices.Clip(e.Tickets[k].Seats), seat)
		}
		if s.runs[run.ID] == nil {
			e.Runs = append(e.Runs, run)
			if s.forms[run.Form.Key()] == nil {
				e.Forms = append(e.Forms, run.Form)
			}
		}
	}
	if left < len(e.Tickets) {
		return nil, &NotSold{Code: NoSeats, Left: left}
	}
	e.Currency = sale.currency
	e.Legs = sale.legs
	return &e, nil
}

// Move decides to put a ticket into another booking of its partner: an existing one, or fresh where to is
// nil.
func (s *State) Move(ticket ids.ID, to *ids.ID, fresh ids.ID) (*Moved, error) {
	b, t := s.AnyTicket(ticket)
	switch {
	case b == nil:
		return nil, errNoTicket
	case t.Pending != 0:
		return nil, errors.New("the provider has been asked to confirm the ticket; move it after the answer")
	case to == nil:
		return &Moved{ticket, b.ID, fresh, true}, nil
	case *to == b.ID:
		return nil, errors.New("the ticket is already in that booking")
	case s.Booking(b.Partner, *to) == nil:
		return nil, errors.New("the ticket's partner has no such booking")
	}
	return &Moved{ticket, b.ID, *to, false}, nil
}
