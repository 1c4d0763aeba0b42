package booking

import (
	"errors"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// carried is a run of oneTrip with one ticket, which its carrier moves.
type carried struct {
	*testing.T
	state  Recorder
	tt     *schedule.Timetable
	name   ids.RunName
	now    time.Time
	leaves time.Time // by the timetable
}

// newCarried returns a run that leaves three days after the ticket was sold.
func newCarried(t *testing.T) *carried {
	c := &carried{T: t, state: NewRecorder(), tt: oneTrip(t), name: ids.RunName{Trip: "t", Day: 100}}
	run := c.state.Present(c.tt, c.name)
	c.leaves = run.Dep(0)
	c.now = c.leaves.Add(-72 * time.Hour)
	c.state.KnowRun(run)
	c.state.add(oneTicket(run, 1, c.now), c.now)
	return c
}

// move has the run leave so many minutes later than its timetable says.
func (c *carried) move(minutes int) error {
	e, _, err := c.state.MoveRun(c.now, c.tt.With(c.state.Changes(c.now)), c.name, minutes, "fog", false)
	if err != nil {
		return err
	}
	if err := c.state.CheckRunMoved(c.now, e); err != nil {
		c.Fatal(err)
	}
	if err := c.state.ApplyRunMoved(Line{Time: c.now}, e); err != nil {
		c.Fatal(err)
	}
	return nil
}

// Refunds count hours to the latest departure that a ticket has had since it was sold, and not to the one
// before the last move: however often a carrier moves a run, nobody loses by it.
func TestRefundsCountToTheLatestDepartureEver(t *testing.T) {
	for _, moves := range [][]int{
		{60, -120}, {60, -120, -60}, {-60, -120}, {-120, 60, 30, 0}, {30, 60, 45, 50}, {-1, -2, -3, -2},
	} {
		c := newCarried(t)
		latest := 0
		for i, minutes := range moves {
			if err := c.move(minutes); err != nil {
				t.Fatal(err)
			}
			latest = max(latest, minutes)
			_, ticket := c.state.AnyTicket(ids.ID{1, 1})
			leaves := c.leaves.Add(time.Duration(minutes) * time.Minute)
			if got := ticket.Departure(); !got.Equal(leaves) {
				t.Errorf("moved by %v: it leaves at %s, want %s", moves[:i+1], got, leaves)
			}
			want := c.leaves.Add(time.Duration(latest) * time.Minute)
			if got := ticket.RefundsBy(); !got.Equal(want) {
				t.Errorf("moved by %v: refunds count to %s, want %s", moves[:i+1], got, want)
			}
		}
	}
}

// A run that is to leave when it does already is not moved, and no line says that it was: by 0 minutes where
// nothing was changed, and by the same minutes again.
func TestAMoveThatChangesNothingIsNone(t *testing.T) {
	c := newCarried(t)
	for _, step := range []struct {
		minutes int
		moves   bool
	}{{0, false}, {60, true}, {60, false}, {0, true}, {0, false}, {1, true}, {-1, true}} {
		err := c.move(step.minutes)
		if step.moves && err != nil || !step.moves && !errors.Is(err, ErrUnchanged) {
			t.Errorf("by %d minutes: %v, want that it moves: %t", step.minutes, err, step.moves)
		}
	}
}
