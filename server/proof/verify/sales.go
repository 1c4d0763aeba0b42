package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// offerLife is for how long an offer holds (interface, Offers): a sale may be of a timetable that was
// replaced less than that before.
const offerLife = 20 * time.Minute

// sales decides again what was sold: by whom, what, and for how much. It sees each line in the state before
// it.
type sales struct {
	fsys     durable.ReadFS
	last     time.Time  // of the line before
	editions []*edition // the timetable in force, and before it those that an offer may still be of
	gone     *edition   // the first that sales rest on, and that cannot be read
	named    []string   // the hashes of all timetables
	// zone tells of the first sale whose service day starts at another time than here: lists of time zones
	// differ, and laws change clocks. That breaks no rule. It is zero where there is none.
	zone chain.Event
}

// edition is a timetable, from the line that puts it in force on.
type edition struct {
	hash     string
	seq      uint64 // of that line
	replaced time.Time
	sales    int // that could not be decided again, as it cannot be read

	read  bool
	tt    *schedule.Timetable
	fares *schedule.Fares
	err   error
}

// check returns what is wrong with a line: by what verify asks of each line, and by the timetables.
func (x *sales) check(s ledger.State, at journal.Stamp, entry ledger.Entry) error {
	last := x.last
	x.last = at.Time
	if err := ledger.Check(s, at, entry); err != nil {
		return err
	}
	switch e := entry.Event.(type) {
	case *ledger.ClockSet:
		return setBack(s, at.Time, last)
	case *ledger.TimetableImported:
		x.replace(&edition{hash: e.Hash, seq: at.Seq}, at.Time)
	case *booking.Created:
		return cmp.Or(repeated(s, at.Time, e, entry.Idempotency), x.sale(s, at, e))
	case *booking.RunCanceled:
		return x.runs(s, e.Run)
	case *booking.RunMoved:
		return x.runs(s, e.Run)
	case *booking.RunRestored:
		return x.runs(s, e.Run)
	case *booking.TicketAsked:
		return x.revival(s, at.Time, &e.Settled)
	case *booking.TicketPaid:
		return x.revival(s, at.Time, &e.Settled)
	case *booking.TicketBooked:
		return x.revival(s, at.Time, &e.Settled)
	}
	return nil
}

// setBack returns what is wrong with a clock that is set: where there are bookings it goes forward only
// (decision verify.clock).
func setBack(s ledger.State, now, last time.Time) error {
	const leeway = time.Second // a start sets it to whole milliseconds, of an instant that was taken before
	if back := last.Sub(now); back > leeway && s.Bookings.Count() > 0 {
		return fmt.Errorf("the clock is set back by %s, and there are bookings", back)
	}
	return nil
}

// repeated returns what is wrong with a sale under a key: within its day the answer is given again, and
// nothing is sold (decision idempotency.key).
func repeated(s ledger.State, now time.Time, e *booking.Created, under *ledger.Idempotency) error {
	if under == nil {
		return nil
	}
	before := s.KeyedRequests.Find(ledger.RequestKey{Partner: e.Partner, Key: under.Key}, now)
	if before == nil {
		return nil
	}
	return fmt.Errorf("booking %s was sold under the Idempotency-Key of line %d", e.ID, before.Seq)
}

// runs returns an error where the timetable in force does not have a run, and nobody has sold it.
func (x *sales) runs(s ledger.State, run ids.RunName) error {
	if len(s.Bookings.Riders(run)) > 0 || len(x.editions) > 0 && !x.readFor(x.editions[0]) {
		return nil
	}
	if len(x.editions) > 0 {
		tt := x.editions[0].tt
		if trip, known := tt.TripByID(run.Trip); known && tt.RunsOn(trip, run.Day) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", run, booking.ErrNoRun)
}

// replace puts an edition in force.
func (x *sales) replace(next *edition, now time.Time) {
	x.named = append(x.named, next.hash)
	if len(x.editions) > 0 {
		x.editions[0].replaced = now
	}
	x.editions = slices.Insert(x.editions, 0, next)
}

// sale returns what is wrong with a sale. Its price is that of an offer, whose timetable may have been
// replaced; all else is of the timetable in force (decision verify.forms).
func (x *sales) sale(s ledger.State, at journal.Stamp, e *booking.Created) error {
	p := s.Partners.ByID(e.Partner)
	if p == nil {
		return fmt.Errorf("booking %s is of partner %s, which does not exist", e.ID, e.Partner)
	}
	if !p.MayCall() {
		return fmt.Errorf("booking %s is of partner %q, whose keys are all revoked", e.ID, p.Name)
	}
	rides := make([]ride, len(e.Legs))
	for k, l := range e.Legs {
		run := e.RunOf(k, s.Bookings)
		if run == nil {
			return nil // to apply it fails, and says so
		}
		if !p.Sells(run.Form.Company.Slug) {
			return fmt.Errorf("booking %s: partner %q may not sell what %q runs", e.ID, p.Name,
				run.Form.Company.Slug)
		}
		rides[k] = ride{l, run}
	}
	if len(x.editions) == 0 {
		return fmt.Errorf("booking %s was sold before a timetable was in force", e.ID)
	}
	if !x.readFor(x.editions[0]) {
		return nil
	}
	if err := x.editions[0].has(rides); err != nil {
		return fmt.Errorf("booking %s: %w", e.ID, err)
	}
	for k := range rides {
		x.lookAtZone(s, at.Seq, &rides[k])
	}
	x.editions = slices.DeleteFunc(x.editions, func(ed *edition) bool {
		return !ed.replaced.IsZero() && at.Time.Sub(ed.replaced) >= offerLife
	})
	var wrong error
	for _, ed := range x.editions {
		if !x.readFor(ed) {
			return nil
		}
		err := ed.sells(rides, e.Currency)
		if err == nil {
			return nil
		}
		if wrong == nil { // of the one in force
			wrong = fmt.Errorf("booking %s: %w", e.ID, err)
		}
	}
	return wrong
}

// lookAtZone compares when the service day of a ride starts.
func (x *sales) lookAtZone(s ledger.State, seq uint64, r *ride) {
	tt := x.editions[0].tt
	leg, _ := x.editions[0].leg(r)
	name := r.run.Name()
	ahead := tt.Start(leg) + int64(s.Bookings.Change(name).Shift) - r.run.Start
	if ahead == 0 || x.zone.Seq > 0 {
		return
	}
	text := fmt.Sprintf("the service day of trip %s on %s starts %s later by the clock of %s here than it was sold",
		name.Trip, name.Day, time.Duration(ahead)*time.Second, tt.Company(leg.Trip).Zone)
	x.zone = chain.Event{Kind: "zone", Seq: seq, Text: text}
}

// revival returns what is wrong with the seats that a lapsed ticket is given again.
func (x *sales) revival(s ledger.State, now time.Time, e *booking.Settled) error {
	if len(e.Seats) == 0 || len(x.editions) == 0 || !x.readFor(x.editions[0]) {
		return nil
	}
	return s.Bookings.CheckRevived(x.editions[0].tt, now, e)
}

// readFor reads an edition for a sale, and counts the sale where that fails.
func (x *sales) readFor(ed *edition) bool {
	if ed.load(x.fsys) {
		return true
	}
	ed.sales++
	x.gone = cmp.Or(x.gone, ed)
	return false
}

// load reads the timetable, once, and reports whether it can be.
func (ed *edition) load(fsys durable.ReadFS) bool {
	if !ed.read {
		ed.read = true
		if ed.tt, ed.err = loadTimetable(fsys, ed.hash); ed.err == nil {
			ed.fares = schedule.FaresOf(ed.tt)
		}
	}
	return ed.err == nil
}

// loadTimetable reads a timetable that the journal names: what a start passes over in it is damage.
func loadTimetable(fsys durable.ReadFS, hash string) (*schedule.Timetable, error) {
	tt, err := ledger.LoadTimetable(fsys, hash)
	if err != nil || hash == "" {
		return tt, err
	}
	if written, err := tt.Encode(io.Discard); err != nil || written != hash {
		return nil, journal.InFile(ledger.TimetableDir+"/"+hash+".jsonl", "is not as an import writes it")
	}
	return tt, nil
}

// timetable returns the one that is in force at the end: it is read once, whether sales needed it or not.
func (x *sales) timetable(hash string) (*schedule.Timetable, error) {
	if len(x.editions) > 0 && x.editions[0].tt != nil {
		return x.editions[0].tt, nil
	}
	return loadTimetable(x.fsys, hash)
}

// ride is a leg of a sale, and the run that it is on.
type ride struct {
	booking.SoldLeg
	run *booking.Run
}

// leg returns the ride in the edition, at the times of its run; false where the edition has no such ride.
func (ed *edition) leg(r *ride) (leg *schedule.Leg, ok bool) {
	trip, known := ed.tt.TripByID(r.run.Form.Trip)
	if !known || !ed.tt.RunsOn(trip, r.run.Day) || int(r.To) >= len(ed.tt.StopsOf(trip)) {
		return nil, false
	}
	return &schedule.Leg{
		Trip: trip,
		Day:  r.run.Day,
		From: r.From,
		To:   r.To,
		Dep:  r.run.Dep(r.From).Unix(),
		Arr:  r.run.Arr(r.To).Unix(),
	}, true
}

// lacks is the error of a ride that the edition does not have.
func (ed *edition) lacks(k int, r *ride) error {
	return fmt.Errorf("leg %d: the timetable of line %d has no such ride of trip %s on %s", k+1, ed.seq,
		r.run.Form.Trip, r.run.Day)
}

// has returns an error where a journey is sold as what it is not in the timetable, which is in force.
func (ed *edition) has(rides []ride) error {
	for k := range rides {
		r := &rides[k]
		leg, ok := ed.leg(r)
		if !ok {
			return ed.lacks(k, r)
		}
		if r.run.Form.Key() != ed.tt.Form(leg.Trip).Key() {
			return fmt.Errorf("leg %d: the run of trip %s on %s is not the run in the timetable of line %d",
				k+1, r.run.Form.Trip, r.run.Day, ed.seq)
		}
		if discount := ed.tt.Discount(leg); int(r.Discount) != discount {
			return fmt.Errorf("leg %d was sold with discount %d; by the timetable of line %d it is %d "+
				"(-1 is none)",
				k+1, r.Discount, ed.seq, discount)
		}
	}
	return nil
}

// sells returns an error where a journey costs something else in the timetable, or is not in it.
func (ed *edition) sells(rides []ride, currency string) error {
	var first *schedule.Leg
	for k := range rides {
		r := &rides[k]
		leg, ok := ed.leg(r)
		if !ok {
			return ed.lacks(k, r)
		}
		if err := ed.costs(r, leg, currency); err != nil {
			return fmt.Errorf("leg %d was %w", k+1, err)
		}
		if k > 0 && !ed.tt.CanChange(first, leg) {
			return fmt.Errorf("nobody can change from leg 1 to leg 2, by the timetable of line %d", ed.seq)
		}
		first = leg
	}
	return nil
}

// costs returns an error where a leg was sold for another amount.
func (ed *edition) costs(r *ride, leg *schedule.Leg, currency string) error {
	prices := schedule.Discounted(ed.tt, leg, ed.fares.Base(leg))
	at := slices.IndexFunc(prices, func(m schedule.Money) bool {
		return m.Currency == currency
	})
	sold := schedule.Money{Currency: currency, Amount: r.Amount}
	has := "no price in " + currency
	if at >= 0 {
		has = "the price " + inWords(prices[at])
	}
	if at < 0 || prices[at] != sold {
		return fmt.Errorf("sold for %s, but the timetable of line %d has %s", inWords(sold), ed.seq, has)
	}
	return nil
}

// missing returns damage where a timetable that sales rest on cannot be read; nil where all can.
func (x *sales) missing() error {
	if x.gone == nil {
		return nil
	}
	why := x.gone.err.Error()
	if d, ok := errors.AsType[*journal.Damage](x.gone.err); ok {
		why = d.Reason
	}
	return journal.InFile(ledger.TimetableDir+"/"+x.gone.hash+".jsonl", fmt.Sprintf("cannot be read: %s; "+
		"line %d names it, and %d sales rest on it; put the file back: its name is its SHA-256",
		why, x.gone.seq, x.gone.sales))
}

// inWords returns an amount of money: 770.00 UAH.
func inWords(m schedule.Money) string {
	return booking.Hundredths(m.Amount) + " " + m.Currency
}
