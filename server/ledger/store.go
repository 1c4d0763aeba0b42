package ledger

import (
	"io"
	"log/slog"
	"time"

	"waybill/schedule"
	"waybill/store"
	"waybill/store/durable"
)

// Store keeps the state durable, as package store does. It alone changes the state: rooms get a [State] from
// it.
type Store struct{ *keeping }

// keeping is what a Store is made of. No other package can name the field, and so get at the Keeper.
type keeping = store.Store[*Keeper, Entry]

// Options say how a directory is opened. FS, Log and Now are required.
type Options struct {
	FS     durable.FS
	Log    *slog.Logger
	Now    func(State) time.Time          // the only clock, called under the lock
	Ready  func(State, store.Start) error // see store.Config
	Random io.Reader                      // see store.Config; nil is crypto/rand's
	// see store.Config; either may be nil
	Wrote       func(lines, bytes int, sync time.Duration)
	Snapshotted func(bytes int64)
}

// config returns the options as package store wants them.
func (o *Options) config() store.Config[*Keeper, Entry] {
	sc := StoreConfig(o.FS)
	sc.Log = o.Log
	sc.Random = o.Random
	sc.Wrote = o.Wrote
	sc.Snapshotted = o.Snapshotted
	sc.Now = func(k *Keeper) time.Time {
		return o.Now(k.State)
	}
	if o.Ready != nil {
		sc.Ready = func(k *Keeper, found store.Start) error {
			return o.Ready(k.State, found)
		}
	}
	return sc
}

// Open opens a directory as store.Open does.
func Open(o Options) (st *Store, fresh bool, err error) {
	opened, fresh, err := store.Open(o.config())
	if err != nil {
		return nil, false, err
	}
	return &Store{opened}, fresh, nil
}

// Look opens a directory to read it, as store.Look does.
func Look(o Options) (*Store, error) {
	opened, err := store.Look(o.config())
	if err != nil {
		return nil, err
	}
	return &Store{opened}, nil
}

// View calls read under the lock and returns once all that read saw is durable.
func (s *Store) View(read func(State, time.Time)) error {
	return s.keeping.View(func(k *Keeper, now time.Time) {
		read(k.State, now)
	})
}

// Glance calls read under the lock like View but does not wait; settled does, see store.Glance.
func (s *Store) Glance(read func(State, time.Time)) (settled func() error, err error) {
	return s.keeping.Glance(func(k *Keeper, now time.Time) {
		read(k.State, now)
	})
}

// Update calls decide under the lock, applies the entries it returns and journals them; after, unless it is
// nil, then sees the state as they left it. See store.Update.
func (s *Store) Update(decide func(State, time.Time) ([]Entry, error),
	after func(State, time.Time)) (seq uint64, err error) {
	var then func(*Keeper, time.Time)
	if after != nil {
		then = func(k *Keeper, now time.Time) {
			after(k.State, now)
		}
	}
	return s.keeping.Update(func(k *Keeper, now time.Time) ([]Entry, error) {
		return decide(k.State, now)
	}, then)
}

// UseTimetable puts the timetable in force that the journal names, once a start has loaded it, with what was
// changed of its runs. Nothing of it is journalled.
func (s *Store) UseTimetable(tt *schedule.Timetable) error {
	return s.keeping.View(func(k *Keeper, now time.Time) {
		k.useTimetable(tt, now)
	})
}
