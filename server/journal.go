package server

import (
	"encoding/base64"

	"waybill/booking"
	"waybill/server/wire"
)

// kinds are the types of journal lines, and how each is read.
var kinds = map[string]func(*wire.Reader, *journal, []byte) Event{
	"clock.set":          readClockSet,
	"partner.key_added":  readKeyAdded,
	"partner.revoked":    readKeysRevoked,
	"timetable.imported": readTimetableImported,
	"booking.created":    readCreated,
	"ticket.asked":       readAsked,
	"ticket.refused":     readRefused,
	"ticket.paid":        readPaid,
	"ticket.booked":      readBooked,
	"tickets.canceled":   readCanceled,
	"ticket.moved":       readMoved,
	"ticket.carrier":     readCarrierSet,
}

// encodeEvent appends an event's data and personal part.
func encodeEvent(e Event, data, personal []byte) (kind string, d, p []byte) {
	w, own := &wire.Writer{B: data}, &wire.Writer{B: personal}
	w.Object("")
	switch {
	case e.ClockSet != nil:
		kind = "clock.set"
		w.Bool("real", e.ClockSet.Real)
		w.Int("offsetMs", e.ClockSet.Offset.Milliseconds())
	case e.KeyAdded != nil:
		kind = "partner.key_added"
		writeID(w, "partner", booking.ID(e.KeyAdded.Partner))
		w.String("name", e.KeyAdded.Name)
		w.Strings("companies", e.KeyAdded.Companies)
		w.String("keyHash", e.KeyAdded.Hash.String())
	case e.KeysRevoked != nil:
		kind = "partner.revoked"
		writeID(w, "partner", booking.ID(e.KeysRevoked.Partner))
		w.Array("keyHashes")
		for _, h := range e.KeysRevoked.Hashes {
			w.String("", h.String())
		}
		w.EndArray()
	case e.TimetableImported != nil:
		kind = "timetable.imported"
		x := e.TimetableImported
		w.String("sha256", x.Hash)
		w.String("feed", x.Feed)
		w.Int("cities", int64(x.Cities))
		w.Int("routes", int64(x.Routes))
		w.Int("trips", int64(x.Trips))
		w.Int("skipped", int64(x.Skipped))
	case e.Created != nil:
		kind = "booking.created"
		writeCreated(w, own, e.Created)
	case e.Canceled != nil:
		kind = "tickets.canceled"
		writeCanceled(w, e.Canceled)
	default:
		kind = writeTicketEvent(w, e)
	}
	w.EndObject()
	return kind, w.B, own.B
}

// writeTicketEvent writes the events about one ticket.
func writeTicketEvent(w *wire.Writer, e Event) (kind string) {
	head := func(ticket, booking booking.ID) {
		writeID(w, "ticket", ticket)
		writeID(w, "booking", booking)
	}
	switch {
	case e.Settled != nil:
		x := e.Settled
		kind = "ticket.paid"
		if x.Action == booking.Book {
			kind = "ticket.booked"
		}
		head(x.Ticket, x.Booking)
		writeSeats(w, x.Reseated, x.Seats)
		w.String("request", x.Request)
	case e.Asked != nil:
		x := e.Asked
		kind = "ticket.asked"
		head(x.Ticket, x.Booking)
		w.String("action", x.Action.String())
		writeID(w, "key", x.Key)
		writeSeats(w, x.Reseated, x.Seats)
		w.String("request", x.Request)
	case e.Refused != nil:
		x := e.Refused
		kind = "ticket.refused"
		head(x.Ticket, x.Booking)
		w.String("action", x.Action.String())
		w.String("request", x.Request)
	case e.Moved != nil:
		kind = "ticket.moved"
		head(e.Moved.Ticket, e.Moved.To)
		writeID(w, "from", e.Moved.From)
		w.Bool("new", e.Moved.New)
	case e.CarrierSet != nil:
		kind = "ticket.carrier"
		head(e.CarrierSet.Ticket, e.CarrierSet.Booking)
		w.String("status", e.CarrierSet.Status.String())
	default:
		panic("server: an event with no pointer set")
	}
	return kind
}

func writeSeats(w *wire.Writer, reseated bool, seats [2]int16) {
	if !reseated {
		return
	}
	w.Array("seats")
	w.Int("", int64(seats[0]))
	w.Int("", int64(seats[1]))
	w.EndArray()
}

func writeID(w *wire.Writer, name string, id booking.ID) {
	w.Key(name)
	w.B = append(w.B, '"')
	w.B = base64.RawURLEncoding.AppendEncode(w.B, id[:])
	w.B = append(w.B, '"')
}

func writeCreated(w, own *wire.Writer, e *booking.Created) {
	writeID(w, "booking", e.ID)
	writeID(w, "partner", e.Partner)
	w.String("request", e.Request)
	w.String("currency", e.Currency)
	if len(e.Runs) > 0 {
		w.Array("forms")
		for _, f := range e.Forms {
			w.Raw("", f.Encode())
		}
		w.EndArray()
		w.Array("runs")
		for _, r := range e.Runs {
			writeRun(w, "", r)
		}
		w.EndArray()
	}
	w.Array("legs")
	for _, l := range e.Legs {
		w.Object("")
		w.String("run", l.Run.String())
		w.Int("from", int64(l.From))
		w.Int("to", int64(l.To))
		w.Int("amount", l.Amount)
		w.Int("discount", int64(l.Discount))
		w.EndObject()
	}
	w.EndArray()
	w.Array("tickets")
	for i := range e.Tickets {
		t := &e.Tickets[i]
		w.Object("")
		writeID(w, "id", t.ID)
		w.Array("seats")
		for k := range e.Legs {
			w.Int("", int64(t.Seats[k]))
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
	own.Object("")
	writeID(own, "salt", e.Salt)
	own.Array("passengers")
	for i := range e.Tickets {
		writePerson(own, "", e.Tickets[i].Passenger)
	}
	own.EndArray()
	own.EndObject()
}

// writePerson writes a passenger's personal data.
func writePerson(w *wire.Writer, name string, p booking.Passenger) {
	first, last, email, phones := p.Fields()
	w.Object(name)
	w.String("firstName", first)
	w.String("lastName", last)
	w.String("email", email)
	w.Strings("phones", phones)
	w.EndObject()
}

func writeRun(w *wire.Writer, name string, r *booking.Run) {
	w.Object(name)
	w.String("form", r.Form.Key())
	w.String("date", r.Day.String())
	w.Int("start", r.Start)
	w.Array("offsets")
	for _, o := range r.Offsets {
		w.Int("", int64(o))
	}
	w.EndArray()
	w.EndObject()
}

func writeCanceled(w *wire.Writer, e *booking.TicketsCanceled) {
	writeID(w, "booking", e.Booking)
	w.String("request", e.Request)
	w.Array("tickets")
	for i := range e.Tickets {
		t := &e.Tickets[i]
		w.Object("")
		writeID(w, "id", t.ID)
		w.Bool("refunded", t.Refunded)
		if t.Refunded {
			w.Int("refund", t.Refund)
			w.Bool("grace", t.Grace)
			w.Array("terms")
			for _, term := range t.Terms {
				w.Object("")
				w.String("rule", term.Rule)
				w.Int("percent", term.Percent)
				w.Int("refund", term.Refund)
				w.EndObject()
			}
			w.EndArray()
		}
		w.EndObject()
	}
	w.EndArray()
}
