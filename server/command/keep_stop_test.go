//go:build !lean

package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// Decisions keep.stop and keep.fails: what a keeper has started may live on with its outputs, as a connection
// that ssh shares. Neither a stop nor the keeper's own end waits for that.
func TestWhatAKeeperLeavesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		bin, dir := build(t)
		temp := filepath.Dir(dir)
		heir, pid := filepath.Join(temp, "heir"), filepath.Join(temp, "pid")
		p := startProcess(t, bin, dir, "-keep", fmt.Sprintf("setsid sh -c 'echo $$ >%s; exec sleep 1000' </dev/null & "+
			"echo $$ >%s; exec '%s' receive '%s'", heir, pid, bin, filepath.Join(temp, "standby")))
		rig.Eventually(t, "it has an heir", func() bool { return signalled(t, heir, 0) })
		t.Cleanup(func() { signalled(t, heir, syscall.SIGKILL) })
		code := exitDone
		if ends {
			signalled(t, pid, syscall.SIGKILL)
			code = exitIO
		} else {
			p.cmd.Process.Signal(syscall.SIGTERM)
		}
		p.cmd.Wait()
		got := p.cmd.ProcessState.ExitCode()
		if got != code || strings.Contains(p.said.String(), "is killed") {
			t.Errorf("it ends with %d, want %d: %s", got, code, p.said)
		}
		if !signalled(t, heir, 0) {
			t.Error("the heir has ended, too")
		}
	}
}

// signalled sends a signal to the process whose number a file has, and reports whether there is one.
func signalled(t *testing.T, file string, signal syscall.Signal) bool {
	t.Helper()
	text, _ := os.ReadFile(file)
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && syscall.Kill(number, signal) == nil
}

// Decision keep.silent: a verb whose server ends before it has said what became of the act does not know it.
func TestAVerbWhoseServerEnds(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	hold := filepath.Join(filepath.Dir(dir), "hold")
	p := startProcess(t, bin, dir, "-keep", fmt.Sprintf(`'%s' receive '%s' | while read l; do
		while [ -e '%s' ]; do sleep 0.1; done; echo "$l"; done`, bin, dir+".standby", hold))
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	said := make(chan string)
	go func() {
		out, _ := exec.Command(bin, "partner", "add", "-data", dir, "anna").CombinedOutput()
		said <- string(out)
	}()
	waiting := regexp.MustCompile(`\nwaybill_keep_lines_waiting [1-9]`)
	rig.Eventually(t, "the verb's line waits", func() bool {
		_, metrics := p.call("GET", "/metrics", "")
		return waiting.MatchString(metrics)
	})
	p.cmd.Process.Kill()
	p.cmd.Wait()
	if text := <-said; !strings.Contains(text, "it is not known whether this was done") {
		t.Errorf("the verb says %s", text)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	want(t, 0, "anna", "partner", "list", "-data", dir)
}
