//go:build !lean

package command

import (
	"path/filepath"
	"testing"
)

// Decision keep.begins: a keeper is for a clock that runs by itself.
func TestAKeeperIsForAClockThatRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	keep := []string{"serve", "-data", dir, "-keep", "cat", "-test-clock", "now"}
	for _, more := range [][]string{{"-frozen"}, {"-seed", "1"}, {"-test-control", "127.0.0.1:1"}} {
		want(t, 2, "-keep needs a clock", append(keep, more...)...)
	}
}
