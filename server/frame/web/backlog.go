package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
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
//
// To write an answer is to add to one sum and to take from it. Connections are looked through only where that
// sum is larger than one address may have, and then now and again.
type Backlog struct {
	limits  BacklogLimits
	made    time.Time
	all     atomic.Int64 // bytes that wait
	slow    atomic.Int64 // connections with some
	awaited atomic.Int64 // how many wait for room
	looked  atomic.Bool  // a moment ago, and it will be looked again

	mu    sync.Mutex
	room  sync.Cond      // is signalled when there are no longer too many bytes in all
	conns map[*conn]bool // that are open
}

// BacklogLimits are how many bytes may wait to be taken.
type BacklogLimits struct {
	OfAddress, InAll int64         // bytes
	Patience         time.Duration // how long a connection may take nothing while there are too many
}

// NewBacklog returns a backlog without a byte.
func NewBacklog(limits BacklogLimits) *Backlog {
	b := &Backlog{limits: limits, made: time.Now(), conns: map[*conn]bool{}}
	b.room.L = &b.mu
	return b
}

// untaken is what waits of the answer on a connection.
type untaken struct {
	begun atomic.Bool  // an answer is being written
	bytes atomic.Int64 // that no socket has taken yet
	taken atomic.Int64 // when a socket has taken some, or when there were some first, by Backlog.now
}

// now is the time since the backlog was made, in nanoseconds: no step of the clock changes it.
func (b *Backlog) now() int64 { return int64(time.Since(b.made)) }

// Bytes returns how many bytes wait.
func (b *Backlog) Bytes() int64 { return b.all.Load() }

// open takes in a connection that was opened, or drops one that is closed.
func (b *Backlog) open(c *conn, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if is {
		b.conns[c] = true
	} else {
		delete(b.conns, c)
	}
}

// awaitRoom waits while there are too many bytes in all, until ctx is over. Mostly it is a short wait: either
// their clients take them, or the patience with these comes to its end.
func (b *Backlog) awaitRoom(ctx context.Context) error {
	if b.hasRoom() {
		return nil
	}
	defer context.AfterFunc(ctx, b.wake)()
	b.awaited.Add(1)
	defer b.awaited.Add(-1)
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.hasRoom() {
		if ctx.Err() != nil {
			return errBusy
		}
		b.room.Wait()
	}
	return nil
}

// hasRoom reports whether there are not too many bytes in all, or one connection has all of them.
func (b *Backlog) hasRoom() bool { return b.all.Load() <= b.limits.InAll || b.slow.Load() <= 1 }

// wake has those who wait for room see whether there is some.
func (b *Backlog) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room.Broadcast()
}

// longest returns the connections with bytes that wait, the one whose last byte was taken longest ago first.
// The lock is held.
func (b *Backlog) longest() (list []*conn) {
	for c := range b.conns {
		if c.untaken.bytes.Load() > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y *conn) int {
		return cmp.Compare(x.untaken.taken.Load(), y.untaken.taken.Load())
	})
	return list
}

// begin counts the bytes of an answer that is about to be written, and closes the connections that are too
// many with it. It reports whether it did: what is written within an answer is counted already.
func (b *Backlog) begin(c *conn, bytes int) bool {
	u := &c.untaken
	if u.begun.Swap(true) {
		return false
	}
	if bytes > 0 {
		u.taken.Store(b.now())
		u.bytes.Store(int64(bytes))
		b.slow.Add(1)
		b.all.Add(int64(bytes))
		b.look()
	}
	return true
}

// took counts the bytes of the answer that a socket has taken: no more than there are, as TLS sends more than
// it is given, and what waits on a connection that is closed does not count.
func (b *Backlog) took(c *conn, bytes int64) {
	u := &c.untaken
	u.taken.Store(b.now())
	had := u.bytes.Load()
	for !u.bytes.CompareAndSwap(had, max(0, had-bytes)) {
		had = u.bytes.Load()
	}
	if had > 0 && bytes >= had {
		b.slow.Add(-1)
	}
	b.all.Add(-min(bytes, had))
	if b.awaited.Load() > 0 && b.hasRoom() {
		b.wake()
	}
}

// end records that nothing more of the answer is written.
func (b *Backlog) end(c *conn) {
	b.took(c, c.untaken.bytes.Load())
	c.untaken.begun.Store(false)
}

// looks is how often it is looked while the patience lasts, at most.
const looks = 10

// look closes the connections that are too many, if an address may have too many bytes, unless it was looked
// a moment ago. As long as there are so many bytes, it looks again.
func (b *Backlog) look() {
	if b.all.Load() <= min(b.limits.OfAddress, b.limits.InAll) || b.looked.Load() {
		return
	}
	pause := b.limits.Patience / looks
	if pause > 0 && b.looked.Swap(true) {
		return
	}
	for _, c := range b.tooMany() {
		b.took(c, c.untaken.bytes.Load())
		c.Conn.Close() // what waits to write there fails, and lets go of its bytes
	}
	if pause > 0 {
		time.AfterFunc(pause, func() {
			b.looked.Store(false)
			b.look()
		})
	}
}

// tooMany returns the connections that have taken nothing for longer than the patience, the longest first,
// until those that are left have no more bytes than the limits: first of the addresses with too many, then of
// all. One of them is left, whatever it has.
func (b *Backlog) tooMany() (victims []*conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slow := b.longest()
	var all int64
	waits := map[string]int64{} // for a client that is known
	for _, c := range slow {
		all += c.untaken.bytes.Load()
		waits[c.client] += c.untaken.bytes.Load()
	}
	waits[""] = 0
	drop := func(c *conn) bool {
		victims = append(victims, c)
		all -= c.untaken.bytes.Load()
		waits[c.client] -= c.untaken.bytes.Load()
		return true
	}
	slow = slices.DeleteFunc(slow, func(c *conn) bool {
		return !b.spares(c, waits[c.client], b.limits.OfAddress) && drop(c)
	})
	for _, c := range slow {
		if !b.spares(c, all, b.limits.InAll) {
			drop(c)
		}
	}
	return victims
}

// spares reports whether a connection stays, where so many bytes wait beside a limit: they are not too many,
// or all its own, or it has taken some a moment ago.
func (b *Backlog) spares(c *conn, waits, limit int64) bool {
	has := c.untaken.bytes.Load()
	patience := b.limits.Patience - time.Duration(b.now()-c.untaken.taken.Load())
	return has == 0 || waits <= max(limit, has) || patience > 0
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
		backlog.took(c, int64(n))
	}
	return written, err
}

// Write writes a part of an answer. Until a client has taken it, it counts as made for that client.
func (r *Recorder) Write(b []byte) (int, error) {
	r.size += len(b)
	c := r.Conn.Conn
	if c != nil && c.unsent == nil && c.pool.backlog.begin(c, len(b)) {
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
