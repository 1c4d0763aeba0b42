package ledger

import (
	"waybill/auth"
	"waybill/booking/ids"
	"waybill/store/journal"
)

// accountKinds are the lines of partners, and of users and their sessions.
var accountKinds = []anyKind{
	kind[auth.KeyAdded]{
		name:   "partner.key_added",
		apply:  on(partners, auth.PartnerRecorder.ApplyKeyAdded),
		offers: true,
		after: func(s State, at journal.Stamp, e *auth.KeyAdded) {
			s.feed(ids.ID(e.Partner)).keyLine = at.Seq // a partner without events can wait for one
		},
	}.any(),
	kind[auth.KeysRevoked]{
		name:   "partner.revoked",
		apply:  to(partners, auth.PartnerRecorder.ApplyKeysRevoked),
		offers: true,
		after: func(s State, at journal.Stamp, e *auth.KeysRevoked) {
			s.feed(ids.ID(e.Partner)).keyLine = at.Seq
		},
	}.any(),
	kind[auth.LegacyUsed]{
		name:  "partner.legacy_used",
		apply: to(partners, auth.PartnerRecorder.ApplyLegacyUsed),
	}.any(),
	kind[auth.UserAdded]{
		name:  "user.added",
		apply: on(accounts, auth.AccountRecorder.ApplyUserAdded),
	}.any(),
	kind[auth.AccessGiven]{
		name:  "user.access_given",
		apply: to(accounts, auth.AccountRecorder.ApplyAccessGiven),
	}.any(),
	kind[auth.UserRemoved]{
		name:  "user.removed",
		apply: to(accounts, auth.AccountRecorder.ApplyUserRemoved),
	}.any(),
	kind[auth.SessionStarted]{
		name:  "session.started",
		apply: to(accounts, auth.AccountRecorder.ApplySessionStarted),
	}.any(),
	kind[auth.SessionRefreshed]{
		name:  "session.refreshed",
		apply: to(accounts, auth.AccountRecorder.ApplySessionRefreshed),
	}.any(),
	kind[auth.SessionEnded]{
		name:  "session.ended",
		apply: to(accounts, auth.AccountRecorder.ApplySessionEnded),
	}.any(),
}
