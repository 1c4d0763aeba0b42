package server

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/server/wire"
)

// The session's cookies (contract §9).
const (
	accessCookie  = "waybill_access"
	refreshCookie = "waybill_refresh"
	refreshPath   = "/v2/auth"
)

// company wraps a handler that takes the user of the session that the request shows, if the role may do that.
func (s *Server) company(may auth.Permission, h func(http.ResponseWriter, *http.Request, *auth.Principal) error) http.HandlerFunc {
	allowed := func(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
		if s.origin.Check(r) != nil || !p.Access.Role.May(may) {
			return errForbidden
		}
		return h(w, r, p)
	}
	return known(s, errUnauthorized, allowed, func(r *http.Request) string { return cookie(r, accessCookie) },
		func(st *ledger.State, token auth.Hash, now time.Time) *auth.Principal {
			p := st.Accounts.Caller(token, false, now)
			if p != nil {
				p.Session.Touch(now)
			}
			return p
		})
}

// siteBody reads a body that another site's page must not have made a browser send.
func (s *Server) siteBody(w http.ResponseWriter, r *http.Request, optional bool, fields func(*wire.Reader)) error {
	w.Header()["Cache-Control"] = noStore
	if s.origin.Check(r) != nil {
		return errForbidden
	}
	return readBody(w, r, optional, fields)
}

// noBody reads a body that has nothing to say. Its error is not to be told before who calls: 401, then 403, then 400.
func (s *Server) noBody(w http.ResponseWriter, r *http.Request) error {
	return s.siteBody(w, r, true, func(in *wire.Reader) { in.Fields() })
}

// cookie gives a cookie's value; "" when there is none or more than one.
func cookie(r *http.Request, name string) string {
	if list := r.CookiesNamed(name); len(list) == 1 {
		return list[0].Value
	}
	return ""
}

// setCookie gives the client a token; with a negative age it takes it away.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, path, token string, age time.Duration) {
	c := &http.Cookie{Name: name, Value: token, Path: path, MaxAge: int(age / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	c.Secure = s.secure(r)
	http.SetCookie(w, c)
}

// signIn answers with a session as the event that decide gives leaves it, and its new tokens.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request,
	decide func(*ledger.State, time.Time, auth.Tokens) ([]ledger.Entry, error)) error {
	access, refresh := auth.NewToken(), auth.NewToken()
	var caller *auth.Principal
	seq, err := s.st.Update(func(st *ledger.State, now time.Time) ([]ledger.Entry, error) {
		return decide(st, now, auth.NewTokens(now, access, refresh))
	}, func(st *ledger.State, now time.Time) { caller = st.Accounts.Caller(auth.HashOf(access), false, now) })
	if err != nil {
		return err
	}
	if caller == nil { // the event has ended it
		s.log.Warn("a refresh token was shown twice; its session is ended", "request", requestID(r))
		return errUnauthorized
	}
	wrote(w, seq)
	s.setCookie(w, r, accessCookie, "/", access, auth.AccessLife)
	s.setCookie(w, r, refreshCookie, refreshPath, refresh, auth.SessionLife)
	return s.replySession(w, caller)
}

// postPreLogin answers POST /v2/auth/pre-login.
func (s *Server) postPreLogin(w http.ResponseWriter, r *http.Request) error {
	var email, password string
	if err := s.siteBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("email", func() { email = in.Text(ValidEmail, "be an e-mail address") }),
			wire.Must("password", func() { password = in.Text(notEmpty, "not be empty") }),
		)
	}); err != nil {
		return err
	}
	var user *auth.User
	var kept auth.Password
	var now time.Time
	if err := s.st.View(func(st *ledger.State, at time.Time) {
		user, kept = st.Accounts.Login(email)
		now = at
	}); err != nil {
		return err
	}
	good := func() bool { return kept.Matches(password) && user != nil }
	if err := s.passwords.try(r, auth.FoldEmail(email), now, good); err != nil {
		return err
	}
	return reply(w, http.StatusOK, func(w *wire.Writer) {
		writeUser(w, user)
		s.writeAccesses(w, user)
	})
}

// postLogin answers POST /v2/auth/idp/login.
func (s *Server) postLogin(w http.ResponseWriter, r *http.Request) error {
	var idToken, company string
	if err := s.siteBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("idToken", func() { idToken = in.String() }),
			wire.May("companyId", func() { company = in.Text(notEmpty, "not be empty") }),
		)
	}); err != nil {
		return err
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	who, wrong := s.idp.Verify(r.Context(), idToken, now)
	session := auth.ID(s.newID())
	err = s.signIn(w, r, func(st *ledger.State, at time.Time, tokens auth.Tokens) ([]ledger.Entry, error) {
		if wrong != nil {
			return nil, wrong
		}
		user, link, err := st.Accounts.Identify(who)
		if err != nil {
			return nil, err
		}
		list := s.accesses(user)
		i := slices.IndexFunc(list, func(a auth.Access) bool { return company == "" || a.Company.ID == company })
		if i < 0 {
			return nil, errForbidden
		}
		in := list[i].Company.ID
		started := &auth.SessionStarted{Session: session, User: user.ID, Link: link, Company: in, Tokens: tokens}
		return append(ledger.Entries(st.Accounts.MakeRoom(user.ID, at)...), ledger.Entry{Event: started}), nil
	})
	if errors.Is(err, auth.ErrCredentials) {
		s.log.Info("a sign-in was refused", "request", requestID(r), "err", err)
	}
	return err
}

// postRefresh answers POST /v2/auth/refresh. An old refresh token ends the session: user or thief has the newer one.
func (s *Server) postRefresh(w http.ResponseWriter, r *http.Request) error {
	shown, why := auth.HashOf(cookie(r, refreshCookie)), s.noBody(w, r)
	return s.signIn(w, r, func(st *ledger.State, now time.Time, tokens auth.Tokens) ([]ledger.Entry, error) {
		caller, reused := st.Accounts.Caller(shown, true, now), st.Accounts.Reused(shown, now)
		switch {
		case reused != nil:
			return ledger.Entries(reused), nil
		case caller == nil:
			return nil, errUnauthorized
		}
		return ledger.Entries(&auth.SessionRefreshed{Session: caller.Session.ID, Tokens: tokens}), why
	})
}

// postLogout answers POST /v2/auth/logout, to whoever shows either token.
func (s *Server) postLogout(w http.ResponseWriter, r *http.Request) error {
	why := s.noBody(w, r)
	access, refresh := auth.HashOf(cookie(r, accessCookie)), auth.HashOf(cookie(r, refreshCookie))
	var caller *auth.Principal
	var ended time.Time
	seq, err := s.do(func(st *ledger.State, now time.Time) (ledger.Event, error) {
		ended, caller = now, cmp.Or(st.Accounts.Caller(access, false, now), st.Accounts.Caller(refresh, true, now))
		if caller == nil {
			return nil, errUnauthorized
		}
		return &auth.SessionEnded{Session: caller.Session.ID, Reason: auth.Logout}, why
	})
	if err != nil {
		return err
	}
	wrote(w, seq)
	s.setCookie(w, r, accessCookie, "/", "", -time.Second)
	s.setCookie(w, r, refreshCookie, refreshPath, "", -time.Second)
	return reply(w, http.StatusOK, func(w *wire.Writer) { writeSession(w, caller, ended) })
}

// getSession answers GET /v2/auth/session, once what it shows is on disk: the session may just have been made.
func (s *Server) getSession(w http.ResponseWriter, _ *http.Request, caller *auth.Principal) error {
	if err := s.st.View(func(*ledger.State, time.Time) {}); err != nil {
		return err
	}
	return s.replySession(w, caller)
}

// replySession answers with all there is to say of a session.
func (s *Server) replySession(w http.ResponseWriter, caller *auth.Principal) error {
	return reply(w, http.StatusOK, func(w *wire.Writer) {
		writeUser(w, caller.User)
		writeAccess(w, "access", s.current(caller.Access))
		writeSession(w, caller, time.Time{})
		s.writeAccesses(w, caller.User)
	})
}

// current gives an access with its company as the timetable in force has it, if it has.
func (s *Server) current(a auth.Access) auth.Access {
	tt := s.timetable.Load()
	if i := slices.IndexFunc(tt.Companies, func(c schedule.Company) bool { return c.ID == a.Company.ID }); i >= 0 {
		a.Company = companyOf(&tt.Companies[i])
	}
	return a
}

func companyOf(c *schedule.Company) auth.Company {
	return auth.Company{ID: c.ID, Name: c.Name, Slug: c.Slug, Tier: c.Tier}
}

// accesses gives a user's accesses by company name.
func (s *Server) accesses(u *auth.User) (list []auth.Access) {
	for _, a := range u.Accesses {
		list = append(list, s.current(a))
	}
	slices.SortFunc(list, func(a, b auth.Access) int {
		return cmp.Or(cmp.Compare(a.Company.Name, b.Company.Name), cmp.Compare(a.Company.ID, b.Company.ID))
	})
	return list
}

func writeUser(w *wire.Writer, u *auth.User) {
	w.Record("user", "id", u.ID.String(), "email", u.Person.Email, "firstName", u.Person.FirstName, "lastName", u.Person.LastName)
}

func (s *Server) writeAccesses(w *wire.Writer, u *auth.User) {
	wire.Each(w, "availableAccesses", s.accesses(u), func(a auth.Access) { writeAccess(w, "", a) })
}

func writeAccess(w *wire.Writer, name string, a auth.Access) {
	w.Object(name)
	w.Texts("contextType", "COMPANY", "companyId", a.Company.ID)
	w.Null("partnerId")
	w.String("role", string(a.Role))
	w.Record("company", "id", a.Company.ID, "name", a.Company.Name, "slug", a.Company.Slug, "tier", a.Company.Tier)
	w.EndObject()
}

func writeSession(w *wire.Writer, p *auth.Principal, revoked time.Time) {
	w.Object("session")
	w.Texts("id", p.Session.ID.String(), "contextType", "COMPANY")
	w.Texts("companyId", p.Session.Company, "userId", p.User.ID.String())
	w.Time("expiresAt", p.Session.Until)
	w.Time("lastUsedAt", p.Session.LastUsed())
	w.OptionalTime("revokedAt", revoked)
	w.EndObject()
}

// The limits of password checks (contract §9).
const (
	failureWindow   = 15 * time.Minute
	emailFailures   = 10
	addressFailures = 100
	manyFailing     = 10_000 // e-mails and addresses, from which on those that have waited enough are forgotten
	queuePerCore    = 4      // checks that wait
)

// throttle bounds password checks: how many fail, and how many run at a time. It is kept in memory only.
type throttle struct {
	running chan struct{} // a place per core
	waiting chan struct{}

	mu       sync.Mutex
	failures map[string][]time.Time // by e-mail or address, the oldest first
}

func newThrottle() *throttle {
	cores := runtime.GOMAXPROCS(0)
	return &throttle{running: make(chan struct{}, cores), waiting: make(chan struct{}, cores*(1+queuePerCore)), failures: map[string][]time.Time{}}
}

// try runs a check for an e-mail from an address; the error is errUnauthorized where it fails, or a 429. A check
// counts as failed while it runs, so that many at a time are not more than one after another.
func (t *throttle) try(r *http.Request, email string, now time.Time, check func() bool) error {
	select {
	case t.waiting <- struct{}{}:
		defer func() { <-t.waiting }()
	default:
		return tooMany(time.Second)
	}
	limits := map[string]int{"e-mail " + email: emailFailures, "address " + address(r): addressFailures}
	if wait := t.reserve(limits, now); wait > 0 {
		return tooMany(wait)
	}
	t.running <- struct{}{}
	defer func() { <-t.running }()
	if !check() {
		return errUnauthorized
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range limits { // what was reserved is the youngest
		if list := t.failures[key]; len(list) > 1 {
			t.failures[key] = list[:len(list)-1]
		} else {
			delete(t.failures, key)
		}
	}
	return nil
}

// reserve counts a failure for each key, or tells how long to wait until all their limits allow one.
func (t *throttle) reserve(limits map[string]int, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) > manyFailing { // hashing bounds how many can fail in the window
		maps.DeleteFunc(t.failures, func(_ string, list []time.Time) bool { return list[len(list)-1].Before(now.Add(-failureWindow)) })
	}
	for key, limit := range limits { // the oldest of as many as are allowed must be over
		if list := t.failures[key]; len(list) >= limit {
			wait = max(wait, list[len(list)-limit].Add(failureWindow).Sub(now))
		}
	}
	if wait == 0 {
		for key := range limits {
			list := t.failures[key]
			t.failures[key] = append(list[max(0, len(list)-addressFailures):], now)
		}
	}
	return wait
}

// address is where a request comes from; of IPv6, the network that one customer has.
func address(r *http.Request) string { return addressOf(r.RemoteAddr) }

// addressOf does so for HOST:PORT.
func addressOf(remote string) string {
	host, _, _ := net.SplitHostPort(remote)
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if a = a.Unmap(); a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.String()
	}
	return a.String()
}

// tooMany is a 429 that tells when to try again.
func tooMany(wait time.Duration) *failure {
	f := fail(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "too many attempts")
	f.retryAfter = strconv.Itoa(int((wait + time.Second - 1) / time.Second))
	return f
}
