package command

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

// Decision disk.full: on a full disk writes answer 503 at once and change nothing, reads go on, and as soon
// as there is room writes do too. Where no small disk can be mounted the test says so and does nothing.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Log("no disk to fill:", err)
		return
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	bin, _ := build(t)
	dir := filepath.Join(disk, "data")
	ballast := filepath.Join(disk, "ballast")
	p := startProcess(t, bin, dir)
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("4 MiB went into a disk of 4 MiB")
	}
	info, err := os.Stat(ballast)
	if err != nil {
		t.Fatal(err)
	}
	cycles := 2
	if *rig.Long {
		cycles = 50
	}
	const step = 16 << 10 // bytes given back to the disk each time
	left := info.Size()
	w := writes{process: p, orders: offer(t, p)}
	var slowest, longest time.Duration
	for range cycles {
		for !w.full(t) {
		}
		slowest = max(slowest, w.took)
		status, body := p.call("GET", "/v2/bookings?take=1", "")
		if status != http.StatusOK || !strings.Contains(body, fmt.Sprintf(`"total":%d}`, w.created)) {
			t.Fatalf("on a full disk: %d %s; %d were created", status, body, w.created)
		}
		if left -= step; left < 0 {
			t.Fatal("the disk was too full to begin with")
		}
		if err := os.Truncate(ballast, left); err != nil {
			t.Fatal(err)
		}
		freed := time.Now()
		rig.Eventually(t, "there is room, and something is written", func() bool { return !w.full(t) })
		longest = max(longest, time.Since(freed))
	}
	t.Logf("%d bookings; the slowest 503 took %v, the longest wait for room %v", w.created, slowest, longest)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	want(t, 0, "^sound", "verify", "-data", dir)
}

// writes books and cancels in turn.
type writes struct {
	*process
	orders  string // the body of a booking
	open    string // the booking to cancel next; "" is none
	created int
	took    time.Duration // the last one
}

// full writes once and tells whether there was no room for it.
func (w *writes) full(t *testing.T) bool {
	path := "/v2/bookings"
	body := w.orders
	done := http.StatusCreated
	if w.open != "" {
		path = "/v2/bookings/" + w.open + "/cancel"
		body = ""
		done = http.StatusOK
	}
	start := time.Now()
	status, answer := w.call("POST", path, body)
	w.took = time.Since(start)
	switch {
	case status == http.StatusServiceUnavailable && strings.Contains(answer, "disk is full"):
		return true
	case status != done:
		t.Fatal(status, answer)
	case w.open != "":
		w.open = ""
	default:
		w.created++
		w.open = regexp.MustCompile(`"booking":{"id":"([^"]+)"`).FindStringSubmatch(answer)[1]
	}
	return false
}

// Decision keep.full: a keeper whose disk is full is silent. It does not end, nothing that it lacks is
// answered, and all goes on by itself once there is room.
func TestAKeeperOnAFullDiskIsSilent(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Log("no disk to fill:", err)
		return
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	bin, dir := build(t)
	standby := filepath.Join(disk, "standby")
	ballast := filepath.Join(disk, "ballast")
	p := startProcess(t, bin, dir, "-keep", fmt.Sprintf("exec '%s' receive '%s'", bin, standby))
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	order := offer(t, p)
	w := writes{process: p, orders: order}
	w.full(t)
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("4 MiB went into a disk of 4 MiB")
	}
	answers := make(chan bool) // whether there was room, one after the other
	enough := make(chan bool)
	go func() {
		defer close(answers)
		for {
			room := !w.full(t)
			select {
			case answers <- room:
			case <-enough:
				return
			}
		}
	}()
	silent := func() bool {
		status, _ := p.call("GET", "/readyz", "")
		return status == http.StatusServiceUnavailable
	}
	for done := false; !done; { // the last page has room for some more lines
		select {
		case <-answers:
		case <-time.After(50 * time.Millisecond):
			done = silent()
		}
	}
	if status, body := p.call("POST", "/v2/bookings", order); status != http.StatusServiceUnavailable {
		t.Errorf("beside a keeper without room: %d %s", status, body)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if room := <-answers; !room {
		t.Error("what waited for the keeper was not done")
	}
	rig.Eventually(t, "it is ready again", func() bool { return !silent() })
	close(enough)
	for range answers {
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
	if content(t, standby, firstFile) != content(t, dir, firstFile) {
		t.Error("the keeper has another journal")
	}
}

// Decision standby.stop: a receive that waits for room ends by a signal, with 74. What it has printed is
// there.
func TestASignalEndsAReceiveOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Log("no disk to fill:", err)
		return
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	bin, dir := build(t)
	copyDemo(t, dir)
	lines := want(t, 0, "", "tail", "-data", dir, "-format", "copy")
	needs := strings.Index(lines, `{"file":"timetables/`) // a file of its own
	last := strings.Count(lines[:needs], `{"hash"`)
	standby := filepath.Join(disk, "standby")
	r := newReceiving(t, bin, standby)
	io.WriteString(r.in, lines[:needs])
	r.awaits(t, last)
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("4 MiB went into a disk of 4 MiB")
	}
	io.WriteString(r.in, lines[needs:])
	r.in.(io.Closer).Close()
	rig.Eventually(t, "it waits for room", func() bool {
		return strings.Contains(r.said.String(), "the disk is full")
	})
	if code := r.endsBy(t, "a full disk", syscall.SIGTERM); code != exitIO ||
		!strings.Contains(r.said.String(), standby+": ") {
		t.Errorf("exit %d\n%s", code, r.said)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	want(t, 0, fmt.Sprintf("^%d ", last), "receive", standby)
}
