package desk

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
	"waybill/server/proof/witness"
	"waybill/store/checkpoint"
	"waybill/store/journal"
)

// overview is Today: what needs somebody, the day's runs, and what there is (decision desk.today).
type overview struct {
	Needs      []concern // of a page
	NeedsPages pager
	Today      runList
	UnderWay   int // runs that left before today and are still under way

	Changed      []*booking.RunChange // of a page: runs that are not over
	ChangedPages pager

	Tickets  []standing
	Total    int
	Bookings int

	Draining  bool // it stops
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

// standing is how many tickets have a state.
type standing struct {
	Chip  chip
	Link  string // to these tickets
	Count int
}

// concernsShown is how many concerns, and how many changed runs, a page lists: the day's runs are to be seen
// below them.
const concernsShown = 8

// glance is what Today is made of, read at one instant.
type glance struct {
	frozen   booking.Frozen
	now      time.Time
	tt       *schedule.Timetable
	changes  []*booking.RunChange
	messages messageCounts
	asked    int // tickets that a provider is asked about
	unclear  int // whose answer is unclear
}

// getOverview answers GET /: Today.
func (s *Desk) getOverview(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x := new(overview)
	g := new(glance)
	err := s.Store.View(func(st ledger.State, now time.Time) {
		g.now = now
		g.tt = st.Timetable()
		g.frozen = st.Bookings.Freeze()
		g.frozen.Step = s.Store.Pace().Step
		g.changes = st.Bookings.AllChanges()
		g.messages = s.countMessages(st)
		x.Partners = len(st.Partners.All())
		x.Users = len(st.Accounts.Users())
	})
	if err != nil {
		return err
	}
	x.Draining = s.Draining.Err() != nil
	x.Companies = len(g.tt.Companies)
	x.Trips = len(g.tt.Trips)
	x.count(g)
	if x.Today, err = s.listRuns(r, carrier.Query{Today: true, Ahead: true}); err != nil {
		return err
	}
	if err := s.addUnderWay(x); err != nil {
		return err
	}
	if err := x.fill(r, g); err != nil {
		return err
	}
	if err := s.evidence(x); err != nil {
		return err
	}
	return s.show(w, r, by, "overview", &page{
		Title: "Today",
		Here:  "/",
		Body:  x,
	})
}

// addUnderWay counts the runs that left before today, whatever day that was, and have not arrived.
func (s *Desk) addUnderWay(x *overview) error {
	before, err := s.carrier.Day(carrier.Query{Today: true, UnderWay: true, PerPage: 1})
	if err != nil {
		return err
	}
	x.UnderWay = before.Total
	return nil
}

// fill adds the pages of concerns and of changed runs that a request asks for.
func (x *overview) fill(r *http.Request, g *glance) error {
	page, err := pageAsked(r, "needs")
	if err != nil {
		return err
	}
	concerns := g.concerns()
	x.NeedsPages = newPager(r, "needs", "needs", "concerns", page, len(concerns), concernsShown)
	x.Needs = pageOf(concerns, x.NeedsPages)
	if page, err = pageAsked(r, "changed"); err != nil {
		return err
	}
	changed := g.changed()
	x.ChangedPages = newPager(r, "changed", "changed", "changed runs", page, len(changed), concernsShown)
	x.Changed = pageOf(changed, x.ChangedPages)
	return nil
}

// count counts the tickets by state. It needs no lock.
func (x *overview) count(g *glance) {
	counts := map[string]int{}
	asks := questions(g.frozen.Asks)
	for b := range g.frozen.All() {
		x.Bookings++
		for i := range b.Tickets {
			t := &b.Tickets[i]
			counts[asks.stateOf(t, g.now)]++
			if asks.isUnclear(t, g.now) {
				g.unclear++
			}
		}
	}
	g.asked = counts[stateAsked]
	for _, state := range states {
		if counts[state] == 0 {
			continue
		}
		x.Total += counts[state]
		x.Tickets = append(x.Tickets, standing{
			Chip:  newChip(state, ""),
			Link:  "/search?state=" + state,
			Count: counts[state],
		})
	}
}

// changed returns the runs that were changed and are of today or later.
func (g *glance) changed() (list []*booking.RunChange) {
	yesterday := schedule.DayOf(g.now) - 1 // somewhere it may still be that day
	for _, c := range g.changes {
		if c.Change != (schedule.Change{}) && c.Run.Day >= yesterday {
			list = append(list, c)
		}
	}
	return list
}

// concern is something that needs somebody.
type concern struct {
	Text string
	Link string // to where something is done about it; "" is not at the desk
}

// concerns returns what needs somebody, the most urgent first: what passengers were not told, what was sold
// and cannot be kept, and what differs from what tickets say.
func (g *glance) concerns() (list []concern) {
	list = g.messages.concerns()
	list = append(list, askedConcerns(g.asked, g.unclear)...)
	surplus := g.frozen.Surplus(g.tt, g.now)
	for _, x := range surplus.Oversold {
		list = append(list, concernOf(x.Run, x.String()))
	}
	for _, x := range surplus.Shared {
		list = append(list, concernOf(x.Run, x.String()))
	}
	for _, run := range carrier.FindDiffering(g.frozen, g.tt, g.now) {
		list = append(list, concernOf(run.Run, run.String()))
	}
	for _, run := range g.frozen.Withdrawn(g.tt, g.now) {
		list = append(list, concernOf(run.Run, fmt.Sprintf("%s is no longer in the timetable; valid "+
			"tickets for it: %d", run.Run, run.Tickets)))
	}
	if len(g.tt.Trips) == 0 {
		list = append(list, concern{
			"There is no timetable. Import one: waybill import -data DIR FEED",
			"",
		})
	}
	if ending := g.tt.Ending(g.now); ending != "" {
		list = append(list, concern{strings.ToUpper(ending[:1]) + ending[1:] + ".", ""})
	}
	return list
}

// concernOf returns a concern about a run, in words that begin with the run.
func concernOf(run ids.RunName, text string) concern {
	return concern{strings.ToUpper(text[:1]) + text[1:], runPath(run.Trip, run.Day.String())}
}

// evidence finds out up to where the journal is vouched for.
func (s *Desk) evidence(x *overview) error {
	newest, err := s.Store.LastLine()
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
	if all, err := checkpoint.NewestWitnessed(s.Config.FS); err == nil {
		if c, err := checkpoint.Parse(all, s.Store.Key().Public()); err == nil {
			x.AllSigned = c.Seq
		}
	}
	return nil
}
