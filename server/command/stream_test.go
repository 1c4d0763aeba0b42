package command

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
	want(t, 2, "must be one of json, copy, sql", "tail", "-data", dir, "-format", "xml")
	want(t, 2, "the first line is 1", "tail", "-data", dir, "-from", "0")
}
