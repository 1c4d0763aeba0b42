package booking

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

var histories = flag.Int("histories", 150, "how many random histories TestNoSeatIsSoldTwice plays; .ci/run plays 400")

// A random history of two runs: sales, groups, lapses, revivals, payments, questions to a provider,
// cancellations, tickets that move to another booking, and imports that change stops, their order, buses and
// times, or leave a run out; runs are moved, cancelled and restored. A model that knows nothing but rides as
// lists of stops says which seats are free. No seat is sold or revived that another live ticket has, neither
// as the run is now nor as either was sold; what imports bring together is named; and what is offered is what
// the model finds free.
func TestNoSeatIsSoldTwice(t *testing.T) {
	for seed := range uint64(*histories) {
		h := newHistory(t, seed)
		for range 120 {
			h.step()
			h.compare()
		}
		if _, err := h.state.Audit(h.tt, h.now); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, h.told)
		}
	}
}

// history is a state and what a model makes of it.
type history struct {
	*testing.T
	seed    uint64
	rnd     *rand.Rand
	state   Recorder
	now     time.Time
	seq     uint64 // of the last line
	tt      *schedule.Timetable
	plain   *schedule.Timetable // without what carriers have changed
	forms   [2][]string         // the stops of each trip in the timetable in force; nil where it has none
	buses   [2]int
	tickets []*modelTicket
	last    byte
	told    string // what happened
}

// modelTicket is a ticket as the model has it.
type modelTicket struct {
	id, booking ids.ID
	legs        []modelLeg
	created     time.Time
	phase       Phase
	asked       bool
}

type modelLeg struct {
	trip     int
	stops    []string // as sold
	from, to int
	seat     int16
}

const modelDay schedule.Day = 100

// line returns the next line.
func (h *history) line() Line {
	h.seq++
	return Line{h.seq, h.now}
}

// applied fails the test where an event that was decided could not be applied.
func (h *history) applied(err error) {
	if err != nil {
		h.Fatalf("seed %d: %v\n%s", h.seed, err, h.told)
	}
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		T:     t,
		seed:  seed,
		rnd:   rand.New(rand.NewPCG(seed, 34)),
		state: NewRecorder(),
		now:   (modelDay - 2).In(time.UTC),
	}
	h.load([2][]string{{"A", "B", "C", "D", "E"}, {"E", "F", "G"}}, [2]int{3, 3})
	return h
}

// load puts a timetable in force.
func (h *history) load(forms [2][]string, buses [2]int) {
	x := &schedule.Tables{
		Companies: []schedule.Company{{ID: "c", Zone: "UTC", Source: "Service"}},
		Cities:    []schedule.City{{ID: "a", Slug: "a", Zone: "UTC"}},
		Routes:    []schedule.Route{{ID: "r"}},
		Services:  []schedule.Service{{First: modelDay, Bits: []uint64{1}}},
	}
	for _, name := range "ABCDEFG" {
		x.Stops = append(x.Stops, schedule.Stop{ID: string(name)})
	}
	for trip, stops := range forms {
		if stops == nil {
			continue
		}
		var pattern schedule.Pattern
		var times schedule.Times
		start := h.rnd.Int32N(3600)
		for i, stop := range stops {
			at := start + int32(i)*3600
			pattern.Stops = append(pattern.Stops, int32(stop[0]-'A'))
			times = append(times, at, at)
		}
		n := int32(len(x.Trips))
		x.Patterns = append(x.Patterns, pattern)
		x.Times = append(x.Times, times)
		x.Buses = append(x.Buses, schedule.Bus{ID: fmt.Sprint("b", buses[trip]), Seats: int32(buses[trip])})
		x.Trips = append(x.Trips, schedule.Trip{ID: fmt.Sprint("t", trip), Pattern: n, Times: n, Bus: n})
	}
	tt, err := schedule.New(x)
	if err != nil {
		h.Fatal(err)
	}
	h.plain = tt
	h.forms = forms
	h.buses = buses
	h.use()
}

// use puts the timetable in force with what carriers have changed.
func (h *history) use() { h.tt = h.plain.With(h.state.Changes(h.now)) }

// runs reports whether a trip is in the timetable in force, and not cancelled.
func (h *history) runs(trip int) bool {
	return h.forms[trip] != nil && !h.state.Change(modelRun(trip)).Canceled
}

func modelRun(trip int) ids.RunName {
	return ids.RunName{Trip: fmt.Sprint("t", trip), Day: modelDay}
}

func (h *history) id() ids.ID {
	h.last++
	return ids.ID{h.last, byte(len(h.tickets)), byte(h.seed), 1}
}

func (h *history) tell(format string, args ...any) {
	h.told += h.now.Format("15:04 ") + fmt.Sprintf(format, args...) + "\n"
}

func (h *history) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatalf("seed %d: %v\n%s", h.seed, err, h.told)
	}
}

// step does one thing.
func (h *history) step() {
	switch h.rnd.IntN(12) {
	case 0, 1, 2:
		h.sell()
	case 3, 4:
		h.settle()
	case 5:
		h.answer()
	case 6:
		h.cancel()
	case 7, 8:
		h.now = h.now.Add(time.Duration(1+h.rnd.IntN(15)) * time.Minute)
	case 9:
		h.shuffle()
	case 10:
		h.carry()
	case 11:
		h.regroup()
	}
}

// sell sells a group a journey of one leg or two.
func (h *history) sell() {
	var legs []schedule.Leg
	var model []modelLeg
	for trip := range h.forms {
		if !h.runs(trip) || h.rnd.IntN(3) == 0 {
			continue
		}
		stops := h.forms[trip]
		from := h.rnd.IntN(len(stops) - 1)
		to := from + 1 + h.rnd.IntN(len(stops)-1-from)
		index, _ := h.tt.TripByID(modelRun(trip).Trip)
		legs = append(legs, schedule.Leg{Trip: index, Day: modelDay, From: int16(from), To: int16(to)})
		model = append(model, modelLeg{trip: trip, stops: stops, from: from, to: to})
	}
	if legs == nil {
		return
	}
	n := 1 + h.rnd.IntN(2)
	request := &Created{ID: h.id(), Passengers: make([]Passenger, n)}
	for range n {
		request.Tickets = append(request.Tickets, NewTicket{ID: h.id()})
	}
	left := h.left(model)
	sale := NewSale(h.tt, legs, make([]int64, len(legs)), "UAH", h.now.Add(time.Minute))
	e, err := h.state.Create(h.now, sale, request)
	if out, ok := errors.AsType[*NotSold](err); ok {
		if left >= n || out.Left != left {
			h.Fatalf("seed %d: %d seats are left of %v, and the model says %d\n%s", h.seed, out.Left, model, left,
				h.told)
		}
		return
	}
	h.must(err)
	h.must(h.state.CheckCreated(h.now, e))
	h.tell("booking %x of %d tickets: %v, seats %v", e.ID[:1], n, model, e.Tickets)
	for _, x := range e.Tickets {
		t := &modelTicket{id: x.ID, booking: e.ID, legs: slices.Clone(model), created: h.now}
		h.sit(t, x.Seats)
		h.tickets = append(h.tickets, t)
	}
	h.applied(h.state.ApplyCreated(h.line(), e))
}

// sit gives a ticket seats that it is sold or revived with, on which nobody else may sit; nil are those that
// it has.
func (h *history) sit(t *modelTicket, seats []int16) {
	for i, seat := range seats {
		l := &t.legs[i]
		l.seat = seat
		for _, other := range h.tickets {
			if other == t || !h.live(other) {
				continue
			}
			for k := range other.legs {
				if h.collide(l, &other.legs[k], true) {
					h.Fatalf("seed %d: tickets %x and %x have the same seat, %+v and %+v; now it runs %v\n%s",
						h.seed, t.id[:1], other.id[:1], *l, other.legs[k], h.forms[l.trip], h.told)
				}
			}
		}
	}
}

// settle pays or books a ticket or two, or asks the provider.
func (h *history) settle() {
	picked := h.pick()
	action := []Action{Pay, Book}[h.rnd.IntN(2)]
	hasLapsed := func(t *modelTicket) bool { return t.phase == Unpaid && !h.live(t) }
	lapsed := slices.ContainsFunc(picked, hasLapsed)
	list, err := h.state.Settle(h.now, h.tt, selected(picked), action, "")
	conflict, refused := errors.AsType[*Conflict](err)
	switch {
	case refused && conflict.Code == NoSeats && len(picked) == 1 && h.left(picked[0].legs) > 0:
		h.Fatalf("seed %d: no seat for %v, and the model has one\n%s", h.seed, picked[0].legs, h.told)
	case refused:
		return
	}
	h.must(err)
	ask := h.rnd.IntN(3) == 0
	for i, e := range list {
		t := picked[i]
		h.must(h.state.CheckSettled(h.now, e, action))
		h.tell("%s %x, lapsed %t, asked %t, seats %v", action, t.id[:1], lapsed, ask, e.Seats)
		if ask {
			h.sit(t, e.Seats)
			t.asked = true
			h.applied(h.state.ApplyAsked(h.line(), &TicketAsked{*e, action, h.id()}))
			continue
		}
		h.sit(t, e.Seats)
		h.apply(t, e.Event(action))
	}
}

// apply applies what became of a ticket.
func (h *history) apply(t *modelTicket, e any) {
	t.asked = false
	switch e := e.(type) {
	case *TicketPaid:
		t.phase = Paid
		h.applied(h.state.ApplyPaid(h.line(), e))
	case *TicketBooked:
		t.phase = Booked
		h.applied(h.state.ApplyBooked(h.line(), e))
	case *Refused:
		h.applied(h.state.ApplyRefused(h.line(), e))
	}
}

// answer has the provider answer about a ticket.
func (h *history) answer() {
	for _, t := range h.pick() {
		if !t.asked {
			continue
		}
		verdict := Verdict(h.rnd.IntN(3))
		e, err := h.state.Answer(t.id, verdict, "", false)
		h.must(err)
		h.tell("the provider answers about %x: %d", t.id[:1], verdict)
		follows := h.state.CancelAnswered(h.now, t.id, verdict, false)
		h.apply(t, e)
		if follows != nil {
			h.cancelRun(follows)
		}
	}
}

// cancel cancels a ticket or two.
func (h *history) cancel() {
	picked := h.pick()
	list, err := h.state.Cancel(h.now, selected(picked), "")
	if err != nil {
		return
	}
	for _, t := range picked {
		h.tell("cancel %x", t.id[:1])
		t.phase = Canceled
	}
	for _, e := range list {
		h.must(h.state.CheckCanceled(h.now, e))
		h.applied(h.state.ApplyCanceled(h.line(), e))
	}
}

// shuffle imports a timetable: other stops, another order, other buses and times, a run that is gone.
func (h *history) shuffle() {
	forms := [2][]string{{"A", "B", "C", "D", "E"}, {"E", "F", "G"}}
	for trip := range forms {
		stops := slices.DeleteFunc(forms[trip], func(string) bool { return h.rnd.IntN(4) == 0 })
		switch h.rnd.IntN(12) {
		case 0:
			h.rnd.Shuffle(len(stops), func(i, k int) { stops[i], stops[k] = stops[k], stops[i] })
		case 1:
			stops = append(stops, stops...) // a round trip
		case 2:
			stops = append([]string{"G"}, stops...)
		case 3:
			stops = nil
		}
		if len(stops) < 2 {
			stops = nil
		}
		forms[trip] = stops
	}
	h.load(forms, [2]int{2 + h.rnd.IntN(3), 2 + h.rnd.IntN(3)})
	h.tell("import %v, buses of %v", forms, h.buses)
}

// carry moves, cancels or restores a run.
func (h *history) carry() {
	run := modelRun(h.rnd.IntN(2))
	switch h.rnd.IntN(3) {
	case 0:
		e, _, err := h.state.MoveRun(h.now, h.tt, run, h.rnd.IntN(120), "", false)
		if err != nil {
			return
		}
		h.must(h.state.CheckRunMoved(h.now, e))
		h.applied(h.state.ApplyRunMoved(h.line(), e))
		h.tell("%s is moved by %d minutes", run, e.Minutes)
	case 1:
		e, _, err := h.state.CancelRun(h.now, h.tt, run, "", false)
		if err != nil || h.rnd.IntN(3) > 0 && len(e.Tickets) > 0 {
			return
		}
		h.must(h.state.CheckRunCanceled(h.now, e))
		h.cancelRun(e)
	case 2:
		e, err := h.state.RestoreRun(h.now, h.tt, run, "")
		if err != nil {
			return
		}
		h.must(h.state.CheckRunRestored(h.now, e))
		h.applied(h.state.ApplyRunRestored(h.line(), e))
		h.tell("%s is restored", run)
	}
	h.use()
}

// cancelRun applies that a run was cancelled, with tickets.
func (h *history) cancelRun(e *RunCanceled) {
	h.applied(h.state.ApplyRunCanceled(h.line(), e))
	h.tell("%s is cancelled with %d tickets", e.Run, len(e.Tickets))
	for _, x := range e.Tickets {
		for _, t := range h.tickets {
			if t.id == x.ID {
				t.phase = Canceled
			}
		}
	}
}

// regroup moves a ticket to a booking of its own.
func (h *history) regroup() {
	for _, t := range h.pick()[:min(1, len(h.pick()))] {
		e, err := h.state.Move(t.id, nil, h.id())
		if err != nil {
			return
		}
		h.applied(h.state.ApplyMoved(h.line(), e))
		t.booking = e.To
	}
}

// pick picks a ticket, or two of a booking.
func (h *history) pick() (list []*modelTicket) {
	if len(h.tickets) == 0 {
		return nil
	}
	first := h.tickets[h.rnd.IntN(len(h.tickets))]
	list = append(list, first)
	for _, t := range h.tickets {
		if t != first && t.booking == first.booking && h.rnd.IntN(2) == 0 {
			list = append(list, t)
		}
	}
	return list
}

// selected returns the selection of tickets.
func selected(list []*modelTicket) Selection {
	sel := Selection{Tickets: []ids.ID{}}
	for _, t := range list {
		sel.Tickets = append(sel.Tickets, t.id)
	}
	return sel
}

// live reports whether a ticket has its seats.
func (h *history) live(t *modelTicket) bool {
	switch t.phase {
	case Unpaid:
		return t.asked || h.now.Before(t.created.Add(20*time.Minute))
	case Paid, Booked:
		return true
	}
	return false
}

// collide reports whether two rides on the same seat overlap: where the run has the form in force, and, with
// asSold, where it has that in which one of them was sold.
func (h *history) collide(a, b *modelLeg, asSold bool) bool {
	if a.trip != b.trip || a.seat != b.seat {
		return false
	}
	forms := [][]string{h.forms[a.trip]}
	if asSold {
		forms = append(forms, a.stops, b.stops)
	}
	return slices.ContainsFunc(forms, func(form []string) bool {
		if form == nil {
			return false
		}
		from, to := a.within(form)
		otherFrom, otherTo := b.within(form)
		return from < otherTo && otherFrom < to
	})
}

// within returns where a ride is in a form.
func (l *modelLeg) within(form []string) (from, to int) {
	place := func(at int) int { // of the call in the form; -1 where it has none
		nth := 0
		for _, stop := range l.stops[:at] {
			if stop == l.stops[at] {
				nth++
			}
		}
		for i, stop := range form {
			if stop != l.stops[at] {
				continue
			}
			if nth == 0 {
				return i
			}
			nth--
		}
		return -1
	}
	from, to = 0, len(form)-1
	for at := 0; at <= l.from; at++ {
		if i := place(at); i >= 0 {
			from = i
		}
	}
	for at := len(l.stops) - 1; at >= l.to; at-- {
		if i := place(at); i >= 0 {
			to = i
		}
	}
	return min(from, to), max(from, to)
}

// left returns how many seats are free for all legs of a journey.
func (h *history) left(legs []modelLeg) int {
	least := 1000
	for _, l := range legs {
		if h.forms[l.trip] == nil {
			return 0
		}
		free := 0
		for seat := range int16(h.buses[l.trip]) {
			l.seat = seat + 1
			if !slices.ContainsFunc(h.tickets, func(t *modelTicket) bool {
				return h.live(t) && slices.ContainsFunc(t.legs, func(other modelLeg) bool {
					return h.collide(&l, &other, true)
				})
			}) {
				free++
			}
		}
		from, to := l.within(h.forms[l.trip])
		for at := from; at < to; at++ {
			room := h.buses[l.trip]
			for _, t := range h.tickets {
				for _, other := range t.legs {
					otherFrom, otherTo := other.within(h.forms[l.trip])
					if h.live(t) && other.trip == l.trip && otherFrom <= at && at < otherTo {
						room--
					}
				}
			}
			free = max(0, min(free, room))
		}
		least = min(least, free)
	}
	return least
}

// compare compares what the state offers, and names, with the model.
func (h *history) compare() {
	for trip, stops := range h.forms {
		index, known := h.tt.TripByID(modelRun(trip).Trip)
		for from := 0; known && from < len(stops)-1; from++ {
			to := from + 1 + h.rnd.IntN(len(stops)-1-from)
			leg := schedule.Leg{Trip: index, Day: modelDay, From: int16(from), To: int16(to)}
			got, line := h.state.SeatsLeft(h.tt, &leg, schedule.MaxSeats, h.now)
			want := h.left([]modelLeg{{trip: trip, stops: stops, from: from, to: to}})
			for enough := range want + 2 {
				few, on := h.state.SeatsLeft(h.tt, &leg, enough, h.now)
				if few > want || few < min(want, enough) || on != line {
					h.Fatalf("seed %d: %d seats of trip %d from %d to %d by line %d; want %d, by %d; %d are enough\n%s",
						h.seed, few, trip, from, to, on, want, line, enough, h.told)
				}
			}
			if got != want {
				h.Fatalf("seed %d: %d seats of trip %d from %d to %d, want %d\n%s", h.seed, got, trip, from, to, want,
					h.told)
			}
		}
	}
	var want []string
	for i, t := range h.tickets {
		for _, other := range h.tickets[i+1:] {
			for a := range t.legs {
				for b := range other.legs {
					if h.runs(t.legs[a].trip) && h.live(t) && h.live(other) &&
						h.collide(&t.legs[a], &other.legs[b], false) {
						want = append(want, sharedBy(t.legs[a].trip, t.id, other.id))
					}
				}
			}
		}
	}
	var got []string
	surplus := h.state.Freeze().Surplus(h.tt, h.now)
	for _, x := range surplus.Shared {
		if trip := int(x.Run.Trip[1] - '0'); h.runs(trip) {
			got = append(got, sharedBy(trip, x.Tickets[0], x.Tickets[1]))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		h.Fatalf("seed %d: these share a seat: %v, want %v\n%s", h.seed, got, want, h.told)
	}
}

// sharedBy says that two tickets share a seat.
func sharedBy(trip int, a, b ids.ID) string {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return fmt.Sprintf("trip %d: %x %x", trip, a[:3], b[:3])
}
