package auth

import (
	"slices"
	"sync/atomic"
	"time"

	"waybill/schedule/ids"
)

// Session is a user signed in for a company. It is immutable; a change makes a new one. An ended one is
// forgotten.
type Session struct {
	ID          ids.ID    `json:"id"`
	User        ids.ID    `json:"user"`
	Company     string    `json:"company"` // its id
	Used        time.Time `json:"used"`    // when it was made or last refreshed
	Access      Hash      `json:"access"`
	AccessUntil time.Time `json:"accessUntil"`
	// Of these, at most 1+MaxRefreshes, the last is good. When another is shown, a token was stolen: by the
	// caller or from the caller.
	Refreshes []Hash    `json:"refreshes"`
	Until     time.Time `json:"until"`

	use *atomic.Int64 // Unix milliseconds; not kept: a line for every request would be too many
}

// Touch remembers that the session was used, until a restart.
func (s *Session) Touch(now time.Time) {
	s.use.Store(now.UnixMilli())
}

// LastUsed is when the session was last used, as far as that is known: at least when it was last refreshed.
func (s *Session) LastUsed() time.Time {
	return slices.MaxFunc([]time.Time{s.Used, time.UnixMilli(s.use.Load()).UTC()}, time.Time.Compare)
}

// LastUses returns what no line of the journal says: in Unix milliseconds, when each partner last called the
// legacy interface, and when each session was last used, by their ids.
func LastUses(p *Partners, a *Accounts) map[ids.ID]*atomic.Int64 {
	all := map[ids.ID]*atomic.Int64{}
	for _, x := range p.list {
		all[x.ID] = x.use
	}
	for id, s := range a.sessions {
		all[id] = s.use
	}
	return all
}

// NewTokens returns the hashes of new tokens and when they end.
func NewTokens(now time.Time, access, refresh string) Tokens {
	return Tokens{HashOf(access), now.Add(AccessLife), HashOf(refresh), now.Add(SessionLife)}
}

// Principal is who calls in a session: the user, for a company.
type Principal struct {
	User    *User
	Session *Session
	Access  Access
}

// Caller finds the user and session of an access token with that hash, or, with refreshing, of the refresh
// token in force; nil where there is none.
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

func (s *Session) refresh() Hash {
	return s.Refreshes[len(s.Refreshes)-1]
}

// Reused decides to end the session whose old refresh token has that hash; nil when it is none.
func (a *Accounts) Reused(hash Hash, now time.Time) *SessionEnded {
	s := a.sessions[a.byToken[hash]]
	if s == nil || !now.Before(s.Until) || hash == s.Access || hash == s.refresh() {
		return nil
	}
	return &SessionEnded{s.ID, Reuse}
}

// MakeRoom decides to end the oldest sessions of a user who has as many as may be, or more; none where there
// is room for another.
func (a *Accounts) MakeRoom(user ids.ID, now time.Time) (ended []*SessionEnded) {
	var live []ids.ID
	for _, id := range a.byUser[user] {
		if now.Before(a.sessions[id].Until) {
			live = append(live, id)
		}
	}
	for len(live) >= MaxSessions {
		ended = append(ended, &SessionEnded{live[0], TooMany})
		live = live[1:]
	}
	return ended
}

// ApplySessionStarted changes the state as the event says, and forgets the user's sessions whose time is
// over. The error says that there is no such user, or no access of that user to the company.
func (a AccountRecorder) ApplySessionStarted(now time.Time, e *SessionStarted) error {
	if err := a.CheckAccess(e.User, e.Company); err != nil {
		return err
	}
	for _, id := range slices.Clone(a.byUser[e.User]) {
		if s := a.sessions[id]; !now.Before(s.Until) {
			a.end(s)
		}
	}
	a.link(e.User, e.Link)
	a.keep(&Session{
		ID:          e.Session,
		User:        e.User,
		Company:     e.Company,
		Used:        now,
		Access:      e.Access,
		AccessUntil: e.AccessUntil,
		Refreshes:   []Hash{e.Refresh},
		Until:       e.Until,
	}, e.Refresh)
	return nil
}

// ApplySessionRefreshed sets new tokens of a session; the former ones are no longer good. The error says that
// there is no such session.
func (a AccountRecorder) ApplySessionRefreshed(now time.Time, e *SessionRefreshed) error {
	was := a.sessions[e.Session]
	if was == nil {
		return ids.Unknown("session", e.Session)
	}
	n := *was
	delete(a.byToken, n.Access)
	n.Refreshes = append(slices.Clip(n.Refreshes), e.Refresh)
	for len(n.Refreshes) > 1+MaxRefreshes {
		delete(a.byToken, n.Refreshes[0])
		n.Refreshes = n.Refreshes[1:]
	}
	n.Used = now
	n.Access = e.Access
	n.AccessUntil = e.AccessUntil
	n.Until = e.Until
	a.keep(&n, e.Refresh)
	return nil
}

// ApplySessionEnded forgets a session. The error says that there is none.
func (a AccountRecorder) ApplySessionEnded(_ time.Time, e *SessionEnded) error {
	s := a.sessions[e.Session]
	if s == nil {
		return ids.Unknown("session", e.Session)
	}
	a.end(s)
	return nil
}

// keep makes s the session of its id, and finds it by its access token and by these.
func (a AccountRecorder) keep(s *Session, refreshes ...Hash) {
	if s.use == nil {
		s.use = new(atomic.Int64)
		s.Touch(s.Used)
	}
	if a.sessions[s.ID] == nil {
		a.byUser[s.User] = append(a.byUser[s.User], s.ID)
	}
	a.sessions[s.ID] = s
	a.byToken[s.Access] = s.ID
	for _, h := range refreshes {
		a.byToken[h] = s.ID
	}
}

func (a AccountRecorder) end(s *Session) {
	delete(a.sessions, s.ID)
	a.byUser[s.User] = slices.DeleteFunc(slices.Clone(a.byUser[s.User]), func(id ids.ID) bool {
		return id == s.ID
	})
	if len(a.byUser[s.User]) == 0 {
		delete(a.byUser, s.User)
	}
	delete(a.byToken, s.Access)
	for _, h := range s.Refreshes {
		delete(a.byToken, h)
	}
}
