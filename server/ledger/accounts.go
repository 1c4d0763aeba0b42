package ledger

import (
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
	}.kind(),
	row[auth.KeysRevoked]{
		name:  "partner.revoked",
		apply: on(partners, (*auth.Partners).ApplyKeysRevoked),
	}.kind(),
	row[auth.LegacyUsed]{
		name:  "partner.legacy_used",
		apply: on(partners, (*auth.Partners).ApplyLegacyUsed),
	}.kind(),
	row[auth.UserAdded]{
		name:  "user.added",
		apply: on(accounts, (*auth.Accounts).ApplyUserAdded),
	}.kind(),
	row[auth.AccessGiven]{
		name:  "user.access_given",
		apply: on(accounts, (*auth.Accounts).ApplyAccessGiven),
	}.kind(),
	row[auth.UserRemoved]{
		name:  "user.removed",
		apply: on(accounts, (*auth.Accounts).ApplyUserRemoved),
	}.kind(),
	row[auth.SessionStarted]{
		name:  "session.started",
		apply: on(accounts, (*auth.Accounts).ApplySessionStarted),
	}.kind(),
	row[auth.SessionRefreshed]{
		name:  "session.refreshed",
		apply: on(accounts, (*auth.Accounts).ApplySessionRefreshed),
	}.kind(),
	row[auth.SessionEnded]{
		name:  "session.ended",
		apply: on(accounts, (*auth.Accounts).ApplySessionEnded),
	}.kind(),
}
