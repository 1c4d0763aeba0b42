package web

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// arrivals is a listener whose connections come from a channel.
type arrivals struct {
	net.Listener
	conns chan net.Conn
}

func (a *arrivals) Accept() (net.Conn, error) {
	c, ok := <-a.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// comer is a connection from an address.
type comer struct {
	net.Conn
	from string
}

func (c comer) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from)) }

// arrive accepts a connection from an address; its other end tells whether it is still open.
func arrive(t *testing.T, ln *Connections, from string) (*conn, func() bool) {
	t.Helper()
	here, there := net.Pipe()
	ln.Listener.(*arrivals).conns <- comer{here, from}
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*conn), func() bool {
		there.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := there.Read(make([]byte, 1))
		return err != io.EOF
	}
}

// Decision connections.limit: an address has a quarter of the connections. Its longest idle one makes way for
// a new one, and nobody else's; one that is being answered stays.
func TestAnAddressHasAQuarterOfTheConnections(t *testing.T) {
	ln := Listener(&arrivals{conns: make(chan net.Conn, 1)}, 16, AddressShare, nil, NewBacklog(Backlogs))
	_, other := arrive(t, ln, "192.0.2.9:1")
	var conns []*conn
	var open []func() bool
	come := func(port int) {
		c, isOpen := arrive(t, ln, fmt.Sprintf("192.0.2.1:%d", port))
		conns = append(conns, c)
		open = append(open, isOpen)
	}
	for port := range 4 {
		come(port + 1)
	}
	conns[0].Busy() // it is answered
	conns[1].Busy() // and this one has been idle for the shortest time
	conns[1].Idle()
	come(5)
	for i, want := range []bool{true, true, false, true, true} {
		if open[i]() != want {
			t.Errorf("connection %d is open: %t, want %t", i, !want, want)
		}
	}
	if !other() || ln.Open() != 5 {
		t.Errorf("another address' connection is open: %t; %d are open", other(), ln.Open())
	}
	conns[0].Close()
	conns[0].Close() // net/http closes twice
	if ln.Open() != 4 {
		t.Errorf("%d are open", ln.Open())
	}
	// The same /64 is one address.
	for host := range 6 {
		arrive(t, ln, fmt.Sprintf("[2001:db8::%x]:1", host+1))
	}
	if ln.Open() != 8 {
		t.Errorf("%d are open, want 4 of the /64 and 4 of others", ln.Open())
	}
}

// Decision connections.limit: when all are taken the longest idle one of anyone makes way. A proxy's
// connections are many people's.
func TestTheLongestIdleConnectionOfAnyoneMakesWay(t *testing.T) {
	ln := Listener(&arrivals{conns: make(chan net.Conn, 1)}, 8, AddressShare, []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("2001:db8::/32")}, NewBacklog(Backlogs))
	var open []func() bool
	for port := range 8 {
		from := fmt.Sprintf("10.0.0.1:%d", port+1)
		if port%2 == 1 {
			from = fmt.Sprintf("[2001:db8::5]:%d", port+1)
		}
		_, isOpen := arrive(t, ln, from)
		open = append(open, isOpen)
	}
	for n := range 3 {
		arrive(t, ln, fmt.Sprintf("192.0.2.%d:1", n+1))
		if open[n]() || !open[n+1]() {
			t.Errorf("after %d more: the longest idle one is open: %t, the next: %t", n+1, open[n](),
				open[n+1]())
		}
	}
	if ln.Open() != 8 {
		t.Errorf("%d are open", ln.Open())
	}
}
