package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// ErrSocketLink is the error of a socket in whose place there is a symbolic link: it may lead to the server
// of another directory.
var ErrSocketLink = errors.New("is a symbolic link; none is followed inside the data directory")

// DialSocket connects to the socket of a directory; a link in its place is ErrSocketLink.
func DialSocket(ctx context.Context, path string) (net.Conn, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s %w", path, ErrSocketLink)
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// ListenSocket opens a directory's socket, which only its owner can reach.
func ListenSocket(path string) (net.Listener, error) {
	// A socket that a killed server has left. The directory's lock is held, so that it is nobody's.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// The directory above is 0700 already; this is for one that was made by hand.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}
