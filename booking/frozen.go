package booking

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"waybill/schedule/ids"
)

// Frozen is the state at an instant, to be read without the lock. Making one takes the same time however
// large the state is.
type Frozen struct {
	Runs []*Run // in the order they were first sold
	Asks map[ids.ID]Ask

	// Step, unless it is nil, is called after each booking that All and Newest go through, and that Read
	// reads. The caller may rest there.
	Step func()

	packed frozenPages
}

// Freeze returns the state as it is.
func (s *State) Freeze() Frozen {
	return Frozen{Runs: slices.Clip(s.order), Asks: maps.Clone(s.asks), packed: s.packed.Freeze()}
}

// Len returns how many bookings there have been.
func (f Frozen) Len() int {
	return f.packed.Len()
}

// At returns the booking with a number, from 0; nil where its tickets have all moved away.
func (f Frozen) At(number int) *Booking {
	return bookingAt(&f.packed, f.Runs, number)
}

// Read fills b with the booking that has a number, and reports whether there is one, as At does. The room of
// b's tickets is used again: going through all bookings so leaves nothing to a garbage collection.
func (f Frozen) Read(number int, b *Booking) bool {
	found := readBooking(&f.packed, f.Runs, number, b)
	if f.Step != nil {
		f.Step()
	}
	return found
}

// All goes through the bookings, in the order they were made.
func (f Frozen) All() iter.Seq[*Booking] { return f.walk(0, 1) }

// Newest goes through the bookings, the newest first.
func (f Frozen) Newest() iter.Seq[*Booking] { return f.walk(f.Len()-1, -1) }

// walk goes through the bookings from one on, step by step.
func (f Frozen) walk(from, step int) iter.Seq[*Booking] {
	return func(yield func(*Booking) bool) {
		for i := from; 0 <= i && i < f.Len(); i += step {
			if b := f.At(i); b != nil && !yield(b) {
				return
			}
			if f.Step != nil {
				f.Step()
			}
		}
	}
}

// Packed returns a booking as a snapshot has it; both parts are empty where its tickets have all moved away.
func (f Frozen) Packed(number int) Packed {
	return split(f.packed.At(number))
}

// Restoring puts back the bookings of a snapshot, whose runs are there. Until Done, no booking is found by an
// id.
type Restoring struct {
	state    Recorder
	room     Booking // that the next is read into
	byID     *ids.Gathering
	byTicket *ids.Gathering
}

// Restore begins to put back bookings, where there are none yet.
func (s Recorder) Restore() *Restoring {
	return &Restoring{
		state:    s,
		byID:     ids.Gather(),
		byTicket: ids.Gather(),
	}
}

// Booking puts back the next booking, packed. An empty text keeps the number of a booking whose tickets have
// all moved away.
func (r *Restoring) Booking(text string) error {
	s := r.state
	if text == "" {
		s.packed.Append("")
		return nil
	}
	b := &r.room
	err := b.unpack(split(text), s.order)
	if err == nil && b.isWrong() {
		err = errPacked
	}
	if err != nil {
		return err
	}
	s.keepNew(b, text, time.Time{})
	r.byID.Add(b.ID, b.number)
	for i := range b.Tickets {
		r.byTicket.Add(b.Tickets[i].ID, b.number)
	}
	return nil
}

// Done has the bookings found by their ids, and those of their tickets. Of two with the same, which only a
// forged journal has, the later is found, as after reading that journal.
func (r *Restoring) Done() {
	s := r.state
	var beside sync.WaitGroup
	beside.Go(func() {
		s.byID = r.byID.Index(func(was, later uint32) bool {
			return s.at(was).ID == s.at(later).ID
		})
	})
	s.byTicket = r.byTicket.Index(func(was, later uint32) bool {
		return slices.ContainsFunc(s.at(was).Tickets, func(t Ticket) bool {
			return s.at(later).has(t.ID)
		})
	})
	beside.Wait()
}

// isWrong reports whether a booking of a snapshot has values that the program never writes.
func (b *Booking) isWrong() bool {
	for i := range b.Tickets {
		t := &b.Tickets[i]
		if t.Phase > Refunded || t.Was > Refunded || t.Carrier > Prepaid || t.Pending > Cancel {
			return true
		}
		for k := range t.Itinerary() {
			if t.Legs[k].isWrong() {
				return true
			}
		}
	}
	return len(b.Tickets) == 0
}

// isWrong reports whether a leg is no ride on its run.
func (l *Leg) isWrong() bool {
	form := l.Run.Form
	stops := len(form.Stops)
	return l.From < 0 ||
		l.From >= l.To ||
		int(l.To) >= stops ||
		len(l.Run.Offsets) < stops ||
		int(l.Discount) >= len(form.Discounts)
}

// RestoreAsk puts back the provider's question about a ticket.
func (s Recorder) RestoreAsk(ticket ids.ID, ask Ask) {
	s.asks[ticket] = ask
}
