package server

import (
	"context"
	"net"
	"net/http"
	"sync"

	"waybill/server/wire"
)

// Listener wraps a listener whose connections [ConnContext] makes known to the handler, so that a reply leaves in one
// piece: net/http's buffer of 4 KiB would send the header and the start of the body by themselves. (Not under TLS, where
// what is written is not what leaves.) No more than most are open at a time: others wait in the system's queue.
func Listener(ln net.Listener, most int) *Connections {
	return &Connections{ln, make(chan struct{}, most)}
}

// Connections is a listener that knows how many of its connections are open.
type Connections struct {
	net.Listener
	open chan struct{} // holds one for each
}

// Accept waits for a connection, and with it in hand until there is room.
func (l *Connections) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open <- struct{}{}
	return &conn{Conn: c, from: l}, nil
}

// Open tells how many connections are open.
func (l *Connections) Open() int { return len(l.open) }

// conn is a connection that can hold back what is written until it is whole.
type conn struct {
	net.Conn
	from *Connections
	once sync.Once
	held *wire.Writer // nil while nothing is held back
}

func (c *conn) Close() error {
	c.once.Do(func() { <-c.from.open })
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
