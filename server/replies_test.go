package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// writeCounter counts what is written to its connections.
type writeCounter struct {
	net.Listener
	writes *atomic.Int64
}

func (l writeCounter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l.writes}, err
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// A reply larger than net/http's buffer is one write all the same; 100 Continue is not held back, replies to
// requests in a row stay apart, and HEAD and an error have their header.
func TestAReplyLeavesInOnePiece(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	offer := rig.Offer(t, s, key, rig.Bukovel)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	front := &http.Server{Handler: s, ConnContext: web.ConnContext}
	counted := writeCounter{ln, &writes}
	go front.Serve(web.Listener(counted, 10, web.AddressShare, nil, web.NewBacklog(web.Backlogs)))
	defer front.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	read := func(method string, status, least int, pieces int64) {
		t.Helper()
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || len(body) < least || method != "HEAD" &&
			resp.ContentLength != int64(len(body)) {
			t.Fatalf("status %d with %d bytes of %d, %v; want %d with at least %d", resp.StatusCode,
				len(body), resp.ContentLength, err, status, least)
		}
		if n := writes.Swap(0); n != pieces {
			t.Errorf("%d writes, want %d", n, pieces)
		}
	}
	head := "Host: x\r\nx-api-key: " + key + "\r\n"
	body := rig.BookingBody(offer, 3)
	fmt.Fprintf(c, "POST /v2/bookings HTTP/1.1\r\n%sExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", head,
		len(body))
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v before the body was sent", line, err)
	}
	in.ReadString('\n')
	writes.Store(0)
	io.WriteString(c, body)
	read("POST", 201, 6<<10, 1)
	fmt.Fprintf(c, "GET /v2/bookings HTTP/1.1\r\n%s\r\n", head)
	read("GET", 200, 6<<10, 1)
	fmt.Fprintf(c, "HEAD /v2/bookings HTTP/1.1\r\n%s\r\n", head)
	read("HEAD", 200, 0, 1)
	fmt.Fprintf(c, "GET /v2/nowhere HTTP/1.1\r\n%s\r\n", head)
	read("GET", 404, 10, 1)
	fmt.Fprintf(c, "GET /docs/migration HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 200 || resp.ContentLength < 0 {
		t.Fatal(resp, err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); n < 8<<10 || err != nil {
		t.Errorf("%d bytes of the guide, %v", n, err)
	}
}
