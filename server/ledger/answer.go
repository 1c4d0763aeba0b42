package ledger

import (
	"encoding/json"
	"time"

	"waybill/booking"
	"waybill/store/journal"
)

// Answer is what a line says of the answer to a keyed request (decision idempotency.key). Of most requests
// the answer stands in the personal part of the line. That of a sale is made again from the line.
type Answer struct {
	Text string // the body; "" where it is to be made again, or was erased
	// Sold is the sale that the body is to be made from; nil where there is none, or its passengers were
	// erased.
	Sold *booking.Created
	At   time.Time // of the sale
}

// ReadAnswer reads the record of an answer from a line.
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
	e, err := ByItself(l)
	if err != nil {
		return a, err
	}
	a.At = l.Time
	a.Sold = e.(*booking.Created)
	for _, p := range part.Passengers {
		packed := booking.NewPassenger(p.FirstName, p.LastName, p.Email, p.Phones)
		a.Sold.Passengers = append(a.Sold.Passengers, packed)
	}
	return a, nil
}
