package booking

import (
	"maps"
	"math"
	"slices"
	"time"

	"waybill/schedule"
)

// State is all that is remembered of bookings.
type State struct {
	bookings []*Booking // by number; nil once all tickets have moved away
	byID     map[ID]uint32
	byTicket map[ID]uint32
	lists    map[listKey][]uint32 // rising
	forms    map[string]*schedule.Form
	runs     map[RunID]*Run
	order    []*Run // in the order they were first sold
	seatings map[runKey]*seating
	asks     map[ID]Ask // by ticket
}

// listKey names a list: a partner's bookings that leave on a UTC day, or all of them.
type listKey struct {
	partner ID
	day     schedule.Day
}

const anyDay schedule.Day = math.MinInt32

// Ask is a confirmation that the provider was asked for.
type Ask struct {
	Key     ID // the idempotency id
	Request string
}

// NewState gives the state before the first booking.
func NewState() *State {
	return &State{
		byID: map[ID]uint32{}, byTicket: map[ID]uint32{}, lists: map[listKey][]uint32{}, forms: map[string]*schedule.Form{},
		runs: map[RunID]*Run{}, seatings: map[runKey]*seating{}, asks: map[ID]Ask{},
	}
}

// Any finds a booking of any partner; nil when there is none.
func (s *State) Any(id ID) *Booking {
	if n, ok := s.byID[id]; ok {
		return s.bookings[n]
	}
	return nil
}

// Booking finds a partner's booking; nil when there is none, or it is another partner's.
func (s *State) Booking(partner, id ID) *Booking {
	if b := s.Any(id); b != nil && b.Partner == partner {
		return b
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
	if n, ok := s.byTicket[id]; ok {
		return s.bookings[n], s.bookings[n].find(id)
	}
	return nil, nil
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
	key := listKey{partner, anyDay}
	if day != nil {
		key.day = *day
	}
	numbers := s.lists[key]
	for i := len(numbers) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.bookings[numbers[i]])
	}
	return page, len(numbers)
}

// Asked calls f for each ticket whose confirmation the provider has not answered.
func (s *State) Asked(f func(*Booking, *Ticket, Ask)) {
	for _, id := range slices.SortedFunc(maps.Keys(s.asks), ID.compare) {
		b, t := s.ticket(id)
		f(b, t, s.asks[id])
	}
}

// RunByID finds a run that was sold; nil when none was.
func (s *State) RunByID(id RunID) *Run { return s.runs[id] }

// Count tells how many bookings there have been.
func (s *State) Count() int { return len(s.bookings) }

// add makes a booking known, with the next number.
func (s *State) add(b *Booking, now time.Time) {
	b.Number = uint32(len(s.bookings))
	s.bookings = append(s.bookings, b)
	s.byID[b.ID] = b.Number
	s.list(b, true)
	for i := range b.Tickets {
		s.byTicket[b.Tickets[i].ID] = b.Number
		b.Tickets[i].sit(nil, now)
	}
}

// renew puts a copy of a booking in its place, for an event to change.
func (s *State) renew(id ID, now time.Time) *Booking {
	b := *s.Any(id)
	b.Tickets = slices.Clone(b.Tickets)
	b.Updated = now.UnixMilli()
	s.bookings[b.Number] = &b
	return &b
}

// list puts a booking on its lists, or takes it off while its departure is still the one it is listed by.
func (s *State) list(b *Booking, on bool) {
	for _, day := range [...]schedule.Day{anyDay, schedule.DayOf(b.Departure())} {
		key := listKey{b.Partner, day}
		list := s.lists[key]
		at, _ := slices.BinarySearch(list, b.Number) // almost always its end
		if on {
			list = slices.Insert(list, at, b.Number)
		} else {
			list = slices.Delete(list, at, at+1)
		}
		if s.lists[key] = list; len(list) == 0 {
			delete(s.lists, key)
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
	return Frozen{slices.Clone(s.bookings), slices.Clip(s.order), maps.Clone(s.asks)}
}

// RestoreRun makes a run known in the form it was sold in: a new one's, or a
// snapshot's in the snapshot's order.
func (s *State) RestoreRun(r *Run) {
	if s.runs[r.ID] != nil {
		return
	}
	if form := s.forms[r.Form.Key()]; form != nil {
		r.Form = form // shared by all days
	}
	s.forms[r.Form.Key()] = r.Form
	key := r.key()
	if s.seatings[key] == nil {
		s.seatings[key] = new(seating)
	}
	r.seats = s.seatings[key]
	r.seats.sold = append(r.seats.sold, r)
	s.runs[r.ID] = r
	s.order = append(s.order, r)
}

// RestoreBooking puts back a booking of a snapshot, whose runs are there; asks
// are those of its tickets. One without tickets keeps the number of a booking whose tickets have all moved away.
func (s *State) RestoreBooking(b *Booking, asks map[ID]Ask) {
	if len(b.Tickets) == 0 {
		s.bookings = append(s.bookings, nil)
		return
	}
	maps.Copy(s.asks, asks)
	s.add(b, time.UnixMilli(0))
}
