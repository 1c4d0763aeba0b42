package worlds

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

// A world is closed at once, whoever is on it: a client that has stalled holds up neither its end, nor a
// reset, nor another call of the control listener.
func TestAStalledClientHoldsUpNoWorld(t *testing.T) {
	t.Parallel()
	x := newControl(t)
	a := x.world("a", "main")
	stall := func() {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST /v2/bookings HTTP/1.1\r\nHost: a\r\nX-Api-Key: %s\r\nExpect: 100-continue\r\n"+
			"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n", x.key)
		if _, err := conn.Read(make([]byte, 1)); err != nil { // it is asked for the body
			t.Fatal(err)
		}
	}
	client := http.Client{Timeout: 20 * time.Second} // a stalled client is given up after 30
	for _, method := range []string{"PUT", "DELETE"} {
		stall()
		r, err := http.NewRequest(method, x.url+"/worlds/a", strings.NewReader(`{"from":"main"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if method == "DELETE" {
			r.Body = nil
			r.ContentLength = 0
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
		if method == "PUT" {
			x.book(a) // it serves again, while the other has not left
		}
	}
}

// All clients of a world are on this machine: one address may have all of its connections. Whoever is cut off
// is logged; and a world, which has no key of its own, warns of nothing.
func TestAWorldHasNoQuarterForAnAddress(t *testing.T) {
	t.Parallel()
	x := newControl(t)
	a := x.world("a", "main")
	var conns []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	for i, conn := range append(conns, conns...) {
		fmt.Fprint(conn, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		io.Copy(io.Discard, r.Body)
	}
	if x.log.Has("level=WARN") {
		t.Errorf("a warning: %s", &x.log.B)
	}
	for range 256 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	rig.Eventually(t, "a connection is cut off", func() bool { return x.log.Has("as too many are open") })
}
