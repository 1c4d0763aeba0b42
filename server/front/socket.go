package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"waybill/server/frame/web"
	"waybill/server/operate/admin"
	"waybill/store/durable"
)

// ErrSocketPath is returned for a directory whose socket the system could not address.
var ErrSocketPath = fmt.Errorf("the path of the data directory is too long for its socket (at most %d "+
	"bytes, with /admin.sock)", MaxSocketPath)

// MaxSocketPath is how many bytes the path of a socket may have: the kernel's address has room for that much,
// and a zero byte. On Linux it is 107.
const MaxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Socket returns the path of a directory's admin socket, which is relative where that is the shorter one.
func Socket(dir string) (string, error) {
	path := filepath.Join(dir, "admin.sock")
	if abs, err := filepath.Abs(path); err == nil && len(abs) < len(path) {
		path = abs
	}
	if len(path) > MaxSocketPath {
		return "", fmt.Errorf("%w: %s", ErrSocketPath, path)
	}
	return path, nil
}

// Reach returns why nobody answers at a directory's socket; nil where a server does.
func Reach(dir string) error {
	path, err := Socket(dir)
	if err != nil {
		return err
	}
	c, err := web.DialSocket(context.Background(), path)
	switch {
	case err == nil:
		return c.Close()
	case errors.Is(err, web.ErrSocketLink):
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be opened by this user", dir)
	}
	return fmt.Errorf("no server has %s open; start one: waybill serve -data %s", dir,
		durable.ForShell(dir))
}

// StepBackBeside reports whether a server has the directory open, and if so has this process step back: what
// reads or copies all of a directory takes seconds, and the server's clients are not to wait for it. stepBack
// may be nil, in a process that has more to do.
func StepBackBeside(dir string, stepBack func()) bool {
	if !IsServed(dir) {
		return false
	}
	if stepBack != nil {
		stepBack()
	}
	return true
}

// SignFirst asks the server that has the directory open to sign the lines that there are, and to have its
// witnesses sign them. It waits for that, but not for long: a verdict says where lines are not signed yet.
func SignFirst(dir string) {
	path, err := Socket(dir)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), admin.SignWithin)
	defer cancel()
	_ = call(ctx, path, "sign", nil, io.Discard) // the notes in the directory are what counts
}

// IsLocked reports whether a process holds the directory's lock, as far as the system tells: it may be a
// server that is just starting, or a verb, which nobody can ask. It takes no lock itself, which a start would
// meet.
func IsLocked(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "LOCK"))
	if err != nil {
		return false
	}
	system, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks") // Linux
	if !ok || err != nil {
		return false
	}
	inode := fmt.Sprintf(":%d ", system.Ino)
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, " FLOCK ") && strings.Contains(line, inode) {
			return true
		}
	}
	return false
}

// IsServed reports whether a server has the directory open. A socket file alone says nothing: a server that
// was killed leaves it.
func IsServed(dir string) bool {
	return Reach(dir) == nil
}
