package ledger

import (
	"waybill/auth"
	"waybill/store/journal"
)

// accountKinds are the lines of partners, and of users and their sessions.
var accountKinds = []anyKind{
	&kind[auth.KeyAdded]{
		name:   "partner.key_added",
		apply:  in(partners, auth.PartnerRecorder.ApplyKeyAdded),
		offers: true,
		after: func(s State, at journal.Stamp, e *auth.KeyAdded) {
			s.feed(e.Partner).keyLine = at.Seq // a partner without events can wait for one
		},
	},
	&kind[auth.KeysRevoked]{
		name:   "partner.revoked",
		apply:  in(partners, auth.PartnerRecorder.ApplyKeysRevoked),
		offers: true,
		after: func(s State, at journal.Stamp, e *auth.KeysRevoked) {
			s.feed(e.Partner).keyLine = at.Seq
		},
	},
	&kind[auth.LegacyUsed]{
		name:  "partner.legacy_used",
		apply: in(partners, auth.PartnerRecorder.ApplyLegacyUsed),
	},
	&kind[auth.UserAdded]{
		name:  "user.added",
		apply: in(accounts, auth.AccountRecorder.ApplyUserAdded),
	},
	&kind[auth.AccessGiven]{
		name:  "user.access_given",
		apply: in(accounts, auth.AccountRecorder.ApplyAccessGiven),
	},
	&kind[auth.UserRemoved]{
		name:  "user.removed",
		apply: in(accounts, auth.AccountRecorder.ApplyUserRemoved),
	},
	&kind[auth.SessionStarted]{
		name:  "session.started",
		apply: in(accounts, auth.AccountRecorder.ApplySessionStarted),
	},
	&kind[auth.SessionRefreshed]{
		name:  "session.refreshed",
		apply: in(accounts, auth.AccountRecorder.ApplySessionRefreshed),
	},
	&kind[auth.SessionEnded]{
		name:  "session.ended",
		apply: in(accounts, auth.AccountRecorder.ApplySessionEnded),
	},
}
