package company

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// The session's cookies (decision sessions.cookies).
const (
	AccessCookie  = "waybill_access"
	RefreshCookie = "waybill_refresh"
)

// paths are those that the cookies are sent to.
var paths = map[string]string{
	AccessCookie:  "/",
	RefreshCookie: "/v2/auth",
}

// userHandler answers a request of a user who is signed in.
type userHandler func(http.ResponseWriter, *http.Request, *auth.Principal) error

// User wraps a handler that takes the user of the session that the request shows, if the role may do that.
func (s *Portal) User(may auth.Permission,
	h userHandler) http.HandlerFunc {
	allowed := func(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
		if err := s.CheckOrigin(r); err != nil {
			return err
		}
		return h(w, r, p)
	}
	find := func(st ledger.State, token auth.Hash, now time.Time) *auth.Principal {
		p := st.Accounts.Caller(token, false, now)
		// When it was last used is kept in memory only: a line for every request would be too much.
		if p != nil {
			p.Session.Touch(now)
		}
		return p
	}
	mayDo := func(p *auth.Principal) error {
		if !p.Access.Role.May(may) {
			return web.ErrForbidden
		}
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request) {
		token := func(r *http.Request) string { return s.cookie(w, r, AccessCookie) }
		web.Identified(s.Core, web.ErrUnauthorized, allowed, token, find, mayDo)(w, r)
	}
}

// siteBody reads a body that another site's page must not have made a browser send.
func (s *Portal) siteBody(w http.ResponseWriter, r *http.Request, optional bool,
	fields func(*wire.Reader)) error {
	w.Header()["Cache-Control"] = web.NoStore
	if err := s.CheckOrigin(r); err != nil {
		return err
	}
	return web.ReadBody(w, r, optional, fields)
}

// noBody reads a body that has nothing to say. Its error is not to be told before who calls: 401, then 403,
// then 400.
func (s *Portal) noBody(w http.ResponseWriter, r *http.Request) error {
	return s.siteBody(w, r, true, func(in *wire.Reader) {
		in.Fields()
	})
}

// cookie returns a cookie's value; "" when there is none. Of several, which of them is ours cannot be told:
// it is "", too, and the client forgets ours.
func (s *Portal) cookie(w http.ResponseWriter, r *http.Request, name string) string {
	list := r.CookiesNamed(name + web.CookieSuffix(r))
	if len(list) > 1 {
		s.SetCookie(w, r, name, "", -time.Second)
	}
	if len(list) == 1 {
		return list[0].Value
	}
	return ""
}

// SetCookie sets a cookie of the client to a token; with a negative age it takes the cookie away.
func (s *Portal) SetCookie(w http.ResponseWriter, r *http.Request, name, token string, age time.Duration) {
	c := &http.Cookie{
		Name:     name + web.CookieSuffix(r),
		Value:    token,
		Path:     paths[name],
		MaxAge:   int(age / time.Second),
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	}
	// A cookie that is Secure would not come back to a server that is reached without TLS, as a demo is.
	c.Secure = s.Secure(r)
	http.SetCookie(w, c)
}

// signIn answers with a session as the event that decide returns leaves it, and its new tokens.
func (s *Portal) signIn(w http.ResponseWriter, r *http.Request,
	decide func(ledger.State, time.Time, auth.Tokens) ([]ledger.Entry, error)) error {
	// The tokens are made before the lock is taken. Only their hashes are kept.
	access := auth.NewToken(s.Config.Random)
	refresh := auth.NewToken(s.Config.Random)
	var caller *auth.Principal
	seq, err := s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		return decide(st, now, auth.NewTokens(now, access, refresh))
	}, func(st ledger.State, now time.Time) {
		caller = st.Accounts.Caller(auth.HashOf(access), false, now)
	})
	if err != nil {
		return err
	}
	// The answer to a token that was shown twice is the same as to one that never was.
	if caller == nil { // the event has ended it
		s.Log.Warn("a refresh token was used twice; its session has ended", "request", web.RequestID(r))
		return web.ErrUnauthorized
	}
	web.Wrote(w, seq)
	s.SetCookie(w, r, AccessCookie, access, auth.AccessLife)
	s.SetCookie(w, r, RefreshCookie, refresh, auth.SessionLife)
	return s.replySession(w, caller)
}

// PostPreLogin answers POST /v2/auth/pre-login.
func (s *Portal) PostPreLogin(w http.ResponseWriter, r *http.Request) error {
	var email, password string
	err := s.siteBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("email", func() {
				email = web.ReadEmail(in)
			}),
			wire.Must("password", func() {
				password = in.Text(web.NotEmpty, "not be empty")
			}),
		)
	})
	if err != nil {
		return err
	}
	var user *auth.User
	var now time.Time
	err = s.Store.View(func(st ledger.State, at time.Time) {
		user = st.Accounts.ByEmail(email)
		now = at
	})
	if err != nil {
		return err
	}
	// Whoever has no account is checked against a password too, so that time does not reveal it.
	good := func() bool {
		return auth.IsPassword(user, password)
	}
	if err := s.Passwords.try(r, auth.FoldEmail(email), now, good); err != nil {
		return err
	}
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		writeUser(w, user)
		s.writeAccesses(w, user)
	})
}

// PostLogin answers POST /v2/auth/idp/login.
func (s *Portal) PostLogin(w http.ResponseWriter, r *http.Request) error {
	var idToken, company string
	if err := s.siteBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("idToken", func() {
				idToken = in.String()
			}),
			wire.May("companyId", func() {
				company = in.Text(web.NotEmpty, "not be empty")
			}),
		)
	}); err != nil {
		return err
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	// Keys may have to be fetched for this, so not under the lock.
	who, wrong := s.identity.Verify(r.Context(), idToken, now)
	session := s.NewID()
	salt := s.NewID()
	err = s.signIn(w, r, func(st ledger.State, at time.Time, tokens auth.Tokens) ([]ledger.Entry, error) {
		if wrong != nil {
			return nil, wrong
		}
		// Under the lock: the user may just have been removed, or linked to another subject.
		user, link, err := st.Accounts.Identify(who)
		if err != nil {
			return nil, err
		}
		if link != nil {
			link.Salt = salt
		}
		// Without a company named, the first by name.
		list := s.Accesses(user)
		i := slices.IndexFunc(list, func(a auth.Access) bool {
			return company == "" || a.Company.ID == company
		})
		if i < 0 {
			return nil, web.ErrForbidden
		}
		in := list[i].Company.ID
		started := &auth.SessionStarted{
			Session: session,
			User:    user.ID,
			Link:    link,
			Company: in,
			Tokens:  tokens,
		}
		return append(ledger.Entries(st.Accounts.MakeRoom(user.ID, at)...), ledger.Entry{Event: started}), nil
	})
	// The client hears no more than 401; the log says why.
	if errors.Is(err, auth.ErrCredentials) {
		s.Log.Info("a sign-in was refused", "request", web.RequestID(r), "err", err)
	}
	return err
}

// PostRefresh answers POST /v2/auth/refresh. An old refresh token ends the session: user or thief has the
// newer one.
func (s *Portal) PostRefresh(w http.ResponseWriter, r *http.Request) error {
	shown := auth.HashOf(s.cookie(w, r, RefreshCookie))
	why := s.noBody(w, r)
	return s.signIn(w, r, func(st ledger.State, now time.Time, tokens auth.Tokens) ([]ledger.Entry, error) {
		// A token that was replaced is shown by a thief, or by the user after the thief: both lose the
		// session.
		caller := st.Accounts.Caller(shown, true, now)
		reused := st.Accounts.Reused(shown, now)
		switch {
		case reused != nil:
			return ledger.Entries(reused), nil
		case caller == nil:
			return nil, web.ErrUnauthorized
		}
		return ledger.Entries(&auth.SessionRefreshed{
			Session: caller.Session.ID,
			Tokens:  tokens,
		}), why
	})
}

// PostLogout answers POST /v2/auth/logout, to whoever shows either token.
func (s *Portal) PostLogout(w http.ResponseWriter, r *http.Request) error {
	why := s.noBody(w, r)
	access := auth.HashOf(s.cookie(w, r, AccessCookie))
	refresh := auth.HashOf(s.cookie(w, r, RefreshCookie))
	var caller *auth.Principal
	var ended time.Time
	seq, err := s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		ended = now
		caller = cmp.Or(st.Accounts.Caller(access, false, now), st.Accounts.Caller(refresh, true, now))
		if caller == nil {
			return nil, web.ErrUnauthorized
		}
		return ledger.Entries(&auth.SessionEnded{
			Session: caller.Session.ID,
			Reason:  auth.Logout,
		}), why
	}, nil)
	if err != nil {
		return err
	}
	// A browser forgets both, whichever of them was shown.
	web.Wrote(w, seq)
	w.Header().Del("Set-Cookie")
	s.SetCookie(w, r, AccessCookie, "", -time.Second)
	s.SetCookie(w, r, RefreshCookie, "", -time.Second)
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		writeSession(w, caller, ended)
	})
}

// GetSession answers GET /v2/auth/session, once what it shows is on disk: the session may just have been
// made.
func (s *Portal) GetSession(w http.ResponseWriter, _ *http.Request, caller *auth.Principal) error {
	if err := s.Store.View(func(ledger.State, time.Time) {}); err != nil {
		return err
	}
	return s.replySession(w, caller)
}

// replySession answers with all there is to say of a session.
func (s *Portal) replySession(w http.ResponseWriter, caller *auth.Principal) error {
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		writeUser(w, caller.User)
		writeAccess(w, "access", s.CurrentAccess(caller.Access))
		writeSession(w, caller, time.Time{})
		s.writeAccesses(w, caller.User)
	})
}

// writeUser writes the member user.
func writeUser(w *wire.Writer, u *auth.User) {
	w.Object("user")
	w.String("id", u.ID.String())
	w.String("email", u.Person.Email)
	w.String("firstName", u.Person.FirstName)
	w.String("lastName", u.Person.LastName)
	w.EndObject()
}

// writeAccesses writes the companies that a user can act for.
func (s *Portal) writeAccesses(w *wire.Writer, u *auth.User) {
	wire.Each(w, "availableAccesses", s.Accesses(u), func(a auth.Access) {
		writeAccess(w, "", a)
	})
}

// writeAccess writes an Access: as whom a user acts for a company.
func writeAccess(w *wire.Writer, name string, a auth.Access) {
	w.Object(name)
	w.String("contextType", "COMPANY")
	w.String("companyId", a.Company.ID)
	w.Null("partnerId")
	w.String("role", string(a.Role))
	w.Object("company")
	w.String("id", a.Company.ID)
	w.String("name", a.Company.Name)
	w.String("slug", a.Company.Slug)
	w.String("tier", a.Company.Tier)
	w.EndObject()
	w.EndObject()
}

// writeSession writes a Session. revoked is the zero time unless it has just been ended.
func writeSession(w *wire.Writer, p *auth.Principal, revoked time.Time) {
	w.Object("session")
	w.String("id", p.Session.ID.String())
	w.String("contextType", "COMPANY")
	w.String("companyId", p.Session.Company)
	w.String("userId", p.User.ID.String())
	w.Time("expiresAt", p.Session.Until)
	w.Time("lastUsedAt", p.Session.LastUsed())
	w.OptionalTime("revokedAt", revoked)
	w.EndObject()
}

// The limits of password checks (decisions passwords.queue, passwords.failures).
const (
	failureWindow = 15 * time.Minute
	manyFailing   = 10_000 // e-mails and addresses, from which on those that have waited enough are forgotten
)

// throttle bounds password checks: how many fail, and how many run at a time. It is kept in memory only.
type throttle struct {
	running *web.Places // one per core

	mu       sync.Mutex
	failures map[string][]time.Time // by e-mail or address, the oldest first
}

// newThrottle returns a throttle that has seen no failure.
func newThrottle() *throttle {
	return &throttle{
		running:  web.NewPlaces(runtime.GOMAXPROCS(0)),
		failures: map[string][]time.Time{},
	}
}

// try runs a check for an e-mail from an address; the error is web.ErrUnauthorized where it fails, a 429, or
// a 503 where it is not its turn in time.
// A check counts as failed while it runs, so that many at a time are not more than one after another.
func (t *throttle) try(r *http.Request, email string, now time.Time, check func() bool) error {
	address := web.Address(r)
	ctx, cancel := context.WithTimeout(r.Context(), web.PlaceWait)
	defer cancel()
	leave, err := t.running.Take(ctx, address)
	if err != nil {
		return err
	}
	defer leave()
	limits := map[string]int{
		"e-mail " + email:    web.EmailFailures,
		"address " + address: web.AddressFailures,
	}
	if wait := t.Reserve(limits, now); wait > 0 {
		return web.TooMany(wait)
	}
	if !check() {
		return web.ErrUnauthorized
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

// Reserve counts a failure for each key, or returns how long to wait until all their limits allow one.
func (t *throttle) Reserve(limits map[string]int, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) > manyFailing { // hashing bounds how many can fail in the window
		maps.DeleteFunc(t.failures, func(_ string, list []time.Time) bool {
			return list[len(list)-1].Before(now.Add(-failureWindow))
		})
	}
	for key, limit := range limits { // the oldest of as many as are allowed must be over
		if list := t.failures[key]; len(list) >= limit {
			wait = max(wait, list[len(list)-limit].Add(failureWindow).Sub(now))
		}
	}
	if wait == 0 {
		for key := range limits {
			list := t.failures[key]
			t.failures[key] = append(list[max(0, len(list)-web.AddressFailures):], now)
		}
	}
	return wait
}
