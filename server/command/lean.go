//go:build lean

package command

import (
	"log/slog"

	"waybill/server"
	"waybill/server/front"
	"waybill/server/operate/stand"
)

// The lean build has nothing of what testers and students use (decision lean.flags): no package of server/lab
// is in it, and nothing in it can move a clock. What lab.go has is here the answer that it is not in this
// build.

// isLean reports whether this is the lean build.
const isLean = true

// absentFlags are the flags that a verb has in another build only, by the verb.
var absentFlags = map[string][]string{
	"serve": {"test-clock", "frozen", "seed", "test-control", "worlds", "vary", "demo"},
}

// benchFlags are none.
var benchFlags []option

// The verbs that another build has.
var (
	tourVerb    = verb{name: "tour"}
	conformVerb = verb{name: "conform"}
)

// newLab returns no test bench.
func newLab() *stand.Lab { return nil }

// testBench is none.
type testBench struct{}

func (c *call) testBench(string) (*testBench, error) { return &testBench{}, nil }

func (*testBench) lab() *stand.Lab { return nil }

func (*testBench) controlled() bool { return false }

func (*testBench) listen() error { return nil }

func (*testBench) commands() string { return "" }

func (*testBench) fill(*server.Server, string) error { return nil }

func (*testBench) warn(*slog.Logger, bool) {}

func (*testBench) clean(server.Config) {}

func (*testBench) serve(*front.Front) error { return nil }

func (*testBench) close(*slog.Logger) {}
