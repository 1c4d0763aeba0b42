package auth

import (
	"errors"
	"time"
)

// LegacyWindow is how long the legacy interface stays after its deprecation, and after a partner's last call of it
// (interface, Limits).
const LegacyWindow = 90 * 24 * time.Hour

// ErrGone is the reason why not for a legacy call of a partner for whom the legacy interface is gone.
var ErrGone = errors.New("auth: the legacy interface is gone for the partner")

// LegacyUsed says that a partner called the legacy interface, for the first time on a day (UTC).
type LegacyUsed struct {
	Partner ID `json:"partner"`
}

// LastLegacy is the partner's last legacy call; zero is none. After a restart only its day is known: then it is that day's
// last instant, so that nobody loses the interface too early.
func (p *Partner) LastLegacy() time.Time {
	if ms := p.use.Load(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	if p.Legacy.IsZero() {
		return p.Legacy
	}
	return p.Legacy.Truncate(day).Add(day - time.Millisecond)
}

const day = 24 * time.Hour

// LegacyUntil is when the legacy interface, deprecated at that instant, will be gone for the partner: 90 days after the
// latest of its deprecation, the partner's creation and its last legacy call (contract §11).
func (p *Partner) LegacyUntil(deprecated time.Time) time.Time {
	latest := deprecated
	for _, at := range []time.Time{p.Created, p.LastLegacy()} {
		if at.After(latest) {
			latest = at
		}
	}
	return latest.Add(LegacyWindow)
}

// UseLegacy decides on a legacy call, and counts it: the event to journal, nil where one of that day is. Its error is ErrGone.
func (p *Partners) UseLegacy(now, deprecated time.Time, id ID) (*LegacyUsed, error) {
	caller := p.list[p.index(id)]
	if !now.Before(caller.LegacyUntil(deprecated)) {
		return nil, ErrGone
	}
	caller.use.Store(now.UnixMilli())
	if caller.Legacy.Truncate(day).Equal(now.Truncate(day)) {
		return nil, nil
	}
	return &LegacyUsed{id}, nil
}

func (p *Partners) ApplyLegacyUsed(at time.Time, e *LegacyUsed) { p.renew(e.Partner).Legacy = at }
