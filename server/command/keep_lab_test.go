//go:build !lean

package command

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
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

// What bench measures with a keeper is all kept, when it ends.
func TestBenchKeepsWhatItSells(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	standby := filepath.Join(t.TempDir(), "standby")
	bench := exec.Command(bin, "bench", "-data", dir, "-bookings", "100", "-conns", "4", "-seconds", "0.05",
		"-keep", fmt.Sprintf("exec '%s' receive '%s'", bin, standby))
	if out, err := bench.CombinedOutput(); err != nil || !strings.Contains(string(out), "| W1 create") {
		t.Errorf("%v\n%s", err, out)
	}
	if string(allLines(t, standby)) != string(allLines(t, dir)) {
		t.Error("the keeper has another journal")
	}
}
