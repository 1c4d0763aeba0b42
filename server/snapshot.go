package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/wire"
)

// A snapshot is a line for the clock, one for the timetable, and one for each
// partner, form, run and booking, in the order they came into being: the same
// state is always the same bytes. Later lines name earlier ones, runs by number.

// freeze gives what writes the state as it is now.
func freeze(s *State) func(io.Writer) error {
	clock, hash, partners, frozen := s.Clock, s.TimetableHash, s.Partners.All(), s.Bookings.Freeze()
	return func(to io.Writer) error {
		var w wire.Writer
		flush := func() error {
			w.B = append(w.B, '\n')
			_, err := to.Write(w.B)
			w.B = w.B[:0]
			return err
		}
		w.Object("")
		w.Object("clock")
		w.Bool("set", clock.Set)
		w.Int("offsetMs", clock.Offset.Milliseconds())
		w.EndObject()
		w.String("timetable", hash)
		w.EndObject()
		err := flush()
		for _, p := range partners {
			writePartner(&w, p)
			err = errors.Join(err, flush())
		}
		numbers := make(map[*booking.Run]int, len(frozen.Runs))
		forms := map[string]bool{}
		for i, r := range frozen.Runs {
			numbers[r] = i
			if !forms[r.Form.Key()] {
				forms[r.Form.Key()] = true
				w.Object("")
				w.Raw("form", r.Form.Encode())
				w.EndObject()
				err = errors.Join(err, flush())
			}
			w.Object("")
			writeRun(&w, "run", r)
			w.EndObject()
			err = errors.Join(err, flush())
		}
		for _, b := range frozen.Bookings {
			w.Object("")
			if b == nil {
				w.Bool("empty", true)
			} else {
				writeWholeBooking(&w, b, numbers, frozen.Asks)
			}
			w.EndObject()
			if err = errors.Join(err, flush()); err != nil {
				return err
			}
		}
		return err
	}
}

func writePartner(w *wire.Writer, p *auth.Partner) {
	w.Object("")
	w.Object("partner")
	writeID(w, "id", booking.ID(p.ID))
	w.String("name", p.Name)
	w.Strings("companies", p.Companies)
	w.Time("created", p.Created)
	w.Array("keys")
	for _, k := range p.Keys {
		w.Object("")
		w.String("hash", k.Hash.String())
		w.Time("created", k.Created)
		if !k.Revoked.IsZero() {
			w.Time("revoked", k.Revoked)
		}
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
	w.EndObject()
}

func writeWholeBooking(w *wire.Writer, b *booking.Booking, runs map[*booking.Run]int, asks map[booking.ID]booking.Ask) {
	w.Object("booking")
	writeID(w, "id", b.ID)
	writeID(w, "partner", b.Partner)
	w.Int("created", b.Created)
	w.Int("updated", b.Updated)
	w.Array("tickets")
	for i := range b.Tickets {
		t := &b.Tickets[i]
		w.Object("")
		writeID(w, "id", t.ID)
		w.Int("created", t.Created)
		w.Int("refund", t.Refund)
		w.String("currency", string(t.Currency[:]))
		w.Int("phase", int64(t.Phase))
		w.Int("was", int64(t.Was))
		w.Int("carrier", int64(t.Carrier))
		w.Int("asked", int64(t.Asked))
		if ask, ok := asks[t.ID]; ok {
			writeID(w, "key", ask.Key)
			w.String("request", ask.Request)
		}
		w.Array("legs")
		for _, l := range t.Itinerary() {
			for _, n := range [...]int64{int64(runs[l.Run]), int64(l.From), int64(l.To), int64(l.Seat), int64(l.Discount), l.Amount} {
				w.Int("", n)
			}
		}
		w.EndArray()
		writePerson(w, "passenger", t.Passenger)
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

// thaw reads what freeze wrote.
func (j *journal) thaw(from io.Reader) (*State, error) {
	s := newState()
	var runs []*booking.Run
	lines := bufio.NewReaderSize(from, 1<<18)
	var long []byte
	for n := 2; ; n++ {
		line, err := lines.ReadSlice('\n')
		for long = long[:0]; err == bufio.ErrBufferFull; line, err = lines.ReadSlice('\n') {
			long = append(long, line...)
		}
		if len(long) > 0 {
			line = append(long, line...)
		}
		if err == io.EOF && len(line) == 0 {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		r := wire.NewReader(line)
		fields(r, func(name string) bool { return j.restore(s, r, name, &runs) })
		r.End()
		if err := errors.Join(r.Err(), j.err); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// restore reads one member of a snapshot's line into the state.
func (j *journal) restore(s *State, r *wire.Reader, name string, runs *[]*booking.Run) bool {
	switch name {
	case "clock":
		return fields(r, func(name string) bool {
			switch name {
			case "set":
				return readBool(r, &s.Clock.Set)
			case "offsetMs":
				s.Clock.Offset = time.Duration(r.Int()) * time.Millisecond
				return true
			}
			return false
		})
	case "timetable":
		return readString(r, &s.TimetableHash)
	case "partner":
		s.Partners.Restore(readPartner(r))
	case "form":
		j.form(r.Raw())
	case "run":
		if run := j.run(r); run != nil {
			s.Bookings.RestoreRun(run)
			*runs = append(*runs, run)
		}
	case "booking":
		asks := map[booking.ID]booking.Ask{}
		b := readWholeBooking(r, *runs, asks)
		if b.Number = uint32(s.Bookings.Count()); r.Err() == nil {
			s.Bookings.RestoreBooking(b, asks)
		}
	case "empty":
		r.Skip()
		s.Bookings.RestoreEmpty()
	default:
		return false
	}
	return true
}

func readPartner(r *wire.Reader) *auth.Partner {
	p := new(auth.Partner)
	fields(r, func(name string) bool {
		switch name {
		case "id":
			return readID(r, (*booking.ID)(&p.ID))
		case "name":
			return readString(r, &p.Name)
		case "companies":
			return readStrings(r, &p.Companies)
		case "created":
			return readTime(r, &p.Created)
		case "keys":
			return r.Array(func(int) {
				var k auth.Key
				fields(r, func(name string) bool {
					switch name {
					case "hash":
						return readHash(r, &k.Hash)
					case "created":
						return readTime(r, &k.Created)
					case "revoked":
						return readTime(r, &k.Revoked)
					}
					return false
				})
				p.Keys = append(p.Keys, k)
			})
		}
		return false
	})
	return p
}

func readWholeBooking(r *wire.Reader, runs []*booking.Run, asks map[booking.ID]booking.Ask) *booking.Booking {
	b := new(booking.Booking)
	fields(r, func(name string) bool {
		switch name {
		case "id":
			return readID(r, &b.ID)
		case "partner":
			return readID(r, &b.Partner)
		case "created":
			return readInt(r, &b.Created)
		case "updated":
			return readInt(r, &b.Updated)
		case "tickets":
			return r.Array(func(int) { b.Tickets = append(b.Tickets, readWholeTicket(r, runs, asks)) })
		}
		return false
	})
	if len(b.Tickets) == 0 {
		r.Reject("has no tickets")
	}
	return b
}

func readWholeTicket(r *wire.Reader, runs []*booking.Run, asks map[booking.ID]booking.Ask) (t booking.Ticket) {
	var ask booking.Ask
	var currency string
	var phase, was, carrier, asked int
	var legs []int64
	fields(r, func(name string) bool {
		switch name {
		case "id":
			return readID(r, &t.ID)
		case "created":
			return readInt(r, &t.Created)
		case "refund":
			return readInt(r, &t.Refund)
		case "currency":
			return readString(r, &currency)
		case "phase":
			return readInt(r, &phase)
		case "was":
			return readInt(r, &was)
		case "carrier":
			return readInt(r, &carrier)
		case "asked":
			return readInt(r, &asked)
		case "key":
			return readID(r, &ask.Key)
		case "request":
			return readString(r, &ask.Request)
		case "legs":
			return r.Array(func(int) { legs = append(legs, r.Int()) })
		case "passenger":
			t.Passenger = readPerson(r)
			return true
		}
		return false
	})
	copy(t.Currency[:], currency)
	t.Phase, t.Was, t.Carrier, t.Asked = booking.Phase(phase), booking.Phase(was), booking.Carrier(carrier), booking.Action(asked)
	if t.Asked != 0 {
		asks[t.ID] = ask
	}
	const perLeg = 6
	if len(legs) != perLeg && len(legs) != 2*perLeg {
		r.Reject("has not one or two legs")
		return t
	}
	for i := 0; i < len(legs); i += perLeg {
		l := legs[i : i+perLeg]
		if l[0] < 0 || l[0] >= int64(len(runs)) {
			r.Reject("names a run that is not there")
			return t
		}
		t.Legs[i/perLeg] = booking.Leg{Run: runs[l[0]], From: int16(l[1]), To: int16(l[2]), Seat: int16(l[3]), Discount: int16(l[4]), Amount: l[5]}
	}
	return t
}
