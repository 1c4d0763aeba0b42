package carrier

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/proof/story"
)

// A carrier cancels a run, moves it in time, or takes that back. A preview and the act are one decision, so
// that they cannot differ. Each returns in words what was done.

// Act is a change of a run, and its author.
type Act struct {
	Run    ids.RunName
	Reason string // passengers read it
	DryRun bool   // only say what would happen
	By     ledger.By
}

// decideRun decides, under the lock, what happens to a run, and says it in words: what will happen where it
// is only asked.
type decideRun func(st ledger.State, now time.Time) (e ledger.Event, said string, err error)

// change changes a run, or says what that would do. A run that is already as it was asked for is no error.
func (s *Dispatcher) change(a Act, decide decideRun) (said string, err error) {
	changed := false
	_, err = s.Store.Update(
		func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
			e, what, err := decide(st, now)
			said = what
			if errors.Is(err, booking.ErrUnchanged) {
				said = "nothing to change: " + what
				return nil, nil
			}
			if err != nil || a.DryRun {
				return nil, err
			}
			return []ledger.Entry{{
				Event: e,
				By:    &a.By,
			}}, nil
		},
		func(ledger.State, time.Time) {
			changed = true
		},
	)
	if err != nil {
		return "", err
	}
	// Where nothing was written there is nothing to show, and nobody to tell.
	if changed {
		if _, err := s.ShowTimetable(); err != nil {
			return "", err
		}
		web.Wake(s.Outgoing)
	}
	if a.DryRun {
		said = "dry run, nothing is changed: " + said
	}
	return said, nil
}

// Cancel cancels a run, and the tickets of it that live.
func (s *Dispatcher) Cancel(a Act) (string, error) {
	return s.change(
		a,
		func(st ledger.State, now time.Time) (ledger.Event, string, error) {
			// Tickets that the provider was asked about belong to its answer, and follow when it comes.
			e, waits, err := st.Bookings.CancelRun(now, st.Timetable(), a.Run, a.Reason, s.Phones)
			said := a.Run.String() + " is cancelled"
			if e != nil {
				said += describeCanceled(st, e)
			}
			if waits > 0 {
				said += fmt.Sprintf("; tickets that wait for the provider's answer, and follow then: %d", waits)
			}
			return e, said, err
		},
	)
}

// describeCanceled says how many tickets a cancelled run takes with it, and what comes back.
func describeCanceled(st ledger.State, e *booking.RunCanceled) string {
	// A run is sold in the currencies of all the countries on its way.
	refunds := map[string]int64{}
	refunded := 0
	for _, x := range e.Tickets {
		if x.Refunded {
			_, t := st.Bookings.AnyTicket(x.ID)
			refunds[string(t.Currency[:])] += x.Refund
			refunded++
		}
	}
	var said strings.Builder
	fmt.Fprintf(&said, "; tickets: %d refunded, %d canceled", refunded, len(e.Tickets)-refunded)
	for _, currency := range slices.Sorted(maps.Keys(refunds)) {
		fmt.Fprintf(&said, "; %s %s come back", words.Hundredths(refunds[currency]), currency)
	}
	sends := describeSends(e.Tickets, func(x booking.CanceledWithRun) []string { return x.Sends })
	return said.String() + sends
}

// describeSends says how many messages go out: passengers without an address or a phone hear nothing, and
// somebody may have to be called.
func describeSends[T any](tickets []T, sends func(T) []string) string {
	n := 0
	for _, t := range tickets {
		n += len(sends(t))
	}
	return "; messages to passengers: " + strconv.Itoa(n)
}

// Move has a run leave earlier or later than its timetable says.
func (s *Dispatcher) Move(a Act, minutes int) (string, error) {
	return s.change(
		a,
		func(st ledger.State, now time.Time) (ledger.Event, string, error) {
			e, missed, err := st.Bookings.MoveRun(now, st.Timetable(), a.Run, minutes, a.Reason, s.Phones)
			said := a.Run.String() + " leaves " + story.Later(minutes) + describeDeparture(st, a.Run, minutes)
			if e != nil {
				said += fmt.Sprintf("; tickets that stay valid: %d", len(e.Tickets)) +
					describeSends(e.Tickets, func(x booking.ToldTicket) []string { return x.Sends })
			}
			if missed > 0 {
				said += fmt.Sprintf("; of them miss their change, and need you: %d", missed)
			}
			return e, said, err
		},
	)
}

// describeDeparture says when a moved run leaves, by the clock at its first stop: a dispatcher compares it
// with the timetable on the wall.
func describeDeparture(st ledger.State, name ids.RunName, minutes int) string {
	present := st.Bookings.Present(st.Timetable(), name)
	if present == nil {
		return ""
	}
	start := present.Start + int64(minutes)*60 - int64(st.Bookings.Change(name).Shift)
	offsets, err := present.Form.Offsets(start)
	if err != nil {
		return "" // of a zone that is not known any more
	}
	then := booking.NewRun(present.Form, present.Day, start, offsets)
	return ", at " + then.Local(then.Dep(0), 0).Format("2006-01-02 15:04 -07:00")
}

// Restore takes back that a run is cancelled, or else that it is moved, as long as nothing has followed.
func (s *Dispatcher) Restore(a Act) (string, error) {
	return s.change(
		a,
		func(st ledger.State, now time.Time) (ledger.Event, string, error) {
			// A change that tickets have followed cannot be undone by it: passengers were told.
			was := st.Bookings.Change(a.Run)
			e, err := st.Bookings.RestoreRun(now, st.Timetable(), a.Run, a.Reason)
			said := a.Run.String() + " leaves as its timetable says again"
			switch {
			case errors.Is(err, booking.ErrUnchanged):
				said = a.Run.String() + " is as its timetable says"
			case was.Canceled && was.Shift != 0:
				later := story.Later(int(was.Shift / 60))
				said = a.Run.String() + " is no longer cancelled, and leaves " + later
			case was.Canceled:
				said = a.Run.String() + " is no longer cancelled"
			}
			return e, said, err
		},
	)
}

// FinishCancellations cancels what a crash has left alive of runs that are cancelled: it came between an
// answer of the provider and what follows from that.
func (s *Dispatcher) FinishCancellations() error {
	// A line for each run: none of them depends on another, and what is wrong with one is no reason to leave
	// others.
	var failed []error
	_, err := s.Store.Update(
		func(st ledger.State, now time.Time) (entries []ledger.Entry, err error) {
			failed = nil // the store decides again where there was no room
			for _, run := range st.Bookings.Unfinished(now) {
				reason := st.Bookings.Change(run).Reason
				e, _, err := st.Bookings.CancelRun(now, st.Timetable(), run, reason, s.Phones)
				if err != nil {
					failed = append(failed, err)
					continue
				}
				entries = append(entries, ledger.Entry{Event: e})
			}
			return entries, nil
		},
		nil,
	)
	return errors.Join(err, errors.Join(failed...))
}
