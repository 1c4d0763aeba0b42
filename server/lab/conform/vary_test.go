package conform_test

import (
	"strings"
	"testing"
	"time"

	testbench "waybill/server/lab/bench"
	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
	"waybill/server/lab/seed"
)

// Decision bench.vary: no rule leans on what the interface leaves open, so that all of them hold for a server
// that varies it.
func TestNoRuleLeansOnWhatTheInterfaceLeavesOpen(t *testing.T) {
	last := uint64(1)
	if *rig.Long {
		last = 20
	}
	for number := uint64(1); number <= last; number++ {
		b := startBench(t, testbench.Settings{
			TestClock: true,
			StartAt:   time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
			Frozen:    true,
			Watch:     true,
			Seed:      seed.New(number),
			Vary:      true,
		})
		opt := b.opt
		opt.BaseURL = b.base
		opt.ControlURL = b.control
		var out strings.Builder
		sum, err := conform.Run(opt, &out)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Failed > 0 || sum.NotShown > 0 || sum.Left != nil {
			t.Errorf("seed %d: %s", number, out.String())
		}
	}
}
