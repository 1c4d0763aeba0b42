package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waybill/server/lab/rig"
)

// Decision keep.replaced: after a power cut of the first machine its keeper on the second never hears of its
// end, and has the directory. The first machine's next start has a keeper all the same, and goes on.
func TestAKeeperWhoseSenderIsGoneGivesWay(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	temp := filepath.Dir(dir)
	standby := filepath.Join(temp, "standby")
	keeper := fmt.Sprintf("'%s' receive -keeper '%s'", bin, standby)
	pid := filepath.Join(temp, "pid")
	// As of a connection that says nothing, the keeper's input does not end with the server.
	p := startProcess(t, bin, dir, "-keep",
		fmt.Sprintf("echo $$ >'%s'; (cat; exec sleep 600) | %s", pid, keeper))
	t.Cleanup(func() {
		if group, err := strconv.Atoi(strings.TrimSpace(content(t, pid))); err == nil {
			syscall.Kill(-group, syscall.SIGKILL)
		}
	})
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	order := offer(t, p)
	p.sells(t, order)
	p.cmd.Process.Kill()
	p.cmd.Wait()

	// Without the flag it stays, and the message names the directory, which is on the second machine.
	said := startProcess(t, bin, dir, "-keep", fmt.Sprintf("exec '%s' receive '%s'", bin, standby))
	if said.cmd.Wait(); said.base != "" || said.cmd.ProcessState.ExitCode() != exitIO ||
		!strings.Contains(said.said.String(), standby+": ") {
		t.Errorf("a keeper that does not ask: exit %d\n%s", said.cmd.ProcessState.ExitCode(), said.said)
	}

	key := p.key
	p = startProcess(t, bin, dir, "-keep", "exec "+keeper)
	if p.base == "" {
		t.Fatalf("it does not start\n%s", p.said)
	}
	socket := filepath.Join(standby, "keep.sock")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	p.key = key
	p.sells(t, order)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
	if content(t, standby, firstFile) != content(t, dir, firstFile) {
		t.Error("the keeper has not all lines")
	}
	if _, err := os.Stat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	rig.Eventually(t, "the directory is free", func() bool {
		code, _, _ := run(t, nil, "receive", standby)
		return code == 0
	})
}
