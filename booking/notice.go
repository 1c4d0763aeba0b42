package booking

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"waybill/schedule/ids"
)

// What follows from the tickets besides what partners do with them: notices of what time alone did, what is
// sent to passengers, and that they are forgotten.

// overdue reports whether it is still to be noted that the ticket's payment window is over.
func (t *Ticket) overdue(now time.Time) bool {
	return t.Phase == Unpaid && !t.Noticed && now.UnixMilli() >= t.Created+window.Milliseconds()
}

// Unnoticed returns the notices that these tickets need before anything else happens to them.
func (s *State) Unnoticed(now time.Time, tickets []ids.ID) (list []*TicketsUncompleted) {
	for _, id := range tickets {
		b, t := s.AnyTicket(id)
		if t != nil && t.overdue(now) {
			list = append(list, &TicketsUncompleted{b.ID, t.Due(), []OverdueTicket{{t.ID}}})
		}
	}
	return list
}

// Overdue returns the notices due at an instant, or as many as a look at so many bookings finds, and when to
// look again: at the latest when a ticket sold now is due. While the provider is asked about a ticket none is
// due. first is the number of the first booking to look at: 0, or what a look before has returned as rest,
// since nothing is left to note of bookings before that.
func (s *State) Overdue(now time.Time, first uint32, most int) (list []*TicketsUncompleted, rest uint32,
	next time.Time) {
	rest = first
	next = now.Add(window)
	var late []ids.ID
	for _, id := range slices.SortedFunc(maps.Keys(s.late), ids.ID.Compare) {
		_, t := s.AnyTicket(id)
		if t.Pending == 0 {
			late = append(late, id)
		}
		if t.Due().After(now) && t.Due().Before(next) {
			next = t.Due()
		}
	}
	list = s.Unnoticed(now, late)
	for n := first; int(n) < s.packed.Len(); n++ {
		b := s.at(n)
		if b != nil && b.Created+window.Milliseconds() > now.UnixMilli() {
			due := time.UnixMilli(b.Created).Add(window)
			return list, rest, slices.MinFunc([]time.Time{due, next}, time.Time.Compare)
		}
		for i := 0; b != nil && i < len(b.Tickets); i++ {
			t := &b.Tickets[i]
			last := len(list) - 1
			switch {
			case !t.overdue(now) || t.Pending != 0 || s.late[t.ID]:
			case last >= 0 && list[last].Booking == b.ID && list[last].At.Equal(t.Due()):
				list[last].Tickets = append(list[last].Tickets, OverdueTicket{t.ID})
			default:
				list = append(list, &TicketsUncompleted{b.ID, t.Due(), []OverdueTicket{{t.ID}}})
			}
		}
		if len(list) == 0 {
			rest = n + 1
		}
		if most--; most == 0 {
			return list, rest, now
		}
	}
	return list, rest, next
}

// keepLate remembers an unpaid ticket that is in a booking of another age.
func (s Recorder) keepLate(b *Booking, t *Ticket) {
	if t.Phase == Unpaid && !t.Noticed && t.Created != b.Created {
		s.late[t.ID] = true
	}
}

// What names whom a message is to: ToEmail, or ToPhone and the phone's position, from 1: "phone1".
const (
	ToEmail = "email"
	ToPhone = "phone"
)

// Contacts names what there is to reach the passenger of a ticket by, as ToEmail and ToPhone say; phones only
// where phones are sent texts.
func (s *State) Contacts(ticket ids.ID, phones bool) (list []string) {
	_, t := s.AnyTicket(ticket)
	_, _, email, numbers := t.Passenger.Fields()
	if email != "" {
		list = append(list, ToEmail)
	}
	for i := 0; phones && i < len(numbers); i++ {
		if slices.Contains(numbers[:i], numbers[i]) {
			continue
		}
		list = append(list, ToPhone+strconv.Itoa(i+1))
	}
	return list
}

// Forget forgets the passengers of tickets. Each booking is changed once, however many of its tickets are
// named. Its Line stays: an erasure changes no line of a booking.
func (s Recorder) Forget(now time.Time, tickets []ids.ID) error {
	renewed := map[ids.ID]*Booking{}
	for _, id := range tickets {
		of, _ := s.AnyTicket(id)
		if of == nil {
			return ids.Unknown("ticket", id)
		}
		b := renewed[of.ID]
		if b == nil {
			b = of
			b.Updated = now.UnixMilli()
			renewed[of.ID] = b
		}
		b.find(id).Passenger = Nobody
	}
	for _, b := range renewed {
		s.put(b)
	}
	return nil
}
