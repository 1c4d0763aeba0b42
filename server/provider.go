package server

import (
	"context"
	"errors"
	"time"

	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/outbound"
	"waybill/server/wire"
)

// openPeers makes known whom the configuration names: the provider, the messenger and the mail server.
func (s *Server) openPeers() error {
	secret, err := s.secret(ledger.PeerFile)
	if err == nil && s.cfg.ProviderURL != "" {
		var provider *outbound.Peer
		provider, err = outbound.NewPeer(s.cfg.ProviderURL, secret, 0)
		s.cfg.Confirm = func(ctx context.Context, c Confirmation) error { return s.askProvider(ctx, provider, c) }
	}
	if err == nil && s.cfg.MessengerURL != "" {
		s.messenger, err = outbound.NewPeer(s.cfg.MessengerURL, secret, 0)
	}
	if err == nil && s.cfg.Mail.Addr != "" {
		s.mailer, err = outbound.NewMailer(s.cfg.Mail)
	}
	return err
}

const (
	confirmTime  = 25 * time.Second       // for all tickets of a request: a connection is written to for a minute
	confirmPause = 500 * time.Millisecond // before it is asked again; then twice as long
	confirmTries = 3
)

// askProvider posts {"id","action","ticket"} to the provider, the ticket as in a booking of the interface. An answer
// 2xx confirms, 4xx refuses; what may pass is tried again.
func (s *Server) askProvider(ctx context.Context, provider *outbound.Peer, c Confirmation) error {
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	if err := s.st.View(func(st *ledger.State, at time.Time) {
		b, t = st.Bookings.AnyTicket(c.Ticket)
		now = at
	}); err != nil {
		return err
	}
	var w wire.Writer
	w.Object("")
	w.Texts("id", c.Key, "action", c.Action.String())
	writeTicket(&w, "ticket", b, t, now, inBooking)
	w.EndObject()
	for n, pause := 1, confirmPause; ; n, pause = n+1, 2*pause {
		err := provider.Post(ctx, c.Key, w.B)
		if err == nil || errors.Is(err, outbound.ErrRefused) || n == confirmTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
