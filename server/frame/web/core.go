// Package web is the frame of a request: what all have, whatever room answers them.
//
// [Core] is what every room needs of a running server: the store, the timetable, the keys that sign, the log,
// the clock. A room is a struct of its own over a Core:
//
//	type Seller struct {
//		*web.Core
//		polls Polls // of this room only
//	}
//
//	func (s *Seller) GetBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
//		b, now, err := s.view(r, p)
//		return web.Show(w, err, func(w *wire.Writer) { … })
//	}
//
// A request passes [Core.Frame], which gives it an id and a line in the log, then the wrapper that its route
// names, as [Core.Public] or [Core.Partner], which finds out who calls and how often, and then the handler.
// What the handler returns as an error [Explain] turns into the envelope of the interface.
//
// The package knows no handler, and not what a booking looks like.
package web

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/live"
)

// Config says what all rooms have to know of how a server is run.
type Config struct {
	FS  durable.FS // the data directory
	Log *slog.Logger

	Now          func() time.Time     // the machine's clock
	Elapsed      func() time.Duration // the time that has passed, by which Now is believed; nil: it always is
	NewID        func() [16]byte
	NewRequestID func(path string) [16]byte // of a request that has brought none
	Random       io.Reader                  // what secrets and keys are made from
	TestClock    bool                       // the directory's clock can be moved (decision clock.test)
	Verb         bool                       // opened by a verb for one act: nothing runs in the background

	SecureCookies  bool // marks cookies Secure also where the server itself does not speak TLS
	Rate           Rate
	TrustedProxies []netip.Prefix // that are believed about where a request came from, and how
	Origins        []string       // whose pages may call the server, as browsers name them; nil is none
	ReportBytes    int64          // that the files of a company's reports may have; 0: MaxReportBytes
	LettersDays    int            // that e-mails which became files are kept; 0: LettersDays
}

// Core is what the rooms share of a running server.
type Core struct {
	Config Config
	Log    *slog.Logger
	Store  *ledger.Store
	Mux    *http.ServeMux // the routes
	Counts *Counts

	// What requests read without the lock; each is replaced once its change is durable.
	Timetable atomic.Pointer[schedule.Timetable] // see ShowTimetable
	Ring      atomic.Pointer[auth.Ring]          // the keys that sign offers and links
	TicketKey ed25519.PrivateKey                 // signs the codes on tickets, see decision ticket.code

	Deprecated time.Time  // since when the legacy interface is
	Phones     bool       // are sent texts
	Reporting  sync.Mutex // one report at a time, and none beside an erasure
	showing    sync.Mutex // one ShowTimetable at a time

	Still    atomic.Bool // the clock stands still: loops wait to be asked
	Outgoing *Loop       // sends the messages of the outbox
	Shown    *Loop       // has requests see the timetable in force

	Base     context.Context // done once the server stops
	Draining context.Context // done once the server drains: nobody waits any more

	origin    *http.CrossOriginProtection
	clock     *guardedClock // nil where there is no guard
	loops     []*Loop       // in the order in which RunDue asks them
	partners  *limiter
	addresses *limiter // of those who show no valid key

	making *Places // pages of lists

	told sync.Map // the headers of proxies that the log has named as not understood
}

// NewCore makes a core that has nothing open yet.
func NewCore(cfg Config) *Core {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		began := time.Now()
		cfg.Now = time.Now
		cfg.Elapsed = func() time.Duration { return time.Since(began) }
	}
	var clock *guardedClock
	if cfg.Elapsed != nil {
		clock = &guardedClock{machine: cfg.Now, elapsed: cfg.Elapsed, log: cfg.Log}
		cfg.Now = clock.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() [16]byte { return RandomID() }
	}
	if cfg.NewRequestID == nil {
		cfg.NewRequestID = func(string) [16]byte { return cfg.NewID() }
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	cfg.ReportBytes = cmp.Or(cfg.ReportBytes, MaxReportBytes)
	cfg.LettersDays = cmp.Or(cfg.LettersDays, LettersDays)
	s := &Core{
		Config:    cfg,
		Log:       cfg.Log,
		Mux:       http.NewServeMux(),
		origin:    http.NewCrossOriginProtection(),
		partners:  newLimiter(cfg.Rate),
		addresses: newLimiter(cfg.Rate),
		making:    NewPlaces(pagesAtOnce),
		clock:     clock,
	}
	s.Shown = s.NewLoop("the timetable could not be shown", func() (time.Duration, error) {
		_, err := s.ShowTimetable()
		s.Outgoing.Wake() // a change of a run is told to its passengers
		return Rarely, err
	})
	return s
}

// ShowTimetable has requests see the timetable in force, once all that it says is durable. Of changes that
// come at once none takes back what another has shown: each shows the timetable as the last of them left it.
func (s *Core) ShowTimetable() (*schedule.Timetable, error) {
	s.showing.Lock()
	defer s.showing.Unlock()
	var tt *schedule.Timetable
	err := s.Store.Await(s.Base, func(st ledger.State, _ time.Time) uint64 {
		tt = st.Timetable()
		return st.OffersLine()
	})
	if err == nil {
		s.Timetable.Store(tt)
	}
	return tt, err
}

// Record journals an event.
func (s *Core) Record(e ledger.Event) error {
	_, err := s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return ledger.Entries(e), nil
	}, nil)
	return err
}

// NewID returns a new id.
func (s *Core) NewID() ids.ID {
	return s.Config.NewID()
}

// Now returns the instant by the directory's clock.
func (s *Core) Now() (now time.Time, err error) {
	err = s.Store.View(func(_ ledger.State, at time.Time) {
		now = at
	})
	return now, err
}

// dash is what the dash stands for in the text of an id, base64url, of which a character has six bits.
const dash = 62

// RandomID makes an id whose text does not start with a dash: a shell would take it for a flag, a spreadsheet
// for a formula.
func RandomID() (id ids.ID) {
	for rand.Read(id[:]); id[0]>>2 == dash; {
		rand.Read(id[:])
	}
	return id
}

// IDFrom is RandomID with the bytes of another source, which never fails.
func IDFrom(source io.Reader) ids.ID {
	id := new(ids.ID)
	for io.ReadFull(source, id[:]); id[0]>>2 == dash; {
		io.ReadFull(source, id[:])
	}
	return *id
}

// lookForRoom is how often a full disk is tried again.
const lookForRoom = 250 * time.Millisecond

// Later reports whether an update has changed nothing, and can be made later: when the disk has room, the
// keeper has spoken, or the clock is believed.
func Later(err error) bool {
	return errors.Is(err, live.ErrFull) || errors.Is(err, live.ErrSilent) || err == errStep
}

// UpdateWithRoom is Update for what must be kept: where it can be made later (see [Later]), it tries again
// until ctx is over.
func (s *Core) UpdateWithRoom(ctx context.Context,
	decide func(ledger.State, time.Time) ([]ledger.Entry, error),
	after func(ledger.State, time.Time)) (uint64, error) {
	for {
		seq, err := s.Store.Update(decide, after)
		if !Later(err) {
			return seq, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-s.Base.Done():
			return 0, err
		case <-time.After(lookForRoom):
		}
	}
}
