package rig

import (
	"time"

	"waybill/server/lab/bench"
	"waybill/server/lab/seed"
	"waybill/server/operate/stand"
)

// TestClock returns a test bench whose clock ticks and can be moved.
func TestClock() *stand.Lab {
	return bench.New(bench.Settings{TestClock: true}).Lab()
}

// ClockFrom returns a test bench whose clock ticks and starts at an instant.
func ClockFrom(at time.Time) *stand.Lab {
	return bench.New(bench.Settings{TestClock: true, StartAt: at}).Lab()
}

// StillClock returns a test bench whose clock stands still.
func StillClock() *stand.Lab {
	return bench.New(bench.Settings{TestClock: true, Frozen: true}).Lab()
}

// StillFromStart returns a test bench whose clock stands still at Start. What would be random comes from
// source, unless that is nil.
func StillFromStart(source *seed.Source) *stand.Lab {
	return bench.New(bench.Settings{
		TestClock: true,
		StartAt:   Start,
		Frozen:    true,
		Seed:      source,
	}).Lab()
}

// NoClock returns a test bench that gives up the clock that a directory may have.
func NoClock() *stand.Lab {
	return bench.New(bench.Settings{}).Lab()
}
