package auth

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"sync/atomic"
	"time"
)

const (
	AccessLife  = 15 * time.Minute // for which an access token is good; refreshing gives another
	SessionLife = 30 * day         // for which a session lasts since it was last refreshed
)

// Session is a user signed in for a company. It is immutable; a change makes a new one. An ended one is forgotten.
type Session struct {
	ID          ID        `json:"id"`
	User        ID        `json:"user"`
	Company     string    `json:"company"` // its id
	Used        time.Time `json:"used"`    // when it was made or last refreshed
	Access      Hash      `json:"access"`
	AccessUntil time.Time `json:"accessUntil"`
	Refreshes   []Hash    `json:"refreshes"` // the last is good; whoever shows another has stolen it, or was stolen from
	Until       time.Time `json:"until"`

	use *atomic.Int64 // Unix milliseconds; not kept: a line for every request would be too many
}

// Touch remembers that the session was used, until a restart.
func (s *Session) Touch(now time.Time) { s.use.Store(now.UnixMilli()) }

// LastUsed is when the session was last used, as far as that is known: at least when it was last refreshed.
func (s *Session) LastUsed() time.Time {
	if at := time.UnixMilli(s.use.Load()).UTC(); at.After(s.Used) {
		return at
	}
	return s.Used
}

// Tokens are the hashes of a session's new access and refresh tokens, and until when these are good.
type Tokens struct {
	Access      Hash      `json:"access"`
	AccessUntil time.Time `json:"accessUntil"`
	Refresh     Hash      `json:"refresh"`
	Until       time.Time `json:"until"`
}

// SessionStarted says that a user signed in. Link is made by it, unless nil.
type SessionStarted struct {
	Session ID     `json:"session"`
	User    ID     `json:"user"`
	Company string `json:"company"`
	Link    *Link  `json:"link,omitempty"`
	Tokens
}

// SessionRefreshed says that a session got new tokens; the former are no longer good.
type SessionRefreshed struct {
	Session ID `json:"session"`
	Tokens
}

// SessionEnded says that a session was revoked, and why.
type SessionEnded struct {
	Session ID     `json:"session"`
	Reason  string `json:"reason"`
}

// The reasons of SessionEnded.
const (
	Logout = "logout"
	Reuse  = "an old refresh token was shown"
)

// NewToken makes a secret, as access and refresh tokens are: 256 random bits.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// NewTokens gives the hashes of new tokens and when they end.
func NewTokens(now time.Time, access, refresh string) Tokens {
	return Tokens{HashOf(access), now.Add(AccessLife), HashOf(refresh), now.Add(SessionLife)}
}

// Principal is who calls in a session: the user, for a company.
type Principal struct {
	User    *User
	Session *Session
	Access  Access
}

// Caller finds who shows an access token with that hash, or, with refreshing, the refresh token in force; nil is nobody.
func (a *Accounts) Caller(hash Hash, refreshing bool, now time.Time) *Principal {
	s := a.sessions[a.byToken[hash]]
	if s == nil || !now.Before(s.Until) ||
		refreshing && s.refresh() != hash || !refreshing && (s.Access != hash || !now.Before(s.AccessUntil)) {
		return nil
	}
	if access, ok := a.users[s.User].Access(s.Company); ok {
		return &Principal{a.users[s.User], s, access}
	}
	return nil
}

func (s *Session) refresh() Hash { return s.Refreshes[len(s.Refreshes)-1] }

// Reused decides to end the session whose old refresh token has that hash; nil when it is none.
func (a *Accounts) Reused(hash Hash, now time.Time) *SessionEnded {
	s := a.sessions[a.byToken[hash]]
	if s == nil || !now.Before(s.Until) || hash == s.Access || hash == s.refresh() {
		return nil
	}
	return &SessionEnded{s.ID, Reuse}
}

// ApplySessionStarted changes the state as the event says, and forgets sessions whose time is over.
func (a *Accounts) ApplySessionStarted(now time.Time, e *SessionStarted) {
	for _, s := range a.sessions {
		if !now.Before(s.Until) {
			a.end(s)
		}
	}
	if e.Link != nil {
		n := *a.users[e.User]
		n.Links = append(slices.Clone(n.Links), *e.Link)
		a.users[e.User] = &n
	}
	s := &Session{e.Session, e.User, e.Company, now, e.Access, e.AccessUntil, []Hash{e.Refresh}, e.Until, nil}
	a.keep(s, e.Refresh)
}

func (a *Accounts) ApplySessionRefreshed(now time.Time, e *SessionRefreshed) {
	n := *a.sessions[e.Session]
	delete(a.byToken, n.Access)
	n.Refreshes = append(slices.Clip(n.Refreshes), e.Refresh)
	n.Used, n.Access, n.AccessUntil, n.Until = now, e.Access, e.AccessUntil, e.Until
	a.keep(&n, e.Refresh)
}

func (a *Accounts) ApplySessionEnded(_ time.Time, e *SessionEnded) { a.end(a.sessions[e.Session]) }

// keep makes s the session of its id, and finds it by its access token and by these.
func (a *Accounts) keep(s *Session, refreshes ...Hash) {
	s.use = cmp.Or(s.use, new(atomic.Int64))
	a.sessions[s.ID], a.byToken[s.Access] = s, s.ID
	for _, h := range refreshes {
		a.byToken[h] = s.ID
	}
}

func (a *Accounts) end(s *Session) {
	delete(a.sessions, s.ID)
	delete(a.byToken, s.Access)
	for _, h := range s.Refreshes {
		delete(a.byToken, h)
	}
}
