package desk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
	"waybill/server/proof/witness"
	"waybill/store/checkpoint"
	"waybill/store/checkpoint/signing"
	"waybill/store/journal"
)

// overview is the first page: what there is, and what somebody should look at.
type overview struct {
	Tickets  []standing
	Total    int
	Bookings int

	Attention []concern
	More      int                  // concerns that are not among them
	Changed   []*booking.RunChange // runs that are not over

	MoreChanged int // runs that are not among them

	Draining  bool // it stops
	Waiting   int  // messages to passengers
	Parked    int  // those of them that wait for an operator
	Companies int
	Trips     int
	Partners  int
	Users     int

	Newest    journal.Head // the last line
	Signed    checkpoint.Checkpoint
	Unsigned  bool
	Witnesses []witness.Standing
	AllSigned uint64 // the last line that every witness vouches for; 0 is none
}

// standing is how many tickets stand in one way.
type standing struct {
	Status, Payment string
	Count           int
}

// concernsShown is how many concerns are listed: who has more begins with these.
const concernsShown = 20

// concern is something that somebody should look at.
type concern struct {
	Text, Link string
}

// getOverview answers GET /.
func (s *Desk) getOverview(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x := new(overview)
	var frozen booking.Frozen
	var now time.Time
	var changes []*booking.RunChange
	err := s.Store.View(func(st ledger.State, at time.Time) {
		now = at
		frozen = st.Bookings.Freeze()
		frozen.Step = s.Store.Pace().Step
		x.Waiting, x.Parked = st.Outbox.Count()
		changes = st.Bookings.AllChanges()
		x.Partners = len(st.Partners.All())
		x.Users = len(st.Accounts.Users())
	})
	if err != nil {
		return err
	}
	x.count(frozen, now)
	x.Draining = s.Draining.Err() != nil
	tt := s.Timetable.Load()
	x.Companies = len(tt.Companies)
	x.Trips = len(tt.Trips)
	x.change(changes, now)
	x.attend(frozen, tt, now)
	if err := s.evidence(x); err != nil {
		return err
	}
	return s.show(w, r, by, "overview", &page{
		Title: "Overview",
		Here:  "/",
		Body:  x,
	})
}

// count counts the tickets by how they stand. It needs no lock.
func (x *overview) count(frozen booking.Frozen, now time.Time) {
	counts := map[standing]int{}
	for b := range frozen.All() {
		x.Bookings++
		for i := range b.Tickets {
			status, payment := b.Tickets[i].Status(now)
			counts[standing{status, payment, 0}]++
		}
	}
	for row, n := range counts {
		row.Count = n
		x.Total += n
		x.Tickets = append(x.Tickets, row)
	}
	slices.SortFunc(x.Tickets, func(a, b standing) int {
		return cmp.Or(strings.Compare(a.Status, b.Status), strings.Compare(a.Payment, b.Payment))
	})
}

// change lists the runs that were changed and are of today or later.
func (x *overview) change(changes []*booking.RunChange, now time.Time) {
	yesterday := schedule.DayOf(now) - 1 // somewhere it may still be that day
	for _, c := range changes {
		if c.Change == (schedule.Change{}) || c.Run.Day < yesterday {
			continue
		}
		if len(x.Changed) == concernsShown {
			x.MoreChanged++
			continue
		}
		x.Changed = append(x.Changed, c)
	}
}

// attend lists what somebody should look at.
func (x *overview) attend(frozen booking.Frozen, tt *schedule.Timetable, now time.Time) {
	add := func(link, text string) {
		if len(x.Attention) < concernsShown {
			x.Attention = append(x.Attention, concern{text, link})
		} else {
			x.More++
		}
	}
	if len(tt.Trips) == 0 {
		add("", "There is no timetable. Import one: waybill import -data DIR FEED")
	}
	if x.Parked > 0 {
		add("/messages", words.Counted(x.Parked, "message")+" could not be sent, and wait for you.")
	}
	if x.Waiting > 0 {
		add("/messages", words.Counted(x.Waiting, "message")+words.Are(x.Waiting)+"still to be sent.")
	}
	if n := len(frozen.Asks); n > 0 {
		add("", "The provider has yet to answer about "+words.Counted(n, "ticket")+".")
	}
	surplus := frozen.Surplus(tt, now)
	for _, x := range surplus.Oversold {
		add(runPath(x.Run.Trip, x.Run.Day.String()), x.String())
	}
	for _, x := range surplus.Shared {
		add(runPath(x.Run.Trip, x.Run.Day.String()), x.String())
	}
	for _, run := range carrier.FindDiffering(frozen, tt, now) {
		add(runPath(run.Run.Trip, run.Run.Day.String()), run.String())
	}
	for _, run := range frozen.Withdrawn(tt, now) {
		add(runPath(run.Run.Trip, run.Run.Day.String()), fmt.Sprintf("%s is not in the timetable any more; "+
			"tickets that are good for it: %d", run.Run, run.Tickets))
	}
}

// evidence finds out up to where the journal is vouched for.
func (s *Desk) evidence(x *overview) error {
	newest, err := s.newest()
	if err != nil {
		return err
	}
	x.Newest = newest
	signed, err := checkpoint.Newest(s.Config.FS)
	if errors.Is(err, fs.ErrNotExist) {
		x.Unsigned = true
		return nil
	}
	if err != nil {
		return err
	}
	x.Signed, err = checkpoint.Parse(signed, s.Store.Key().Public())
	if err != nil {
		return err
	}
	if x.Witnesses, err = s.witness.Standings(signed); err != nil {
		return err
	}
	if all, err := signing.NewestWitnessed(s.Config.FS); err == nil {
		if c, err := checkpoint.Parse(all, s.Store.Key().Public()); err == nil {
			x.AllSigned = c.Seq
		}
	}
	return nil
}

// newest returns the last line that is on the disk.
func (s *Desk) newest() (head journal.Head, err error) {
	// An update without events waits until all before it is durable, and writes nothing.
	seq, err := s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return nil, nil
	}, nil)
	if err != nil || seq == 0 {
		return head, err
	}
	err = s.lines.Read([]uint64{seq}, func(l *journal.Line) error {
		head = l.Head
		return nil
	})
	return head, err
}
