package carrier

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/proof/story"
)

// A carrier cancels a run, moves it in time, or takes that back. A preview and the act are one decision, so
// that they cannot differ. Each returns what was done.

// Act is a change of a run, and its author.
type Act struct {
	Run    ids.RunName
	Reason string // passengers read it
	DryRun bool   // only say what would happen
	By     ledger.By
}

// Outcome says what a change of a run did, or with DryRun would do.
type Outcome struct {
	Said     string            `json:"said"` // in words, a line
	Trip     string            `json:"tripId"`
	Date     string            `json:"date"`
	DryRun   bool              `json:"dryRun"`
	Changed  bool              `json:"changed"`  // false: the run was so already
	Refunded int               `json:"refunded"` // tickets that were paid, and are refunded in full
	Canceled int               `json:"canceled"` // other tickets that end with the run
	Valid    int               `json:"valid"`    // tickets that stay valid
	Waiting  int               `json:"waiting"`  // tickets that follow when the provider has answered
	Missed   int               `json:"missed"`   // of the valid ones, those that miss their change
	Refunds  map[string]string `json:"refunds"`  // amounts as in 36.00, by currency
	Messages int               `json:"messages"` // to passengers
}

// decideRun decides, under the lock, what happens to a run, and what there is to say of it.
type decideRun func(st ledger.State, now time.Time, o *Outcome) (ledger.Event, error)

// change changes a run, or says what that would do. A run that is already as it was asked for is no error.
func (s *Dispatcher) change(a Act, decide decideRun) (*Outcome, error) {
	var o *Outcome
	written := false
	_, err := s.Store.Update(
		func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
			o = &Outcome{
				Trip:    a.Run.Trip,
				Date:    a.Run.Day.String(),
				DryRun:  a.DryRun,
				Changed: true,
				Refunds: map[string]string{},
			}
			e, err := decide(st, now, o)
			if errors.Is(err, booking.ErrUnchanged) {
				o.Changed = false
				o.Said = "nothing to change: " + o.Said
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
			written = true
		},
	)
	if err != nil {
		s.Shown.Wake() // it may be in doubt
		return nil, err
	}
	// Where nothing was written there is nothing to show, and nobody to tell.
	if written {
		if _, err := s.ShowTimetable(); err != nil {
			return nil, err
		}
		s.Outgoing.Wake()
	}
	if a.DryRun {
		o.Said = "dry run, nothing is changed: " + o.Said
	}
	return o, nil
}

// Cancel cancels a run, and the tickets of it that live.
func (s *Dispatcher) Cancel(a Act) (*Outcome, error) {
	return s.change(a, func(st ledger.State, now time.Time, o *Outcome) (ledger.Event, error) {
		// Tickets that the provider was asked about belong to its answer, and follow when it comes.
		e, waits, err := st.Bookings.CancelRun(now, st.Timetable(), a.Run, a.Reason, s.Phones)
		o.Said = a.Run.String() + " is cancelled"
		if e != nil {
			o.addCanceled(st, e)
		}
		o.Waiting = waits
		if waits > 0 {
			o.Said += fmt.Sprintf("; tickets that wait for the provider's answer and follow after it: "+
				"%d", waits)
		}
		return e, err
	})
}

// addCanceled says how many tickets a cancelled run takes with it, and what comes back.
func (o *Outcome) addCanceled(st ledger.State, e *booking.RunCanceled) {
	// A run is sold in the currencies of all the countries on its way.
	refunds := map[string]int64{}
	for _, x := range e.Tickets {
		o.Messages += len(x.Sends)
		if !x.Refunded {
			o.Canceled++
			continue
		}
		o.Refunded++
		_, t := st.Bookings.AnyTicket(x.ID)
		refunds[string(t.Currency[:])] += x.Refund
	}
	o.Said += fmt.Sprintf("; tickets: %d refunded, %d canceled", o.Refunded, o.Canceled)
	for _, currency := range slices.Sorted(maps.Keys(refunds)) {
		o.Refunds[currency] = words.Hundredths(refunds[currency]).String()
		o.Said += fmt.Sprintf("; %s %s are refunded", o.Refunds[currency], currency)
	}
	o.addMessages()
}

// addMessages says how many messages go out: passengers without an address or a phone hear nothing, and
// somebody may have to be called.
func (o *Outcome) addMessages() {
	o.Said += "; messages to passengers: " + strconv.Itoa(o.Messages)
}

// Move has a run leave earlier or later than its timetable says.
func (s *Dispatcher) Move(a Act, minutes int) (*Outcome, error) {
	return s.change(a, func(st ledger.State, now time.Time, o *Outcome) (ledger.Event, error) {
		e, missed, err := st.Bookings.MoveRun(now, st.Timetable(), a.Run, minutes, a.Reason, s.Phones)
		o.Said = a.Run.String() + " leaves " + story.Later(minutes) + describeDeparture(st, a.Run, minutes)
		if e != nil {
			o.Valid = len(e.Tickets)
			for _, x := range e.Tickets {
				o.Messages += len(x.Sends)
			}
			o.Said += fmt.Sprintf("; tickets that stay valid: %d", o.Valid)
			o.addMessages()
		}
		o.Missed = missed
		if missed > 0 {
			o.Said += fmt.Sprintf("; of them miss their connection and need your help: %d", missed)
		}
		return e, err
	})
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
func (s *Dispatcher) Restore(a Act) (*Outcome, error) {
	return s.change(a, func(st ledger.State, now time.Time, o *Outcome) (ledger.Event, error) {
		// A change that tickets have followed cannot be undone by it: passengers were told.
		was := st.Bookings.Change(a.Run)
		e, err := st.Bookings.RestoreRun(now, st.Timetable(), a.Run, a.Reason)
		o.Said = a.Run.String() + " leaves as its timetable says again"
		switch {
		case errors.Is(err, booking.ErrUnchanged):
			o.Said = a.Run.String() + " is as its timetable says"
		case was.Canceled && was.Shift != 0:
			later := story.Later(int(was.Shift / 60))
			o.Said = a.Run.String() + " is no longer cancelled, and leaves " + later
		case was.Canceled:
			o.Said = a.Run.String() + " is no longer cancelled"
		}
		return e, err
	})
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
