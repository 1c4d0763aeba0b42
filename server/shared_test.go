package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"unsafe"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
)

// pieces is a listener that remembers from where in memory its connections are given what they write.
type pieces struct {
	net.Listener
	mu sync.Mutex
	at map[*byte]int // how often large pieces that begin there were written
}

func (p *pieces) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	return piecesConn{c, p}, err
}

type piecesConn struct {
	net.Conn
	pieces *pieces
}

func (c piecesConn) Write(b []byte) (int, error) {
	if len(b) > bufferOfHTTP {
		c.pieces.mu.Lock()
		c.pieces.at[unsafe.SliceData(b)]++
		c.pieces.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// bufferOfHTTP is how much of an answer's beginning net/http copies, beside the header.
const bufferOfHTTP = 4 << 10

// What is the same for everybody is written from the same bytes, however many read it; no copy is made for
// each, and slow readers of it are no reason to close anything.
func TestDocumentsAreWrittenFromSharedBytes(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	written := &pieces{Listener: tcp, at: map[*byte]int{}}
	backlog := web.NewBacklog(web.BacklogLimits{OfAddress: 16 << 10, InAll: 16 << 10})
	front := &http.Server{Handler: s, ConnContext: web.ConnContext}
	go front.Serve(web.Listener(written, 1000, web.AddressShare, nil, backlog))
	defer front.Close()
	const readers = 20
	paths := []string{"/openapi.json", "/docs/operations/getSchedule", "/docs/errors", "/docs/objects",
		"/docs/limits", "/docs/silent", "/docs/migration", "/docs/tour", "/docs/operating.md"}
	for _, path := range paths {
		clear(written.at)
		var conns []net.Conn
		for range readers {
			c, err := net.Dial("tcp", tcp.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			conns = append(conns, c)
		}
		for _, c := range conns {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(path, err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if err != nil || n != resp.ContentLength || resp.StatusCode != 200 {
				t.Errorf("%s: %d bytes of %d, %d, %v", path, n, resp.ContentLength, resp.StatusCode, err)
			}
		}
		if len(written.at) == 0 {
			t.Errorf("%s: no piece of it is larger than what is copied", path)
		}
		for at, times := range written.at {
			if times != readers {
				t.Errorf("%s: %d of %d readers are given the bytes at %p", path, times, readers, at)
			}
		}
	}
	if n := backlog.Bytes(); n != 0 {
		t.Errorf("%d bytes wait", n)
	}
}

// Slow readers of the document do not count, also where a test bench holds answers back.
func TestSlowReadersOfTheDocumentDoNotCount(t *testing.T) {
	plain, _ := rig.Demo(t, server.Config{})
	watching := bench.Settings{TestClock: true, Watch: true}
	around, _ := rig.Demo(t, server.Config{Lab: bench.New(watching).Lab()})
	slowReadersOfTheDocument(t, plain.Handler())
	slowReadersOfTheDocument(t, around.Handler())
}

// slowReadersOfTheDocument has many clients ask for the document, each of which takes one byte before the
// next asks, and sees that each gets it whole. It is not copied: they would be closed if it counted.
func slowReadersOfTheDocument(t *testing.T, s http.Handler) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(rig.RequestFrom(s, "192.0.2.1:1", "GET", "/openapi.json").Body.Len())
	const bound = 256 << 10
	backlog := web.NewBacklog(web.BacklogLimits{OfAddress: bound, InAll: bound})
	front := &http.Server{Handler: s, ConnContext: web.ConnContext}
	go front.Serve(web.Listener(smallSockets{tcp}, 1000, web.AddressShare, nil, backlog))
	defer front.Close()
	var conns []net.Conn
	for range 50 { // 14 MB
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.(*net.TCPConn).SetReadBuffer(socketBuffer)
		fmt.Fprint(c, "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for i, c := range conns {
		n, err := io.CopyN(io.Discard, c, size)
		if err != nil {
			t.Errorf("reader %d has %d bytes of the document: %v", i, n, err)
		}
	}
}

// smallSockets is a listener whose sockets hold little.
type smallSockets struct{ net.Listener }

const socketBuffer = 32 << 10

func (l smallSockets) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		c.(*net.TCPConn).SetWriteBuffer(socketBuffer)
	}
	return c, err
}
