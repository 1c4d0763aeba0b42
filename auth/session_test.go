package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/schedule/ids"
)

// signedIn is accounts in which a user has signed in at noon with the tokens access-1 and refresh-1.
func signedIn(t testing.TB, user ids.ID, company string) AccountRecorder {
	t.Helper()
	a := accounts(t)
	a.ApplySessionStarted(noon, &SessionStarted{
		Session: ids.ID{50},
		User:    user,
		Company: company,
		Tokens:  NewTokens(noon, "access-1", "refresh-1"),
	})
	return a
}

// refreshed gives the session the tokens access-n and refresh-n.
func refreshed(a AccountRecorder, n int, now time.Time) {
	a.ApplySessionRefreshed(now, &SessionRefreshed{ids.ID{50},
		NewTokens(now, fmt.Sprint("access-", n), fmt.Sprint("refresh-", n))})
}

// goodTokens returns which of the tokens are taken now: "access", "refresh", both or neither.
func goodTokens(a AccountRecorder, n int, now time.Time) (list string) {
	for _, kind := range []string{"access", "refresh"} {
		token := fmt.Sprint(kind, "-", n)
		if a.Caller(HashOf(token), kind == "refresh", now) != nil {
			list += kind + " "
		}
		if a.Caller(HashOf(token), kind != "refresh", now) != nil {
			list += kind + " as the other "
		}
	}
	return list
}

// A session was last used when it was, also before 1970, whatever is remembered since the start.
func TestASessionBefore1970WasUsedThen(t *testing.T) {
	a := NewAccounts()
	then := time.Date(1969, 12, 30, 8, 0, 0, 0, time.UTC)
	a.RestoreSession(&Session{ID: ids.ID{1}, Used: then})
	s := a.Session(ids.ID{1})
	if at := s.LastUsed(); !at.Equal(then) {
		t.Errorf("it was last used at %v, want %v", at, then)
	}
	s.Touch(then.Add(time.Minute))
	if at := s.LastUsed(); !at.Equal(then.Add(time.Minute)) {
		t.Errorf("used again, it was last used at %v", at)
	}
}

// Decision sessions.cookies: an access token is good for 15 minutes, a refresh token for 30 days, to the
// millisecond.
func TestTokensAreGoodForTheirTime(t *testing.T) {
	a := signedIn(t, ids.ID{1}, "a")
	const day, ms = 24 * time.Hour, time.Millisecond
	for after, want := range map[time.Duration]string{
		0: "access refresh ", 15*time.Minute - ms: "access refresh ", 15 * time.Minute: "refresh ",
		30*day - ms: "refresh ", 30 * day: "", 365 * day: "",
	} {
		if got := goodTokens(a, 1, noon.Add(after)); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	p := a.Caller(HashOf("access-1"), false, noon)
	if p.User.ID != (ids.ID{1}) || p.Session.ID != (ids.ID{50}) || p.Access != at("a", "ADMIN") ||
		!p.Session.Used.Equal(noon) {
		t.Errorf("%+v", p)
	}
	for _, token := range []string{"", "access-2", "ACCESS-1", "access-1 ", HashOf("access-1").String()} {
		if a.Caller(HashOf(token), false, noon) != nil || a.Caller(HashOf(token), true, noon) != nil {
			t.Errorf("%q is taken", token)
		}
	}
}

// Decision sessions.cookies: refreshing rotates both tokens and starts both times anew.
func TestRefreshingRotatesBothTokens(t *testing.T) {
	a := signedIn(t, ids.ID{1}, "a")
	before := a.Sessions()[0]
	was := *before
	second := noon.Add(29 * 24 * time.Hour)
	refreshed(a, 2, second)
	if one, two := goodTokens(a, 1, second), goodTokens(a, 2, second); one != "" || two != "access refresh " {
		t.Errorf("the former are good as %q, the new ones as %q", one, two)
	}
	if got := goodTokens(a, 2, second.Add(30*24*time.Hour-time.Millisecond)); got != "refresh " {
		t.Errorf("29 days later there were 30 more: %q", got)
	}
	if got := goodTokens(a, 2, second.Add(30*24*time.Hour)); got != "" {
		t.Errorf("30 days after the refresh: %q", got)
	}
	for n := 3; n < 10; n++ { // a session given away stays as it was, however its tokens are kept
		refreshed(a, n, second)
	}
	if diff := cmp.Diff(was, *before, withoutUse); diff != "" {
		t.Error(diff)
	}
	if s := a.Sessions(); len(s) != 1 || s[0].ID != (ids.ID{50}) || !s[0].Used.Equal(second) {
		t.Errorf("%+v", s)
	}
}

// Decision sessions.cookies: a reused old refresh token revokes the session; an access token or one that
// means nothing does not.
func TestAReusedRefreshTokenEndsItsFamily(t *testing.T) {
	for _, old := range []string{"refresh-1", "refresh-2"} {
		a := signedIn(t, ids.ID{1}, "a")
		a.ApplySessionStarted(noon, &SessionStarted{
			Session: ids.ID{51},
			User:    ids.ID{1},
			Company: "a",
			Tokens:  NewTokens(noon, "access-of-another", "refresh-of-another"),
		})
		refreshed(a, 2, noon)
		refreshed(a, 3, noon)
		for _, token := range []string{"access-1", "access-2", "access-3", "refresh-3", "", "refresh-4",
			"refresh-of-another"} {
			if e := a.Reused(HashOf(token), noon); e != nil {
				t.Errorf("%q counts as reused", token)
			}
		}
		if a.Caller(HashOf(old), true, noon) != nil || a.Caller(HashOf(old), false, noon) != nil {
			t.Errorf("%q still opens the session", old)
		}
		end := noon.Add(30 * 24 * time.Hour)
		if a.Reused(HashOf(old), end) != nil || a.Reused(HashOf(old), end.Add(-time.Millisecond)) == nil {
			t.Errorf("%q counts as reused after the session, or no more in it", old)
		}
		e := a.Reused(HashOf(old), noon)
		if e == nil || *e != (SessionEnded{ids.ID{50}, Reuse}) {
			t.Fatalf("%q: %+v", old, e)
		}
		a.ApplySessionEnded(noon, e)
		for n := 1; n <= 3; n++ {
			got := goodTokens(a, n, noon)
			if got != "" || a.Reused(HashOf(fmt.Sprint("refresh-", n)), noon) != nil {
				t.Errorf("%q was shown twice; then %d is good as %q, or counts again", old, n, got)
			}
		}
		if a.Caller(HashOf("access-of-another"), false, noon) == nil || len(a.Sessions()) != 1 ||
			len(a.byToken) != 2 {
			t.Errorf("the user's other session ended too, or tokens of this one are left: %d", len(a.byToken))
		}
	}
}

// Decision users.roles: whoever loses an access, or is removed, has no session for it any more; another role
// counts at once.
func TestWhatBecomesOfAUserCountsAtOnce(t *testing.T) {
	a := signedIn(t, ids.ID{1}, "a")
	a.ApplySessionStarted(noon, &SessionStarted{
		Session: ids.ID{51},
		User:    ids.ID{1},
		Company: "b",
		Tokens:  NewTokens(noon, "access-b", "refresh-b"),
	})
	a.ApplySessionStarted(noon, &SessionStarted{
		Session: ids.ID{52},
		User:    ids.ID{2},
		Company: "a",
		Tokens:  NewTokens(noon, "access-boris", "refresh-boris"),
	})
	role := func(token string) Role {
		if p := a.Caller(HashOf(token), false, noon); p != nil {
			return p.Access.Role
		}
		return "nobody"
	}
	check := func(when string, want ...Role) {
		t.Helper()
		got := []Role{role("access-1"), role("access-b"), role("access-boris")}
		if cmp.Diff(got, want) != "" {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	check("at first", "ADMIN", "VIEWER", "VIEWER")
	a.ApplyAccessGiven(noon, &AccessGiven{User: ids.ID{1}, Access: at("a", "VIEWER")})
	check("another role", "VIEWER", "VIEWER", "VIEWER")
	refreshed(a, 2, noon)
	a.ApplyUserRemoved(noon, &UserRemoved{User: ids.ID{1}})
	check("the user removed", "nobody", "nobody", "VIEWER")
	if len(a.Sessions()) != 1 || len(a.byToken) != 2 {
		t.Error("the sessions are not forgotten whole")
	}
}

// Decision sessions.limit: what is over is forgotten when its user signs in again.
func TestSessionsThatAreOverAreForgottenAtTheNextSignIn(t *testing.T) {
	for after, left := range map[time.Duration]int{
		30*24*time.Hour - time.Millisecond: 2,
		30 * 24 * time.Hour:                1,
	} {
		a := signedIn(t, ids.ID{1}, "a")
		refreshed(a, 2, noon)
		now := noon.Add(after)
		if len(a.Sessions()) != 1 {
			t.Error("it was forgotten before")
		}
		a.ApplySessionStarted(now, &SessionStarted{
			Session: ids.ID{51},
			User:    ids.ID{1},
			Company: "a",
			Tokens:  NewTokens(now, "a", "r"),
		})
		if tokens := map[int]int{1: 2, 2: 5}[left]; len(a.Sessions()) != left || len(a.byToken) != tokens {
			t.Errorf("after %v: %d sessions, %d tokens", after, len(a.Sessions()), len(a.byToken))
		}
	}
}

// Decision sessions.life: logout ends the session, and what a snapshot restores is what it was.
func TestSessionsAreRestoredAsTheyWere(t *testing.T) {
	a := signedIn(t, ids.ID{1}, "a")
	refreshed(a, 2, noon)
	b := NewAccounts()
	for _, u := range a.Users() {
		b.RestoreUser(u)
	}
	for _, s := range a.Sessions() {
		b.RestoreSession(s)
	}
	if goodTokens(b, 1, noon) != "" || goodTokens(b, 2, noon) != "access refresh " ||
		b.Reused(HashOf("refresh-1"), noon) == nil || b.Reused(HashOf("access-1"), noon) != nil {
		t.Error("the restored session takes other tokens")
	}
	if diff := cmp.Diff(a.Accounts(), b.Accounts(), cmp.AllowUnexported(Accounts{}), withoutUse); diff != "" {
		t.Error(diff)
	}
	b.ApplySessionEnded(noon, &SessionEnded{ids.ID{50}, Logout})
	if goodTokens(b, 2, noon) != "" || len(b.Sessions()) != 0 || len(b.byToken) != 0 {
		t.Error("it has not ended")
	}
}

// withoutUse leaves out what a session does not keep.
var withoutUse = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".use" }, cmp.Ignore())

// Decision sessions.limit: a user has 50 sessions at a time; the oldest ends, and one whose time is over does
// not count.
func TestTheOldestSessionEndsWhenThereAreTooMany(t *testing.T) {
	a := signedIn(t, ids.ID{1}, "a")
	start := func(n int, now time.Time) {
		tokens := NewTokens(now, fmt.Sprint("access of ", n), fmt.Sprint("refresh of ", n))
		a.ApplySessionStarted(now, &SessionStarted{
			Session: ids.ID{100, byte(n)},
			User:    ids.ID{1},
			Company: "a",
			Tokens:  tokens,
		})
	}
	for n := range MaxSessions - 1 {
		if e := a.MakeRoom(ids.ID{1}, noon); e != nil {
			t.Fatalf("with %d sessions %v is to end", n+1, e)
		}
		start(n, noon.Add(time.Duration(n+1)*time.Minute))
	}
	later := noon.Add(time.Hour)
	e := a.MakeRoom(ids.ID{1}, later)
	if len(e) != 1 || e[0].Session != (ids.ID{50}) || e[0].Reason != TooMany {
		t.Fatalf("with %d sessions %v are to end", MaxSessions, e)
	}
	start(201, later) // as a version before would have let it
	if e := a.MakeRoom(ids.ID{1}, later); len(e) != 2 || e[1].Session != (ids.ID{100, 0}) {
		t.Errorf("with one too many %v are to end", e)
	}
	a.ApplySessionEnded(later, &SessionEnded{ids.ID{100, 201}, Logout})
	a.ApplySessionEnded(later, e[0])
	if e := a.MakeRoom(ids.ID{1}, later); e != nil || len(a.Sessions()) != MaxSessions-1 {
		t.Errorf("%v, %d sessions", e, len(a.Sessions()))
	}
	start(200, later)
	if e := a.MakeRoom(ids.ID{1}, noon.Add(SessionLife+time.Minute)); e != nil {
		t.Errorf("a session that is over counts: %v", e)
	}
	if e := a.MakeRoom(ids.ID{2}, later); e != nil {
		t.Errorf("another's sessions count: %v", e)
	}
}

// Decision sessions.limit: a session knows its last 100 refresh tokens again, and remembers no more.
func TestASessionRemembersItsLastRefreshTokens(t *testing.T) {
	a := signedIn(t, ids.ID{1}, "a")
	for n := 2; n <= 300; n++ {
		refreshed(a, n, noon)
	}
	if s := a.Sessions()[0]; len(s.Refreshes) != 1+MaxRefreshes || len(a.byToken) != 2+MaxRefreshes {
		t.Errorf("%d refresh tokens, %d tokens", len(s.Refreshes), len(a.byToken))
	}
	if a.Reused(HashOf("refresh-200"), noon) == nil || a.Reused(HashOf("refresh-199"), noon) != nil {
		t.Error("the former tokens that end the session are not the last hundred")
	}
	if goodTokens(a, 300, noon) != "access refresh " {
		t.Error("the last tokens are not good")
	}
}
