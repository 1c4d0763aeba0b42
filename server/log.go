package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/wire"
	"waybill/store"
)

// readEvents goes through the journal of a directory that may be in use. visit is given each line with its event, nil
// for a line of the store's own.
func readEvents(fsys store.FS, live bool, visit func(*store.Line, Event) error) (store.Report, error) {
	cfg := StoreConfig(fsys, slog.New(slog.DiscardHandler))
	return store.Read(fsys, live, func(_ store.Place, l *store.Line) error {
		if l.Type == "opened" {
			return visit(l, nil)
		}
		e, err := cfg.Decode(l.Type, l.Data, l.Personal)
		if err != nil {
			return fmt.Errorf("seq %d: %w", l.Seq, err)
		}
		return visit(l, e)
	})
}

// LogFilter says what of the journal to show.
type LogFilter struct {
	Booking, Ticket string     // their ids
	At              *time.Time // only what had happened by then, and what the booking looked like
}

// errEnough ends the reading of a journal.
var errEnough = errors.New("server: enough")

// Log writes the journal as readable history: a line for each event, and with At the booking as it stood.
func Log(fsys store.FS, live bool, f LogFilter, out io.Writer) error {
	cfg := StoreConfig(fsys, slog.New(slog.DiscardHandler))
	s := newState()
	_, err := store.Read(fsys, live, func(_ store.Place, l *store.Line) error {
		if f.At != nil && l.Time.After(*f.At) {
			return errEnough
		}
		var e Event
		if l.Type != "opened" { // the store's own
			var err error
			if e, err = cfg.Decode(l.Type, l.Data, l.Personal); err != nil {
				return fmt.Errorf("seq %d: %w", l.Seq, err)
			}
			apply(s, store.Stamp{Seq: l.Seq, Time: l.Time}, e)
		}
		if !f.shows(l.Data) {
			return nil
		}
		_, err := fmt.Fprintf(out, "%s  #%d  %s  %s\n", l.Time.Format("2006-01-02 15:04:05.000"), l.Seq, l.Type, s.tell(e, l.Data))
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err != nil || f.At == nil || f.Booking == "" {
		return err
	}
	id, _ := booking.ParseID(f.Booking)
	b := s.Bookings.Any(id)
	if b == nil {
		_, err = fmt.Fprintf(out, "there was no booking %s\n", f.Booking)
		return err
	}
	var w wire.Writer
	writeBooking(&w, "", b, *f.At)
	_, err = fmt.Fprintf(out, "%s\n", w.B)
	return err
}

// shows tells whether a line is about the booking or ticket asked for: its data names it.
func (f *LogFilter) shows(data []byte) bool {
	names := func(id string, members ...string) bool {
		return id != "" && slices.ContainsFunc(members, func(m string) bool {
			return bytes.Contains(data, fmt.Appendf(nil, "%q:%q", m, id))
		})
	}
	return f.Booking == "" && f.Ticket == "" || names(f.Booking, "booking", "from") || names(f.Ticket, "ticket", "id")
}

// tell says in words what an event did, after it was applied.
func (s *State) tell(e Event, data []byte) string {
	switch e := e.(type) {
	case *booking.Created:
		return s.tellCreated(e)
	case *booking.TicketsCanceled:
		return tellCanceled(e)
	}
	return unquoted(data)
}

func (s *State) tellCreated(e *booking.Created) string {
	name := "?"
	for _, p := range s.Partners.All() {
		if booking.ID(p.ID) == e.Partner {
			name = p.Name
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "booking %s by partner %q, request %s", e.ID, name, e.Request)
	for _, l := range e.Legs {
		r := s.Bookings.RunByID(l.Run)
		fmt.Fprintf(&b, "; trip %s on %s, %s to %s, %d.%02d %s each", r.Form.Trip, r.Day,
			r.Form.Stops[l.From].Stop.ID, r.Form.Stops[l.To].Stop.ID, l.Amount/100, l.Amount%100, e.Currency)
	}
	for _, t := range e.Tickets {
		fmt.Fprintf(&b, "; ticket %s seats %d", t.ID, t.Seats)
	}
	return b.String()
}

func tellCanceled(e *booking.TicketsCanceled) string {
	var b strings.Builder
	fmt.Fprintf(&b, "booking %s, request %s", e.Booking, e.Request)
	for _, t := range e.Tickets {
		fmt.Fprintf(&b, "; ticket %s", t.ID)
		if !t.Refunded {
			b.WriteString(" canceled, nothing to refund")
			continue
		}
		fmt.Fprintf(&b, " refunded %d.%02d", t.Refund/100, t.Refund%100)
		if t.Grace {
			b.WriteString(" (within 20 minutes of its creation: all of it)")
		}
		for _, term := range t.Terms {
			rule := "no rule"
			if term.Rule != "" {
				rule = "rule " + term.Rule
			}
			fmt.Fprintf(&b, " (%s: %d.%02d %%)", rule, term.Percent/100, term.Percent%100)
		}
	}
	return b.String()
}

// unquoted shows a line's data without JSON's punctuation.
func unquoted(data []byte) string {
	return strings.NewReplacer(`":`, " ", `{`, "", `}`, "", `"`, "", `,`, ", ").Replace(string(data))
}
