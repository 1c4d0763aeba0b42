package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal opens a pair: what is written to keyboard is typed at the terminal, and read from it is what it
// shows.
func terminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	var number, unlock int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, keyboard.Fd(), request,
			uintptr(unsafe.Pointer(value)))
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	return keyboard, screen
}

// until reads from a file until a text has come.
func until(t *testing.T, f *os.File, text string) (seen string) {
	t.Helper()
	buffer := make([]byte, 1<<12)
	for !strings.Contains(seen, text) {
		n, err := f.Read(buffer)
		if err != nil {
			t.Fatalf("%q, then %v", seen, err)
		}
		seen += string(buffer[:n])
	}
	return seen
}

// Contract §1: a password typed on a terminal is asked for and not echoed.
func TestPasswordIsNotShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	keyboard, screen := terminal(t)
	var out bytes.Buffer
	end := make(chan struct{})
	code := make(chan int)
	begin := func(email string) {
		go func() {
			code <- Main(&Process{
				Args: []string{"user", "add", "-data", dir, "-email", email, "-first-name", "Anna",
					"-last-name", "Nowak",
					"-company", "zorevia-lines", "-role", "ADMIN"},
				Stdin: screen, Stdout: &out, Stderr: screen, Stop: end, Env: func(string) (string, bool) {
					return "", false
				},
			})
		}()
		until(t, keyboard, "not shown")
	}
	shown, err := terminalOf(screen)
	if err != nil {
		t.Fatal(err)
	}
	begin("anna@example.com")
	keyboard.WriteString("secret horse\n")
	if c := <-code; c != 0 || !strings.Contains(out.String(), "anna@example.com is ADMIN") {
		t.Fatalf("exit %d: %s", c, &out)
	}
	screen.WriteString("the end")
	if seen := until(t, keyboard, "the end"); strings.Contains(seen, "secret") {
		t.Errorf("the terminal shows %q", seen)
	}
	begin("boris@example.com")
	hidden, err := terminalOf(screen)
	if err != nil || hidden.Cc[syscall.VQUIT] != noKey || hidden.Cc[syscall.VSUSP] != noKey {
		t.Errorf("Ctrl-\\ or Ctrl-Z would leave the terminal without echo: %v", hidden.Cc)
	}
	close(end) // as Ctrl-C does
	if c := <-code; c != 1 {
		t.Errorf("exit %d of who gave up", c)
	}
	if after, err := terminalOf(screen); err != nil || after != shown {
		t.Errorf("the terminal is left as %+v, %v; it was %+v", after, err, shown)
	}
}

// Contract §1: progress is shown on a terminal, and taken away before other output.
func TestProgressIsTakenAway(t *testing.T) {
	keyboard, screen := terminal(t)
	x := &progress{what: "import", to: screen}
	x.bytes.Store(5 << 20)
	x.show()
	if seen := until(t, keyboard, " s"); !strings.Contains(seen, "import: 5 MB read, ") {
		t.Errorf("%q", seen)
	}
	fmt.Fprintln(besides{x, screen}, "stops.txt: 3 rows")
	if seen := until(t, keyboard, "rows"); !strings.HasPrefix(seen, clearLine+"stops.txt: 3 rows") {
		t.Errorf("%q", seen)
	}
	var pipe bytes.Buffer
	c := (&Process{Stdout: &pipe, Stderr: &pipe}).newCall(&verb{name: "import"})
	c.watch()()
	if c.Stdout != &pipe || pipe.Len() > 0 {
		t.Error("a pipe is shown progress")
	}
}
