package booking

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/schedule"
)

// What a carrier changes of a run that may have been sold: it cancels it, moves it in time, or takes that
// back (contract §15). A run that is moved becomes another Run, with the same stops and seats and another
// start, and all bookings of it are replaced by ones that name that. So what was handed out before stays as
// it was.

// RunName names one bus on one service day, in words of the timetable.
type RunName struct {
	Trip string
	Day  schedule.Day
}

// runNameJSON is a name in a line.
type runNameJSON struct {
	Trip string `json:"trip"`
	Date string `json:"date"`
}

// MarshalJSON writes the day as a date.
func (n RunName) MarshalJSON() ([]byte, error) {
	return json.Marshal(runNameJSON{n.Trip, n.Day.String()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *RunName) UnmarshalJSON(text []byte) error {
	var x runNameJSON
	err := json.Unmarshal(text, &x)
	if err == nil {
		n.Trip = x.Trip
		n.Day, err = schedule.ParseDay(x.Date)
	}
	return err
}

// String returns the name as messages have it.
func (n RunName) String() string {
	return fmt.Sprintf("trip %s on %s", n.Trip, n.Day)
}

// key returns what the run is found by.
func (n RunName) key() schedule.RunKey {
	return schedule.RunKey{Trip: schedule.KeyOf(n.Trip), Day: n.Day}
}

// RunChange is what a carrier has changed of a run. It is immutable.
type RunChange struct {
	Run RunName `json:"run"`
	schedule.Change
	Latest  int32  `json:"latest"`  // seconds: the most that it ever was later than its timetable
	Tickets int    `json:"tickets"` // that were cancelled with it
	Reason  string `json:"reason"`  // of the last change
}

// MaxShift is how far a run may be moved, in minutes, both ways.
const MaxShift = 720

// The events, with what is in them.
type (
	// RunCanceled says that a run was cancelled with the tickets that live; or, of a run that was, that
	// tickets followed which the provider had been asked about.
	RunCanceled struct {
		Run     RunName           `json:"run"`
		Reason  string            `json:"reason"`
		Tickets []WithdrawnTicket `json:"tickets"`
	}
	// WithdrawnTicket is a ticket of a run that was cancelled.
	WithdrawnTicket struct {
		ID       ID       `json:"id"`
		Booking  ID       `json:"booking"`
		Partner  ID       `json:"partner"`
		Refunded bool     `json:"refunded"`
		Refund   int64    `json:"refund"`          // minor units: all that was paid
		Sends    []string `json:"sends,omitempty"` // see Settled.Sends
	}
	// RunMoved says that a run leaves so many minutes later than its timetable says.
	RunMoved struct {
		Run     RunName      `json:"run"`
		Minutes int          `json:"minutes"`
		Reason  string       `json:"reason"`
		Runs    []MovedRun   `json:"runs"` // as it was sold, in each form
		Tickets []ToldTicket `json:"tickets"`
	}
	// MovedRun says what a run that was sold became.
	MovedRun struct {
		Was     RunID   `json:"run"`
		Start   int64   `json:"start"` // see Run
		Offsets []int32 `json:"offsets"`
	}
	// ToldTicket is a ticket that lives, and leaves at another time.
	ToldTicket struct {
		ID      ID       `json:"id"`
		Booking ID       `json:"booking"`
		Partner ID       `json:"partner"`
		Sends   []string `json:"sends,omitempty"` // see Settled.Sends
	}
	// RunRestored says that the last change of a run is taken back. No ticket was touched by it.
	RunRestored struct {
		Run    RunName `json:"run"`
		Reason string  `json:"reason"`
	}
)

var (
	// ErrUnchanged is the reason why not where a run is already what it is to be.
	ErrUnchanged = errors.New("nothing to change")
	errOver      = errors.New("the run is over")
	errCanceled  = errors.New("the run is cancelled")
)

// Change returns what was changed of a run.
func (s *State) Change(run RunName) RunChange {
	if c := s.changes[run.key()]; c != nil {
		return *c
	}
	return RunChange{Run: run}
}

// ReasonOf returns why a run that a ticket is on was cancelled, or else moved; "" where none was.
func (s *State) ReasonOf(t *Ticket, canceled bool) string {
	for _, l := range t.Itinerary() {
		if c := l.Run.seats.change; c != nil && c.Canceled == canceled {
			return c.Reason
		}
	}
	return ""
}

// Changes returns what was changed of all runs, for a timetable.
func (s *State) Changes() map[schedule.RunKey]schedule.Change {
	all := make(map[schedule.RunKey]schedule.Change, len(s.changes))
	for key, c := range s.changes {
		all[key] = c.Change
	}
	return all
}

// AllChanges returns what was changed of all runs, by day and trip.
func (s *State) AllChanges() []*RunChange {
	return slices.SortedFunc(maps.Values(s.changes), func(a, b *RunChange) int {
		return a.Run.compare(b.Run)
	})
}

// RestoreChange puts back a change of a snapshot.
func (s *State) RestoreChange(c *RunChange) {
	key := c.Run.key()
	s.changes[key] = c
	if s.seatings[key] != nil {
		s.seatings[key].change = c
	}
}

// CancelRun decides to cancel a run. Tickets that the provider was asked about follow once it has answered;
// waits is how many do. Errors: ErrUnchanged, and what else is in the way, in words.
func (s *State) CancelRun(now time.Time, tt *schedule.Timetable, run RunName, reason string,
	phones bool) (e *RunCanceled, waits int, err error) {
	if _, err := s.ahead(now, tt, run); err != nil {
		return nil, 0, err
	}
	e = &RunCanceled{Run: run, Reason: reason}
	for _, o := range s.Riders(run) {
		x, ok := s.withdrawn(now, o.Booking, o.Ticket, phones)
		switch {
		case o.Ticket.Asked != 0:
			waits++
		case ok:
			e.Tickets = append(e.Tickets, x)
		}
	}
	if s.Change(run).Canceled && len(e.Tickets) == 0 {
		return nil, waits, ErrUnchanged
	}
	return e, waits, nil
}

// withdrawn returns what becomes of a ticket when its run is cancelled; false where nothing does.
func (s *State) withdrawn(now time.Time, b *Booking, t *Ticket, phones bool) (x WithdrawnTicket, ok bool) {
	to, ok := t.next(WithdrawRun, now)
	if !ok {
		return x, false
	}
	x = WithdrawnTicket{
		Partner: b.Partner,
		Booking: b.ID,
		ID:      t.ID,
		Sends:   s.Contacts(t.ID, phones),
	}
	if to == Refunded {
		x.Refunded = true
		x.Refund = t.Price()
	}
	return x, true
}

// CancelAnswered decides what else follows from an answer of the provider: a ticket whose run was cancelled
// while it was asked is cancelled, too. It returns nil where nothing does.
func (s *State) CancelAnswered(now time.Time, ticket ID, verdict Verdict, phones bool) *RunCanceled {
	b, t := s.AnyTicket(ticket)
	c := t.withdrawn()
	if c == nil {
		return nil
	}
	after := *t
	after.Asked = 0
	if verdict == Confirm {
		after.Phase, _ = t.next(t.Asked, now)
	}
	x, ok := s.withdrawn(now, b, &after, phones)
	if !ok {
		return nil
	}
	return &RunCanceled{
		Run:     c.Run,
		Reason:  c.Reason,
		Tickets: []WithdrawnTicket{x},
	}
}

// withdrawn returns the cancellation of a run that the ticket is on; nil where none is cancelled.
func (t *Ticket) withdrawn() *RunChange {
	for _, l := range t.Itinerary() {
		if c := l.Run.seats.change; c != nil && c.Canceled {
			return c
		}
	}
	return nil
}

// Unfinished returns the runs that are cancelled and still have tickets that live and are not asked about: a
// crash came between an answer and what followed from it.
func (s *State) Unfinished(now time.Time) (runs []RunName) {
	for _, c := range s.changes {
		if c.Canceled && slices.ContainsFunc(s.Riders(c.Run), func(o Order) bool {
			return o.Ticket.live(now) && o.Ticket.Asked == 0
		}) {
			runs = append(runs, c.Run)
		}
	}
	slices.SortFunc(runs, RunName.compare)
	return runs
}

// MoveRun decides that a run leaves so many minutes later than its timetable says. Errors: ErrUnchanged, and
// what else is in the way, in words.
func (s *State) MoveRun(now time.Time, tt *schedule.Timetable, run RunName, minutes int, reason string,
	phones bool) (*RunMoved, error) {
	if minutes < -MaxShift || minutes > MaxShift {
		return nil, fmt.Errorf("%d minutes: a run is moved by %d at most", minutes, MaxShift)
	}
	if _, err := s.ahead(now, tt, run); err != nil {
		return nil, err
	}
	was := s.Change(run)
	by := int64(minutes)*60 - int64(was.Shift)
	switch {
	case was.Canceled:
		return nil, errCanceled
	case by == 0:
		return nil, ErrUnchanged
	}
	e := &RunMoved{Run: run, Minutes: minutes, Reason: reason}
	known := map[*Run]bool{}
	for _, o := range s.Riders(run) {
		for _, l := range o.Ticket.Itinerary() {
			if l.Run.key() != run.key() || known[l.Run] {
				continue
			}
			known[l.Run] = true
			moved := MovedRun{Was: l.Run.ID, Start: l.Run.Start + by}
			offsets, err := l.Run.Form.Offsets(moved.Start)
			if err != nil {
				return nil, err
			}
			moved.Offsets = offsets
			e.Runs = append(e.Runs, moved)
		}
		if o.Ticket.live(now) {
			e.Tickets = append(e.Tickets, ToldTicket{
				Partner: o.Booking.Partner,
				Booking: o.Booking.ID,
				ID:      o.Ticket.ID,
				Sends:   s.Contacts(o.Ticket.ID, phones),
			})
		}
	}
	return e, nil
}

// RestoreRun decides to take back the last change of a run, as long as nothing followed from it: a
// cancellation that no ticket was cancelled by, or a move of a run that nobody has a ticket for. Errors:
// ErrUnchanged, and what is in the way, in words.
func (s *State) RestoreRun(now time.Time, tt *schedule.Timetable, run RunName, reason string) (*RunRestored,
	error) {
	if _, err := s.ahead(now, tt, run); err != nil {
		return nil, err
	}
	was := s.Change(run)
	switch {
	case was.Change == (schedule.Change{}):
		return nil, ErrUnchanged
	case was.Canceled && was.Tickets > 0:
		return nil, errors.New("tickets were cancelled with the run, which stays cancelled")
	case !was.Canceled && len(s.Riders(run)) > 0:
		return nil, errors.New("there are tickets for the run at its new time; move it by 0 minutes, of which " +
			"their passengers are told")
	}
	return &RunRestored{run, reason}, nil
}

// ahead returns the run as it is now, in the timetable in force or else as it was sold last. Its error is of
// one that is not there, or is over.
func (s *State) ahead(now time.Time, tt *schedule.Timetable, name RunName) (*Run, error) {
	run := s.Present(tt, name)
	switch {
	case run == nil:
		return nil, fmt.Errorf("%s: the timetable has no such run, and nobody was sold it", name)
	case !run.Arr(int16(len(run.Form.Stops) - 1)).After(now):
		return nil, errOver
	}
	return run, nil
}

// Present returns a run as it is now, in the timetable in force or else as it was sold last; nil where
// neither has it.
func (s *State) Present(tt *schedule.Timetable, name RunName) *Run {
	trip, known := tt.TripByID(name.Trip)
	if known && tt.Scheduled(trip, name.Day) {
		start := tt.Start(&schedule.Leg{Trip: trip, Day: name.Day})
		return NewRun(tt.Form(trip), name.Day, start, tt.Offsets(trip, start))
	}
	held := s.seatings[name.key()]
	if held == nil {
		return nil
	}
	return held.sold[len(held.sold)-1]
}

// Riders returns the tickets that have a ride on a run, whatever their state, in the order of their bookings.
func (s *State) Riders(run RunName) (list []Order) {
	key := run.key()
	for _, n := range s.bookingsOf(key) {
		b := s.bookings[n]
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if t.rides(run) {
				list = append(list, Order{b, t})
			}
		}
	}
	return list
}

// bookingsOf returns the numbers of the bookings that have a ticket on a run, rising.
func (s *State) bookingsOf(key schedule.RunKey) []uint32 {
	if held := s.seatings[key]; held != nil {
		return held.bookings
	}
	return nil
}

// note notes that a booking has a ticket on the run.
func (s *seating) note(number uint32) {
	at, known := slices.BinarySearch(s.bookings, number) // almost always the last
	if !known {
		s.bookings = slices.Insert(s.bookings, at, number)
	}
}

// leave notes that a ticket is no longer in a booking, which may have others on the same runs.
func (b *Booking) leave(t *Ticket) {
	for _, l := range t.Itinerary() {
		seats := l.Run.seats
		others := slices.ContainsFunc(b.Tickets, func(other Ticket) bool {
			return slices.ContainsFunc(other.Itinerary(), func(x Leg) bool { return x.Run.seats == seats })
		})
		at, known := slices.BinarySearch(seats.bookings, b.number)
		if known && !others {
			seats.bookings = slices.Delete(seats.bookings, at, at+1)
		}
	}
}

// compare orders runs by day and trip.
func (n RunName) compare(other RunName) int {
	if n.Day != other.Day {
		return int(n.Day) - int(other.Day)
	}
	return strings.Compare(n.Trip, other.Trip)
}

// refundsBy returns the departure that refunds count hours to. Where it was moved that is the latest that it
// ever was: nobody loses by a change that somebody else made.
func (t *Ticket) refundsBy() time.Time {
	d := t.Departure()
	if c := t.Legs[0].Run.seats.change; c != nil {
		d = d.Add(time.Duration(c.Latest-c.Shift) * time.Second)
	}
	return d
}
