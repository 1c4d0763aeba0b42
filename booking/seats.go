package booking

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"waybill/schedule"
)

// runKey tells one bus on one day from all others, whatever form it was sold in.
type runKey struct {
	trip string
	day  schedule.Day
}

// seating is who holds which seat of a run. The holds are the truth; the plan
// is made from them when it is asked for.
type seating struct {
	sold  []*Run // the forms it was sold in
	holds []hold
	plan  *plan
}

// hold is a ticket's seat on a part of the run. It is free from until on.
type hold struct {
	ticket   ID
	until    int64 // Unix milliseconds; forever once booked or paid
	from, to int16 // positions in the form it was sold in
	seat     int16
	sold     uint16 // which form
}

const forever = math.MaxInt64

// set gives a ticket its seat, or changes until when it has it. Holds that have
// run out by now decide nothing any more and are dropped when room is needed.
func (s *seating) set(h hold, run *Run, now int64) {
	h.sold = uint16(slices.Index(s.sold, run))
	for i := range s.holds {
		if old := s.holds[i]; old.ticket == h.ticket {
			s.holds[i] = h
			if longer := (hold{h.ticket, old.until, h.from, h.to, h.seat, h.sold}); longer != old || old.until <= now || h.until < old.until {
				s.plan = nil // not just the same seat for longer
			}
			return
		}
	}
	if len(s.holds) == cap(s.holds) {
		s.holds = slices.DeleteFunc(s.holds, func(h hold) bool { return h.until <= now })
	}
	s.holds = append(s.holds, h)
	if s.plan != nil && now < s.plan.until {
		s.plan.take(&h)
	} else {
		s.plan = nil
	}
}

// drop gives a ticket's seat back.
func (s *seating) drop(ticket ID) {
	s.holds = slices.DeleteFunc(s.holds, func(h hold) bool { return h.ticket == ticket })
	s.plan = nil
}

// plan shows which seats are taken between which stops of the timetable in
// force. It holds until the first of the holds it was made of runs out.
type plan struct {
	timetable *schedule.Timetable
	seats     int
	positions [][]int16 // by form sold: where each of its stops is now
	words     int       // per segment
	taken     []uint64  // by segment, then seat
	until     int64
}

// planFor gives the plan of a run at an instant. trip is its index in the
// timetable; -1 when the trip is gone: then the newest form sold says what there is.
func (s *seating) planFor(tt *schedule.Timetable, trip int32, now time.Time) *plan {
	ms := now.UnixMilli()
	if s.plan != nil && s.plan.timetable == tt && ms < s.plan.until {
		return s.plan
	}
	p := &plan{timetable: tt, until: forever}
	var stops []string
	if trip >= 0 {
		p.seats = tt.Seats(trip)
		for _, i := range tt.StopsOf(trip) {
			stops = append(stops, tt.Stops[i].ID)
		}
	} else {
		form := s.sold[len(s.sold)-1].Form
		p.seats = int(form.Bus.Seats)
		for i := range form.Stops {
			stops = append(stops, form.Stops[i].Stop.ID)
		}
	}
	p.words = (p.seats + 63) / 64
	for i := range s.holds {
		p.words = max(p.words, (int(s.holds[i].seat)+63)/64)
	}
	p.taken = make([]uint64, p.words*(len(stops)-1))
	for _, run := range s.sold {
		p.positions = append(p.positions, positions(run.Form, stops))
	}
	for i := range s.holds {
		if s.holds[i].until > ms {
			p.take(&s.holds[i])
		}
	}
	s.plan = p
	return p
}

// positions tells where each stop of a form is among other stops of the same
// trip. A stop that is gone counts as the next one that remains.
func positions(form *schedule.Form, stops []string) []int16 {
	list := make([]int16, len(form.Stops))
	at := 0
	for i := range form.Stops {
		list[i] = -1
		if k := slices.Index(stops[at:], form.Stops[i].Stop.ID); k >= 0 {
			at += k
			list[i] = int16(at)
			at++
		}
	}
	next := int16(len(stops) - 1)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] < 0 {
			list[i] = next
		}
		next = list[i]
	}
	return list
}

// stretch gives the part of a run that a ride covers by the positions its stops
// now have. A ride whose stops are gone still has its seat for one segment.
func stretch(at []int16, from, to int16) (int16, int16) {
	start, end := at[from], at[to]
	if last := slices.Max(at); start >= end {
		end = min(start+1, max(last, 1))
		start = end - 1
	}
	return start, end
}

func (p *plan) take(h *hold) {
	if int(h.sold) >= len(p.positions) || int(h.seat) > p.words*64 {
		p.until = 0 // made before this form, or a bus of this size, was sold
		return
	}
	at := p.positions[h.sold]
	word, bit := int(h.seat-1)/64, uint64(1)<<((h.seat-1)%64)
	from, to := stretch(at, h.from, h.to)
	for seg := from; seg < to; seg++ {
		p.taken[int(seg)*p.words+word] |= bit
	}
	p.until = min(p.until, h.until)
}

// free gives the seats that are free between two positions, a bit each.
func (p *plan) free(from, to int16) []uint64 {
	set := make([]uint64, p.words)
	for seg := from; seg < to; seg++ {
		for w := range set {
			set[w] |= p.taken[int(seg)*p.words+w]
		}
	}
	for w := range set {
		set[w] = ^set[w] & p.exists(w)
	}
	return set
}

// left counts the free seats between two positions.
func (p *plan) left(from, to int16) (n int) {
	for w := range p.words {
		var taken uint64
		for seg := from; seg < to; seg++ {
			taken |= p.taken[int(seg)*p.words+w]
		}
		n += bits.OnesCount64(^taken & p.exists(w))
	}
	return n
}

// exists gives the seats of a word that the bus has.
func (p *plan) exists(word int) uint64 {
	return math.MaxUint64 >> min(64, max(0, (word+1)*64-p.seats))
}

func has(set []uint64, seat int16) bool {
	i := int(seat) - 1
	return i >= 0 && i/64 < len(set) && set[i/64]>>(i%64)&1 == 1
}

// together picks n free seats: the first n in a row, or else the first n there are.
func together(set []uint64, n int) []int16 {
	var all []int16
	for i := range len(set) * 64 {
		if !has(set, int16(i+1)) {
			continue
		}
		all = append(all, int16(i+1))
		if k := len(all) - n; k >= 0 && all[len(all)-1]-all[k] == int16(n-1) {
			return all[k:]
		}
	}
	return all[:min(n, len(all))]
}

// SeatsLeft tells how many seats are free for a ride.
func (s *State) SeatsLeft(tt *schedule.Timetable, l *schedule.Leg, now time.Time) int {
	if seating := s.seatings[runKey{tt.Trips[l.Trip].ID, l.Day}]; seating != nil {
		return seating.planFor(tt, l.Trip, now).left(l.From, l.To)
	}
	return tt.Seats(l.Trip)
}

// seatsFor picks n seats for a ride, fewer when there are not enough.
func (s *State) seatsFor(tt *schedule.Timetable, l *schedule.Leg, n int, now time.Time) []int16 {
	seating := s.seatings[runKey{tt.Trips[l.Trip].ID, l.Day}]
	if seating == nil {
		all := make([]int16, min(n, tt.Seats(l.Trip)))
		for i := range all {
			all[i] = int16(i + 1)
		}
		return all
	}
	return together(seating.planFor(tt, l.Trip, now).free(l.From, l.To), n)
}

// reseat finds seats for the legs of a ticket whose hold has run out: the same,
// or else, with other, any. picked are the seats that others of the same request
// will get; a ticket that gets all its seats adds them. nil: there are none.
func (s *State) reseat(tt *schedule.Timetable, t *Ticket, other bool, picked *[]pick, now time.Time) (seats []int16) {
	mine := *picked
	for _, l := range t.Itinerary() {
		run := l.Run
		trip, known := tt.TripByID(run.Form.Trip)
		if !known || !tt.RunsOn(trip, run.Day) {
			trip = -1
		}
		p := run.seats.planFor(tt, trip, now)
		at := p.positions[slices.Index(run.seats.sold, run)]
		from, to := stretch(at, l.From, l.To)
		free := p.free(from, to)
		for _, x := range mine {
			if x.seating == run.seats && x.from < to && from < x.to {
				free[(x.seat-1)/64] &^= 1 << ((x.seat - 1) % 64)
			}
		}
		seat := l.Seat
		if !has(free, seat) {
			any := together(free, 1)
			if len(any) == 0 || !other {
				return nil
			}
			seat = any[0]
		}
		seats = append(seats, seat)
		mine = append(mine, pick{run.seats, from, to, seat})
	}
	*picked = mine
	return seats
}

// pick is a seat that is about to be taken.
type pick struct {
	seating  *seating
	from, to int16
	seat     int16
}

// ForgetPlans drops what was worked out from a timetable that is no longer in force.
func (s *State) ForgetPlans() {
	for _, x := range s.seatings {
		x.plan = nil
	}
}

// overlapping gives tickets that hold a seat of the ticket's on a part of its
// ride at an instant. It looks at the holds one by one, not at any plan, and so checks the plans.
// Rides are compared by the stops of run's form; with older, only those sold in that form or one before.
func (s *State) overlapping(ticket ID, run *Run, from, to, seat int16, older bool, now time.Time) (others []ID) {
	form := slices.Index(run.seats.sold, run)
	var stops []string
	for i := range run.Form.Stops {
		stops = append(stops, run.Form.Stops[i].Stop.ID)
	}
	for _, h := range run.seats.holds {
		start, end := stretch(positions(run.seats.sold[h.sold].Form, stops), h.from, h.to)
		if h.ticket != ticket && h.seat == seat && (!older || int(h.sold) <= form) && h.until > now.UnixMilli() && start < to && from < end {
			others = append(others, h.ticket)
		}
	}
	slices.SortFunc(others, func(a, b ID) int { return cmp.Compare(string(a[:]), string(b[:])) })
	return others
}
