// Package server is Waybill behind HTTP. It is the hall of a house: it opens the directory, makes the rooms,
// each of which answers one audience, and its table of routes says which room answers what.
//
// A request's way: [Server.ServeHTTP] → the frame of package web → the route's wrapper, which finds out who
// calls → a handler of a room, which checks all input first and collects every complaint → store.Update or
// View with a decision of package booking → the answer, or an error, which package web turns into the
// envelope.
//
// The package knows no flags and no environment; package command does.
package server

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"waybill/auth/oidc"
	"waybill/schedule"
	"waybill/schedule/journey"
	"waybill/server/api/company"
	"waybill/server/api/legacy"
	"waybill/server/api/partner"
	"waybill/server/api/reference"
	"waybill/server/api/search"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/lab/bench"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/server/ledger/held"
	"waybill/server/operate/admin"
	"waybill/server/operate/carrier"
	"waybill/server/operate/desk"
	"waybill/server/operate/ops"
	"waybill/server/proof/witness"
	"waybill/server/reach/outbound"
	"waybill/server/reach/outbox"
	"waybill/server/reach/provider"
	"waybill/server/reach/ticket"
	"waybill/store/durable"
)

// Config says how to run a server. All fields have a usable zero value but Dir.
type Config struct {
	Dir string     // the data directory
	FS  durable.FS // nil: Dir's
	Log *slog.Logger

	Now       func() time.Time // nil: the machine's clock
	NewID     func() [16]byte  // nil: random
	TestClock bool             // starts, or goes on with, a clock that can be moved (decision clock.test)
	StartAt   time.Time        // where that starts in a directory that has none; zero is now
	Frozen    bool             // has it stand still (decision clock.frozen)
	Seed      *seed.Source     // what would be random comes from it; nil: random (decision seed.streams)
	// opened by a verb for one act: the directory's clock stays, and nothing runs in the background
	Verb bool

	LegacySince   time.Time    // when the legacy interface was deprecated; zero is the directory's creation
	MaxTransfers  int          // the changes a journey may have: 0 or 1
	IDP           *oidc.Client // verifies ID tokens; nil trusts the built-in development provider
	SecureCookies bool         // marks cookies Secure also where the server itself does not speak TLS
	Connections   func() int   // how many are open, for /metrics; nil where nobody counts
	Backlog       *web.Backlog // what clients have not taken, worlds' clients too; nil: a new one

	Rate           web.Rate
	TrustedProxies []netip.Prefix // whose word counts on where a request came from, and how
	Origins        []string       // whose pages may call the server, as browsers name them; nil is none
	ReportBytes    int64          // that the files of a company's reports may have; 0: web.MaxReportBytes
	LettersDays    int            // that e-mails which became files are kept; 0: web.LettersDays

	ProviderURL  string              // asked to confirm tickets; "": they are confirmed at once
	MessengerURL string              // told what to send to phones; "": nothing
	Mail         outbound.MailConfig // without Addr e-mails become files

	Witnesses []witness.Peer // asked to sign what the directory signs

	Confirm provider.Confirm // asks the carrier's provider; nil: ProviderURL does

	// Forked says that the directory is a copy that a test bench has made; nil: it is none.
	Forked *ledger.WorldForked
	// Loaded is a timetable that the process has already, for a directory that has the same in force.
	Loaded Loaded

	// Reserve takes what else there must be to serve, as a socket. It is called under the directory's lock,
	// before the first line is written; nil: there is nothing.
	Reserve func() error

	// Bench has what is sent kept for testers, texts too where no messenger takes them (decision bench.kept).
	Bench bool
}

// Loaded is a timetable that was read, with its hash in the journal.
type Loaded struct {
	Hash      string
	Timetable *schedule.Timetable
}

// web returns what all rooms have to know of it.
func (cfg *Config) web() web.Config {
	return web.Config{
		FS:             cmp.Or[durable.FS](cfg.FS, durable.Dir(cfg.Dir)),
		Log:            cfg.Log,
		Now:            cfg.Now,
		NewID:          cfg.newID(),
		NewRequestID:   cfg.newRequestID(),
		Random:         cfg.random("secrets"),
		TestClock:      cfg.TestClock,
		Verb:           cfg.Verb,
		SecureCookies:  cfg.SecureCookies,
		Rate:           cfg.Rate,
		TrustedProxies: cfg.TrustedProxies,
		Origins:        cfg.Origins,
		ReportBytes:    cfg.ReportBytes,
		LettersDays:    cfg.LettersDays,
	}
}

// Server is a running Waybill. It is an http.Handler.
type Server struct {
	*web.Core
	Admin *admin.Executor // what verbs do
	Bench *bench.Bench    // what testers do, where there is a test clock
	Desk  *desk.Desk      // pages of those who run the directory

	options     Config
	fresh       bool // see Fresh
	unavailable bool // it only answers 503

	search    *search.Finder
	provider  *provider.Confirmer
	outbox    *outbox.Relay
	partner   *partner.Seller
	company   *company.Portal
	identity  oidc.Trusted
	carrier   *carrier.Dispatcher
	legacy    *legacy.Adapter
	ops       *ops.Monitor
	reference *reference.Publisher
	witness   *witness.Collector

	running bool // something runs in the background
	resumed bool // with the seed that the directory was made from

	stop  context.CancelFunc // ends what runs in the background
	drain context.CancelFunc
	loops sync.WaitGroup // what runs until stop
}

// ErrClock is returned by Open for a clock setting that the directory does not allow.
var ErrClock = errors.New("server: the clock setting does not fit the directory")

// newServer makes a server that has nothing open yet.
func newServer(cfg Config) *Server {
	core := web.NewCore(cfg.web())
	s := &Server{Core: core, options: cfg}
	resources := resource.NewWriter()
	s.search = search.New(core, resources, cfg.MaxTransfers)
	s.provider = provider.New(core, resources, cfg.Confirm)
	s.outbox = outbox.New(core)
	s.partner = partner.New(core, resources, s.search, s.provider)
	s.company = company.New(core, &s.identity)
	s.carrier = carrier.New(core)
	s.legacy = legacy.New(core, resources, s.search, s.partner)
	s.witness = witness.New(core, cfg.Witnesses)
	s.Admin = admin.New(core, &s.identity, s.company.WriteReports, s.carrier, s.outbox, s.provider,
		s.witness)
	s.ops = ops.New(core, cfg.Connections, s.witness.Refused)
	s.Bench = bench.New(core, s.outbox, s.clockMoved)
	s.Desk = desk.New(core, s.Admin, s.carrier, s.outbox, s.Bench, s.witness)
	s.reference = reference.New(core)
	s.route()
	if cfg.Bench {
		s.outbox.Observe(outbox.Observer{
			Before: s.Bench.Before,
			After:  s.Bench.After,
		})
	}
	return s
}

// clockMoved brings about what is due once the test clock was moved.
func (s *Server) clockMoved() error {
	_, err := s.partner.NoteOverdue()
	return errors.Join(err, s.company.RemoveReports(), s.outbox.RemoveOldLetters())
}

// Handler returns what answers the server's requests: the server, and with a test clock the bench around it.
func (s *Server) Handler() http.Handler {
	if s.Config.TestClock {
		return s.Bench.Around(s)
	}
	return s
}

// Open opens the data directory, which is made if it does not exist. Errors: those of store.Open, ErrClock,
// ErrSeed, ErrCopy, *durable.OtherOwner, and what is wrong with the files beside the journal.
func Open(cfg Config) (*Server, error) {
	if cfg.FS == nil { // else it is a test's, and nobody's
		if err := durable.Dir(cfg.Dir).CheckOwner("journal", os.Geteuid()); err != nil {
			return nil, err
		}
	}
	resumed, err := cfg.takeSeed(cfg.web().FS)
	if err != nil {
		return nil, err
	}
	s := newServer(cfg)
	s.resumed = resumed
	start := s.Config.Now()
	if err := s.openStore(start); err != nil {
		return nil, err
	}
	s.Base, s.stop = context.WithCancel(context.Background())
	s.Draining, s.drain = context.WithCancel(s.Base)
	if err := s.settleIn(start); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if cfg.Forked != nil {
		if err := s.Record(cfg.Forked); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if !cfg.Verb {
		if err := s.carrier.FinishCancellations(); err != nil {
			s.Log.Warn("tickets of cancelled runs are still to be cancelled, at the next start", "err", err)
		}
		s.runInBackground()
	}
	if s.Still.Load() && !cfg.Verb {
		s.RunDue()
	}
	return s, nil
}

// openStore opens the journal, and takes its clock and what it counts.
func (s *Server) openStore(start time.Time) error {
	isNew, err := s.isNew()
	if err != nil {
		return err
	}
	if s.options.Seed != nil && !isNew && s.options.Forked == nil && !s.resumed {
		return ErrSeed
	}
	if err := ledger.LostJournal(s.Config.FS); err != nil {
		return err
	}
	st, fresh, err := held.Open(s.storeOptions(start, isNew))
	s.Store = st
	s.fresh = fresh
	return err
}

// storeOptions returns how the journal is kept, of a directory that may be new.
func (s *Server) storeOptions(start time.Time, isNew bool) held.Options {
	// The first line of a directory whose clock will stand still is of the instant at which it does.
	first := cmp.Or(s.options.StartAt, start)
	now := func(st ledger.State) time.Time {
		if s.options.Frozen && isNew && !st.Clock().Set {
			return first
		}
		if s.options.TestClock || s.options.Verb {
			return st.Clock().At(s.Config.Now()) // one that is not set is not ahead
		}
		return s.Config.Now()
	}
	return held.Options{
		FS:          s.Config.FS,
		Log:         s.Log,
		Now:         now,
		Ready:       s.ready,
		Random:      s.options.journalRandom(),
		Wrote:       s.Counts.Wrote,
		Snapshotted: s.Counts.Snapshot,
	}
}

// isNew reports whether the directory has no journal yet.
func (s *Server) isNew() (bool, error) {
	names, err := s.Config.FS.List("journal")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return len(names) == 0, err
}

// runInBackground starts what a server does besides answering.
func (s *Server) runInBackground() {
	s.running = true
	if s.options.Forked == nil { // else it is the parent that has asked
		s.provider.FindDoubtful()
	}
	s.loops.Go(s.provider.RunDoubtful)
	s.Tasks.Go(func() {
		if err := s.outbox.RemoveLetters(); err != nil {
			s.Log.Warn("letters to passengers who are forgotten could not be removed", "err", err)
		}
	})
	s.loops.Go(s.company.RunReports)
	s.loops.Go(s.partner.RunNotices)
	s.loops.Go(s.outbox.Run)
	s.loops.Go(s.outbox.RunLetters)
	s.loops.Go(s.witness.Run)
}

// takeUp starts or gives up the clock, and loads the timetable in force. For a verb it changes nothing.
func (s *Server) takeUp(start time.Time) error {
	began, err := s.settleClock(start)
	if err != nil {
		return err
	}
	s.Deprecated = cmp.Or(s.options.LegacySince, began, s.Store.Created())
	return s.loadTimetable()
}

// settleIn takes up what the journal says, and loads or makes what lies beside it.
func (s *Server) settleIn(start time.Time) error {
	if err := s.takeUp(start); err != nil {
		return err
	}
	for _, dir := range ledger.SideDirs {
		if err := s.Config.FS.Mkdir(dir); err != nil {
			return err
		}
	}
	if !s.options.Verb {
		if err := s.Store.KeepWitnesses(s.witness.Keys()); err != nil {
			return err
		}
	}
	return errors.Join(s.settleSeed(), s.openIDP(), s.LoadRing(), s.openPeers(), s.openTicketKey())
}

// settleClock starts or gives up the directory's test clock, as the configuration says, and returns where it
// was started, if nothing had been sold before.
func (s *Server) settleClock(start time.Time) (began time.Time, err error) {
	var clock ledger.Clock
	var at time.Time
	sold := 0
	err = s.Store.View(func(st ledger.State, now time.Time) {
		clock = st.Clock()
		at = now
		sold = st.Bookings.Count()
	})
	if err != nil {
		return began, err
	}
	// Now is the directory's time once it is open, which may take long.
	offset := max(0, at.Sub(s.Config.Now()))
	if !s.options.StartAt.IsZero() {
		at = s.options.StartAt
		offset = at.Sub(start)
	}
	switch {
	case s.options.TestClock && !clock.Set:
		offset = offset.Truncate(time.Millisecond)
		first := s.Config.Now().Add(offset).UTC().Truncate(time.Millisecond)
		set := &ledger.ClockSet{OffsetMs: offset.Milliseconds()}
		if s.options.Frozen {
			first = at.UTC().Truncate(time.Millisecond)
			set = &ledger.ClockSet{Still: first}
		}
		if sold == 0 {
			clock.Began = first
		}
		set.Began = clock.Began
		err = s.Store.SetClock(first, ledger.Entry{Event: set})
	case s.options.Frozen && clock.Still.IsZero():
		_, err = s.Do(func(_ ledger.State, now time.Time) (ledger.Event, error) {
			return &ledger.ClockSet{Still: now}, nil
		})
	case !s.options.TestClock && !s.options.Verb && clock.Set:
		err = s.Record(&ledger.ClockSet{Real: true})
	}
	if err == nil {
		s.Still.Store(s.options.Frozen || s.options.TestClock && !clock.Still.IsZero())
	}
	return clock.Began, err
}

// loadTimetable reads the timetable in force and has it answer requests.
func (s *Server) loadTimetable() error {
	hash := ""
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		hash = st.TimetableHash()
	})
	if err != nil {
		return err
	}
	if err := s.readTimetable(hash); err != nil {
		return err
	}
	tt := s.options.Loaded.Timetable
	s.options.Loaded = Loaded{} // another may be imported, and this one then forgotten
	if !s.options.Verb {
		journey.Prepare(tt) // without the store's lock
	}
	if err := s.Store.UseTimetable(tt); err != nil {
		return err
	}
	_, err = s.ShowTimetable()
	return err
}

// Fresh reports whether the data directory was made by this start.
func (s *Server) Fresh() bool { return s.fresh }

// Failed is closed when the journal can no longer be written.
func (s *Server) Failed() <-chan struct{} {
	return s.Store.Failed()
}

// Drain has those who wait for events answered.
func (s *Server) Drain() { s.drain() }

// Close ends the background work and closes the store, after the last request.
func (s *Server) Close() error {
	if s.Still.Load() && s.running {
		s.RunDue()
	}
	s.stop()
	s.Tasks.Wait()
	s.loops.Wait()
	if s.running {
		s.askWitnesses()
	}
	return s.Store.Close()
}

// atStop is how long a stop waits for witnesses.
const atStop = 5 * time.Second

// askWitnesses has them sign the last lines.
func (s *Server) askWitnesses() {
	ctx, cancel := context.WithTimeout(context.Background(), atStop)
	defer cancel()
	s.witness.AskOnce(ctx)
}

// openIDP trusts the built-in provider, whose key it reads or makes, unless another one is configured. A verb
// makes no key: until the directory is served nobody can sign in with its tokens.
func (s *Server) openIDP() error {
	s.identity.Client = s.options.IDP
	if s.identity.Client != nil {
		return nil
	}
	secret := s.Secret
	if s.options.Verb {
		secret = s.KeptSecret
	}
	seed, err := secret(ledger.IDPFile)
	if s.options.Verb && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	key := ed25519.NewKeyFromSeed(seed)
	s.identity.Key = key
	s.identity.Client = oidc.NewDevelopment(key.Public().(ed25519.PublicKey))
	return nil
}

// openTicketKey reads or makes the key that signs the codes on tickets, and puts out its public half.
func (s *Server) openTicketKey() error {
	// A world's tickets must not pass for those of its parent: it gets a key of its own.
	if s.options.Forked != nil {
		for _, name := range []string{ledger.KeyDir + "/" + ledger.TicketFile, ticket.PublicFile} {
			if err := s.Config.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	seed, err := s.Secret(ledger.TicketFile)
	if err != nil {
		return err
	}
	s.TicketKey = ed25519.NewKeyFromSeed(seed)
	replaced, err := ticket.PublishKey(s.Config.FS, s.TicketKey)
	if replaced {
		s.Log.Warn("the key that signs tickets is another than before: inspectors need the new " +
			ticket.PublicFile + ", and papers of before are not good by it")
	}
	return err
}

// openPeers makes known whom the configuration names: the provider, the messenger and the mail server.
func (s *Server) openPeers() error {
	secret, err := s.Secret(ledger.PeerFile)
	if err != nil {
		return err
	}
	return errors.Join(
		s.provider.Open(s.options.ProviderURL, secret),
		s.outbox.Open(s.options.MessengerURL, s.options.Mail, secret),
	)
}
