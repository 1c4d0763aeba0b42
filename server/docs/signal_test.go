package docs

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A terminal that is closed ends the program as SIGTERM does: nothing is left open or lying about.
func TestAClosedTerminalEndsTheProgram(t *testing.T) {
	// A program takes over what is ignored here; what is caught here is none of its business.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	t.Chdir(root)
	bin := build(t)
	startServer(t, bin, t.TempDir()).stop(t, syscall.SIGHUP)

	temp := t.TempDir()
	tour := exec.Command(bin, "tour")
	tour.Env = append(os.Environ(), "TMPDIR="+temp)
	stdin, noIn := tour.StdinPipe()
	stdout, noOut := tour.StdoutPipe()
	if noIn != nil || noOut != nil {
		t.Fatal(noIn, noOut)
	}
	defer stdin.Close()
	if err := tour.Start(); err != nil {
		t.Fatal(err)
	}
	stdout.Read(make([]byte, 1)) // it has begun
	if err := tour.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	go func() { // who writes must not wait for who reads
		for b := make([]byte, 4096); ; {
			if _, err := stdout.Read(b); err != nil {
				return
			}
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- tour.Wait() }()
	select {
	case err := <-ended:
		if left, _ := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
			t.Errorf("%v; it has left %q", err, left)
		}
	case <-time.After(30 * time.Second):
		tour.Process.Kill()
		t.Error("it goes on")
	}
}
