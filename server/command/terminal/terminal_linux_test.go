package terminal

import (
	"fmt"
	"os"
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

// Decision verbs.help: a password typed on a terminal is asked for and not echoed.
func TestPasswordIsNotShown(t *testing.T) {
	keyboard, screen := terminal(t)
	type answer struct {
		password string
		err      error
	}
	answers := make(chan answer)
	stop := make(chan struct{})
	ask := func() {
		go func() {
			password, err := ReadPassword(screen, "Password (not shown): ", screen, stop)
			answers <- answer{password, err}
		}()
		until(t, keyboard, "not shown")
	}
	shown, err := settings(screen)
	if err != nil {
		t.Fatal(err)
	}
	ask()
	keyboard.WriteString("secret horse\n")
	if got := <-answers; got.password != "secret horse" || got.err != nil {
		t.Fatal(got)
	}
	screen.WriteString("the end")
	if seen := until(t, keyboard, "the end"); strings.Contains(seen, "secret") {
		t.Errorf("the terminal shows %q", seen)
	}
	ask()
	hidden, err := settings(screen)
	if err != nil || hidden.Cc[syscall.VQUIT] != noKey || hidden.Cc[syscall.VSUSP] != noKey {
		t.Errorf("Ctrl-\\ or Ctrl-Z would leave the terminal without echo: %v", hidden.Cc)
	}
	close(stop) // as Ctrl-C does
	if got := <-answers; got.err != ErrStopped {
		t.Error(got)
	}
	if after, err := settings(screen); err != nil || after != shown {
		t.Errorf("the terminal is left as %+v, %v; it was %+v", after, err, shown)
	}
}

// Decision verbs.help: progress is shown on a terminal, and taken away before other output.
func TestProgressIsTakenAway(t *testing.T) {
	keyboard, screen := terminal(t)
	p := &Progress{
		what: "import",
		to:   screen,
	}
	p.bytes.Store(5 << 20)
	p.show()
	if seen := until(t, keyboard, " s"); !strings.Contains(seen, "import: 5 MB read, ") {
		t.Errorf("%q", seen)
	}
	fmt.Fprintln(p.Output(screen), "stops.txt: 3 rows")
	if seen := until(t, keyboard, "rows"); !strings.HasPrefix(seen, clearLine+"stops.txt: 3 rows") {
		t.Errorf("%q", seen)
	}
}

// A pipe is told nothing: what reads it is a program.
func TestPipeIsShownNoProgress(t *testing.T) {
	_, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if p := Watch("import", pipe); p != nil {
		t.Error("a pipe is shown progress")
	}
}
