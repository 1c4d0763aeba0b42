//go:build !lean

package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"waybill/server/lab/rig"
	"waybill/store/durable"
)

// The page on a second machine has commands that need a second machine. Here both are directories, and ssh is
// a script that runs what it is given.

// secondBlocks returns the blocks of a kind that the page has.
func secondBlocks(t *testing.T, kind string) (blocks []string) {
	t.Helper()
	text := content(t, rig.File("server/docs/standby.md"))
	for _, m := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the page has no block %q", kind)
	}
	return blocks
}

// machines are two machines, and what they have installed.
type machines struct {
	t             *testing.T
	bin, path     string
	first, second string // their directories
	addresses     string // of the engine
}

func newMachines(t *testing.T) *machines {
	t.Helper()
	bin, dir := build(t)
	path := t.TempDir()
	m := &machines{t: t, bin: bin, path: path, first: dir, second: filepath.Join(filepath.Dir(dir), "second")}
	const ssh = "#!/bin/sh\nshift\nexec sh -c \"$*\"\n"
	if err := errors.Join(os.Symlink(bin, filepath.Join(path, "waybill")),
		executable(filepath.Join(path, "ssh"), []byte(ssh))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keep-nats.py", "jetstream.py"} {
		whole, err := filepath.Abs(rig.File("testdata/deploy/" + name))
		if err == nil {
			err = os.Symlink(whole, filepath.Join(path, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// shell returns a command of the page as it is given on a machine. Whatever comes after ssh is the other's.
func (m *machines) shell(line, here, there string) *exec.Cmd {
	const dir = "/var/lib/waybill"
	at := strings.Index(line, "ssh ")
	if at >= 0 { // up to the end of the quotes, or of the pipe's first part
		end := strings.IndexAny(line[at:], "'\\|")
		remote := line[at : at+end]
		line = line[:at] + strings.ReplaceAll(remote, dir, there) + line[at+end:]
	}
	line = strings.ReplaceAll(line, dir, here)
	line = strings.ReplaceAll(line, "n1:4222,n2:4222,n3:4222", m.addresses)
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(append(os.Environ(), natsEnv...), "WAYBILL_ADDR=127.0.0.1:0",
		"PATH="+m.path+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m.t.Cleanup(func() {
		if cmd.Process != nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	return cmd
}

// serve gives a command of the page that serves, and returns the process.
func (m *machines) serve(line, here, there string) *process {
	m.t.Helper()
	p := startCommand(m.t, m.shell("exec "+strings.TrimSpace(line), here, there))
	if p.base == "" {
		m.t.Fatalf("%s does not serve\n%s", line, p.said)
	}
	return p
}

// sell sells a ticket to a new partner, by the server of a directory.
func (m *machines) sell(p *process, dir string) {
	m.t.Helper()
	p.key = strings.TrimSpace(want(m.t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	p.sells(m.t, offer(m.t, p))
}

// stop kills a server.
func (m *machines) stop(p *process) {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.cmd.Wait()
}

// awaitEnd waits until nothing writes to the second machine's directory any more.
func (m *machines) awaitEnd() {
	m.t.Helper()
	rig.Eventually(m.t, "receive has ended", func() bool {
		lock, err := durable.Dir(m.second).Lock("LOCK")
		if err != nil {
			return false
		}
		lock.Close()
		return true
	})
}

// same sees that the second machine has what the first has, and more.
func (m *machines) same() {
	m.t.Helper()
	first := allLines(m.t, m.first)
	if second := allLines(m.t, m.second); len(first) == 0 || !bytes.HasPrefix(second, first) {
		m.t.Errorf("the second machine has %d bytes of %d", len(second), len(first))
	}
}

// The commands of the page: a standby, and a keeper by ssh, each with its takeover.
func TestThePageOfASecondMachine(t *testing.T) {
	t.Parallel()
	takeover := secondBlocks(t, "sh takeover")
	standby := newMachines(t)
	want(t, 0, "is in force", "import", "-data", standby.first, "../../testdata/demo")
	p := startProcess(t, standby.bin, standby.first)
	pipe := standby.shell(secondBlocks(t, "sh standby")[0], standby.second, standby.first)
	if err := pipe.Start(); err != nil {
		t.Fatal(err)
	}
	standby.sell(p, standby.first)
	rig.Eventually(t, "the standby has all", func() bool {
		first := allLines(t, standby.first)
		return len(first) > 0 && bytes.Equal(allLines(t, standby.second), first)
	})
	p.cmd.Process.Kill()
	p.cmd.Wait()
	syscall.Kill(-pipe.Process.Pid, syscall.SIGKILL)
	pipe.Wait()
	standby.awaitEnd()
	standby.sell(standby.serve(takeover[0], standby.second, ""), standby.second)
	standby.same()

	keeper := newMachines(t)
	first := keeper.serve(secondBlocks(t, "sh keeper")[0], keeper.first, keeper.second)
	keeper.sell(first, keeper.first)
	keeper.stop(first)
	keeper.awaitEnd()
	second := keeper.serve(takeover[1], keeper.second, "")
	keeper.sell(second, keeper.second)
	keeper.same()
}

// The commands of the page for a keeper in a stream.
func TestThePageOfASecondMachineWithAStream(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	if e == nil {
		return
	}
	e.start()
	m := newMachines(t)
	m.addresses = e.addresses()
	serve := secondBlocks(t, "sh stream")[0]
	first := m.serve(serve, m.first, "")
	m.sell(first, m.first)
	order := offer(t, first) // before the fence, which a line of the server's own may meet first
	lines := strings.Split(strings.TrimSpace(secondBlocks(t, "sh fence")[0]), "\n")
	fence := ""
	for _, line := range lines[:2] {
		out, err := m.shell(line, m.second, "").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if _, number, found := strings.Cut(string(out), "fenced at message "); found {
			fence = strings.TrimSpace(number)
		}
	}
	first.call("POST", "/v2/bookings", order) // it lives, and tries
	first.cmd.Wait()
	if code := first.cmd.ProcessState.ExitCode(); code != exitIO {
		t.Errorf("the first machine ends with %d", code)
	}
	again := m.shell("exec "+strings.TrimSpace(serve), m.first, "") // as its unit does
	if out, _ := again.CombinedOutput(); again.ProcessState.ExitCode() != exitIO ||
		!strings.Contains(string(out), "is a fence") {
		t.Errorf("the first machine is started again: exit %d\n%s", again.ProcessState.ExitCode(), out)
	}
	second := m.serve(strings.Replace(lines[2], "-past N", "-past "+fence, 1), m.second, "")
	m.sell(second, m.second)
	if out, err := m.shell(secondBlocks(t, "sh erased")[0], m.second, "").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if e.ask("$JS.API.STREAM.MSG.GET.WAYBILL-2", `{"seq":1}`) == "" {
		t.Error("there is no second stream")
	}
}

// The keeper that the page has as an example keeps all, also where it is killed.
func TestTheKeeperOfThePage(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	bin, dir := build(t)
	text := secondBlocks(t, "python keeper")[0]
	if n := strings.Count(text, "\n"); n > 24 {
		t.Errorf("the example has %d lines", n)
	}
	temp := filepath.Dir(dir)
	script, file := filepath.Join(temp, "keeper.py"), filepath.Join(temp, "lines")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keeper := fmt.Sprintf("exec python3 -I '%s' '%s'", script, file)
	for _, kill := range []bool{true, true, false} {
		p := startProcess(t, bin, dir, "-keep", keeper)
		p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
		p.sells(t, offer(t, p))
		if kill {
			p.cmd.Process.Kill()
			p.cmd.Wait()
			continue
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a stop ends with %v", err)
		}
	}
	copied := filepath.Join(temp, "copied")
	receive := exec.Command("sh", "-c", fmt.Sprintf("'%s' receive '%s' < '%s'", bin, copied, file))
	out, err := receive.CombinedOutput()
	if err != nil || !bytes.Equal(allLines(t, copied), allLines(t, dir)) {
		t.Errorf("what is received from its file is not the journal: %v\n%s", err, out)
	}
}
