package ports

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
)

// A system as it is delivered gives none of these ports to a server that asks for any.
func TestAPortIsNotTakenByChance(t *testing.T) {
	from := 32768
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &from); err != nil {
			t.Fatal(err)
		}
	}
	if from < lowest+many || runtime.GOOS == "freebsd" { // which has them from 10000 on
		t.Logf("this system gives any port from %d on", from)
		return
	}
	for range 200 {
		if port := listen(t, 0); port >= lowest && port < lowest+many {
			t.Errorf("whoever asks for any port gets %d", port)
		}
	}
}

// All ports of a row are free, and no two rows share one, as often as they are asked for.
func TestRowsAreApart(t *testing.T) {
	after := Row(t, 1) + 1
	listen(t, after+1) // of the next three
	got := map[int]bool{}
	for range 300 {
		port := Row(t, 3)
		for i := range 3 {
			if got[port+i] {
				t.Errorf("%d is given twice", port+i)
			}
			got[port+i] = true
			listen(t, port+i)
		}
	}
}

// listen listens at a port, or any, until the test ends, and returns it.
func listen(t *testing.T, port int) int {
	t.Helper()
	ln, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.Addr().(*net.TCPAddr).Port
}
