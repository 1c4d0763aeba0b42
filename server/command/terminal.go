package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// isTerminal reports whether somebody may sit at a file.
func isTerminal(f *os.File) bool {
	_, err := terminalOf(f)
	return err == nil
}

// terminalOf returns how a terminal is set; its error is that a file is none.
func terminalOf(f *os.File) (t syscall.Termios, err error) {
	return t, terminalCall(f, getTerminal, &t)
}

// terminalCall reads or changes how a terminal is set.
func terminalCall(f *os.File, request uintptr, t *syscall.Termios) error {
	_, _, number := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(t)))
	if number != 0 {
		return number
	}
	return nil
}

const maxPassword = 4 << 10 // bytes, with the end of its line

var errStopped = errors.New("stopped")

// readPassword reads the first line of standard input. Who types it at a terminal is asked for it, and does
// not see it.
func (p *Process) readPassword() (string, error) {
	f, ok := p.Stdin.(*os.File)
	if !ok {
		return firstLine(p.Stdin)
	}
	shown, err := terminalOf(f)
	if err != nil { // a pipe or a file
		return firstLine(f)
	}
	hidden := shown
	hidden.Lflag &^= syscall.ECHO
	// Neither Ctrl-\ nor Ctrl-Z may leave the terminal so.
	hidden.Cc[syscall.VQUIT] = noKey
	hidden.Cc[syscall.VSUSP] = noKey
	if err := terminalCall(f, setTerminal, &hidden); err != nil {
		return "", fmt.Errorf("the terminal cannot hide what is typed: %w", err)
	}
	defer fmt.Fprintln(p.Stderr)
	defer terminalCall(f, setTerminal, &shown)
	fmt.Fprint(p.Stderr, "Password of a new user (not shown; who has an account keeps the one there is): ")
	type result struct {
		line string
		err  error
	}
	// Reading cannot be broken off, so it has a goroutine of its own, which ends with the process.
	typed := make(chan result, 1)
	go func() {
		line, err := firstLine(f)
		typed <- result{line, err}
	}()
	select {
	case r := <-typed:
		return r.line, r.err
	case <-p.Stop: // the terminal must show again what is typed
		return "", errStopped
	}
}

// firstLine reads a line, without its end, and no more than that.
func firstLine(from io.Reader) (string, error) {
	var line []byte
	// Byte by byte: what comes after the line is for whoever reads next.
	one := make([]byte, 1)
	for len(line) < maxPassword {
		n, err := from.Read(one)
		switch {
		case n == 1 && one[0] == '\n', err == io.EOF && n == 0:
			for len(line) > 0 && line[len(line)-1] == '\r' {
				line = line[:len(line)-1]
			}
			return string(line), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("the password is longer than %d bytes", maxPassword)
}
