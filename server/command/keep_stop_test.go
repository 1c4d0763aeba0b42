//go:build !lean

package command

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waybill/server/lab/rig"
)

// Decision keep.stop: a stop under load ends with 0, and all is kept: by a signal to the whole group of the
// server, as Ctrl-C sends it, and by one to the server alone with the end of all others after it, as systemd
// does with KillMode=mixed.
func TestAStopUnderLoadKeepsAll(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	standby := filepath.Join(filepath.Dir(dir), "standby")
	want(t, 0, "is in force", "import", "-data", dir, roomyFeed(t))
	var c *crowd
	key := strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	for _, group := range []bool{true, false} {
		cmd := exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", dir, "-keep",
			fmt.Sprintf("exec '%s' receive '%s'", bin, standby))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		p := startCommand(t, cmd)
		p.key = key
		if c == nil {
			c = newCrowd(t, p)
			c.begin()
			t.Cleanup(c.end)
		}
		c.at.Store(p)
		c.more(t, 100)
		rig.Eventually(t, "requests are under way", func() bool { return c.busy.Load() >= 8 })
		whom := cmd.Process.Pid
		signal := syscall.SIGTERM
		if group {
			whom = -whom
			signal = syscall.SIGINT
		}
		if err := syscall.Kill(whom, signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("group %t: a stop under load ends with %v", group, err)
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		c.at.Store(nil)
		if string(allLines(t, standby)) != string(allLines(t, dir)) {
			t.Errorf("group %t: the keeper has another journal", group)
		}
	}
	c.end()
	c.check(t, standby)
}

// The units tell the server alone, which ends its keeper once that has all. After what passes by itself, a
// clock that is behind (75) or a full disk (74), they start it again, however often.
func TestUnitsLeaveTheKeeperToTheServer(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"waybill", "waybill-standby"} {
		text := content(t, rig.File("testdata/deploy/"+unit+".service"))
		if !strings.Contains(text, "\nKillMode=mixed\n") {
			t.Errorf("%s.service tells everybody", unit)
		}
		_, stays, _ := strings.Cut(text, "RestartPreventExitStatus=")
		stays, _, _ = strings.Cut(stays, "\n")
		if strings.Contains(stays, "75") || strings.Contains(stays, "74") ||
			!strings.Contains(text, "\nRestartSec=5\n") ||
			!strings.Contains(text, "\nStartLimitIntervalSec=0\n") {
			t.Errorf("%s.service gives up where time alone helps", unit)
		}
	}
}
