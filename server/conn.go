package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"waybill/server/wire"
)

// Listener wraps a listener whose connections [ConnContext] makes known to the handler, so that a reply leaves in one
// piece: net/http's buffer of 4 KiB would send the header and the start of the body by themselves. (Not under TLS, where
// what is written is not what leaves.) No more than most are open at a time: others wait in the system's queue.
func Listener(ln net.Listener, most int) *Connections {
	return &Connections{Listener: ln, room: make(chan struct{}, most), closed: make(chan struct{})}
}

// Connections is a listener that knows how many of its connections are open.
type Connections struct {
	net.Listener
	room   chan struct{} // holds one for each connection, and for the one that is waited for
	open   atomic.Int64
	closed chan struct{}
	once   sync.Once
}

// Accept waits for room, then for a connection.
func (l *Connections) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	l.open.Add(1)
	return &conn{Conn: c, from: l}, nil
}

// Close ends Accept.
func (l *Connections) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Open tells how many connections are open.
func (l *Connections) Open() int { return int(l.open.Load()) }

// conn is a connection that can hold back what is written until it is whole.
type conn struct {
	net.Conn
	from *Connections
	once sync.Once
	held *wire.Writer // nil while nothing is held back
}

func (c *conn) Close() error {
	c.once.Do(func() {
		c.from.open.Add(-1)
		<-c.from.room
	})
	return c.Conn.Close()
}

type connKey struct{}

// ConnContext is for http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func (c *conn) Write(b []byte) (int, error) {
	if c.held == nil {
		return c.Conn.Write(b)
	}
	c.held.B = append(c.held.B, b...)
	return len(b), nil
}

// whole sends a reply in one piece where it can: net/http sends what is flushed, and what is held then leaves at once.
func (c *conn) whole(w http.ResponseWriter, status int, body *wire.Writer) {
	if c != nil {
		c.held = newWriter()
	}
	w.WriteHeader(status)
	w.Write(body.B)
	if c == nil {
		keepWriter(body)
		return
	}
	http.NewResponseController(w).Flush()
	keepWriter(body) // a slow reader has it waiting only once
	held := c.held
	c.held = nil
	if _, err := c.Conn.Write(held.B); err != nil {
		c.Close() // net/http must not write another reply after half of this one
	}
	keepWriter(held)
}
