package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/store/journal"
)

// What a keyed request was answered (decision idempotency.key). Of most requests the answer stands in the
// personal part of their line. That of a sale would be six times as long as all else that the line says, and
// says nothing more: it is made again from the line, and the line has its SHA-256.

// An Answer is what a line says of an answer.
type Answer struct {
	Text string // the body; "" where it is to be made again, or was erased
	// Sold is the sale that the body is to be made from; nil where there is none, or its passengers were
	// erased.
	Sold   *booking.Created
	At     time.Time // of the sale
	SHA256 string    // hex, of the body that is to be made
}

// ReadAnswer reads what a line says of the answer to a request.
func ReadAnswer(l *journal.Line) (a Answer, err error) {
	var part struct {
		Reply      string
		Passengers []struct {
			FirstName, LastName, Email string
			Phones                     []string
		}
	}
	if err := json.Unmarshal(l.Personal, &part); err != nil {
		return a, err
	}
	a.Text = part.Reply
	if a.Text != "" || len(part.Passengers) == 0 {
		return a, nil
	}
	var data struct {
		Booking, Partner ids.ID
		Currency         string
		Legs             []booking.SoldLeg
		Tickets          []booking.NewTicket
		Retry            Idempotency
	}
	if err := json.Unmarshal(l.Data, &data); err != nil {
		return a, err
	}
	a.At = l.Time
	a.SHA256 = data.Retry.Answer
	a.Sold = &booking.Created{
		ID:       data.Booking,
		Partner:  data.Partner,
		Currency: data.Currency,
		Legs:     data.Legs,
		Tickets:  data.Tickets,
	}
	for _, p := range part.Passengers {
		packed := booking.NewPassenger(p.FirstName, p.LastName, p.Email, p.Phones)
		a.Sold.Passengers = append(a.Sold.Passengers, packed)
	}
	return a, nil
}

// summed returns what a line says of a request whose answer is made again from it.
func (x *Idempotency) summed() *Idempotency {
	if x == nil || x.Reply == nil {
		return x
	}
	sum := sha256.Sum256([]byte(x.reply()))
	with := *x
	with.Answer = hex.EncodeToString(sum[:])
	return &with
}
