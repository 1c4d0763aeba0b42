package command

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

// SIGTERM waits for the requests under way, whose answers arrive, and lets no others in; a second one ends
// the process at once, with an exit code that is not 0, and harms nothing.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	for _, twice := range []bool{false, true} {
		p := startProcess(t, bin, dir)
		c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		in := bufio.NewReader(c)
		body := `{"email":"a@example.com","password":"x"}`
		fmt.Fprintf(c,
			"POST /v2/auth/pre-login HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q, %v", line, err)
		}
		in.ReadString('\n')
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for status := 200; status != 503; status, _ = p.call("GET", "/readyz", "") {
			if status == 0 {
				t.Fatal("it did not wait")
			}
		}
		ended := make(chan error)
		began := time.Now()
		if twice {
			go func() { ended <- p.cmd.Wait() }()
			for p.cmd.Process.Signal(syscall.SIGTERM) == nil && time.Since(began) < 20*time.Second {
			}
			if err := <-ended; err == nil || time.Since(began) > 20*time.Second {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
			want(t, 0, "^sound", "verify", "-data", dir)
			continue
		}
		io.WriteString(c, body)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 401 {
			t.Errorf("%v %v", resp, err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// Who stops reading a report, as head does, does not decide whether the timetable changes: beside a server
// and without.
func TestAClosedPipeEndsNoImport(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	for _, live := range []bool{false, true} {
		if live {
			startProcess(t, bin, dir)
		}
		read, written, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		before := strings.Count(want(t, 0, "", "log", "-data", dir, "-json"), "timetable.imported")
		c := exec.Command(bin, "import", "-data", dir, "../../testdata/demo")
		c.Stdout = written
		if err := c.Run(); err != nil {
			t.Errorf("live %t: %v", live, err)
		}
		written.Close()
		n := strings.Count(want(t, 0, "", "log", "-data", dir, "-json"), "timetable.imported")
		if n != before+1 {
			t.Errorf("live %t: %d imports after %d", live, n, before)
		}
	}
}

// The admin socket, where profiles are, is its owner's only.
func TestTheAdminSocketIsItsOwners(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	serve(t, "-data", dir)
	info, err := os.Stat(filepath.Join(dir, "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Error(info.Mode())
	}
}

// The same source gives the same bytes, wherever it lies: the program, or by default a package whose pages it
// embeds.
func TestABuildCanBeRepeated(t *testing.T) {
	t.Parallel()
	var first []byte
	built := "./server/docs"
	if *rig.Long {
		built = "."
	}
	for n := range 2 {
		dir := filepath.Join(t.TempDir(), strings.Repeat("x", n+1))
		if err := os.CopyFS(filepath.Join(dir, "testdata/demo"),
			os.DirFS("../../testdata/demo")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"go.mod", "go.sum", "main.go", "testdata/demo.go"} {
			text, err := os.ReadFile("../../" + name)
			if err != nil || os.WriteFile(filepath.Join(dir, name), text, 0o600) != nil {
				t.Fatal(name, err)
			}
		}
		for _, name := range []string{"server", "store", "booking", "schedule", "auth", "report"} {
			if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("../../"+name)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", "waybill", built)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		binary, err := os.ReadFile(filepath.Join(dir, "waybill"))
		if err != nil || len(binary) < 1<<16 {
			t.Fatal(len(binary), err)
		}
		if n > 0 && !bytes.Equal(binary, first) {
			t.Error("two builds differ")
		}
		first = binary
	}
}
