package outbox

import (
	"fmt"
	"strings"

	"waybill/booking"
	"waybill/server/ledger"
)

// An Observer sees every message that is sent, as a test bench does (decision bench.kept).
type Observer struct {
	// Before returns what the peer is taken to say of a message, instead of sending it; nil has it sent.
	Before func(*ledger.Message, *booking.Booking) error
	// After is told that a message was sent.
	After func(Letter)
}

// Letter is a message in the words in which it is, or would be, sent now.
type Letter struct {
	*ledger.Message

	Kind    string // mail or text
	Address string // or the phone; "" where the passenger has none any more
	Subject string // "" of a text
	Text    string
}

// Observe has an observer see every message, from the first on. Texts that no messenger takes are only seen.
func (s *Relay) Observe(o Observer) {
	s.observer = &o
	s.Phones = true
}

// Letter returns a message in words.
func (s *Relay) Letter(m *ledger.Message, b *booking.Booking, t *booking.Ticket) Letter {
	l := Letter{
		Message: m,
		Kind:    "mail",
	}
	_, _, email, phones := t.Passenger.Fields()
	news := s.newNews(m, b, t)
	if strings.HasPrefix(m.To, booking.ToPhone) {
		l.Kind = "text"
		l.Address = phoneOf(m, phones)
		l.Text = news.text()
		return l
	}
	l.Address = email
	l.Subject = news.subject()
	l.Text = news.letter()
	return l
}

// phoneOf returns the phone that a message is to; "" where there is none such.
func phoneOf(m *ledger.Message, phones []string) string {
	n := 0
	fmt.Sscanf(strings.TrimPrefix(m.To, booking.ToPhone), "%d", &n)
	if n < 1 || n > len(phones) {
		return ""
	}
	return phones[n-1]
}
