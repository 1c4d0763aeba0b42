// Package server is Waybill behind HTTP: it turns requests into decisions of the domain packages, keeps what they
// decide in the store, and answers.
//
// A request's way: [Server.ServeHTTP] → the route table's wrapper (public or partner) → a handler, which checks all
// input first and collects every complaint → store.Update or View with a decision of package booking → reply, or an
// error, which explain turns into the envelope.
//
// The package knows no flags and no environment; package command does.
package server

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/idp"
	"waybill/server/ledger"
	"waybill/server/outbound"
	"waybill/store"
)

// Config says how to run a server. All fields have a usable zero value but Dir.
type Config struct {
	Dir string   // the data directory
	FS  store.FS // nil: Dir's
	Log *slog.Logger

	Now       func() time.Time // nil: the machine's clock
	NewID     func() [16]byte  // nil: random
	TestClock bool             // starts, or goes on with, a clock that can be moved (contract §2)
	StartAt   time.Time        // where that starts in a directory that has none; zero is now
	Verb      bool             // opened by a verb for one act: the directory's clock stays, and nothing runs in the background

	LegacySince   time.Time   // when the legacy interface was deprecated; zero is the directory's creation
	MaxTransfers  int         // the changes a journey may have: 0 or 1
	IDP           *idp.Client // verifies ID tokens; nil trusts the built-in development provider
	SecureCookies bool        // marks cookies Secure also where the server itself does not speak TLS
	Connections   func() int  // how many are open, for /metrics; nil where nobody counts

	Rate           Rate
	TrustedProxies []netip.Prefix // whose word counts on where a request came from, and how
	Origins        []string       // whose pages may call the server, as browsers name them; nil is none

	ProviderURL  string              // asked to confirm tickets; "": they are confirmed at once
	MessengerURL string              // told what to send to phones; "": nothing
	Mail         outbound.MailConfig // without Addr e-mails become files

	// Confirm asks the carrier's provider to confirm a ticket; its error is a refusal where it wraps outbound.ErrRefused.
	// It is called at least once for each ticket, with the same Key for the same question, also after a crash. nil:
	// ProviderURL says.
	Confirm func(context.Context, Confirmation) error
}

// Confirmation is what the provider is asked.
type Confirmation struct {
	Key             string // the idempotency id
	Action          booking.Action
	Booking, Ticket booking.ID
}

// Server is a running Waybill. It is an http.Handler.
type Server struct {
	cfg         Config
	log         *slog.Logger
	st          *store.Store[*ledger.State, ledger.Entry]
	mux         *http.ServeMux
	fresh       bool      // see Fresh
	unavailable bool      // it only answers 503
	deprecated  time.Time // since when the legacy interface is
	counts      *counts

	// What requests read without the lock; each is replaced once its change is durable.
	timetable atomic.Pointer[schedule.Timetable]
	ring      atomic.Pointer[auth.Ring]

	idp       *idp.Client
	idpKey    ed25519.PrivateKey // of the development provider; nil when another is trusted
	origin    *http.CrossOriginProtection
	passwords *throttle
	partners  *limiter
	addresses *limiter   // of those who show no valid key
	importing sync.Mutex // one import, key rotation, or erasure at a time
	reporting sync.Mutex // one report at a time

	polls     polls
	asking    chan struct{}    // a place for each call of the provider
	lines     *store.Lines     // of the journal, for events and replies that come again
	underWay  sync.Map         // hashes of the requests with keys that are, by retryKey
	messenger *outbound.Peer   // nil: phones get nothing
	mailer    *outbound.Mailer // nil: e-mails become files
	draining  context.Context  // done once the server drains: nobody waits any more
	drain     context.CancelFunc

	ordered    chan struct{}      // wakes the queue of reports
	moved      chan struct{}      // wakes who waits for an instant: the clock was moved
	posted     chan struct{}      // wakes the outbox
	tries      tries              // of its messages
	background sync.WaitGroup     // what comes to an end by itself
	queue      sync.WaitGroup     // what runs until stop
	stop       context.CancelFunc // ends what runs in the background
	base       context.Context
}

// ErrClock is returned by Open for a clock setting that the directory does not allow.
var ErrClock = errors.New("server: the clock setting does not fit the directory")

// newServer makes a server that has nothing open yet.
func newServer(cfg Config) *Server {
	cfg.FS = cmp.Or[store.FS](cfg.FS, store.Dir(cfg.Dir))
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() [16]byte { return randomID() }
	}
	s := &Server{cfg: cfg, log: cfg.Log, origin: http.NewCrossOriginProtection(), passwords: newThrottle(), polls: polls{waiting: map[booking.ID]int{}}}
	s.asking = make(chan struct{}, maxAsking)
	s.ordered, s.moved, s.posted = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	s.lines = store.NewLines(cfg.FS)
	s.partners, s.addresses = newLimiter(cfg.Rate), newLimiter(cfg.Rate)
	s.newMux()
	return s
}

// Open opens the data directory, which is made if it does not exist. Errors: those of store.Open, ErrClock, and what
// is wrong with the files beside the journal.
func Open(cfg Config) (*Server, error) {
	s := newServer(cfg)
	start := s.cfg.Now()
	sc := ledger.StoreConfig(s.cfg.FS)
	sc.Log, sc.Wrote, sc.Snapshotted = s.log, s.counts.wrote, s.counts.snapshot
	sc.Now = func(st *ledger.State) time.Time {
		if s.cfg.TestClock || s.cfg.Verb {
			return st.Clock.At(s.cfg.Now()) // one that is not set is not ahead
		}
		return s.cfg.Now()
	}
	err := ledger.LostJournal(s.cfg.FS)
	if err == nil {
		s.st, s.fresh, err = store.Open(sc)
	}
	if err != nil {
		return nil, err
	}
	s.base, s.stop = context.WithCancel(context.Background())
	s.draining, s.drain = context.WithCancel(s.base)
	if err := s.settleIn(start); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !cfg.Verb {
		s.askAgain()
		s.background.Go(func() {
			if err := s.removeLetters(); err != nil {
				s.log.Warn("letters to passengers who are forgotten could not be removed", "err", err)
			}
		})
		s.queue.Go(s.runReports)
		s.queue.Go(s.runNotices)
		s.queue.Go(s.runOutbox)
	}
	return s, nil
}

// settleIn loads what lies beside the journal, and starts or gives up the clock.
func (s *Server) settleIn(start time.Time) error {
	var found ledger.State
	var last time.Time
	sold := 0
	err := s.st.View(func(st *ledger.State, now time.Time) { found, last, sold = *st, now, st.Bookings.Count() })
	if err != nil {
		return err
	}
	switch at := cmp.Or(s.cfg.StartAt, start); {
	case s.cfg.TestClock && !found.Clock.Set && sold > 0 && last.After(at.Add(time.Second)):
		err = fmt.Errorf("%w: it cannot start at %s, before the directory's last line, %s: there are bookings", ErrClock, at.Format(time.RFC3339), last.Format(time.RFC3339))
	case s.cfg.TestClock && !found.Clock.Set:
		offset := at.Sub(start).Truncate(time.Millisecond)
		first := s.cfg.Now().Add(offset).UTC().Truncate(time.Millisecond)
		if sold == 0 {
			found.Clock.Began = first
		}
		err = s.st.SetClock(first, ledger.Entry{Event: &ledger.ClockSet{OffsetMs: offset.Milliseconds(), Began: found.Clock.Began}})
	case !s.cfg.TestClock && !s.cfg.Verb && found.Clock.Set:
		err = s.record(&ledger.ClockSet{Real: true})
	}
	if err != nil {
		return err
	}
	s.deprecated = cmp.Or(s.cfg.LegacySince, found.Clock.Began, s.st.Created())
	tt, err := ledger.LoadTimetable(s.cfg.FS, found.TimetableHash)
	if err == nil {
		_, err = s.st.Update(func(st *ledger.State, _ time.Time) ([]ledger.Entry, error) {
			st.Timetable = tt // as the journal says: nothing to be journalled
			return nil, nil
		}, nil)
	}
	if err == nil {
		s.timetable.Store(tt)
		err = errors.Join(s.cfg.FS.Mkdir(ledger.KeyDir), s.cfg.FS.Mkdir(ledger.ReportDir), s.cfg.FS.Mkdir(ledger.TimetableDir), s.cfg.FS.Mkdir(ledger.OutboxDir))
	}
	if err == nil {
		err = errors.Join(s.openIDP(), s.loadRing(), s.openPeers())
	}
	return err
}

func (s *Server) record(e ledger.Event) error {
	_, err := s.do(func(*ledger.State, time.Time) (ledger.Event, error) { return e, nil })
	return err
}

// do journals the one event that decide gives, and tells the number of its line.
func (s *Server) do(decide func(*ledger.State, time.Time) (ledger.Event, error)) (seq uint64, err error) {
	return s.st.Update(func(st *ledger.State, now time.Time) ([]ledger.Entry, error) {
		e, err := decide(st, now)
		return ledger.Entries(e), err
	}, nil)
}

func (s *Server) newID() booking.ID { return s.cfg.NewID() }

// Fresh tells that the data directory was made by this start.
func (s *Server) Fresh() bool { return s.fresh }

// Failed is closed when the journal can no longer be written.
func (s *Server) Failed() <-chan struct{} { return s.st.Failed() }

// Now gives the instant by the directory's clock.
func (s *Server) Now() (now time.Time, err error) {
	err = s.st.View(func(_ *ledger.State, at time.Time) { now = at })
	return now, err
}

// Drain has those who wait for events answered.
func (s *Server) Drain() { s.drain() }

// Close ends the background work and closes the store, after the last request.
func (s *Server) Close() error {
	s.stop()
	s.background.Wait()
	s.queue.Wait()
	return s.st.Close()
}

// loadRing reads the keys that sign offers, or makes the first.
func (s *Server) loadRing() error {
	ring, err := ledger.ReadSecret(s.cfg.FS, ledger.RingFile, auth.ParseRing)
	if errors.Is(err, fs.ErrNotExist) {
		return s.saveRing(auth.NewRing([]auth.SigningKey{auth.NewSigningKey(0)}))
	}
	s.ring.Store(ring)
	return err
}

// saveRing makes a ring durable and signs with it from then on.
func (s *Server) saveRing(ring *auth.Ring) error {
	err := store.PublishText(s.cfg.FS, ledger.KeyDir, ledger.RingFile, ring.Marshal())
	if err == nil {
		s.ring.Store(ring)
	}
	return err
}

// secret reads 32 random bytes, which lie there in hex, or makes them.
func (s *Server) secret(name string) ([]byte, error) {
	secret, err := ledger.ReadSecret(s.cfg.FS, name, func(text []byte) ([]byte, error) {
		secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(secret) != 32 {
			err = errors.New("is not a key")
		}
		return secret, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		secret = make([]byte, 32)
		rand.Read(secret)
		err = store.PublishText(s.cfg.FS, ledger.KeyDir, name, fmt.Appendf(nil, "%x\n", secret))
	}
	return secret, err
}

// openIDP trusts the built-in provider, whose key it reads or makes, unless another one is configured.
func (s *Server) openIDP() error {
	if s.idp = s.cfg.IDP; s.idp != nil {
		return nil
	}
	seed, err := s.secret(ledger.IdpFile)
	if err == nil {
		s.idpKey = ed25519.NewKeyFromSeed(seed)
		s.idp = idp.Development(auth.DevelopmentKeys(s.idpKey.Public().(ed25519.PublicKey)))
	}
	return err
}
