package command

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/command/terminal"
)

// A server whose standard error nobody reads any more answers as before, probes too, and ends by a signal
// with its exit code: no request and no stop waits for the log, nor does a crash, as SIGQUIT makes one.
func TestALogThatNobodyReadsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 0, syscall.SIGQUIT: 2} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			aLogThatNobodyReads(t, signal, code)
		})
	}
}

func aLogThatNobodyReads(t *testing.T, signal syscall.Signal, code int) {
	bin, dir := build(t)
	copyDemo(t, dir)
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{cmd: exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", dir)}
	p.cmd.Stderr = stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	for lines := bufio.NewScanner(log); p.base == "" && lines.Scan(); {
		if m := servingAt.FindStringSubmatch(lines.Text()); m != nil {
			p.base = "http://" + m[1]
		}
	}
	p.Timeout = 20 * time.Second // it must not take as long as the test may
	for i := range 1000 {
		if status, body := p.call("GET", "/v2/cities", ""); status != 401 && status != 200 {
			t.Fatalf("request %d: %d %s", i, status, body)
		}
	}
	if status, body := p.call("GET", "/livez", ""); status != 200 {
		t.Errorf("/livez: %d %s", status, body)
	}
	p.cmd.Process.Signal(signal)
	select {
	case <-ended:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("it ends with %d, want %d", got, code)
		}
	case <-time.After(p.Timeout):
		t.Error("a signal does not end it")
	}
}

// A server does not start where nobody reads the key that it shows this once: it says so.
func TestAServerWhoseKeyNobodyReadsDoesNotStart(t *testing.T) {
	t.Parallel()
	unread, out := io.Pipe()
	defer unread.Close()
	var said strings.Builder
	code := Main(&Process{
		Args:   []string{"serve", "-data", t.TempDir(), "-addr", "127.0.0.1:0"},
		Stdout: out,
		Stderr: &said,
		Env:    func(string) (string, bool) { return "", false },
	})
	if code != exitFailed || !strings.Contains(said.String(), "cannot be written: nobody reads it") {
		t.Errorf("exit %d, and %q", code, &said)
	}
}

// What a process says last waits a second for somebody who reads it, and no longer.
func TestLastWordsThatNobodyReadsHoldUpNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread, out := io.Pipe()
		defer unread.Close()
		p := &Process{
			Args:   []string{"nonsense"},
			Stderr: out,
			Stdout: out,
		}
		ended := make(chan int, 1)
		go func() { ended <- Main(p) }()
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case code := <-ended:
			if code != exitUsage {
				t.Errorf("exit %d", code)
			}
		default:
			t.Error("it waits for ever")
		}
	})
	var said strings.Builder
	code := Main(&Process{Args: []string{"nonsense"}, Stderr: &said})
	if code != exitUsage || said.Len() == 0 {
		t.Errorf("exit %d, and %q", code, &said)
	}
}

// What the log says of lines that were left out is a line in its own form.
func TestALogSaysInItsFormWhatIsMissing(t *testing.T) {
	var said strings.Builder
	queue := &terminal.Queue{To: &said, Log: new(Process).logger}
	queue.Write([]byte("first\n"))
	queue.Write(make([]byte, 2<<20))
	queue.Flush()
	var line struct {
		Level, Msg string
		Lines      int
	}
	_, second, _ := strings.Cut(said.String(), "\n")
	err := json.Unmarshal([]byte(second), &line)
	if err != nil || line.Level != "WARN" || line.Lines != 1 {
		t.Errorf("%q, %v", &said, err)
	}
}
