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
