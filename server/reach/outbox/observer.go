package outbox

import (
	"fmt"
	"strings"

	"waybill/booking"
	"waybill/server/ledger"
)

// An Observer is called before and after each message that is sent. The test bench is one (decision
// bench.kept).
type Observer struct {
	// Before returns an error that stands for the peer's answer, and the message is not sent; nil has it
	// sent.
	Before func(*ledger.Message, *booking.Booking) error
	// After gets each message that was sent.
	After func(Letter)
}

// Letter is a message with the words that it has, or would have, if it is sent now.
type Letter struct {
	*ledger.Message

	Kind    string // mailKind or textKind
	Address string // or the phone; "" if the passenger no longer has one
	Subject string // "" of a text
	Text    string
	As      ledger.SentAs // as what it was sent, once it is
}

// The kinds of letters.
const (
	mailKind = "mail"
	textKind = "text"
)

// Observe sets the observer, before the first message is sent. Without a messenger, texts only go to it.
func (s *Relay) Observe(o Observer) {
	s.observer = &o
	s.Phones = true
}

// Letter returns a message in words.
func (s *Relay) Letter(m *ledger.Message, b *booking.Booking, t *booking.Ticket) Letter {
	l := Letter{
		Message: m,
		Kind:    mailKind,
	}
	_, _, email, phones := t.Passenger.Fields()
	news := s.newNews(m, b, t)
	if strings.HasPrefix(m.To, booking.ToPhone) {
		l.Kind = textKind
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
