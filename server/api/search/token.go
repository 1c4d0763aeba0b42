package search

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/schedule/journey"
	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// ErrOfferExpired is returned for the token of an offer that was good before.
var ErrOfferExpired = errors.New("search: offer expired")

// Offer is what an offer token carries: a journey, its fares, until when, and for whom.
type Offer struct {
	partner ids.ID // zero: for every partner
	Expires time.Time
	Legs    []schedule.LegRef
	fares   []Fare
}

// Fare is what the legs cost in a currency, discount taken off, in minor units.
type Fare struct {
	currency string
	Amounts  [2]int64
}

// total returns what a passenger pays for all legs.
func (f *Fare) total() int64 {
	return f.Amounts[0] + f.Amounts[1]
}

// fares appends what a journey costs: the currencies in which each leg is sold, by name. A token has room for
// 24 of them, so that no more are offered: those of the interface, and then the first by name.
func fares(list []Fare, tt journey.Finder, legs journey.Journey) []Fare {
	// The interface's own currencies stay, and of the others the first.
	list = allFares(list, tt, legs)
	for i := len(list) - 1; i >= 0 && len(list) > MaxFares; i-- {
		if !slices.Contains(currencies, list[i].currency) {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// allFares appends what a journey costs in each currency in which all of its legs are sold.
func allFares(list []Fare, tt journey.Finder, legs journey.Journey) []Fare {
	for _, m := range tt.Price(&legs[0]) {
		list = append(list, Fare{currency: m.Currency, Amounts: [2]int64{m.Amount}})
	}
	if len(legs) == 1 {
		return list
	}
	second := tt.Price(&legs[1])
	// A journey with a change is sold in the currencies of both legs only.
	both := list[:0]
	for _, f := range list {
		i := slices.IndexFunc(second, func(m schedule.Money) bool {
			return m.Currency == f.currency
		})
		if i >= 0 {
			f.Amounts[1] = second[i].Amount
			both = append(both, f)
		}
	}
	return both
}

// The payload of a token:
//
//	1 byte    the key that signed it, which the ring writes
//	16 bytes  the partner's id, or zeros
//	8 bytes   the end of its life, Unix milliseconds
//	1 byte    how many legs there are
//	20 bytes  of each leg: trip (8), day (4), stops from and to (2 each), a print of what was shown (4)
//	the rest  of each currency its 3 letters, and the amount of each leg as a varint
const (
	idSize   = 16
	timeSize = 8
	legSize  = 8 + 4 + 2 + 2 + 4
	headSize = 1 + idSize + timeSize + 1
)

// MaxFares keeps a token with two legs within auth.MaxToken.
const MaxFares = 24

// append appends the payload of the offer's token to b. It is written for every row of a schedule, so by
// hand: binary.Append does the same, more slowly.
func (o *Offer) append(b []byte) []byte {
	b = append(b, 0)
	b = append(b, o.partner[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(o.Expires.UnixMilli()))
	b = append(b, byte(len(o.Legs)))
	for _, l := range o.Legs {
		b = binary.BigEndian.AppendUint64(b, l.Trip)
		b = binary.BigEndian.AppendUint32(b, uint32(l.Day))
		b = binary.BigEndian.AppendUint16(b, uint16(l.From))
		b = binary.BigEndian.AppendUint16(b, uint16(l.To))
		b = binary.BigEndian.AppendUint32(b, l.Print)
	}
	for _, f := range o.fares {
		b = append(b, f.currency...)
		for i := range o.Legs {
			b = binary.AppendUvarint(b, uint64(f.Amounts[i]))
		}
	}
	return b
}

// ReadOffer checks a token shown by a partner. Errors: auth.ErrMalformed, ErrOfferExpired.
func (s *Finder) ReadOffer(token string, partner ids.ID, now time.Time) (*Offer, error) {
	b, err := s.Ring.Load().Open(token)
	if err != nil || len(b) < headSize {
		return nil, auth.ErrMalformed
	}
	b = b[1:]
	expires := int64(binary.BigEndian.Uint64(b[idSize:]))
	o := &Offer{
		partner: ids.ID(b[:idSize]),
		Expires: time.UnixMilli(expires).UTC(),
	}
	if o.partner != (ids.ID{}) && o.partner != partner {
		return nil, auth.ErrMalformed // it was shown to somebody else
	}
	n := int(b[idSize+timeSize])
	b = b[headSize-1:]
	if n < 1 || n > 2 || len(b) < n*legSize {
		return nil, auth.ErrMalformed
	}
	for range n {
		o.Legs = append(o.Legs, schedule.LegRef{
			Trip:  binary.BigEndian.Uint64(b),
			Day:   schedule.Day(binary.BigEndian.Uint32(b[8:])),
			From:  int16(binary.BigEndian.Uint16(b[12:])),
			To:    int16(binary.BigEndian.Uint16(b[14:])),
			Print: binary.BigEndian.Uint32(b[16:]),
		})
		b = b[legSize:]
	}
	for len(b) > 3 {
		f := Fare{currency: string(b[:3])}
		b = b[3:]
		for i := range o.Legs {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, auth.ErrMalformed
			}
			f.Amounts[i] = int64(v)
			b = b[n:]
		}
		o.fares = append(o.fares, f)
	}
	// Last: a token that is no good in itself never was an offer.
	if !now.Before(o.Expires) {
		return nil, ErrOfferExpired
	}
	return o, nil
}

// fill makes an offer that of a journey to a partner. What it had before makes room.
func (o *Offer) fill(f *Found, partner ids.ID) {
	o.partner = partner
	o.Expires = f.at.Add(web.OfferLife)
	o.Legs = o.Legs[:0]
	for i := range f.Legs {
		o.Legs = append(o.Legs, f.tt.Ref(&f.Legs[i]))
	}
	o.fares = fares(o.fares[:0], f.tt, f.Legs)
}

// expiring appends the payload of an offer to b, with another end of its life.
func expiring(b, payload []byte, at time.Time) []byte {
	b = append(b, payload...)
	binary.BigEndian.PutUint64(b[1+idSize:], uint64(at.UnixMilli()))
	return b
}

// writeSigned writes the token of a payload as the member id.
func (s *Finder) writeSigned(w *wire.Writer, payload []byte) {
	w.Key("id")
	w.B = append(w.B, '"')
	w.B = s.Ring.Load().Sign(w.B, payload)
	w.B = append(w.B, '"')
}

// Fare finds what the offer costs in a currency.
func (o *Offer) Fare(currency string) (Fare, bool) {
	i := slices.IndexFunc(o.fares, func(f Fare) bool {
		return f.currency == currency
	})
	if i < 0 {
		return Fare{}, false
	}
	return o.fares[i], true
}
