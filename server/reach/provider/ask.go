package provider

import (
	"context"
	"errors"
	"time"

	"waybill/booking"
	"waybill/server/frame/resource"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/reach/outbound"
)

// Open sets the provider that a configuration names; "" is none, and leaves Confirm as it is. Calls are
// signed with the secret.
func (s *Confirmer) Open(url string, secret []byte) error {
	if url == "" {
		return nil
	}
	peer, err := outbound.NewPeer(url, secret, 0)
	s.Confirm = func(ctx context.Context, c Confirmation) error {
		return s.askProvider(ctx, peer, c)
	}
	return err
}

const (
	// for all tickets of a request: a connection is written to for a minute
	ConfirmTime  = 25 * time.Second
	confirmPause = 500 * time.Millisecond // before it is asked again; then twice as long
	confirmTries = 3
)

// askProvider posts {"id","action","ticket"} to the provider, the ticket as in a booking of the interface. An
// answer 2xx confirms, 4xx refuses; what may pass is tried again.
func (s *Confirmer) askProvider(ctx context.Context, provider *outbound.Peer, c Confirmation) error {
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	err := s.Store.ViewOn(func(st ledger.State, at time.Time) uint64 {
		b, t = st.Bookings.AnyTicket(c.Ticket)
		now = at
		return st.BookingLine(b)
	})
	if err != nil {
		return err
	}
	var w wire.Writer
	w.Object("")
	w.Texts("id", c.Key, "action", c.Action.String())
	s.resources.Ticket(&w, "ticket", b, t, now, resource.InBooking)
	w.EndObject()
	for n, pause := 1, confirmPause; ; n, pause = n+1, 2*pause {
		err := provider.Post(ctx, c.Key, w.B)
		if err == nil || errors.Is(err, outbound.ErrRefused) || n == confirmTries {
			return err
		}
		pause = max(pause, outbound.RetryAfter(err))
		// Nobody waits so long, nor does the loop, which would keep a place from others.
		if until, bound := ctx.Deadline(); pause >= ConfirmTime || bound && time.Until(until) <= pause {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
