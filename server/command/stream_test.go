package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

// Decision standby.lines: waybill tail -follow -format copy | waybill receive DIR. Whenever the primary is
// killed, the standby has every line that receive has printed, and serves.
func TestAStandbyByAPipe(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	standby := filepath.Join(filepath.Dir(dir), "standby")
	p := startProcess(t, bin, dir)
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	orders := offer(t, p)
	for kill := range 3 {
		if kill > 0 {
			p = startProcess(t, bin, dir)
			p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
		}
		next := strings.TrimSpace(want(t, 0, `^\d+\n$`, "receive", "-next", standby))
		tail := exec.Command(bin, "tail", "-data", dir, "-follow", "-format", "copy", "-from", next)
		receive := exec.Command(bin, "receive", standby)
		stream, err := tail.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		receive.Stdin = stream
		printed, err := receive.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := receive.Start(); err != nil {
			t.Fatal(err)
		}
		if err := tail.Start(); err != nil {
			t.Fatal(err)
		}
		batches := bufio.NewScanner(printed)
		last := 0
		if !batches.Scan() || !regexp.MustCompile(`^(0 -|\d+ [0-9a-f]{64})$`).MatchString(batches.Text()) {
			t.Fatalf("receive begins with %q", batches.Text())
		}
		for n := 0; n < 10 && batches.Scan(); n++ {
			if last, err = strconv.Atoi(batches.Text()); err != nil {
				t.Fatal(err)
			}
			if status, body := p.call("POST", "/v2/bookings", orders); status != 201 && status != 409 {
				t.Fatal(status, body)
			}
		}
		p.cmd.Process.Kill()
		p.cmd.Wait()
		receive.Process.Kill()
		receive.Wait()
		tail.Process.Kill()
		tail.Wait()
		after := strings.TrimSpace(want(t, 0, `^\d+\n$`, "receive", "-next", standby))
		if n, _ := strconv.Atoi(after); n <= last {
			t.Errorf("kill %d: line %d was printed, and %s comes next", kill, last, after)
		}
	}
	want(t, 1, "not signed: ", "verify", "-data", standby)
	s := startProcess(t, bin, standby)
	s.key = p.key
	s.cmd.Process.Kill()
	s.cmd.Wait()
	want(t, 0, "^sound", "verify", "-data", standby)
	want(t, 0, "forked", "log", "-data", standby)
	want(t, 2, `^waybill: -format "sql" must be one of json, copy\n`, "tail", "-data", dir, "-format", "sql")
	want(t, 2, "the first line is 1", "tail", "-data", dir, "-from", "0")
}

// Decision standby.stop: the first signal ends a receive, whatever it waits for, with 0. What it has printed
// is there, and the directory is free: for the next receive, and for a server that takes over.
func TestASignalEndsAReceive(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	copyDemo(t, dir)
	lines := want(t, 0, "", "tail", "-data", dir, "-format", "copy")
	last := strings.Count(lines, "{\"hash\"")
	third := syscall.SIGHUP
	if signal.Ignored(third) { // as under nohup, and then so in what is started
		third = syscall.SIGTERM
	}
	for what, c := range map[string]struct {
		sent   string
		said   int // the last line that it says it has
		signal syscall.Signal
		flag   []string
	}{
		"nothing":       {"", 0, syscall.SIGINT, nil},
		"idle":          {lines, last, syscall.SIGTERM, nil},
		"a keeper":      {lines, last, syscall.SIGTERM, []string{"-keeper"}},
		"within a line": {lines[:len(lines)-20], last - 1, third, nil},
	} {
		standby := filepath.Join(t.TempDir(), "standby")
		r := newReceiving(t, bin, standby, c.flag...)
		io.WriteString(r.in, c.sent)
		r.awaits(t, c.said)
		// One whose sender says nothing waits for the first to end.
		if c.flag != nil {
			waits := newReceiving(t, bin, standby, c.flag...)
			waits.awaits(t, c.said)
			if code := waits.endsBy(t, "a newcomer", syscall.SIGTERM); code != 0 {
				t.Errorf("a newcomer: exit %d\n%s", code, waits.said)
			}
		}
		if code := r.endsBy(t, what, c.signal); code != 0 {
			t.Errorf("%s: exit %d\n%s", what, code, r.said)
		}
		want(t, 0, fmt.Sprintf("^%d ", c.said), "receive", standby)
		if c.flag != nil {
			if s := startProcess(t, bin, standby); s.base == "" {
				t.Errorf("%s: no takeover\n%s", what, s.said)
			}
		}
	}
}

// As does one whose output nobody reads, so that it cannot even say what it has.
func TestASignalEndsAReceiveThatNobodyReads(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	unread, full, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	pipe, err := full.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	pipe.Control(func(fd uintptr) {
		for err == nil {
			_, err = syscall.Write(int(fd), make([]byte, 1<<10))
		}
	})
	cmd := exec.Command(bin, "receive", dir)
	cmd.Stdout = full
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "it has the directory", func() bool {
		_, err := os.Stat(filepath.Join(dir, "LOCK"))
		return err == nil
	})
	if code := (&receiving{cmd: cmd}).endsBy(t, "unread", syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	want(t, 0, "^0 -", "receive", dir)
}

// receiving is a receive whose input stays open.
type receiving struct {
	cmd  *exec.Cmd
	in   io.Writer
	says *bufio.Scanner
	said *lastWords // on standard error
}

// newReceiving starts one on a directory.
func newReceiving(t *testing.T, bin, dir string, flags ...string) *receiving {
	t.Helper()
	r := &receiving{
		cmd:  exec.Command(bin, append(append([]string{"receive"}, flags...), dir)...),
		said: new(lastWords),
	}
	r.cmd.Stderr = r.said
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill() })
	r.in = in
	r.says = bufio.NewScanner(out)
	return r
}

// awaits reads what it says until it has a line.
func (r *receiving) awaits(t *testing.T, line int) {
	t.Helper()
	for r.says.Scan() {
		seq, _, _ := strings.Cut(r.says.Text(), " ")
		if seq == strconv.Itoa(line) {
			return
		}
	}
	t.Fatalf("it ends before line %d", line)
}

// endsBy has a signal end it, and returns the exit code.
func (r *receiving) endsBy(t *testing.T, what string, signal syscall.Signal) int {
	t.Helper()
	r.cmd.Process.Signal(signal)
	late := time.AfterFunc(20*time.Second, func() {
		t.Errorf("%s: %v does not end it", what, signal)
		r.cmd.Process.Kill()
	})
	defer late.Stop()
	r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}
