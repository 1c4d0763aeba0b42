package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
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

// Contract §12: an address has a quarter of the connections. Its longest idle one makes way for a new one,
// and nobody else's; one that is being answered stays.
func TestAnAddressHasAQuarterOfTheConnections(t *testing.T) {
	ln := Listener(&arrivals{conns: make(chan net.Conn, 1)}, 16, nil)
	_, other := arrive(t, ln, "192.0.2.9:1")
	var conns []*conn
	var open []func() bool
	come := func(port int) {
		c, isOpen := arrive(t, ln, fmt.Sprintf("192.0.2.1:%d", port))
		conns, open = append(conns, c), append(open, isOpen)
	}
	for port := range 4 {
		come(port + 1)
	}
	conns[0].busy() // it is answered
	conns[1].busy() // and this one has been idle for the shortest time
	conns[1].idle()
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

// Contract §12: when all are taken the longest idle one of anyone makes way. A proxy's connections are many
// people's.
func TestTheLongestIdleConnectionOfAnyoneMakesWay(t *testing.T) {
	ln := Listener(&arrivals{conns: make(chan net.Conn, 1)}, 8, []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")})
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
			t.Errorf("after %d more: the longest idle one is open: %t, the next: %t", n+1, open[n](), open[n+1]())
		}
	}
	if ln.Open() != 8 {
		t.Errorf("%d are open", ln.Open())
	}
}

// Contract §12: probes always have room. Where no connection is idle a few more are accepted, of which the
// longest idle makes way; nothing but a probe is answered there.
func TestProbesAlwaysHaveRoom(t *testing.T) {
	s, key := demoServer(t, Config{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Listener(tcp, 8, nil)
	web := &http.Server{Handler: s, ConnContext: ConnContext}
	go web.Serve(ln)
	defer web.Close()
	ask := func(path string) (status int, retry string, closes bool) {
		t.Helper()
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", path, key)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0, "", false
		}
		return resp.StatusCode, resp.Header.Get("Retry-After"), resp.Close
	}
	// Bodies that are still coming keep connections busy: two are the address' share.
	for range 2 {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v2/bookings HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Length: 100\r\n\r\n{", key)
	}
	eventually(t, "both are busy", func() bool {
		ln.mu.Lock()
		defer ln.mu.Unlock()
		busy := 0
		for c := range ln.all.conns {
			if c.turn.Load() == 0 {
				busy++
			}
		}
		return busy == 2
	})
	// Nor do probes hold the places that are for probes, whatever they announce.
	for range 2 * spareConnections {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	}
	for range 3 * spareConnections {
		if status, _, _ := ask("/readyz"); status != 200 {
			t.Fatalf("a probe gets %d", status)
		}
	}
	if status, retry, closes := ask("/v2/bookings"); status != 503 || retry == "" || !closes {
		t.Errorf("another request gets %d, Retry-After %q, and its connection is closed: %t", status, retry, closes)
	}
}

// Contract §12: a poll that waits is idle; 64 of a partner wait, and others are answered at once.
func TestPollsThatWait(t *testing.T) {
	s, key := demoServer(t, Config{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Listener(tcp, 4*(maxPolls+2), nil)
	web := &http.Server{Handler: s, ConnContext: ConnContext}
	go web.Serve(ln)
	defer web.Close()
	poll := func() net.Conn {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET /v2/events?wait=30 HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n", key)
		return c
	}
	waiting := func() (n int) {
		s.polls.mu.Lock()
		defer s.polls.mu.Unlock()
		for _, k := range s.polls.waiting {
			n += k
		}
		return n
	}
	var all []net.Conn
	for range maxPolls {
		all = append(all, poll())
	}
	eventually(t, "64 polls wait", func() bool { return waiting() == maxPolls })
	resp, err := http.ReadResponse(bufio.NewReader(poll()), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("one more is not answered at once: %v, %v", resp, err)
	}
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `"events":[]`) {
		t.Errorf("%s", body)
	}
	// Others need the address' places: the polls make way, the longest first.
	for range 8 {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
	}
	eventually(t, "some polls have made way", func() bool { return waiting() < maxPolls })
	all[0].SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := all[0].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the longest idle poll is still there: %v", err)
	}
}
