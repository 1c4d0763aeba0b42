package web

import (
	"container/list"
	"context"
	"net/http"
	"sync"
	"time"
)

// Backlog bounds the answers that clients are slow to take: the bytes that were made for them and that no
// socket has taken yet, of each address and in all (decision answers.untaken). Where they are more, the
// connection whose last byte was taken longest ago is closed: of the address that has too many, or of all. A
// connection that has taken something a moment ago is not: its client reads, and is only behind others.
//
// Bytes that are the same for everybody are shared, so that they cost nothing, and do not count.
//
// An answer that is larger than a limit by itself is written, as long as nothing else waits beside it.
type Backlog struct {
	limits BacklogLimits

	mu   sync.Mutex
	room sync.Cond // is signalled when there are no longer too many bytes in all
	all  *waiters
	from map[string]*waiters // by address; an address without waiting bytes is not there
	// looking says that look will be called: there are too many bytes, and their clients may still take them.
	looking bool
}

// BacklogLimits are how many bytes may wait to be taken.
type BacklogLimits struct {
	OfAddress, InAll int           // bytes
	Patience         time.Duration // how long a connection may take nothing while there are too many
}

// NewBacklog returns a backlog without a byte.
func NewBacklog(limits BacklogLimits) *Backlog {
	b := &Backlog{
		limits: limits,
		all:    newWaiters(),
		from:   map[string]*waiters{},
	}
	b.room.L = &b.mu
	return b
}

// awaitRoom waits while there are too many bytes in all, until ctx is over. Mostly it is a short wait: either
// their clients take them, or the patience with these comes to its end.
func (b *Backlog) awaitRoom(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.room.Broadcast()
	})()
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.all.bytes > b.limits.InAll && b.all.conns.Len() > 1 {
		if ctx.Err() != nil {
			return errBusy
		}
		b.room.Wait()
	}
	return nil
}

// less lowers the number of bytes that wait in all. The lock is held.
func (b *Backlog) less(bytes int) {
	b.all.bytes -= bytes
	if b.all.bytes <= b.limits.InAll || b.all.conns.Len() <= 1 {
		b.room.Broadcast()
	}
}

// waiters are connections with bytes that wait. The one whose last byte was taken longest ago comes first.
type waiters struct {
	conns *list.List // of *conn
	bytes int
}

func newWaiters() *waiters {
	return &waiters{conns: list.New()}
}

// longest returns the connection whose last byte was taken longest ago; nil where nothing waits but for c.
func (w *waiters) longest(c *conn) *conn {
	first, _ := w.conns.Front().Value.(*conn)
	if first == c {
		return nil
	}
	return first
}

// answer is what waits of the answer on a connection. The backlog's lock guards it.
type answer struct {
	begun     bool      // it is being written
	left      int       // bytes that no socket has taken yet
	taken     time.Time // when a socket has taken some, or when there were some first
	of        *waiters  // of the address; nil: none is known, and the bytes only count in all
	address   string    // whose they are
	inAll     *list.Element
	inAddress *list.Element
}

// Bytes returns how many bytes wait.
func (b *Backlog) Bytes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.bytes
}

// begin counts the bytes of an answer that is about to be written, and closes the connections that are too
// many with it. It reports whether it did: what is written within an answer is counted already.
func (b *Backlog) begin(c *conn, bytes int) bool {
	b.mu.Lock()
	if c.answer.begun {
		b.mu.Unlock()
		return false
	}
	c.answer.begun = true
	if bytes > 0 {
		b.add(c, bytes)
	}
	victims := b.excess(c)
	b.mu.Unlock()
	for _, v := range victims {
		v.Conn.Close() // what waits to write there fails, and lets go of its bytes
	}
	return true
}

// add has a connection wait with its bytes. The lock is held.
func (b *Backlog) add(c *conn, bytes int) {
	a := &c.answer
	a.left = bytes
	a.taken = time.Now()
	a.inAll = b.all.conns.PushBack(c)
	b.all.bytes += bytes
	a.address = c.client
	if a.address == "" {
		return
	}
	a.of = b.from[a.address]
	if a.of == nil {
		a.of = newWaiters()
		b.from[a.address] = a.of
	}
	a.inAddress = a.of.conns.PushBack(c)
	a.of.bytes += bytes
}

// excess takes out the connections that are to be closed for an answer that has begun. The lock is held.
func (b *Backlog) excess(c *conn) (victims []*conn) {
	if of := c.answer.of; of != nil {
		victims = b.tooMany(of, b.limits.OfAddress, c)
	}
	return append(victims, b.tooMany(b.all, b.limits.InAll, c)...)
}

// tooMany takes out connections that have taken nothing for longer than the patience, until those that are
// left have no more bytes than a limit. One of them stays, whatever it has. The lock is held.
func (b *Backlog) tooMany(w *waiters, limit int, stays *conn) (victims []*conn) {
	for w.bytes > limit {
		v := w.longest(stays)
		if v == nil {
			break
		}
		if time.Since(v.answer.taken) < b.limits.Patience {
			b.lookLater()
			break
		}
		b.remove(v)
		victims = append(victims, v)
	}
	return victims
}

// lookLater has look called once the patience is over. The lock is held.
func (b *Backlog) lookLater() {
	if !b.looking {
		b.looking = true
		time.AfterFunc(b.limits.Patience, b.look)
	}
}

// look closes the connections that have taken nothing meanwhile, where there are still too many bytes.
func (b *Backlog) look() {
	b.mu.Lock()
	b.looking = false
	var victims []*conn
	for _, of := range b.from {
		last, _ := of.conns.Back().Value.(*conn)
		victims = append(victims, b.tooMany(of, b.limits.OfAddress, last)...)
	}
	if e := b.all.conns.Back(); e != nil {
		last, _ := e.Value.(*conn)
		victims = append(victims, b.tooMany(b.all, b.limits.InAll, last)...)
	}
	b.mu.Unlock()
	for _, v := range victims {
		v.Conn.Close() // what waits to write there fails, and lets go of its bytes
	}
}

// took counts the bytes of the answer that a socket has taken.
func (b *Backlog) took(c *conn, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := &c.answer
	bytes = min(bytes, a.left) // TLS sends more than it is given
	if bytes == 0 {
		return
	}
	if bytes == a.left {
		b.remove(c)
		return
	}
	a.left -= bytes
	a.taken = time.Now()
	b.less(bytes)
	b.all.conns.MoveToBack(a.inAll)
	if a.of != nil {
		a.of.bytes -= bytes
		a.of.conns.MoveToBack(a.inAddress)
	}
}

// end records that nothing more of the answer is written.
func (b *Backlog) end(c *conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.answer.begun = false
	b.remove(c)
}

// remove drops what waits of a connection's answer. The lock is held.
func (b *Backlog) remove(c *conn) {
	a := &c.answer
	if a.left == 0 {
		return
	}
	b.all.conns.Remove(a.inAll)
	b.less(a.left)
	if a.of != nil {
		a.of.conns.Remove(a.inAddress)
		a.of.bytes -= a.left
		if a.of.conns.Len() == 0 {
			delete(b.from, a.address)
		}
	}
	*a = answer{begun: a.begun}
}

// piece is how many bytes are written at a time: after each the connection counts as one that takes its
// answer. Smaller ones would cost a system call each.
const piece = 64 << 10

// send writes to the socket, and counts the bytes that it takes.
func (c *conn) send(b []byte) (written int, err error) {
	backlog := c.pool.backlog
	if backlog.begin(c, len(b)) {
		defer backlog.end(c)
	}
	for written < len(b) && err == nil {
		n := 0
		n, err = c.Conn.Write(b[written:min(written+piece, len(b))])
		written += n
		backlog.took(c, n)
	}
	return written, err
}

// Write writes a part of an answer. Until a client has taken it, it counts as made for that client.
func (r *Recorder) Write(b []byte) (int, error) {
	r.size += len(b)
	c := r.Conn.Conn
	if c != nil && c.held == nil && c.pool.backlog.begin(c, len(b)) {
		defer c.pool.backlog.end(c)
	}
	return r.ResponseWriter.Write(b)
}

// sharedKeeper is a ResponseWriter that holds an answer back. It keeps shared bytes as they are, and copies
// others.
type sharedKeeper interface{ KeepShared(b []byte) }

// writeShared writes the whole body of an answer that is the same for everybody.
func (r *Recorder) writeShared(b []byte) {
	r.size += len(b)
	if keeper, ok := r.ResponseWriter.(sharedKeeper); ok {
		keeper.KeepShared(b)
		return
	}
	r.Conn.writeShared(r.ResponseWriter, b)
}

// WriteShared writes the body of an answer that was held back, and that is the same for everybody.
func WriteShared(w http.ResponseWriter, r *http.Request, b []byte) {
	info, _ := r.Context().Value(connKey{}).(connInfo)
	info.writeShared(w, b)
}

// writeShared writes bytes that nobody changes: they are not copied, so they do not count. Under TLS the
// pieces count that are made of them.
func (i connInfo) writeShared(w http.ResponseWriter, b []byte) {
	if c := i.Conn; c != nil && i.plain && c.pool.backlog.begin(c, 0) {
		defer c.pool.backlog.end(c)
	}
	w.Write(b) // a client that is gone misses it
}
