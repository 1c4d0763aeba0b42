//go:build !race

package web

import "testing"

// Making an id allocates nothing; beside the race detector it does.
func TestAnIDIsMadeWithoutAllocating(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { RandomID() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
