// Package terminal is for somebody who sits at a terminal: it asks for a password without showing it, shows
// that work goes on, and lets it be stopped.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// Is reports whether somebody may sit at a file.
func Is(f *os.File) bool {
	_, err := settings(f)
	return err == nil
}

// settings returns how a terminal is set; its error is that a file is none.
func settings(f *os.File) (t syscall.Termios, err error) {
	return t, control(f, getSettings, &t)
}

// control reads or changes how a terminal is set.
func control(f *os.File, request uintptr, t *syscall.Termios) error {
	_, _, number := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(t)))
	if number != 0 {
		return number
	}
	return nil
}

const maxPassword = 4 << 10 // bytes, with the end of its line

// ErrStopped is that of somebody who was asked, and stopped the process instead.
var ErrStopped = errors.New("stopped")

// ReadPassword reads the first line of what is given, without its end, and no more than that; 4 KiB at most.
// Who types it at a terminal is asked for it, by a prompt on the given output, and does not see it. Once stop
// is closed, the error is ErrStopped, and the terminal is as it was.
func ReadPassword(from io.Reader, prompt string, to io.Writer, stop <-chan struct{}) (string, error) {
	f, ok := from.(*os.File)
	if !ok {
		return firstLine(from)
	}
	shown, err := settings(f)
	if err != nil { // a pipe or a file
		return firstLine(f)
	}
	hidden := shown
	hidden.Lflag &^= syscall.ECHO
	// Neither Ctrl-\ nor Ctrl-Z may leave the terminal so.
	hidden.Cc[syscall.VQUIT] = noKey
	hidden.Cc[syscall.VSUSP] = noKey
	if err := control(f, setSettings, &hidden); err != nil {
		return "", fmt.Errorf("the terminal cannot hide what is typed: %w", err)
	}
	defer fmt.Fprintln(to)
	defer control(f, setSettings, &shown)
	fmt.Fprint(to, prompt)
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
	case <-stop: // the terminal must show again what is typed
		return "", ErrStopped
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
			return strings.TrimPrefix(string(line), "\ufeff"), nil // a mark that editors begin a file with
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("the password is longer than %d bytes", maxPassword)
}
