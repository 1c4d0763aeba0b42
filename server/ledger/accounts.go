package ledger

import (
	"cmp"
	"fmt"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/store"
)

// accountKinds are the lines of partners, and of users and their sessions.
var accountKinds = []kind{
	row[auth.KeyAdded]{
		name:  "partner.key_added",
		apply: on(partners, (*auth.Partners).ApplyKeyAdded),
		after: func(s *State, _ store.Stamp, e *auth.KeyAdded) {
			s.feed(booking.ID(e.Partner)) // a partner without events can wait for one
		},
		story: func(_ *State, e *auth.KeyAdded, _ time.Time) string {
			return fmt.Sprintf("partner add: %q (%s) has a new key, whose hash is %s; "+
				"companies, if limited: %q",
				e.Name, e.Partner, e.Hash, e.Companies)
		},
	}.kind(),
	row[auth.KeysRevoked]{
		name:  "partner.revoked",
		apply: on(partners, (*auth.Partners).ApplyKeysRevoked),
		story: func(s *State, e *auth.KeysRevoked, _ time.Time) string {
			return fmt.Sprintf("partner revoke: the keys with the hashes %s of %s",
				e.Hashes, s.partnerNamed(booking.ID(e.Partner)))
		},
	}.kind(),
	row[auth.LegacyUsed]{
		name:  "partner.legacy_used",
		apply: on(partners, (*auth.Partners).ApplyLegacyUsed),
		story: func(s *State, e *auth.LegacyUsed, _ time.Time) string {
			partner := s.partnerNamed(booking.ID(e.Partner))
			return partner + " calls the legacy interface, for the first time on this day"
		},
	}.kind(),
	row[auth.UserAdded]{
		name:  "user.added",
		apply: on(accounts, (*auth.Accounts).ApplyUserAdded),
		story: func(_ *State, e *auth.UserAdded, _ time.Time) string {
			return fmt.Sprintf("user add: the new user %s is %s of company %q%s",
				e.User, e.Access.Role, e.Access.Company.Slug, tellLink(e.Link))
		},
	}.kind(),
	row[auth.AccessGiven]{
		name:  "user.access_given",
		apply: on(accounts, (*auth.Accounts).ApplyAccessGiven),
		story: func(_ *State, e *auth.AccessGiven, _ time.Time) string {
			return fmt.Sprintf("user add: user %s is %s of company %q%s",
				e.User, e.Access.Role, e.Access.Company.Slug, tellLink(e.Link))
		},
	}.kind(),
	row[auth.UserRemoved]{
		name:  "user.removed",
		apply: on(accounts, (*auth.Accounts).ApplyUserRemoved),
		story: func(_ *State, e *auth.UserRemoved, _ time.Time) string {
			return fmt.Sprintf("user remove: user %s is gone, and signed out", e.User)
		},
	}.kind(),
	row[auth.SessionStarted]{
		name:  "session.started",
		apply: on(accounts, (*auth.Accounts).ApplySessionStarted),
		story: func(_ *State, e *auth.SessionStarted, _ time.Time) string {
			return fmt.Sprintf("user %s signs in for company %q: session %s%s",
				e.User, e.Company, e.Session, tellLink(e.Link))
		},
	}.kind(),
	row[auth.SessionRefreshed]{
		name:  "session.refreshed",
		apply: on(accounts, (*auth.Accounts).ApplySessionRefreshed),
		story: func(_ *State, e *auth.SessionRefreshed, _ time.Time) string {
			return fmt.Sprintf("session %s is refreshed, and lasts until %s", e.Session,
				e.Until.Format(time.RFC3339))
		},
	}.kind(),
	row[auth.SessionEnded]{
		name:  "session.ended",
		apply: on(accounts, (*auth.Accounts).ApplySessionEnded),
		story: func(_ *State, e *auth.SessionEnded, _ time.Time) string {
			return fmt.Sprintf("session %s ends: %s", e.Session, e.Reason)
		},
	}.kind(),
}

// tellLink says whom a user is linked to by an event; "" where by none.
func tellLink(l *auth.Link) string {
	if l == nil {
		return ""
	}
	issuer := cmp.Or(l.Issuer, "the first issuer that shows it")
	return fmt.Sprintf("; linked to the subject with the hash %s of %s", l.Subject, issuer)
}
