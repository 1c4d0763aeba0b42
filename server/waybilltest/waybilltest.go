// Package waybilltest is a Waybill server in the process of a test, for the tests of other modules, whose
// code is a client of the service. The page server/docs/testing.md has such a module, whole.
//
//	w := waybilltest.Start(t)
//	shop := NewShop(w.URL, w.Key) // the code that is tested
//	w.Faults(`[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"hangup-after"}]`)
//	shop.Sell("kyiv", "lviv", "2026-11-25")
//	w.Advance(21 * time.Minute)
//	for _, m := range w.Outbox() { … }
//
// A [World] is the server, with its timetable, its partner, a clock that stands still until the test moves
// it, and a journal on the disk. [World.World] makes a copy of one, for a subtest. All ids, keys and tokens
// come from a number, so that a test sees the same bytes each time. Whatever a method cannot do fails the
// test. Methods may be called by the goroutine of the test only, as t.Fatal may.
package waybilltest

import (
	"io/fs"
	"net/http"
	"testing"
	"time"

	"waybill/server/lab/bench"
	"waybill/server/lab/worlds"
)

// World is a server that ends with its test.
type World struct {
	URL string // where it answers, on this machine only, without a slash at the end
	Key string // the API key of a partner named demo

	t     testing.TB
	dir   string // its data directory
	world *worlds.World
}

// Message is an e-mail or a text to a passenger, as the control listener shows it (decision
// bench.kept).
type Message struct {
	ID       string
	Kind     string // mail or text
	To       string // an address or a number; "" if the passenger no longer has one
	Subject  string // "" of a text
	Text     string
	State    string // waiting, sent or parked
	As       string // of one that was sent: mail, text or file
	Reason   string // why it waits, or is parked; "" is none
	TicketID string
}

// Request is a request that the server has answered, as the control listener shows it (decision
// bench.kept).
type Request struct {
	At        time.Time // by the server's clock, when it came
	Method    string
	Path      string
	Query     string        // as it came, without the question mark
	Headers   http.Header   // without keys, tokens and cookies
	Body      *string       // its first 4 KiB; nil for /v2/auth/… and for bytes that are no UTF-8
	Status    int           // of the answer, also where a fault has lost it; 0 is none
	ErrorCode string        // "" is none
	RequestID string        // "" is none
	Partner   string        // the name of the key's owner; "" is none
	Took      time.Duration // 0, as the clock stands still
}

// Option changes how a server starts.
type Option func(*settings)

// Feed has the server sell the timetable of a GTFS feed instead of the demo's. The test's log has the report
// of the import; rows that cannot be used are skipped.
func Feed(feed fs.FS) Option {
	return func(s *settings) { s.feed = feed }
}

// At has the server's clock start at an instant of the years 1970 to 2199, instead of 2026-11-20T08:00:00Z.
// The demo has departures from 2024 to 2036.
func At(instant time.Time) Option {
	return func(s *settings) { s.at = instant }
}

// Seed has ids, keys and tokens come from a number, instead of one that is made of the test's name.
func Seed(number uint64) Option {
	return func(s *settings) { s.seed = number }
}

// Start starts a server. When the test ends the server does, too, and the test fails if the verb verify would
// find the server's directory wrong.
func Start(t testing.TB, options ...Option) *World {
	t.Helper()
	set := defaults(t)
	for _, option := range options {
		option(&set)
	}
	dir := newDir(t)
	world, key, err := set.serve(dir, t.Output())
	if err != nil {
		t.Fatalf("waybilltest: the server cannot start: %v", err)
	}
	return newWorld(t, key, dir, world)
}

// World makes a copy of the server as it is now, at a URL of its own, which ends with the test t. The copy
// has the same partner and key, bookings and offers, and the same time; it has no faults, and nothing in its
// outbox or among its requests. Copies that are made of one moment answer the same requests with the same
// bytes.
func (w *World) World(t testing.TB) *World {
	t.Helper()
	dir := newDir(t)
	world, err := w.world.Fork(t.Name(), dir)
	if err != nil {
		t.Fatalf("waybilltest: the server cannot be copied: %v", err)
	}
	return newWorld(t, w.Key, dir, world)
}

// Advance moves the clock forward, by whole milliseconds. All that is due by then has happened when it
// returns.
func (w *World) Advance(d time.Duration) {
	w.t.Helper()
	move := bench.Move{By: d.Truncate(time.Millisecond)}
	if _, _, _, err := w.world.Bench.MoveClock(move); err != nil {
		w.t.Fatalf("waybilltest: the clock cannot be moved by %s: %v", d, err)
	}
}

// Faults has things go wrong from now on, by a list of rules in JSON (decision bench.faults), which replaces
// the one before. The list [] ends them.
func (w *World) Faults(rules string) {
	w.t.Helper()
	if err := w.world.Bench.SetFaults([]byte(rules)); err != nil {
		w.t.Fatalf("waybilltest: the faults %s: %v", rules, err)
	}
}

// Outbox returns the messages to passengers since the server started or was copied, the oldest first: the
// last 1,000 that were sent, and all that wait or are parked.
func (w *World) Outbox() []Message {
	w.t.Helper()
	w.world.Front.Server.RunDue()
	list, err := w.world.Bench.Messages()
	if err != nil {
		w.t.Fatalf("waybilltest: the outbox cannot be read: %v", err)
	}
	messages := make([]Message, len(list))
	for i, m := range list {
		messages[i] = Message(m)
	}
	return messages
}

// Requests returns the last 200 requests that the server has answered, the oldest first.
func (w *World) Requests() []Request {
	list := w.world.Bench.LastRequests()
	requests := make([]Request, len(list))
	for i, r := range list {
		requests[i] = Request(r)
	}
	return requests
}
