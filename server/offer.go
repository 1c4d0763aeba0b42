package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
)

// offerLife is how long an offer can be booked (interface, Limits).
const offerLife = 20 * time.Minute

var errExpired = errors.New("server: offer expired")

// offer is what an offer token carries: a journey, its fares, until when, and for whom.
type offer struct {
	partner auth.ID // zero: for every partner
	expires time.Time
	legs    []schedule.LegRef
	fares   []fare
}

// fare is what the legs cost in a currency, discount taken off, in minor units.
type fare struct {
	currency string
	amounts  [2]int64
}

func (f *fare) total() int64 { return f.amounts[0] + f.amounts[1] }

// fares gives what a journey costs: the currencies in which each leg is sold, by name.
func fares(tt *schedule.Timetable, legs []*schedule.Leg) []fare {
	var list []fare
	for _, m := range tt.Price(legs[0]) {
		list = append(list, fare{m.Currency, [2]int64{m.Amount}})
	}
	if len(legs) == 1 {
		return list
	}
	second := tt.Price(legs[1])
	both := list[:0]
	for _, f := range list {
		for _, m := range second {
			if m.Currency == f.currency {
				f.amounts[1] = m.Amount
				both = append(both, f)
			}
		}
	}
	return both
}

// maxFares keeps a token with two legs within auth.MaxToken.
const maxFares = 24

// append appends the payload of the offer's token to b; its first byte is the ring's.
func (o *offer) append(b []byte) []byte {
	b = append(b, 0)
	b = append(b, o.partner[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(o.expires.UnixMilli()))
	b = append(b, byte(len(o.legs)))
	b, _ = binary.Append(b, binary.BigEndian, o.legs) // cannot fail: of fixed size
	for _, f := range o.fares[:min(len(o.fares), maxFares)] {
		b = append(b, f.currency...)
		for i := range o.legs {
			b = binary.AppendUvarint(b, uint64(f.amounts[i]))
		}
	}
	return b
}

// readOffer checks a token shown by a partner. Errors: auth.ErrMalformed, errExpired.
func (s *Server) readOffer(token string, partner auth.ID, now time.Time) (*offer, error) {
	b, err := s.ring.Load().Open(token)
	const head = 1 + 16 + 8 + 1
	if err != nil || len(b) < head {
		return nil, auth.ErrMalformed
	}
	o := &offer{partner: auth.ID(b[1:17]), expires: time.UnixMilli(int64(binary.BigEndian.Uint64(b[17:25]))).UTC(), legs: make([]schedule.LegRef, b[25])}
	n, err := binary.Decode(b[head:], binary.BigEndian, o.legs)
	if err != nil || len(o.legs) < 1 || len(o.legs) > 2 || o.partner != (auth.ID{}) && o.partner != partner {
		return nil, auth.ErrMalformed
	}
	b = b[head+n:]
	for len(b) > 3 {
		f := fare{currency: string(b[:3])}
		b = b[3:]
		for i := range o.legs {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, auth.ErrMalformed
			}
			f.amounts[i], b = int64(v), b[n:]
		}
		o.fares = append(o.fares, f)
	}
	if !now.Before(o.expires) {
		return nil, errExpired
	}
	return o, nil
}

// fare finds what the offer costs in a currency.
func (o *offer) fare(currency string) (fare, bool) {
	i := slices.IndexFunc(o.fares, func(f fare) bool { return f.currency == currency })
	if i < 0 {
		return fare{}, false
	}
	return o.fares[i], true
}

// randomID makes an id whose text does not start with a dash: a shell would
// take it for a flag, a spreadsheet for a formula.
func randomID() (id booking.ID) {
	for rand.Read(id[:]); id.String()[0] == '-'; {
		rand.Read(id[:])
	}
	return id
}
