package ledger

import (
	"time"

	"waybill/schedule"
	"waybill/store"
)

// Store keeps the state durable. Rooms read it and decide on it; it alone applies what they decide.
type Store = store.Store[State, Entry]

// Options say how a directory is opened.
type Options = store.Options[State]

// Open opens a directory as store.Open does.
func Open(o Options) (st *Store, fresh bool, err error) { return store.Open(config(o)) }

// Look opens a directory to read it, as store.Look does.
func Look(o Options) (*Store, error) { return store.Look(config(o)) }

// config returns all that package store has to know.
func config(o Options) store.Config[State, Entry] {
	model := NewCodec().Model()
	model.Weigh = Weigh
	model.Complete = State.complete
	return store.Config[State, Entry]{Model: model, Options: o}
}

// UseTimetable puts the timetable in force that the journal names, with the changes of its runs, once a
// start has loaded it. It writes nothing to the journal.
func UseTimetable(st *Store, tt *schedule.Timetable) error {
	return st.View(func(s State, now time.Time) {
		s.useTimetable(tt, now)
	})
}
