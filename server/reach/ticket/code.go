// Package ticket makes the papers of a ticket (decision ticket.document): a page to print, and an entry for a
// calendar. The page has a code for each ride, which an inspector with the carrier's public key can check
// without a network.
//
//	code := ticket.NewCode(t.ID, &leg).Sign(key)   // WB1.…
//	what, err := ticket.Check(public, code)        // anywhere else, also years later
//
// A code names the ride that it is good for, and is signed. It does not say whether the ticket was refunded
// since: only the directory knows that, and its manifest of the run lists the passengers.
package ticket

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// Code is the content of a ticket's code for one ride.
type Code struct {
	Ticket    ids.ID
	Departure time.Time // to the minute
	Seat      int16
	From, To  int16   // positions among the stops of the run, from 0
	Run       [6]byte // see RunOf
}

const (
	// Prefix begins the text of every code, and says in which version it is.
	Prefix = "WB1."
	// context is signed before a code's bytes, so that no signature of anything else is one of a ticket.
	context   = "waybill ticket v1\n"
	codeBytes = 32
)

// RunOf returns the bytes that stand for a run in a code: the first of SHA-256 of its trip and its date.
func RunOf(run ids.RunName) [6]byte {
	sum := sha256.Sum256([]byte(run.Trip + " " + run.Day.String()))
	return [6]byte(sum[:6])
}

// NewCode returns the code of a ride. The position of a stop is that of the run as it was sold.
func NewCode(id ids.ID, l *booking.Leg) Code {
	return Code{
		Ticket:    id,
		Departure: l.Run.Dep(l.From),
		Seat:      l.Seat,
		From:      l.From,
		To:        l.To,
		Run:       RunOf(l.Run.Name()),
	}
}

// bytes returns the bytes that are signed, without the context.
func (c Code) bytes() []byte {
	b := slices.Clone(c.Ticket[:])
	b = binary.BigEndian.AppendUint32(b, uint32(c.Departure.Unix()/60))
	for _, n := range []int16{c.Seat, c.From, c.To} {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return append(b, c.Run[:]...)
}

// Sign returns the text of the code.
func (c Code) Sign(key ed25519.PrivateKey) string {
	b := c.bytes()
	signature := ed25519.Sign(key, append([]byte(context), b...))
	return Prefix + base64.RawURLEncoding.EncodeToString(append(b, signature...))
}

// ErrNotGenuine is returned for a code that the key has not signed.
var ErrNotGenuine = errors.New(
	"it is not signed with this key: somebody else made or changed it",
)

// Check reads the text of a code, and reports whether the key's owner has signed it. The error says what is
// wrong with the code.
func Check(public ed25519.PublicKey, text string) (c Code, err error) {
	coded, found := strings.CutPrefix(text, Prefix)
	if !found {
		return c, fmt.Errorf("it does not begin with %s", Prefix)
	}
	// Another text that decodes to the same bytes is refused: a ride has one code.
	b, err := base64.RawURLEncoding.Strict().DecodeString(coded)
	switch {
	case err != nil || strings.ContainsAny(coded, "\r\n"):
		return c, fmt.Errorf("it has further characters after %s", Prefix)
	case len(b) != codeBytes+ed25519.SignatureSize:
		return c, fmt.Errorf(
			"it has %d bytes, but a code has %d: part of it is missing, or it is something else",
			len(b),
			codeBytes+ed25519.SignatureSize,
		)
	case !ed25519.Verify(public, append([]byte(context), b[:codeBytes]...), b[codeBytes:]):
		return c, ErrNotGenuine
	}
	at := func(from int) int16 { return int16(binary.BigEndian.Uint16(b[from:])) }
	return Code{
		Ticket:    ids.ID(b[:16]),
		Departure: time.Unix(60*int64(binary.BigEndian.Uint32(b[16:])), 0).UTC(),
		Seat:      at(20),
		From:      at(22),
		To:        at(24),
		Run:       [6]byte(b[26:32]),
	}, nil
}

// IsOf reports whether a code is of a run.
func (c Code) IsOf(run ids.RunName) bool { return c.Run == RunOf(run) }

// String returns in words the ride that a code is good for.
func (c Code) String() string {
	return fmt.Sprintf(
		"ticket %s, seat %d, leaves %s, from stop %d to stop %d of the run %x",
		c.Ticket,
		c.Seat,
		c.Departure.Format(time.RFC3339),
		c.From+1,
		c.To+1,
		c.Run,
	)
}

// codesOf returns the codes of a ticket's rides; none if the ticket is not good for travelling.
func codesOf(t *booking.Ticket, key ed25519.PrivateKey) (codes []string) {
	if t.Phase != booking.Paid && t.Phase != booking.Booked {
		return nil
	}
	for _, l := range t.Itinerary() {
		codes = append(codes, NewCode(t.ID, &l).Sign(key))
	}
	return codes
}

// dayOf returns a day as papers show it.
func dayOf(d schedule.Day) string { return d.Date().Format("Monday, 2 January 2006") }
