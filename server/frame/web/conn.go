package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"waybill/server/ledger/wire"
)

// Connections is a listener that bounds how many of its connections are open, in all and of one address,
// and shares them out fairly (decision connections.limit): where there is no room, the longest idle one makes
// way for the new one. A connection is idle while no request of it is being answered; a poll that waits for
// events counts as idle too.
//
// A few more connections are accepted where nothing is idle. They are for probes: any other request on them
// is refused.
type Connections struct {
	net.Listener
	most, perAddress int
	proxies          []netip.Prefix // whose connections are many people's: they only count in all
	backlog          *Backlog       // what clients have not taken yet
	Cut              func()         // called for each connection that is cut off; may be nil

	turn atomic.Int64 // counts the times that a connection became idle, to tell which is the longest

	mu    sync.Mutex
	all   pool
	from  map[string]*pool // by address
	spare pool
}

// Listener bounds the connections of a listener, of which an address may have one in share, and what waits to
// be taken on them. [ConnContext] makes them known to the handler.
func Listener(ln net.Listener, most, share int, proxies []netip.Prefix, backlog *Backlog) *Connections {
	return &Connections{
		Listener:   ln,
		most:       most,
		perAddress: max(1, most/share),
		proxies:    proxies,
		backlog:    backlog,
		all:        newPool(),
		from:       map[string]*pool{},
		spare:      newPool(),
	}
}

// Accept waits for a connection that there is room for.
func (l *Connections) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := accepted.RemoteAddr().String()
		c := &conn{
			Conn:    accepted,
			pool:    l,
			address: addressOf(remote),
			proxy:   l.isProxy(remote),
		}
		if !c.proxy {
			c.client = c.address
		}
		c.Idle()
		admitted, victims := l.admit(c)
		for _, v := range victims {
			v.Conn.Close() // net/http ends what it does with it
			l.cut()
		}
		if admitted {
			l.backlog.open(c, true)
			return c, nil
		}
		accepted.Close()
		l.cut()
	}
}

func (l *Connections) cut() {
	if l.Cut != nil {
		l.Cut()
	}
}

// admit takes a connection in, and returns those that make way for it.
func (l *Connections) admit(c *conn) (admitted bool, victims []*conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.from[c.address]
	if from == nil {
		from = new(pool)
		*from = newPool()
		l.from[c.address] = from
	}
	defer l.forget(c.address)
	room := true
	if len(from.conns) >= l.perAddress && !c.proxy {
		room = l.makeWay(from, &victims)
	}
	if room && len(l.all.conns) >= l.most {
		room = l.makeWay(&l.all, &victims)
	}
	if room {
		l.all.conns[c] = true
		from.conns[c] = true
		return true, victims
	}
	if len(l.spare.conns) >= SpareConnections && !l.makeWay(&l.spare, &victims) {
		return false, victims
	}
	c.spare = true
	l.spare.conns[c] = true
	return true, victims
}

// makeWay takes the longest idle connection out of a pool, if there is one.
func (l *Connections) makeWay(p *pool, victims *[]*conn) bool {
	v := p.longestIdle()
	if v == nil {
		return false
	}
	l.remove(v)
	*victims = append(*victims, v)
	return true
}

// remove takes a connection out of all pools. The lock is held.
func (l *Connections) remove(c *conn) {
	delete(l.all.conns, c)
	delete(l.spare.conns, c)
	if from := l.from[c.address]; from != nil {
		delete(from.conns, c)
	}
}

// forget drops the pool of an address that has no connection. The lock is held.
func (l *Connections) forget(address string) {
	from := l.from[address]
	if from != nil && len(from.conns) == 0 {
		delete(l.from, address)
	}
}

func (l *Connections) isProxy(remote string) bool {
	a, err := netip.ParseAddrPort(remote)
	return err == nil && slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool {
		return p.Contains(a.Addr().Unmap())
	})
}

// Open returns how many connections are open.
func (l *Connections) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all.conns) + len(l.spare.conns)
}

// Busy returns on how many connections a request is being answered.
func (l *Connections) Busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for c := range l.all.conns {
		if c.turn.Load() == 0 {
			n++
		}
	}
	return n
}

// pool is a set of connections.
type pool struct {
	conns map[*conn]bool
	// waiting are those that were idle at the last look, the longest first. One that was used since has
	// another turn. So all connections are looked through once for as many as have to make way, and not for
	// each.
	waiting []idleConn
}

type idleConn struct {
	*conn
	since int64
}

func newPool() pool {
	return pool{conns: map[*conn]bool{}}
}

// longestIdle finds the connection that has been idle for longest, and has it closing; nil where none is
// idle.
func (p *pool) longestIdle() *conn {
	for looked := false; ; looked = true {
		for len(p.waiting) > 0 {
			x := p.waiting[0]
			p.waiting = p.waiting[1:]
			if p.conns[x.conn] && x.turn.CompareAndSwap(x.since, closing) {
				return x.conn
			}
		}
		if looked {
			return nil
		}
		for c := range p.conns {
			if since := c.turn.Load(); since > 0 {
				p.waiting = append(p.waiting, idleConn{c, since})
			}
		}
		slices.SortFunc(p.waiting, func(a, b idleConn) int {
			return cmp.Compare(a.since, b.since)
		})
	}
}

// conn is a connection that can hold back what is written until it is whole.
type conn struct {
	net.Conn
	pool    *Connections
	address string
	proxy   bool // it is of a trusted proxy, and so many people's
	spare   bool // it is only for probes
	// client is the address for which an answer is made. Of a proxy's connection it is the one that the
	// request came from; "" where none is known. The backlog's lock guards it.
	client  string
	untaken untaken // what is made for the client and not taken yet
	// since when it is idle, by the turns of its listener; 0 while a request is answered; or closing
	turn   atomic.Int64
	once   sync.Once
	unsent *wire.Writer // what is held back; nil: nothing
}

const closing = -1

// Idle records that no request of the connection is being answered.
func (c *conn) Idle() {
	if c != nil && c.turn.Load() != closing {
		c.turn.Store(c.pool.turn.Add(1))
	}
}

// Busy records that a request of the connection is being answered.
func (c *conn) Busy() {
	if c != nil {
		c.turn.Store(0)
	}
}

func (c *conn) Close() error {
	c.once.Do(func() {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		c.pool.remove(c)
		c.pool.forget(c.address)
		c.pool.backlog.open(c, false)
	})
	return c.Conn.Close()
}

type connKey struct{}

// connInfo is what the handler knows of a connection.
type connInfo struct {
	Conn  *conn
	plain bool // what is written is what leaves: there is no TLS
}

// serves records for which address the answer to a request is made, which proxies may have forwarded.
func (c *conn) serves(r *http.Request) {
	if c == nil || !c.proxy {
		return
	}
	client := ""
	if !c.pool.isProxy(r.RemoteAddr) {
		client = Address(r)
	}
	c.pool.backlog.mu.Lock()
	defer c.pool.backlog.mu.Unlock()
	c.client = client
}

// ConnContext is for http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	info := connInfo{plain: true}
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
		info.plain = false
	}
	info.Conn, _ = c.(*conn)
	return context.WithValue(ctx, connKey{}, info)
}

// KeepBusy records that the answer of a request is still to be sent, though its handler has ended, until the
// function that it returns is called.
func KeepBusy(r *http.Request) (sent func()) {
	info, _ := r.Context().Value(connKey{}).(connInfo)
	info.Conn.Busy()
	return info.Conn.Idle
}

func (c *conn) Write(b []byte) (int, error) {
	if c.unsent == nil {
		return c.send(b)
	}
	c.unsent.B = append(c.unsent.B, b...)
	return len(b), nil
}

// whole sends a reply in one piece where it can: net/http's buffer of 4 KiB would send the header and the
// start of the body by themselves. It sends what is flushed, and what is held then leaves at once.
func (r *Recorder) whole(status int, body *wire.Writer) {
	c := r.Conn.Conn
	if c == nil || !r.Conn.plain {
		r.WriteHeader(status)
		r.Write(body.B)
		body.Release()
		return
	}
	c.unsent = wire.NewWriter()
	r.WriteHeader(status)
	r.Write(body.B)
	http.NewResponseController(r).Flush()
	body.Release() // a slow reader has it waiting only once
	whole := c.unsent
	c.unsent = nil
	if _, err := c.send(whole.B); err != nil {
		c.Close() // net/http must not write another reply after half of this one
	}
	whole.Release()
}
