package ledger

import (
	"context"
	"io"
	"log/slog"
	"time"

	"waybill/schedule"
	"waybill/store"
	"waybill/store/durable"
	"waybill/store/live"
)

// Store keeps the state durable, as package store does. It alone changes the state: rooms get a State
// from it.
type Store struct {
	*keeping
	mayChange func() error
}

// keeping is the store inside a Store. No other package can name the field, and so none gets at the Keeper.
type keeping = store.Store[*Keeper, Entry]

// Options say how a directory is opened. FS, Log and Now are required.
type Options struct {
	FS        durable.FS
	Log       *slog.Logger
	Now       func(State) time.Time          // the only clock, called under the lock
	Ready     func(State, store.Found) error // see store.Config
	Still     func(State) bool               // see store.Config; nil: it ticks
	MayChange func() error                   // why nothing may be changed now; nil: it always may
	Random    io.Reader                      // see store.Config; nil is crypto/rand's
	// see store.Config: what each start says of the program, and of the witnesses
	Program   any
	Witnesses []string
	// see store.Config; either may be nil
	Wrote       func(lines, bytes int, sync time.Duration)
	Snapshotted func(bytes int64)
	Keep        live.Keep
}

// config returns the options in the form of package store.
func (o *Options) config() store.Config[*Keeper, Entry] {
	codec := NewCodec()
	sc := store.Config[*Keeper, Entry]{
		Model: codec.Model(),
		FS:    o.FS,
		Log:   o.Log,
		Now: func(k *Keeper) time.Time {
			return o.Now(k.State)
		},
		Encode: codec.Encode,
		Weigh: func(k *Keeper, x Entry) int64 {
			return Weigh(k.State, x)
		},
		Complete: func(k *Keeper, x Entry) Entry {
			x.Before = k.Before(x.Event)
			return x
		},
		Random:      o.Random,
		Program:     o.Program,
		Witnesses:   o.Witnesses,
		Wrote:       o.Wrote,
		Snapshotted: o.Snapshotted,
		Keep:        o.Keep,
	}
	if o.Ready != nil {
		sc.Ready = func(k *Keeper, found store.Found) error {
			return o.Ready(k.State, found)
		}
	}
	if o.Still != nil {
		sc.Still = func(k *Keeper) bool { return o.Still(k.State) }
	}
	return sc
}

// Open opens a directory as store.Open does.
func Open(o Options) (st *Store, fresh bool, err error) {
	opened, fresh, err := store.Open(o.config())
	if err != nil {
		return nil, false, err
	}
	return &Store{opened, o.MayChange}, fresh, nil
}

// Look opens a directory to read it, as store.Look does.
func Look(o Options) (*Store, error) {
	opened, err := store.Look(o.config())
	if err != nil {
		return nil, err
	}
	return &Store{opened, o.MayChange}, nil
}

// View calls read under the lock and returns once all that read saw is durable.
func (s *Store) View(read func(State, time.Time)) error {
	return s.keeping.View(func(k *Keeper, now time.Time) {
		read(k.State, now)
	})
}

// ViewOn is View of what rests on a line alone, which read returns: it waits for nothing after that line.
func (s *Store) ViewOn(read func(State, time.Time) (line uint64)) error {
	return s.keeping.ViewOn(func(k *Keeper, now time.Time) uint64 {
		return read(k.State, now)
	})
}

// Await is ViewOn for work that nobody waits for: while the keeper is silent it waits on, until ctx is over.
func (s *Store) Await(ctx context.Context, read func(State, time.Time) (line uint64)) error {
	return s.keeping.Await(ctx, func(k *Keeper, now time.Time) uint64 {
		return read(k.State, now)
	})
}

// UpdateHere is Update of a line that says that somebody has read something: it counts once it is on this
// disk, whatever the keeper does. What was read waits for the keeper.
func (s *Store) UpdateHere(decide func(State, time.Time) ([]Entry, error)) (uint64, error) {
	return s.keeping.UpdateHere(func(k *Keeper, now time.Time) ([]Entry, error) {
		return decide(k.State, now)
	}, nil)
}

// Glance calls read under the lock like View but does not wait; wait does, see store.Glance.
func (s *Store) Glance(read func(State, time.Time)) (wait func() error, err error) {
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
		entries, err := decide(k.State, now)
		if err == nil && len(entries) > 0 && s.mayChange != nil {
			err = s.mayChange()
		}
		return entries, err
	}, then)
}

// LastLine returns the number of the last line, once it is durable. It writes nothing.
func (s *Store) LastLine() (seq uint64, err error) {
	return s.keeping.Update(func(*Keeper, time.Time) ([]Entry, error) {
		return nil, nil
	}, nil)
}

// UseTimetable puts the timetable in force that the journal names, with the changes of its runs, once a
// start has loaded it. It writes nothing to the journal.
func (s *Store) UseTimetable(tt *schedule.Timetable) error {
	return s.keeping.View(func(k *Keeper, now time.Time) {
		k.UseTimetable(tt, now)
	})
}
