// Package ports is for tests only: it finds ports for servers that are processes of their own, where a test
// says at which port they listen.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// Free chooses ports from lowest on. Linux, macOS and Windows choose those above 32767, for connections and
// for servers that ask for any port, unless somebody has set them otherwise.
const (
	lowest = 20000
	many   = 12000
)

var (
	first = rand.IntN(many) // other tests run beside this one, in processes of their own
	given atomic.Int64
)

// Free returns the first of n ports in a row that nobody listens at on loopback, nor takes by chance: not
// before a server does, and not while it is away. Nobody else in this process gets them.
func Free(n int) (int, error) {
	for range 100 {
		at := lowest + (first+int(given.Add(int64(n)))-n)%many
		if areFree(at, n) {
			return at, nil
		}
	}
	return 0, errors.New("there are no free ports in a row")
}

func areFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		ln, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false
		}
		ln.Close()
	}
	return true
}

// Row is [Free] for a test.
func Row(t testing.TB, n int) int {
	t.Helper()
	port, err := Free(n)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Address returns an address on loopback with such a port.
func Address(t testing.TB) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", Row(t, 1))
}
