package server

import (
	"encoding/hex"
	"fmt"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/wire"
	"waybill/store"
)

// journal reads lines and snapshots. What was sold earlier is named by later
// ones, so it keeps the forms it has seen.
type journal struct {
	forms map[string]*schedule.Form
	err   error // the first thing wrong that is not a matter of form
}

func newJournal() *journal { return &journal{forms: map[string]*schedule.Form{}} }

// decode reads what encodeEvent wrote.
func (j *journal) decode(kind string, data, personal []byte) (Event, error) {
	read, ok := kinds[kind]
	if !ok {
		return Event{}, store.ErrNewer
	}
	r := wire.NewReader(data)
	e := read(r, j, personal)
	r.End()
	if err := r.Err(); err != nil {
		return Event{}, err
	}
	return e, j.err
}

// fields reads an object whose members are all known.
func fields(r *wire.Reader, member func(name string) bool) bool {
	return r.Object(func(name []byte) {
		if string(name) == "personal" {
			r.Skip() // the store's hash of the personal part
		} else if !member(string(name)) {
			r.Unknown()
		}
	})
}

func readID(r *wire.Reader, to *booking.ID) bool {
	id, ok := booking.ParseID(string(r.Bytes()))
	if !ok {
		r.Reject("is not an id")
	}
	*to = id
	return true
}

func readString(r *wire.Reader, to *string) bool { *to = r.String(); return true }

func readBool(r *wire.Reader, to *bool) bool { *to = r.Bool(); return true }

func readStrings(r *wire.Reader, to *[]string) bool {
	r.Array(func(int) { *to = append(*to, r.String()) })
	return true
}

func readInt[T int | int16 | int32 | int64 | uint32](r *wire.Reader, to *T) bool {
	n := r.Int()
	if *to = T(n); int64(*to) != n {
		r.Reject("is out of range")
	}
	return true
}

func readSeats(r *wire.Reader, to *[2]int16) bool {
	return r.Array(func(i int) {
		if readInt(r, &to[min(i, 1)]); i > 1 {
			r.Reject("has more than two seats")
		}
	})
}

func readAction(r *wire.Reader, to *booking.Action) bool {
	switch string(r.Bytes()) {
	case booking.Pay.String():
		*to = booking.Pay
	case booking.Book.String():
		*to = booking.Book
	default:
		r.Reject("is not an action")
	}
	return true
}

func readHash(r *wire.Reader, to *auth.KeyHash) bool {
	b, err := hex.DecodeString(r.String())
	if copy(to[:], b); err != nil || len(b) != len(to) {
		r.Reject("is not a hash")
	}
	return true
}

func readTime(r *wire.Reader, to *time.Time) bool {
	t, err := time.Parse(time.RFC3339Nano, r.String())
	if err != nil {
		r.Reject("is not a time")
	}
	*to = t
	return true
}

func readClockSet(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(ClockSet)
	fields(r, func(name string) bool {
		switch name {
		case "real":
			return readBool(r, &e.Real)
		case "offsetMs":
			e.Offset = time.Duration(r.Int()) * time.Millisecond
			return true
		}
		return false
	})
	return Event{ClockSet: e}
}

func readKeyAdded(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(auth.KeyAdded)
	fields(r, func(name string) bool {
		switch name {
		case "partner":
			return readID(r, (*booking.ID)(&e.Partner))
		case "name":
			return readString(r, &e.Name)
		case "companies":
			return readStrings(r, &e.Companies)
		case "keyHash":
			return readHash(r, &e.Hash)
		}
		return false
	})
	return Event{KeyAdded: e}
}

func readKeysRevoked(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(auth.KeysRevoked)
	fields(r, func(name string) bool {
		switch name {
		case "partner":
			return readID(r, (*booking.ID)(&e.Partner))
		case "keyHashes":
			return r.Array(func(int) {
				var h auth.KeyHash
				readHash(r, &h)
				e.Hashes = append(e.Hashes, h)
			})
		}
		return false
	})
	return Event{KeysRevoked: e}
}

func readTimetableImported(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(TimetableImported)
	fields(r, func(name string) bool {
		switch name {
		case "sha256":
			return readString(r, &e.Hash)
		case "feed":
			return readString(r, &e.Feed)
		case "cities":
			return readInt(r, &e.Cities)
		case "routes":
			return readInt(r, &e.Routes)
		case "trips":
			return readInt(r, &e.Trips)
		case "skipped":
			return readInt(r, &e.Skipped)
		}
		return false
	})
	return Event{TimetableImported: e}
}

func readCreated(r *wire.Reader, j *journal, personal []byte) Event {
	e := new(booking.Created)
	fields(r, func(name string) bool {
		switch name {
		case "booking":
			return readID(r, &e.ID)
		case "partner":
			return readID(r, &e.Partner)
		case "request":
			return readString(r, &e.Request)
		case "currency":
			return readString(r, &e.Currency)
		case "forms":
			return r.Array(func(int) { e.Forms = append(e.Forms, j.form(r.Raw())) })
		case "runs":
			return r.Array(func(int) { e.Runs = append(e.Runs, j.run(r)) })
		case "legs":
			return r.Array(func(int) { e.Legs = append(e.Legs, readLeg(r)) })
		case "tickets":
			return r.Array(func(int) { e.Tickets = append(e.Tickets, readNewTicket(r)) })
		}
		return false
	})
	if personal != nil {
		j.readPassengers(personal, e)
	}
	return Event{Created: e}
}

func readLeg(r *wire.Reader) (l booking.SoldLeg) {
	fields(r, func(name string) bool {
		switch name {
		case "run":
			var ok bool
			if l.Run, ok = booking.ParseRunID(r.String()); !ok {
				r.Reject("is not a run's id")
			}
			return true
		case "from":
			return readInt(r, &l.From)
		case "to":
			return readInt(r, &l.To)
		case "amount":
			return readInt(r, &l.Amount)
		case "discount":
			return readInt(r, &l.Discount)
		}
		return false
	})
	return l
}

func readNewTicket(r *wire.Reader) (t booking.NewTicket) {
	fields(r, func(name string) bool {
		switch name {
		case "id":
			return readID(r, &t.ID)
		case "seats":
			return readSeats(r, &t.Seats)
		}
		return false
	})
	return t
}

// readPassengers reads the personal part of a booking; an erased one leaves the passengers empty.
func (j *journal) readPassengers(personal []byte, e *booking.Created) {
	r := wire.NewReader(personal)
	fields(r, func(name string) bool {
		switch name {
		case "salt":
			return readID(r, (*booking.ID)(&e.Salt))
		case "passengers":
			return r.Array(func(i int) {
				if p := readPerson(r); i < len(e.Tickets) {
					e.Tickets[i].Passenger = p
				} else {
					r.Reject("is of no ticket")
				}
			})
		case "erased":
			r.Skip()
			return true
		}
		return false
	})
	if r.End(); j.err == nil {
		j.err = r.Err()
	}
}

func readPerson(r *wire.Reader) booking.Passenger {
	var first, last, email string
	var phones []string
	fields(r, func(name string) bool {
		switch name {
		case "firstName":
			return readString(r, &first)
		case "lastName":
			return readString(r, &last)
		case "email":
			return readString(r, &email)
		case "phones":
			return readStrings(r, &phones)
		}
		return false
	})
	return booking.NewPassenger(first, last, email, phones)
}

// form reads a form that is sold for the first time.
func (j *journal) form(data []byte) *schedule.Form {
	f, err := schedule.DecodeForm(data)
	if err != nil {
		j.err = err
		return nil
	}
	j.forms[f.Key()] = f
	return f
}

// run reads a run; its id follows from what it says.
func (j *journal) run(r *wire.Reader) *booking.Run {
	var form, date string
	var start int64
	var offsets []int32
	fields(r, func(name string) bool {
		switch name {
		case "form":
			return readString(r, &form)
		case "date":
			return readString(r, &date)
		case "start":
			return readInt(r, &start)
		case "offsets":
			return r.Array(func(int) {
				var o int32
				readInt(r, &o)
				offsets = append(offsets, o)
			})
		}
		return false
	})
	day, err := schedule.ParseDay(date)
	f := j.forms[form]
	switch {
	case err != nil:
		j.err = err
	case f == nil || len(offsets) != len(f.Stops):
		j.err = fmt.Errorf("a run on %s has a form %q that is not known", date, form)
	default:
		return booking.NewRun(f, day, start, offsets)
	}
	return nil
}

func readSettled(r *wire.Reader, action booking.Action) Event {
	e := &booking.Settled{Action: action}
	fields(r, func(name string) bool {
		switch name {
		case "ticket":
			return readID(r, &e.Ticket)
		case "booking":
			return readID(r, &e.Booking)
		case "seats":
			e.Reseated = true
			return readSeats(r, &e.Seats)
		case "request":
			return readString(r, &e.Request)
		}
		return false
	})
	return Event{Settled: e}
}

func readPaid(r *wire.Reader, _ *journal, _ []byte) Event { return readSettled(r, booking.Pay) }

func readBooked(r *wire.Reader, _ *journal, _ []byte) Event { return readSettled(r, booking.Book) }

func readAsked(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(booking.Asked)
	fields(r, func(name string) bool {
		switch name {
		case "ticket":
			return readID(r, &e.Ticket)
		case "booking":
			return readID(r, &e.Booking)
		case "action":
			return readAction(r, &e.Action)
		case "key":
			return readID(r, &e.Key)
		case "seats":
			e.Reseated = true
			return readSeats(r, &e.Seats)
		case "request":
			return readString(r, &e.Request)
		}
		return false
	})
	return Event{Asked: e}
}

func readRefused(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(booking.Refused)
	fields(r, func(name string) bool {
		switch name {
		case "ticket":
			return readID(r, &e.Ticket)
		case "booking":
			return readID(r, &e.Booking)
		case "action":
			return readAction(r, &e.Action)
		case "request":
			return readString(r, &e.Request)
		}
		return false
	})
	return Event{Refused: e}
}

func readCanceled(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(booking.TicketsCanceled)
	fields(r, func(name string) bool {
		switch name {
		case "booking":
			return readID(r, &e.Booking)
		case "request":
			return readString(r, &e.Request)
		case "tickets":
			return r.Array(func(int) { e.Tickets = append(e.Tickets, readCanceledTicket(r)) })
		}
		return false
	})
	return Event{Canceled: e}
}

func readCanceledTicket(r *wire.Reader) (t booking.CanceledTicket) {
	fields(r, func(name string) bool {
		switch name {
		case "id":
			return readID(r, &t.ID)
		case "refunded":
			return readBool(r, &t.Refunded)
		case "refund":
			return readInt(r, &t.Refund)
		case "grace":
			return readBool(r, &t.Grace)
		case "terms":
			return r.Array(func(int) {
				var term booking.Term
				fields(r, func(name string) bool {
					switch name {
					case "rule":
						return readString(r, &term.Rule)
					case "percent":
						return readInt(r, &term.Percent)
					case "refund":
						return readInt(r, &term.Refund)
					}
					return false
				})
				t.Terms = append(t.Terms, term)
			})
		}
		return false
	})
	return t
}

func readMoved(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(booking.Moved)
	fields(r, func(name string) bool {
		switch name {
		case "ticket":
			return readID(r, &e.Ticket)
		case "booking":
			return readID(r, &e.To)
		case "from":
			return readID(r, &e.From)
		case "new":
			return readBool(r, &e.New)
		}
		return false
	})
	return Event{Moved: e}
}

func readCarrierSet(r *wire.Reader, _ *journal, _ []byte) Event {
	e := new(booking.CarrierSet)
	fields(r, func(name string) bool {
		switch name {
		case "ticket":
			return readID(r, &e.Ticket)
		case "booking":
			return readID(r, &e.Booking)
		case "status":
			var ok bool
			if e.Status, ok = booking.ParseCarrier(r.String()); !ok {
				r.Reject("is not a carrier's status")
			}
			return true
		}
		return false
	})
	return Event{CarrierSet: e}
}
