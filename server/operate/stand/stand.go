// Package stand is the place in a server where a test bench can stand (decision bench.flags): the moments at
// which the hall calls it, as named functions, and nothing of what they do.
//
// A [Lab] is what stands there. Package lab/bench makes it, by methods of one bench:
//
//	b := bench.New(bench.Settings{TestClock: true})
//	s, err := server.Open(server.Config{Dir: "waybill-data", Lab: b.Lab()})
//
// The lean build has no such package, and its servers have no Lab: nothing in them can move a clock.
package stand

import (
	"errors"
	"net/http"
	"time"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbox"
)

// Lab is the test bench of one server. A start calls Begin, Furnish, Open, StartClock and KeepSeed, in this
// order.
type Lab struct {
	// Begin is called before anything is opened. It changes what the rooms are told of the server: whether
	// there is a test clock, and where what would be random comes from. Errors: ErrSeed, and what is wrong
	// with the file that has the seed.
	Begin func(cfg *web.Config) error
	// Furnish is called once the rooms and routes are made.
	Furnish func(core *web.Core, letters *outbox.Relay)
	// Open changes how the journal is opened, which the start asked for at an instant of the machine's clock.
	Open func(journal *ledger.Options, start time.Time)
	// StartClock starts the directory's clock, stops it, or has it give way to the machine's, once the
	// journal is open. A verb leaves the clock as it is.
	StartClock func(start time.Time) error
	// KeepSeed keeps the seed of a new directory, before the first key is made.
	KeepSeed func() error

	// GetClock and PostClock answer /test/clock.
	GetClock, PostClock web.Handler
	// Around returns a handler that answers as next does, on the terms of the bench. It is nil where there is
	// no test clock: then nothing stands in the way of requests.
	Around func(next http.Handler) http.Handler
}

// The errors of a setting that the directory does not allow.
var (
	// ErrClock is of a clock.
	ErrClock = errors.New("server: the clock setting does not fit the directory")
	// ErrSeed is of a seed and a directory that has lines already.
	ErrSeed = errors.New("server: a seed is for a new directory, and this one has lines already")
	// ErrBusy is of a busy demo and a directory that has lines already.
	ErrBusy = errors.New("server: -demo busy is for a new directory, and this one has lines already")
)
