// Package history tells a journal as history: a line of words for each event ([Log]), of a booking or a
// ticket also what time alone did, and which lines tell of it ([Tell]).
package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/resource"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/proof/events"
	"waybill/server/proof/story"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Filter says what of the journal to show.
type Filter struct {
	Booking, Ticket string     // their ids
	At              *time.Time // only what had happened by then, and what the booking looked like
}

// Style says how to show it.
type Style struct {
	JSON   bool            // an object for each line
	Follow <-chan struct{} // unless nil, further lines are shown as they come, until it is closed
}

// history is a journal in words, or as much of it as a filter shows.
type history struct {
	ledger.State
	apply func(*journal.Line, ledger.Entry) error // brings the state along
	Filter
	out io.Writer
	say func(LogLine) error // is told of each line of it; writes them into out, unless it is replaced

	// told of besides those in the booking: the one asked for, those that ever moved into or out of it
	tickets []ids.ID
	end     uint64    // the last line of it
	last    uint64    // the last line that was read
	told    time.Time // what time alone did by then is told

	following bool                                    // lines come as they are written: told only rises
	shown     func(uint64)                            // is told of each line that is part of it
	read      func(*journal.Line, ledger.Entry) error // is told of each line, part of it or not
}

// LogLine is a line of the log.
type LogLine struct {
	Time    time.Time  `json:"time"`
	Seq     uint64     `json:"seq,omitempty"`
	Type    string     `json:"type,omitempty"`
	Derived bool       `json:"derived,omitempty"` // time alone did it: no line of the journal says so
	Text    string     `json:"text"`
	By      *ledger.By `json:"by,omitempty"`
}

// String returns the line for people.
func (x *LogLine) String() string {
	at := x.Time.Format(story.TimeLayout)
	switch {
	case x.Derived:
		return at + "  (derived)  " + x.Text
	case x.Seq == 0:
		return x.Text
	}
	by := ""
	if x.By != nil {
		by = "; by " + x.By.String()
	}
	return fmt.Sprintf("%s  #%d  %s  %s%s", at, x.Seq, x.Type, x.Text, by)
}

// Log writes the journal as readable history: a line for each event. For a booking or a ticket it also says
// what time alone did, which no line of the journal says; with At it ends in the booking as it stood. A
// booking or ticket that no line names is an error.
func Log(fsys durable.ReadFS, inUse bool, f Filter, style Style, out io.Writer) error {
	s := newHistory(f, out)
	if style.JSON {
		s.say = func(x LogLine) error { return json.NewEncoder(out).Encode(x) }
	}
	return s.tell(fsys, inUse, style.Follow)
}

// Story returns the lines that [Log] writes of a booking. What cannot be read is an error, with the lines
// before it.
func Story(fsys durable.ReadFS, inUse bool, booking string) (list []LogLine, err error) {
	s := newHistory(Filter{Booking: booking}, nil)
	s.say = func(x LogLine) error {
		list = append(list, x)
		return nil
	}
	err = s.tell(fsys, inUse, nil)
	return list, err
}

// errTold ends the reading of a journal once all that was asked for is told.
var errTold = errors.New("all lines have been told")

// Words says what each of the lines first to until did, in the words of [Log], by their numbers: each as it
// was then. The journal is read from its first line to the last of them; what cannot be read is an error,
// with the words of the lines before it.
func Words(fsys durable.ReadFS, inUse bool, first, until uint64) (map[uint64]string, error) {
	said := map[uint64]string{}
	_, err := events.Replay(fsys, inUse, func(s ledger.State, l *journal.Line, x ledger.Entry) error {
		if l.Seq >= first {
			said[l.Seq] = story.Tell(s, x, l)
		}
		if l.Seq >= until {
			return errTold
		}
		return nil
	})
	if errors.Is(err, errTold) {
		err = nil
	}
	return said, err
}

// newHistory returns a story of which nothing is told yet.
func newHistory(f Filter, out io.Writer) *history {
	state, apply := ledger.NewReplay()
	s := &history{
		State:  state,
		apply:  apply,
		Filter: f,
		out:    out,
		end:    math.MaxUint64,
		shown:  func(uint64) {},
		read:   func(*journal.Line, ledger.Entry) error { return nil },
	}
	s.say = s.print
	if ticket, ok := ids.Parse(f.Ticket); ok {
		s.tickets = append(s.tickets, ticket)
	}
	return s
}

// tell tells the story of a journal, and what follows until follow is closed, unless that is nil.
func (s *history) tell(fsys durable.ReadFS, inUse bool, follow <-chan struct{}) error {
	f := s.Filter
	id, _ := ids.Parse(f.Booking)
	// Where only a part is shown, the journal is read twice: what belongs to it is known at the end only.
	if f != (Filter{}) {
		if err := s.lookAhead(fsys, inUse, id); err != nil {
			return err
		}
	}
	decode := events.NewDecoder()
	if err := decode.Read(fsys, inUse, s.line); err != nil {
		return err
	}
	if follow != nil {
		return s.follow(fsys, decode, follow)
	}
	if f.At == nil {
		return s.derive(s.Clock().At(time.Now()))
	}
	if err := s.derive(*f.At); err != nil || f.Booking == "" {
		return err
	}
	return s.asItStood(id)
}

// lookAhead finds where the story ends, and which tickets will be moved, which is known at the journal's end
// only. A line of before the test clock was set may be later than those after it. What is wrong with the
// journal is told after what is before it.
func (s *history) lookAhead(fsys durable.ReadFS, inUse bool, id ids.ID) error {
	s.end = 0
	if s.At == nil {
		s.end = math.MaxUint64
	}
	known := s.Booking == "" && s.Ticket == ""
	damaged := events.Read(fsys, inUse, func(l *journal.Line, x ledger.Entry) error {
		known = known || s.Booking != "" && bytes.Contains(l.Data, []byte(s.Booking)) ||
			s.Ticket != "" && bytes.Contains(l.Data, []byte(s.Ticket))
		if s.At != nil && l.Time.After(*s.At) {
			return nil
		}
		s.end = max(s.end, l.Seq)
		if m, ok := x.Event.(*booking.Moved); ok && (m.From == id || m.To == id) {
			s.tickets = append(s.tickets, m.Ticket)
		}
		return nil
	})
	if !known && damaged == nil {
		return fmt.Errorf("no line of the journal names %s", cmp.Or(s.Booking, s.Ticket))
	}
	return nil
}

// followEvery is how often the journal is looked at for further lines.
const followEvery = 200 * time.Millisecond

// follow writes further lines as they come, until stop is closed. Each is held against its neighbours.
func (s *history) follow(fsys durable.ReadFS, decode events.Decoder, stop <-chan struct{}) error {
	lines := journal.NewLines(fsys)
	s.following = true
	for {
		if s.Booking != "" || s.Ticket != "" {
			// A line of this moment may still be on its way.
			if err := s.derive(s.Clock().At(time.Now().Add(-followEvery))); err != nil {
				return err
			}
		}
		err := lines.Read([]uint64{s.last + 1}, func(l *journal.Line) error {
			return decode.Line(l, s.line)
		})
		switch {
		case err == nil:
			continue
		case !errors.Is(err, journal.ErrNoLine):
			return err
		}
		select {
		case <-stop:
			return nil
		case <-time.After(followEvery):
		}
	}
}

// asItStood shows the booking at the end of the story.
func (s *history) asItStood(id ids.ID) error {
	b := s.Bookings.Any(id)
	if b == nil {
		return s.say(LogLine{
			Time: *s.At,
			Text: "there was no booking " + s.Booking,
		})
	}
	var w wire.Writer
	resource.NewWriter().Booking(&w, "", b, *s.At)
	_, err := fmt.Fprintf(s.out, "%s\n", w.B)
	return err
}

// print writes a line for people.
func (s *history) print(x LogLine) error {
	_, err := io.WriteString(s.out, words.Visible(x.String())+"\n")
	return err
}

// line writes a line, after what time did before it.
func (s *history) line(l *journal.Line, entry ledger.Entry) error {
	s.last = l.Seq
	if err := s.read(l, entry); err != nil {
		return err
	}
	if l.Seq > s.end {
		return nil
	}
	if err := s.derive(l.Time); err != nil {
		return err
	}
	if err := s.apply(l, entry); err != nil {
		return err
	}
	if !s.shows(l.Data, entry.Event) {
		return nil
	}
	s.shown(l.Seq)
	return s.say(LogLine{
		Time: l.Time,
		Seq:  l.Seq,
		Type: l.Type,
		Text: story.Tell(s.State, entry, l),
		By:   ledger.WrittenBy(l.Data),
	})
}

// shows reports whether a line is part of the story: it names the booking or one of the tickets, or erased
// them.
func (s *history) shows(data []byte, e ledger.Event) bool {
	names := func(id string, members ...string) bool {
		return id != "" && slices.ContainsFunc(members, func(m string) bool {
			return bytes.Contains(data, fmt.Appendf(nil, "%q:%q", m, id))
		})
	}
	if s.Booking == "" && s.Ticket == "" || names(s.Booking, "booking", "from") ||
		slices.ContainsFunc(s.tickets, func(id ids.ID) bool {
			return names(id.String(), "ticket", "id")
		}) {
		return true
	}
	erased, ok := e.(interface{ AllTickets() []ids.ID })
	return ok && slices.ContainsFunc(erased.AllTickets(), func(id ids.ID) bool {
		b, _ := s.Bookings.AnyTicket(id)
		return slices.Contains(s.tickets, id) || b.ID.String() == s.Booking
	})
}

// derive returns what time alone did to the story's booking and tickets, up to an instant.
func (s *history) derive(to time.Time) error {
	var list []LogLine
	add := func(at time.Time, what string) {
		list = append(list, LogLine{
			Time:    at,
			Derived: true,
			Text:    what,
		})
	}
	passes := func(at time.Time) bool {
		return at.After(s.told) && !at.After(to)
	}
	// The tickets asked for, and those that are in the booking by now.
	tickets := slices.Clone(s.tickets)
	id, _ := ids.Parse(s.Booking)
	if b := s.Bookings.Any(id); b != nil {
		for i := range b.Tickets {
			id := b.Tickets[i].ID
			if !slices.Contains(tickets, id) {
				tickets = append(tickets, id)
			}
		}
		d := b.Departure()
		for _, at := range []time.Time{d.Add(-8 * time.Hour), d, d.Add(24 * time.Hour)} {
			now := b.Status(at)
			if passes(at) && now != b.Status(at.Add(-time.Millisecond)) {
				add(at, fmt.Sprintf("booking %s is %s", b.ID, now))
			}
		}
	}
	for _, id := range tickets {
		_, t := s.Bookings.AnyTicket(id)
		if t != nil && passes(t.Due()) && t.PhaseAt(t.Due()) == booking.Uncompleted {
			add(t.Due(), story.Standing(s.State, id, t.Due())+": 20 minutes without payment")
		}
	}
	slices.SortStableFunc(list, func(a, b LogLine) int {
		return a.Time.Compare(b.Time)
	})
	for _, x := range list {
		if err := s.say(x); err != nil {
			return err
		}
	}
	if !s.following || to.After(s.told) { // else a test clock may have been set to the past
		s.told = to
	}
	return nil
}
