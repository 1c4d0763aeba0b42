package ledger

import (
	"waybill/auth"
	"waybill/booking/ids"
	"waybill/store/journal"
)

// accountKinds are the lines of partners, and of users and their sessions.
var accountKinds = []kind{
	row[auth.KeyAdded]{
		name:  "partner.key_added",
		apply: on(partners, auth.PartnerRecorder.ApplyKeyAdded),
		after: func(s *Keeper, _ journal.Stamp, e *auth.KeyAdded) {
			s.feed(ids.ID(e.Partner)) // a partner without events can wait for one
		},
	}.kind(),
	row[auth.KeysRevoked]{
		name:  "partner.revoked",
		apply: on(partners, auth.PartnerRecorder.ApplyKeysRevoked),
	}.kind(),
	row[auth.LegacyUsed]{
		name:  "partner.legacy_used",
		apply: on(partners, auth.PartnerRecorder.ApplyLegacyUsed),
	}.kind(),
	row[auth.UserAdded]{
		name:  "user.added",
		apply: on(accounts, auth.AccountRecorder.ApplyUserAdded),
	}.kind(),
	row[auth.AccessGiven]{
		name:  "user.access_given",
		apply: on(accounts, auth.AccountRecorder.ApplyAccessGiven),
	}.kind(),
	row[auth.UserRemoved]{
		name:  "user.removed",
		apply: on(accounts, auth.AccountRecorder.ApplyUserRemoved),
	}.kind(),
	row[auth.SessionStarted]{
		name:  "session.started",
		apply: on(accounts, auth.AccountRecorder.ApplySessionStarted),
	}.kind(),
	row[auth.SessionRefreshed]{
		name:  "session.refreshed",
		apply: on(accounts, auth.AccountRecorder.ApplySessionRefreshed),
	}.kind(),
	row[auth.SessionEnded]{
		name:  "session.ended",
		apply: on(accounts, auth.AccountRecorder.ApplySessionEnded),
	}.kind(),
}
