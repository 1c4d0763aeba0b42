package booking

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"waybill/schedule"
)

// RunID names a run in the form it was sold in, by its content.
type RunID [12]byte

// String gives the id as 16 URL-safe characters.
func (id RunID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// NewRun makes a run with the id that its content has.
func NewRun(form *schedule.Form, day schedule.Day, start int64, offsets []int32) *Run {
	b := append([]byte(form.Key()), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(day))
	b = binary.BigEndian.AppendUint64(b, uint64(start))
	for _, o := range offsets {
		b = binary.BigEndian.AppendUint32(b, uint32(o))
	}
	sum := sha256.Sum256(b)
	return &Run{ID: RunID(sum[:12]), Form: form, Day: day, Start: start, Offsets: offsets}
}

// State is all that is remembered of bookings.
type State struct {
	bookings []*Booking // by number; nil once all tickets have moved away
	byID     map[ID]uint32
	byTicket map[ID]uint32
	ledgers  map[ID]*ledger // by partner
	forms    map[string]*schedule.Form
	runs     map[RunID]*Run
	order    []*Run // in the order they were first sold
	seatings map[runKey]*seating
	asks     map[ID]Ask // by ticket
}

// ledger lists a partner's bookings, by number.
type ledger struct {
	all    []uint32
	leaves map[schedule.Day][]uint32 // by the UTC day of departure
}

// Ask is a confirmation that the provider was asked for.
type Ask struct {
	Key     ID // the idempotency id
	Request string
}

// NewState gives the state before the first booking.
func NewState() *State {
	return &State{
		byID: map[ID]uint32{}, byTicket: map[ID]uint32{}, ledgers: map[ID]*ledger{}, forms: map[string]*schedule.Form{},
		runs: map[RunID]*Run{}, seatings: map[runKey]*seating{}, asks: map[ID]Ask{},
	}
}

// Booking finds a partner's booking; nil when there is none, or it is another partner's.
func (s *State) Booking(partner, id ID) *Booking {
	if n, ok := s.byID[id]; ok && s.bookings[n] != nil && s.bookings[n].Partner == partner {
		return s.bookings[n]
	}
	return nil
}

// Ticket finds a partner's ticket and the booking it is in; nil when there is none, or it is another partner's.
func (s *State) Ticket(partner, id ID) (*Booking, *Ticket) {
	if b, t := s.ticket(id); b != nil && b.Partner == partner {
		return b, t
	}
	return nil, nil
}

func (s *State) ticket(id ID) (*Booking, *Ticket) {
	n, ok := s.byTicket[id]
	if !ok {
		return nil, nil
	}
	b := s.bookings[n]
	return b, b.find(id)
}

func (b *Booking) find(id ID) *Ticket {
	for i := range b.Tickets {
		if b.Tickets[i].ID == id {
			return &b.Tickets[i]
		}
	}
	return nil
}

// List gives a page of a partner's bookings, the newest first, and how many
// there are. day keeps those that leave on that UTC calendar day.
func (s *State) List(partner ID, day *schedule.Day, skip, take int) (page []*Booking, total int) {
	l := s.ledgers[partner]
	if l == nil {
		return nil, 0
	}
	numbers := l.all
	if day != nil {
		numbers = l.leaves[*day]
	}
	for i := len(numbers) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.bookings[numbers[i]])
	}
	return page, len(numbers)
}

// Asked calls f for each ticket whose confirmation the provider has not answered.
func (s *State) Asked(f func(*Booking, *Ticket, Ask)) {
	for _, b := range s.bookings {
		if b == nil || len(s.asks) == 0 {
			continue
		}
		for i := range b.Tickets {
			if ask, ok := s.asks[b.Tickets[i].ID]; ok {
				f(b, &b.Tickets[i], ask)
			}
		}
	}
}

// addRun makes a run known, in the form it was sold in.
func (s *State) addRun(r *Run) *Run {
	if known := s.runs[r.ID]; known != nil {
		return known
	}
	if form := s.forms[r.Form.Key()]; form != nil {
		r.Form = form
	} else {
		s.forms[r.Form.Key()] = r.Form
	}
	key := runKey{r.Form.Trip, r.Day}
	if s.seatings[key] == nil {
		s.seatings[key] = new(seating)
	}
	r.seats = s.seatings[key]
	r.seats.sold = append(r.seats.sold, r)
	s.runs[r.ID] = r
	s.order = append(s.order, r)
	return r
}

// put makes b the booking of its number, and lists it.
func (s *State) put(b *Booking) {
	for int(b.Number) >= len(s.bookings) {
		s.bookings = append(s.bookings, nil)
	}
	l := s.ledgers[b.Partner]
	if l == nil {
		l = &ledger{leaves: map[schedule.Day][]uint32{}}
		s.ledgers[b.Partner] = l
	}
	var before, after []schedule.Day
	if old := s.bookings[b.Number]; old != nil {
		before = []schedule.Day{schedule.DayOf(old.Departure())}
	}
	if len(b.Tickets) > 0 {
		after = []schedule.Day{schedule.DayOf(b.Departure())}
	}
	if !slices.Equal(before, after) {
		for _, d := range before {
			if l.leaves[d] = without(l.leaves[d], b.Number); len(l.leaves[d]) == 0 {
				delete(l.leaves, d)
			}
		}
		for _, d := range after {
			l.leaves[d] = with(l.leaves[d], b.Number)
		}
	}
	if before == nil && after != nil {
		l.all = with(l.all, b.Number)
	}
	s.byID[b.ID] = b.Number
	s.bookings[b.Number] = b
	if after == nil {
		l.all = without(l.all, b.Number)
		s.bookings[b.Number] = nil
		delete(s.byID, b.ID)
	}
}

// with inserts a number into a rising list; almost always at its end.
func with(list []uint32, n uint32) []uint32 {
	i, _ := slices.BinarySearch(list, n)
	return slices.Insert(list, i, n)
}

func without(list []uint32, n uint32) []uint32 {
	i, ok := slices.BinarySearch(list, n)
	if !ok {
		return list
	}
	return slices.Delete(list, i, i+1)
}

// hold gives the seats of a ticket to it for as long as its phase says.
func (s *State) hold(t *Ticket, now time.Time) {
	until := int64(forever)
	switch {
	case t.Phase == Canceled || t.Phase == Refunded:
		until = 0
	case t.Phase == Unpaid && t.Asked == 0:
		until = t.due()
	}
	for _, l := range t.Itinerary() {
		if until == 0 {
			l.Run.seats.drop(t.ID)
		} else {
			l.Run.seats.set(hold{ticket: t.ID, until: until, from: l.From, to: l.To, seat: l.Seat}, l.Run, now.UnixMilli())
		}
	}
}

// Frozen is the state at an instant, for a snapshot. What it points to never changes.
type Frozen struct {
	Bookings []*Booking // nil where there is none
	Runs     []*Run     // in the order they were first sold
	Asks     map[ID]Ask
}

// Freeze gives the state as it is.
func (s *State) Freeze() Frozen {
	f := Frozen{slices.Clone(s.bookings), s.order[:len(s.order):len(s.order)], map[ID]Ask{}}
	maps.Copy(f.Asks, s.asks)
	return f
}

// RestoreRun puts back a run of a snapshot, in the snapshot's order.
func (s *State) RestoreRun(r *Run) { s.addRun(r) }

// RunByID finds a run that was sold; nil when none was.
func (s *State) RunByID(id RunID) *Run { return s.runs[id] }

// RestoreBooking puts back a booking of a snapshot, whose runs are there; asks
// are those of its tickets. One without tickets keeps the number of a booking whose tickets have all moved away.
func (s *State) RestoreBooking(b *Booking, asks map[ID]Ask) {
	if b.Number = uint32(len(s.bookings)); len(b.Tickets) == 0 {
		s.bookings = append(s.bookings, nil)
		return
	}
	s.put(b)
	for i := range b.Tickets {
		t := &b.Tickets[i]
		s.byTicket[t.ID] = b.Number
		if ask, ok := asks[t.ID]; ok {
			s.asks[t.ID] = ask
		}
		s.hold(t, time.UnixMilli(0))
	}
}

// Count tells how many bookings there have been.
func (s *State) Count() int { return len(s.bookings) }

// ParseRunID reads what RunID.String gives.
func ParseRunID(text string) (id RunID, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return id, err == nil && copy(id[:], b) == len(id) && len(b) == len(id)
}

// Any finds a booking of any partner; nil when there is none.
func (s *State) Any(id ID) *Booking {
	if n, ok := s.byID[id]; ok {
		return s.bookings[n]
	}
	return nil
}
