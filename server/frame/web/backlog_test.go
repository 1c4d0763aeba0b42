package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server/ledger/wire"
)

// slowReaders is a server whose clients do not read what it answers. Their connections hold nothing: what is
// written is taken once it is read.
type slowReaders struct {
	*testing.T
	come    chan net.Conn
	backlog *Backlog
	server  *httptest.Server
	closed  map[net.Conn]*endable // of each client, the server's side
}

// endable is a connection that tells that it was closed.
type endable struct {
	net.Conn
	is atomic.Bool
}

func (c *endable) Close() error {
	defer c.is.Store(true)
	return c.Conn.Close()
}

const (
	answerBytes = 1 << 20
	slack       = 64 << 10 // for headers
	manyLooks   = 10_000_000
)

// answers are limits of so many answers.
func answers(ofAddress, inAll int64) BacklogLimits {
	return BacklogLimits{
		OfAddress: ofAddress*answerBytes + slack,
		InAll:     inAll*answerBytes + slack,
	}
}

// newSlowReaders starts one. Each answer has answerBytes.
func newSlowReaders(t *testing.T, limits BacklogLimits, secured bool) *slowReaders {
	x := &slowReaders{
		T:       t,
		come:    make(chan net.Conn, 1),
		backlog: NewBacklog(limits),
		closed:  map[net.Conn]*endable{},
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	x.server = httptest.NewUnstartedServer(large(proxies))
	x.server.Listener = Listener(&arrivals{x.server.Listener, x.come}, 1000, AddressShare, proxies, x.backlog)
	x.server.Config.ConnContext = ConnContext
	if secured {
		// Nothing is written but the answer.
		x.server.TLS = &tls.Config{SessionTicketsDisabled: true}
		x.server.StartTLS()
	} else {
		x.server.Start()
	}
	t.Cleanup(func() {
		close(x.come)
		x.server.Close()
	})
	return x
}

// large answers every request with answerBytes.
func large(proxies []netip.Prefix) http.Handler {
	core := NewCore(Config{TrustedProxies: proxies})
	core.Counts = NewCounts(nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		core.Frame(w, r, func(rec *Recorder, _ *http.Request) {
			body := &wire.Writer{B: bytes.Repeat([]byte("x"), answerBytes)}
			SendBody(rec, http.StatusOK, ContentType, body)
		})
	})
}

// get asks for an answer from an address, and does not read it. It returns once its bytes wait.
func (x *slowReaders) get(from, forwarded string) net.Conn {
	x.Helper()
	here, c := net.Pipe()
	x.Cleanup(func() { c.Close() })
	served := &endable{Conn: here}
	x.come <- comer{served, from}
	if x.server.TLS != nil {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	before := x.last()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\n\r\n", forwarded)
	for looks := 0; x.last() == before; looks++ {
		if looks > manyLooks {
			x.Fatal("no byte of the answer waits")
		}
		runtime.Gosched()
	}
	x.closed[c] = served
	return c
}

// last returns the connection whose last byte was taken most recently, of those where some wait, and when
// that was.
func (x *slowReaders) last() (last takenAt) {
	x.backlog.mu.Lock()
	defer x.backlog.mu.Unlock()
	if slow := x.backlog.longest(); len(slow) > 0 {
		c := slow[len(slow)-1]
		return takenAt{c, c.untaken.taken.Load()}
	}
	return last
}

// takenAt is a connection, and when its last byte was taken.
type takenAt struct {
	*conn
	at int64
}

// whole reports whether an answer comes whole, once it is read.
func whole(c net.Conn) bool {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	n, err := io.Copy(io.Discard, resp.Body)
	return n == answerBytes && err == nil
}

// awaitClosed waits until the server has closed a connection, which is a moment after it has left the
// backlog: until then it could be read.
func (x *slowReaders) awaitClosed(c net.Conn) {
	for looks := 0; !x.closed[c].is.Load() && looks < manyLooks; looks++ {
		runtime.Gosched()
	}
}

// expect reads answers, and reports those that come whole and should not, or the other way round. In the end
// nothing waits.
func (x *slowReaders) expect(conns []net.Conn, want ...bool) {
	x.Helper()
	for i, c := range conns {
		if !want[i] {
			x.awaitClosed(c)
		}
		if got := whole(c); got != want[i] {
			x.Errorf("answer %d comes whole: %t, want %t", i, got, want[i])
		}
	}
	for x.backlog.Bytes() > 0 {
		runtime.Gosched()
	}
	if n, slow := x.backlog.Bytes(), x.backlog.slow.Load(); n != 0 || slow != 0 {
		x.Errorf("nothing waits, but %d bytes of %d connections count", n, slow)
	}
}

// An address has so many bytes that wait to be taken. Beyond, the connection of that address whose last byte
// was taken longest ago is closed, and nobody else's; an address of IPv6 is a /64.
func TestWhatAnAddressDoesNotTakeIsBounded(t *testing.T) {
	for _, secured := range []bool{false, true} {
		x := newSlowReaders(t, answers(3, 100), secured)
		conns := []net.Conn{x.get("192.0.2.9:1", "")}
		for port := range 5 {
			conns = append(conns, x.get(fmt.Sprintf("[2001:db8::%d]:%d", port+1, port+1), ""))
		}
		x.expect(conns, true, false, false, true, true, true)
	}
}

// A client that takes some of its answer is no longer the one that waits longest.
func TestWhoTakesBytesStays(t *testing.T) {
	x := newSlowReaders(t, answers(3, 100), false)
	first := x.get("192.0.2.1:1", "")
	second := x.get("192.0.2.1:2", "")
	third := x.get("192.0.2.1:3", "")
	last := x.last()
	begun := bufio.NewReaderSize(first, answerBytes)
	for x.last() == last {
		begun.Peek(begun.Buffered() + 1)
	}
	fourth := x.get("192.0.2.1:4", "")
	x.awaitClosed(second)
	resp, err := http.ReadResponse(begun, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if n != answerBytes || err != nil {
		t.Errorf("who had taken some has %d bytes of the answer, %v", n, err)
	}
	x.expect([]net.Conn{second, third, fourth}, false, true, true)
}

// All addresses together have so many bytes that wait.
func TestWhatAllDoNotTakeIsBounded(t *testing.T) {
	x := newSlowReaders(t, answers(2, 4), false)
	var conns []net.Conn
	for n := range 6 {
		conns = append(conns, x.get(fmt.Sprintf("192.0.2.%d:1", n+1), ""))
	}
	x.expect(conns, false, false, true, true, true, true)
}

// What a proxy forwards counts for the address that it names. The proxy's own address has no limit but the
// one of all.
func TestWhatAProxyForwardsCountsForItsClients(t *testing.T) {
	x := newSlowReaders(t, answers(2, 100), false)
	conns := []net.Conn{
		x.get("10.0.0.1:1", "192.0.2.1"),
		x.get("10.0.0.1:2", "192.0.2.2"),
		x.get("10.0.0.2:3", "192.0.2.1"),
		x.get("192.0.2.1:4", ""),
	}
	for port := range 4 {
		conns = append(conns, x.get(fmt.Sprintf("10.0.0.1:%d", 5+port), ""))
	}
	x.expect(conns, false, true, true, true, true, true, true, true)
}

// An answer that is larger than the limits by itself is written, as long as nothing waits beside it.
func TestALargeAnswerIsWrittenByItself(t *testing.T) {
	x := newSlowReaders(t, BacklogLimits{OfAddress: answerBytes / 2, InAll: answerBytes / 2}, false)
	first := x.get("192.0.2.1:1", "")
	if err := x.backlog.awaitRoom(t.Context()); err != nil { // which would not come
		t.Errorf("beside one large answer no page is made: %v", err)
	}
	x.expect([]net.Conn{first}, true)
	conns := []net.Conn{x.get("192.0.2.1:2", ""), x.get("192.0.2.2:1", "")}
	x.expect(conns, false, true)
}

// On a network, where sockets hold some of it, what waits stays within the bound however many do not read.
func TestSlowReadersOnANetwork(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const bound = 4*answerBytes + slack
	backlog := NewBacklog(BacklogLimits{OfAddress: bound, InAll: 100 * answerBytes})
	front := &http.Server{Handler: large(nil), ConnContext: ConnContext}
	go front.Serve(Listener(narrow{tcp}, 1000, AddressShare, nil, backlog))
	defer front.Close()
	var conns []net.Conn
	for range 40 {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.(*net.TCPConn).SetReadBuffer(smallBuffer)
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if bytes := backlog.Bytes(); bytes > bound {
			t.Errorf("%d bytes wait, of %d", bytes, bound)
		}
		conns = append(conns, c)
	}
	broken := 0
	for _, c := range conns {
		n, _ := io.CopyN(io.Discard, c, answerBytes)
		if n < answerBytes {
			broken++
		}
	}
	if broken < 30 || broken == len(conns) {
		t.Errorf("of %d answers %d are broken off; five may wait at a time", len(conns), broken)
	}
}

// narrow is a listener whose sockets hold little.
type narrow struct{ net.Listener }

const smallBuffer = 32 << 10

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		c.(*net.TCPConn).SetWriteBuffer(smallBuffer)
	}
	return c, err
}

// A client that takes its answer is only behind others for a moment: a connection makes way once it has taken
// nothing for longer than the patience, and then also where nobody asks for anything more.
func TestWhoIsOnlyBehindIsNotClosed(t *testing.T) {
	x := newSlowReaders(t, answers(2, 100), false)
	x.backlog.limits.Patience = time.Hour
	var conns []net.Conn
	for port := range 4 {
		conns = append(conns, x.get(fmt.Sprintf("192.0.2.1:%d", port+1), ""))
	}
	x.backlog.mu.Lock()
	if n := len(x.backlog.longest()); n != 4 {
		t.Errorf("%d of 4 answers wait", n)
	}
	x.backlog.mu.Unlock()
	if !x.backlog.looked.Load() {
		t.Error("nobody will look when the patience is over")
	}
	x.backlog.limits.Patience = 0 // it is over
	x.backlog.looked.Store(false)
	x.backlog.look()
	x.expect(conns, false, false, true, true)

	x = newSlowReaders(t, answers(2, 100), false)
	x.backlog.limits.Patience = 10 * time.Millisecond
	conns = nil
	for port := range 4 {
		conns = append(conns, x.get(fmt.Sprintf("192.0.2.1:%d", port+1), ""))
	}
	x.expect(conns, false, false, true, true)
}

// So many pages are made at a time, and no more.
func TestPagesAreMadeInTurn(t *testing.T) {
	core := NewCore(Config{})
	var now, most atomic.Int64
	var all sync.WaitGroup
	for i := range 10 * pagesAtOnce {
		all.Go(func() {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i)
			body, err := core.makePage(new(Recorder), r, func(w *wire.Writer) error {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				runtime.Gosched()
				w.Object("")
				w.EndObject()
				now.Add(-1)
				return nil
			})
			if err != nil || string(body.B) != "{}\n" {
				t.Errorf("%q, %v", body.B, err)
			}
		})
	}
	all.Wait()
	if most.Load() > pagesAtOnce {
		t.Errorf("%d pages were made at a time", most.Load())
	}
}

// No page is made while too much waits for slow clients; one is made once they have taken it, or are closed.
func TestNoPageIsMadeWhileTooMuchWaits(t *testing.T) {
	x := newSlowReaders(t, answers(100, 2), false)
	x.backlog.limits.Patience = time.Hour
	var conns []net.Conn
	for port := range 3 {
		conns = append(conns, x.get(fmt.Sprintf("192.0.2.1:%d", port+1), ""))
	}
	var taken atomic.Bool
	made := make(chan bool)
	rec := &Recorder{Conn: connInfo{Conn: x.last().conn}}
	go func() {
		r := httptest.NewRequest("GET", "/", nil)
		_, err := NewCore(Config{}).makePage(rec, r, func(w *wire.Writer) error {
			w.Object("")
			w.EndObject()
			return nil
		})
		made <- err == nil && taken.Load()
	}()
	for range 1000 {
		runtime.Gosched()
	}
	taken.Store(true)
	if !whole(conns[0]) {
		t.Error("an answer is cut")
	}
	if !<-made {
		t.Error("a page was made before there was room, or not then")
	}
	conns = append(conns, x.get("192.0.2.1:4", ""))
	go func() { // nothing but room wakes it
		made <- x.backlog.awaitRoom(context.Background()) == nil
	}()
	if !whole(conns[1]) || !<-made {
		t.Error("an answer is cut, or nobody is woken")
	}
	x.expect(conns[2:], true, true)
}
