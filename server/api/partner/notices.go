package partner

import (
	"net/http"
	"time"

	"waybill/auth"
	"waybill/server/ledger"
)

// How payment windows that are over are looked for.
const (
	bookingsAtOnce = 100                    // looked at under the lock
	noticeRest     = 200 * time.Millisecond // between looks, so that notices share syncs
)

// RecordOverdue journals notices of the payment windows that are over, and returns when to look again, also
// after an error, such as a full disk.
func (s *Seller) RecordOverdue() (wait time.Duration, err error) {
	for {
		_, err = s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
			list, rest, next := st.Bookings.Overdue(now, s.noticed.Load(), bookingsAtOnce)
			s.noticed.Store(rest)
			wait = next.Sub(now)
			return ledger.Entries(list...), nil
		}, nil)
		// Without a wait there are more of them. The lock is free in between.
		if err != nil || wait > 0 {
			return max(wait, noticeRest), err
		}
	}
}

// UseLegacy journals that a partner uses the legacy interface, once a day, as it decides until when the
// partner has it. Its error says that the partner has it no longer.
func (s *Seller) UseLegacy(w http.ResponseWriter, p *auth.Partner) error {
	_, err := s.Update(w, func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		e, err := st.Partners.UseLegacy(now, s.Deprecated, p.ID)
		if e == nil {
			return nil, err
		}
		return ledger.Entries(e), nil
	}, nil)
	return err
}
