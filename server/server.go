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
	"sync/atomic"
	"time"

	"waybill/auth"
	"waybill/auth/oidc"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/schedule/journey"
	"waybill/server/api/company"
	"waybill/server/api/legacy"
	"waybill/server/api/partner"
	"waybill/server/api/reference"
	"waybill/server/api/search"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/machines/keep"
	"waybill/server/operate/admin"
	"waybill/server/operate/carrier"
	"waybill/server/operate/desk"
	"waybill/server/operate/ops"
	"waybill/server/operate/stand"
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

	Now func() time.Time // nil: the machine's clock
	// Elapsed is the time that has passed, which no step of Now changes; nil: the machine's, or where Now is
	// given, none, and Now is always believed.
	Elapsed func() time.Duration
	NewID   func() [16]byte // nil: random
	// opened by a verb for one act: the directory's clock stays, and nothing runs in the background
	Verb bool
	// Lab is the test bench, which can move the clock (decision clock.test); nil: there is none in this
	// program. A directory whose clock was ever set is then not opened to write.
	Lab *stand.Lab

	LegacySince   time.Time    // when the legacy interface was deprecated; zero is the directory's creation
	MaxTransfers  int          // the changes a journey may have: 0 or 1
	IDP           *oidc.Client // verifies ID tokens; nil trusts the built-in development provider
	SecureCookies bool         // marks cookies Secure also where the server itself does not speak TLS
	Connections   func() int   // how many are open, for /metrics; nil where nobody counts
	Counts        *web.Counts  // what was refused before the server was there; nil: nothing
	Backlog       *web.Backlog // what clients have not taken, worlds' clients too; nil: a new one

	Rate           web.Rate
	TrustedProxies []netip.Prefix // that are believed about where a request came from, and how
	Origins        []string       // whose pages may call the server, as browsers name them; nil is none
	ReportBytes    int64          // that the files of a company's reports may have; 0: web.MaxReportBytes
	LettersDays    int            // that e-mails which became files are kept; 0: web.LettersDays

	ProviderURL  string              // asked to confirm tickets; "": they are confirmed at once
	MessengerURL string              // told what to send to phones; "": nothing
	Mail         outbound.MailConfig // without Addr e-mails become files

	Witnesses []witness.Peer  // asked to sign what the directory signs
	Keep      string          // the command that keeps each line before it counts; "": this disk is enough
	Stop      <-chan struct{} // closed when the process should end; nil: a start waits for the keeper
	// Program is what the line of a start says of the program (decision opened.program); nil: nothing. A
	// directory that has a seed is the same each time, whatever program makes it.
	Program any

	Confirm provider.Confirm // asks the carrier's provider; nil: the one at ProviderURL is asked

	// Forked says that the directory is a copy that a test bench has made; nil: it is none.
	Forked *ledger.WorldForked
	// Loaded is what the process has already in memory of the directory that this one is a copy of.
	Loaded Loaded

	// Reserve takes what else there must be to serve, as a socket. It is called under the directory's lock,
	// before the first line is written; nil: there is nothing.
	Reserve func() error
}

// Loaded is a timetable that was read, with its hash in the journal, and what the journal does not say; see
// [auth.LastUses].
type Loaded struct {
	Hash      string
	Timetable *schedule.Timetable
	LastUses  map[ids.ID]*atomic.Int64
}

// web returns the part of the configuration that all rooms get.
func (cfg *Config) web() web.Config {
	return web.Config{
		FS:             cmp.Or[durable.FS](cfg.FS, durable.Dir(cfg.Dir)),
		Log:            cfg.Log,
		Now:            cfg.Now,
		Elapsed:        cfg.Elapsed,
		NewID:          cfg.NewID,
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
	Desk  *desk.Desk      // pages of those who run the directory

	options     Config
	loaded      Loaded // the timetable that ready has read, until loadTimetable puts it in force
	fresh       bool   // see Fresh
	unavailable bool   // it only answers 503

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
	keeper    *keep.Keeper // nil: there is none

	running bool // something runs in the background

	stop  context.CancelFunc // ends what runs in the background
	drain context.CancelFunc
	loops sync.WaitGroup // what runs until stop
}

// newServer makes a server that has nothing open yet. Its rooms get shared.
func newServer(cfg Config, shared web.Config) *Server {
	core := web.NewCore(shared)
	s := &Server{
		Core:    core,
		options: cfg,
		loaded:  cfg.Loaded,
	}
	s.options.Loaded = Loaded{} // another may be imported, and this one then forgotten
	resources := resource.NewWriter()
	s.search = search.New(core, resources, cfg.MaxTransfers)
	s.provider = provider.New(core, resources, cfg.Confirm)
	s.outbox = outbox.New(core)
	s.partner = partner.New(core, resources, s.search, s.provider)
	s.company = company.New(core, &s.identity)
	s.carrier = carrier.New(core)
	s.legacy = legacy.New(core, resources, s.search, s.partner)
	s.witness = witness.New(core, cfg.Witnesses)
	s.Admin = admin.New(core, &s.identity, s.company.FinishReports, s.carrier, s.outbox, s.provider,
		s.witness)
	s.ops = ops.New(core, cfg.Connections, s.witness.Known)
	s.Desk = desk.New(core, s.Admin, s.carrier, s.outbox, s.witness)
	s.reference = reference.New(core, s.search)
	s.route()
	return s
}

// Handler returns what answers the server's requests: the server, and with a test clock the bench around it.
func (s *Server) Handler() http.Handler {
	if around := s.lab().Around; around != nil {
		return around(s)
	}
	return s
}

// Open opens the data directory, which is made if it does not exist. Errors: those of store.Open and of
// package stand, ErrMovedClock, ErrCopy, *durable.OtherOwner, and those of the files beside the journal.
func Open(cfg Config) (s *Server, err error) {
	if cfg.FS == nil { // else it is a test's, and nobody's
		dir := durable.Dir(cfg.Dir)
		defer func() { err = dir.Denied(err, os.Geteuid()) }()
		if err := dir.CheckOwner("journal", os.Geteuid()); err != nil {
			return nil, err
		}
	}
	s, err = prepare(cfg)
	if err != nil {
		return nil, err
	}
	start := s.Config.Now()
	if err := s.openStore(start); err != nil {
		return nil, err
	}
	s.Base, s.stop = context.WithCancel(context.Background())
	s.Draining, s.drain = context.WithCancel(s.Base)
	if err := s.load(start); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if cfg.Forked != nil {
		if err := s.Record(cfg.Forked); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if !cfg.Verb {
		if err := s.carrier.FinishCancellations(); err != nil {
			s.Log.Warn("some tickets of cancelled runs are not cancelled yet; the next start cancels "+
				"them", "err", err)
		}
		now, err := s.Now()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		if ending := s.Timetable.Load().Ending(now); ending != "" {
			s.Log.Warn(ending)
		}
		s.runInBackground()
	}
	if s.Still.Load() && !cfg.Verb {
		s.RunDue()
	}
	if s.keeper != nil {
		s.keeper.Opened()
	}
	return s, nil
}

// openStore opens the journal, unless the directory has lost it.
func (s *Server) openStore(start time.Time) error {
	if err := ledger.LostJournal(s.Config.FS); err != nil {
		return err
	}
	options := s.storeOptions()
	if s.options.Lab != nil {
		s.options.Lab.Open(&options, start)
	}
	if options.Random == nil && !ledger.HasSeed(s.Config.FS) {
		options.Program = s.options.Program
	}
	if s.options.Keep != "" && !s.options.Verb {
		s.keeper = &keep.Keeper{
			Command: s.options.Keep,
			FS:      s.Config.FS,
			Log:     s.Log,
			Took:    s.Counts.Kept,
			Stop:    s.options.Stop,
		}
		options.Keep = s.keeper.Keep
	}
	st, fresh, err := ledger.Open(options)
	if err != nil && s.keeper != nil {
		s.keeper.Close()
	}
	s.Store = st
	s.fresh = fresh
	return err
}

// storeOptions returns how the journal is kept.
func (s *Server) storeOptions() ledger.Options {
	now := func(st ledger.State) time.Time {
		if s.options.Verb {
			return st.Clock().At(s.Config.Now()) // one that is not set is not ahead
		}
		return s.Config.Now()
	}
	var witnesses []string // of a verb: nobody is asked
	if !s.options.Verb {
		witnesses = []string{}
		for _, w := range s.options.Witnesses {
			witnesses = append(witnesses, w.Key.Name)
		}
	}
	o := ledger.Options{
		Ready:       s.ready,
		Witnesses:   witnesses,
		Snapshotted: s.Counts.Snapshot,
	}
	o.FS = s.Config.FS
	o.Log = s.Log
	o.Now = now
	o.MayChange = s.MayChange
	o.Wrote = s.Counts.Wrote
	return o
}

// runInBackground starts what a server does besides answering.
func (s *Server) runInBackground() {
	s.running = true
	s.provider.Start(s.options.Forked != nil)
	s.RunLoops(&s.loops)
	s.loops.Go(s.witness.Run)
}

// takeUp takes the instant from which the directory counts, and loads the timetable in force.
func (s *Server) takeUp() error {
	var clock ledger.Clock
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		clock = st.Clock()
		for id, use := range auth.LastUses(st.Partners, st.Accounts) {
			if was := s.loaded.LastUses[id]; was != nil {
				use.Store(was.Load())
			}
		}
	})
	if err != nil {
		return err
	}
	s.Deprecated = cmp.Or(s.options.LegacySince, clock.Began, s.Store.Created())
	return s.loadTimetable()
}

// load takes up what the journal says, and loads or makes what lies beside it.
func (s *Server) load(start time.Time) error {
	if s.options.Lab != nil && !s.options.Verb {
		if err := s.options.Lab.StartClock(start); err != nil {
			return err
		}
	}
	if err := s.takeUp(); err != nil {
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
	var seeded error
	if s.options.Lab != nil {
		seeded = s.options.Lab.KeepSeed()
	}
	return errors.Join(seeded, s.openIDP(), s.LoadRing(), s.openPeers(), s.openTicketKey())
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
	tt := s.loaded.Timetable
	s.loaded = Loaded{}
	if !s.options.Verb {
		journey.Prepare(tt) // without the store's lock
	}
	if err := ledger.UseTimetable(s.Store, tt); err != nil {
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

// Drain begins a stop: those who wait for events are answered, and the keeper has 30 s for what it lacks.
func (s *Server) Drain() {
	s.drain()
	s.Store.Leave()
}

// Err is why the journal can no longer be written (see Failed).
func (s *Server) Err() error { return s.Store.Err() }

// Close ends the background work and closes the store, after the last request.
func (s *Server) Close() error {
	if s.Still.Load() && s.running {
		s.RunDue()
	}
	s.stop()
	s.loops.Wait()
	s.outbox.Finish()
	if s.running {
		s.askWitnesses()
	}
	err := s.Store.Close()
	if s.keeper != nil {
		s.keeper.Close()
	}
	return err
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
		secret = s.ExistingSecret
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
		s.Log.Warn("the key that signs tickets has changed: inspectors need the new " +
			ticket.PublicFile + ", and earlier papers are not valid with it")
	}
	return err
}

// openPeers sets the provider, the messenger and the mail server that the configuration names.
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
