package verify

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/booking/books"
	"waybill/schedule"
	"waybill/schedule/fare"
	"waybill/server/ledger"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
)

// offerLife is for how long an offer holds (interface, Offers): a sale may be of a timetable that was
// replaced less than that before.
const offerLife = 20 * time.Minute

// sales decides again what was sold: by whom, and for how much. It sees each line in the state before it.
type sales struct {
	fsys     readonly.FS
	editions []*edition // the timetable in force, and before it those that an offer may still be of
	gone     []*edition // that sales rest on, and that cannot be read
}

// edition is a timetable, from the line that puts it in force on.
type edition struct {
	hash     string
	seq      uint64 // of that line
	raised   bool   // the line stands after the format of lines was raised: from then on editions are kept
	replaced time.Time
	sales    int // that could not be decided again, as it cannot be read

	read  bool
	tt    *schedule.Timetable
	fares *fare.Fares
	err   error
}

// check returns what is wrong with a line: by what verify asks of each line, and by the prices of a sale.
func (x *sales) check(s ledger.State, at journal.Stamp, entry ledger.Entry) error {
	if err := ledger.Check(s, at, entry); err != nil {
		return err
	}
	switch e := entry.Event.(type) {
	case *ledger.TimetableImported:
		x.replace(&edition{
			hash:   e.Hash,
			seq:    at.Seq,
			raised: s.Format() >= ledger.Format,
		}, at.Time)
	case *booking.Created:
		return x.sale(s, at.Time, e)
	}
	return nil
}

// replace puts an edition in force.
func (x *sales) replace(next *edition, now time.Time) {
	if len(x.editions) > 0 {
		x.editions[0].replaced = now
	}
	x.editions = slices.Insert(x.editions, 0, next)
}

// sale returns what is wrong with a sale.
func (x *sales) sale(s ledger.State, now time.Time, e *booking.Created) error {
	p := s.Partners.ByID(auth.ID(e.Partner))
	if p == nil {
		return fmt.Errorf("booking %s is of partner %s, and there is none", e.ID, e.Partner)
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
	x.editions = slices.DeleteFunc(x.editions, func(ed *edition) bool {
		return !ed.replaced.IsZero() && now.Sub(ed.replaced) >= offerLife
	})
	var wrong error
	for _, ed := range x.editions {
		if !ed.load(x.fsys) {
			ed.sales++
			if ed.sales == 1 {
				x.gone = append(x.gone, ed)
			}
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

// load reads the timetable, once, and reports whether it can be.
func (ed *edition) load(fsys readonly.FS) bool {
	if !ed.read {
		ed.read = true
		if ed.tt, ed.err = ledger.LoadTimetable(fsys, ed.hash); ed.err == nil {
			ed.fares = fare.Of(ed.tt)
		}
	}
	return ed.err == nil
}

// ride is a leg of a sale, and the run that it is on.
type ride struct {
	booking.SoldLeg
	run *booking.Run
}

// sells returns an error where a journey costs something else in the timetable, or is not in it.
func (ed *edition) sells(rides []ride, currency string) error {
	for k, r := range rides {
		trip, known := ed.tt.TripByID(r.run.Form.Trip)
		if !known || !ed.tt.RunsOn(trip, r.run.Day) || int(r.To) >= len(ed.tt.StopsOf(trip)) {
			return fmt.Errorf("leg %d: the timetable of line %d has no such ride of trip %s on %s", k+1, ed.seq,
				r.run.Form.Trip, r.run.Day)
		}
		leg := &schedule.Leg{
			Trip: trip,
			Day:  r.run.Day,
			From: r.From,
			To:   r.To,
			Dep:  r.run.Dep(r.From).Unix(),
			Arr:  r.run.Arr(r.To).Unix(),
		}
		if err := ed.costs(&r, leg, currency); err != nil {
			return fmt.Errorf("leg %d, %w", k+1, err)
		}
	}
	return nil
}

// costs returns an error where a leg was sold for another amount, or with another discount.
func (ed *edition) costs(r *ride, leg *schedule.Leg, currency string) error {
	prices := fare.Discounted(ed.tt, leg, ed.fares.Base(leg))
	at := slices.IndexFunc(prices, func(m schedule.Money) bool {
		return m.Currency == currency
	})
	sold := schedule.Money{Currency: currency, Amount: r.Amount}
	switch {
	case at < 0:
		return fmt.Errorf("sold for %s: the timetable of line %d has no price in %s", inWords(sold), ed.seq,
			currency)
	case prices[at] != sold:
		return fmt.Errorf("sold for %s: by the timetable of line %d it costs %s", inWords(sold), ed.seq,
			inWords(prices[at]))
	case int(r.Discount) != ed.tt.Discount(leg):
		return fmt.Errorf("sold with discount %d: by the timetable of line %d that is %d (-1 is none)", r.Discount,
			ed.seq, ed.tt.Discount(leg))
	}
	return nil
}

// end returns the sales that could not be decided again, and damage where a timetable should be there and
// is not.
func (x *sales) end() (unjudged int, err error) {
	for _, ed := range x.gone {
		if !ed.raised {
			unjudged += ed.sales
			continue
		}
		why := ed.err.Error()
		if d, ok := errors.AsType[*journal.Damage](ed.err); ok {
			why = d.Reason
		}
		return unjudged, journal.InFile(ledger.TimetableDir+"/"+ed.hash+".jsonl", fmt.Sprintf(
			"cannot be read, line %d names it and %d sales rest on it: %s; put the file back: its name is its SHA-256",
			ed.seq, ed.sales, why))
	}
	return unjudged, nil
}

// inWords returns an amount of money: 770.00 UAH.
func inWords(m schedule.Money) string {
	return books.Hundredths(m.Amount) + " " + m.Currency
}
