package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"waybill/server/frame/web"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/server/operate/stand"
	"waybill/store"
)

// What the bench does while its server opens the directory: it starts the clock, and takes up the seed.

// begun holds what the bench has found in the directory.
type begun struct {
	isNew   bool         // it has no journal yet
	source  *seed.Source // where what would be random comes from; nil: it is random
	resumed bool         // the source is of the seed that the directory was made from
}

// begin takes up the seed, and sets what the rooms know of the bench.
func (s *Bench) begin(cfg *web.Config) error {
	s.begun = begun{source: s.set.Seed}
	if err := s.takeSeed(cfg); err != nil {
		return err
	}
	names, err := cfg.FS.List("journal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.begun.isNew = len(names) == 0
	if s.begun.source != nil && !s.begun.isNew && s.forked == nil && !s.begun.resumed {
		return stand.ErrSeed
	}
	if s.set.Busy && !s.begun.isNew && s.forked == nil {
		return stand.ErrBusy
	}
	cfg.TestClock = s.set.TestClock
	s.useSeed(cfg)
	return nil
}

// open has the journal opened by the test clock, and with what the seed makes.
func (s *Bench) open(journal *ledger.Options, start time.Time) {
	journal.Random = s.journalRandom()
	journal.Still = s.standsStill
	ready := journal.Ready
	journal.Ready = func(st ledger.State, found store.Found) error {
		if s.begun.resumed { // a copy takes a name, and must take another than the copy that it was made of
			s.begun.source.Restart(found.Head.Seq)
		}
		return ready(st, found)
	}
	if !s.set.TestClock {
		return
	}
	// The first line of a directory whose clock will stand still is of the instant at which it does.
	first := cmp.Or(s.set.StartAt, start)
	journal.Now = func(st ledger.State) time.Time {
		if s.set.Frozen && s.begun.isNew && !st.Clock().Set {
			return first
		}
		return st.Clock().At(s.Config.Now()) // one that is not set is not ahead
	}
	resume := journal.Ready
	journal.Ready = func(st ledger.State, found store.Found) error {
		if err := s.clockFits(st, found.Head.Time); err != nil {
			return err
		}
		return resume(st, found)
	}
}

// standsStill reports whether the clock of a directory that is being opened stands still. A verb leaves it as
// it is, and a start without a test clock gives it up.
func (s *Bench) standsStill(st ledger.State) bool {
	left := s.set.TestClock || s.Config.Verb
	return s.set.Frozen || left && !st.Clock().Still.IsZero()
}

// clockFits returns stand.ErrClock for a test clock that would start at an instant before the last line of a
// directory that has bookings. One that starts now starts where the directory is once it is open.
func (s *Bench) clockFits(st ledger.State, last time.Time) error {
	at := s.set.StartAt
	starts := !at.IsZero() && !st.Clock().Set
	if starts && st.Bookings.Count() > 0 && last.After(at.Add(time.Second)) {
		return fmt.Errorf("%w: it cannot start at %s, before the directory's last line at %s: there are "+
			"bookings",
			stand.ErrClock, at.Format(time.RFC3339), last.Format(time.RFC3339))
	}
	return nil
}

// startClock starts or gives up the directory's test clock, as the settings say.
func (s *Bench) startClock(start time.Time) error {
	var clock ledger.Clock
	var at time.Time
	sold := 0
	err := s.Store.View(func(st ledger.State, now time.Time) {
		clock = st.Clock()
		at = now
		sold = st.Bookings.Count()
	})
	if err != nil {
		return err
	}
	// Now is the directory's time once it is open, which may take long.
	offset := max(0, at.Sub(s.Config.Now()))
	if !s.set.StartAt.IsZero() {
		at = s.set.StartAt
		offset = at.Sub(start)
	}
	switch {
	case s.set.TestClock && !clock.Set:
		offset = offset.Truncate(time.Millisecond)
		first := s.Config.Now().Add(offset).UTC().Truncate(time.Millisecond)
		set := &ledger.ClockSet{OffsetMs: offset.Milliseconds()}
		if s.set.Frozen {
			first = at.UTC().Truncate(time.Millisecond)
			set = &ledger.ClockSet{Still: first}
		}
		set.Began = clock.Began
		if sold == 0 {
			set.Began = first
		}
		err = s.Store.SetClock(first, ledger.Entry{Event: set})
	case s.set.Frozen && clock.Still.IsZero():
		_, err = s.Store.Update(func(_ ledger.State, now time.Time) ([]ledger.Entry, error) {
			return ledger.Entries(&ledger.ClockSet{Still: now}), nil
		}, nil)
	case !s.set.TestClock && clock.Set:
		err = s.Record(&ledger.ClockSet{Real: true})
	}
	if err == nil {
		s.Still.Store(s.set.Frozen || s.set.TestClock && !clock.Still.IsZero())
	}
	return err
}

// Fork returns the bench of a world that is a copy of the directory, as it is now (decision worlds.forks):
// with the same settings, and a seed that goes on from here on its own. Its clock goes on as it is.
func (s *Bench) Fork(forked *ledger.WorldForked) *Bench {
	set := s.set
	set.StartAt = time.Time{}
	set.Frozen = false
	set.Seed = s.begun.source
	if set.Seed != nil {
		set.Seed = set.Seed.Clone()
	}
	return &Bench{
		set:    set,
		forked: forked,
	}
}
