package search

import (
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/server/resource"
	"waybill/server/web"
	"waybill/server/wire"
)

// Found is a journey, with the seats that are left on it.
type Found struct {
	*finding
	legs  schedule.Journey
	seats int
}

// finding is the timetable and the instant of a search.
type finding struct {
	tt *schedule.Timetable
	at time.Time
}

// search returns the journeys of a query that have seats for all passengers, in order. The timetable is
// searched without the lock; the lock is only taken to ask for the seats of what was found. A ride that turns
// out full is not there, which may bring forth others.
func (s *Service) search(tt *schedule.Timetable, q *schedule.Query,
	passengers int) (list []Found, err error) {
	if _, err := s.Store.Glance(func(_ *ledger.State, at time.Time) {
		q.After = at.Unix()
	}); err != nil {
		return nil, err
	}
	q.Changes = s.maxTransfers
	q.Full = map[schedule.Leg]bool{}
	for {
		journeys := tt.Search(q)
		known := len(q.Full)
		list = make([]Found, 0, len(journeys))
		err = s.Store.View(func(st *ledger.State, at time.Time) {
			in := &finding{tt, at}
			for _, j := range journeys {
				f := Found{in, j, schedule.MaxSeats}
				for i := range j {
					left := st.Bookings.SeatsLeft(tt, &j[i], at)
					if left < passengers {
						q.Full[j[i]] = true
					}
					f.seats = min(f.seats, left)
				}
				if f.seats >= passengers {
					list = append(list, f)
				}
			}
		})
		if err != nil || len(q.Full) == known || s.maxTransfers == 0 {
			return list, err
		}
	}
}

// writeToken writes the token of a journey as the member id, and leaves in o what it carries.
func (s *Service) writeToken(w *wire.Writer, f *Found, partner auth.ID, o *Offer) {
	o.partner, o.Expires, o.Legs = partner, f.at.Add(web.OfferLife), o.Legs[:0]
	for i := range f.legs {
		o.Legs = append(o.Legs, f.tt.Ref(&f.legs[i]))
	}
	o.fares = fares(o.fares[:0], f.tt, f.legs)
	o.room = o.append(o.room[:0])
	w.Key("id")
	w.B = append(w.B, '"')
	w.B = s.Ring.Load().Sign(w.B, o.room)
	w.B = append(w.B, '"')
}

var (
	languages  = []string{"UK", "PL", "CS", "EN", "RU"} // in the order of schedule's
	currencies = []string{"UAH", "PLN", "CZK", "EUR", "USD"}
)

const (
	maxDays       = 14
	maxPassengers = 10
)

// GetSchedule answers GET /v2/offers/schedule.
func (s *Service) GetSchedule(w http.ResponseWriter, r *http.Request) error {
	q := web.NewQuery(r)
	from := q.Required("departureCitySlug")
	to := q.Required("arrivalCitySlug")
	first, _ := q.Day("date", q.Required("date"))
	days := q.Number("days", 1, 1, maxDays)
	passengers := q.Number("passengers", 1, 1, maxPassengers)
	currency := q.Choice("currency", "UAH", currencies)
	language := schedule.Language(slices.Index(languages, q.Choice("language", "UK", languages)))
	take, skip := q.TakeSkip(web.MaxSchedule)
	if err := q.Err(); err != nil {
		return err
	}
	tt := s.Timetable.Load()
	dep, knownDep := tt.CityBySlug(from)
	arr, knownArr := tt.CityBySlug(to)
	var missing []string
	if !knownDep {
		missing = append(missing, "departureCitySlug")
	}
	if !knownArr {
		missing = append(missing, "arrivalCitySlug")
	}
	if missing != nil {
		return web.NotFoundFor(missing...)
	}
	list, err := s.search(tt, &schedule.Query{
		From:  dep,
		To:    arr,
		First: first,
		Days:  days,
	}, passengers)
	return web.Show(w, err, func(w *wire.Writer) {
		var o Offer
		w.String("source", schedule.OwnSource)
		w.Int("total", int64(len(list)))
		w.String("currency", currency)
		w.Int("passengers", int64(passengers))
		wire.Each(w, "departures", web.PageOf(list, skip, take), func(f Found) {
			s.writeDeparture(w, &f, &o, currency, language)
		})
	})
}

// writeDeparture writes a schedule row; o is room for its offer.
func (s *Service) writeDeparture(w *wire.Writer, f *Found, o *Offer, currency string,
	language schedule.Language) {
	tt := f.tt
	first := &f.legs[0]
	last := &f.legs[len(f.legs)-1]
	company := tt.Company(first.Trip)
	w.Object("")
	s.writeToken(w, f, auth.ID{}, o)
	w.Object("company")
	w.String("id", company.ID)
	w.OptionalString("name", company.Name)
	w.OptionalString("slug", company.Slug)
	w.OptionalString("logoUrl", company.LogoURL)
	w.EndObject()
	writeLocal(w, "departureDateTime", first.Dep, tt.CityZone(tt.Boarding(first).City))
	writeLocal(w, "arrivalDateTime", last.Arr, tt.CityZone(tt.Alighting(last).City))
	w.Int("travelTimeMinutes", (last.Arr-first.Dep)/60)
	w.OptionalString("routeName", tt.RouteName(first.Trip, language))
	w.Object("price")
	if price, ok := o.Fare(currency); ok {
		w.Hundredths("amount", price.total())
	} else {
		w.Null("amount")
	}
	w.String("currency", currency)
	w.EndObject()
	w.Int("seatsLeft", int64(f.seats))
	w.EndObject()
}

// writeLocal writes an instant in Unix seconds by a zone's clock.
func writeLocal(w *wire.Writer, name string, at int64, zone *time.Location) {
	t := time.Unix(at, 0)
	_, offset := t.In(zone).Zone()
	w.LocalTime(name, t, offset, false)
}

// GetOffers answers GET /v2/offers.
func (s *Service) GetOffers(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	list, err := s.FindOffers(r, p, "passengers")
	return web.Show(w, err, func(w *wire.Writer) {
		wire.Each(w, "offers", list, func(f Found) {
			s.WriteOffer(w, &f, p, false)
		})
		w.String("source", schedule.OwnSource)
	})
}

// FindOffers reads the query of an offers search and runs it.
func (s *Service) FindOffers(r *http.Request, p *auth.Partner, passengersName string) ([]Found, error) {
	tt := s.Timetable.Load()
	q := web.NewQuery(r)
	var missing []string // parameters that name no city
	city := func(which string) (i int32) {
		slug := q.Text(which + "CitySlug")
		id := q.Text(which + "CityId")
		name := which + "CitySlug"
		i, ok := tt.CityBySlug(slug)
		switch {
		case slug == "" && id == "":
			q.Complain(name, "or "+which+"CityId is required")
		case slug == "":
			name = which + "CityId"
			i, ok = tt.CityByID(id)
		}
		if !ok {
			missing = append(missing, name)
		}
		return i
	}
	query := &schedule.Query{
		From:      city("departure"),
		To:        city("arrival"),
		Days:      1,
		Companies: make([]bool, len(tt.Companies)),
	}
	for i := range tt.Companies {
		query.Companies[i] = Sells(p, &tt.Companies[i])
	}
	query.First, _ = q.Day("departureDate", q.Required("departureDate"))
	passengers := q.Number(passengersName, 1, 1, web.Unbounded)
	if err := q.Err(); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, web.NotFoundFor(missing...)
	}
	return s.search(tt, query, passengers)
}

// Sells reports whether a partner may sell what a company runs.
func Sells(p *auth.Partner, c *schedule.Company) bool {
	return len(p.Companies) == 0 || slices.Contains(p.Companies, c.Slug)
}

// WriteOffer writes an Offer; the legacy interface's has no expiresAt.
func (s *Service) WriteOffer(w *wire.Writer, f *Found, p *auth.Partner, legacy bool) {
	rides := make([]resource.Ride, 0, 2)
	for i := range f.legs {
		rides = append(rides, resource.Offered(f.tt, &f.legs[i]))
	}
	var o Offer
	w.Object("")
	s.writeToken(w, f, p.ID, &o)
	w.String("source", rides[0].Run.Form.Company.Source)
	w.Int("seatsLeft", int64(f.seats))
	w.Time("arrivalDate", time.Unix(f.legs.Arr(), 0))
	if !legacy {
		w.Time("expiresAt", o.Expires)
	}
	wire.Each(w, "prices", o.fares, func(x Fare) {
		resource.WritePrice(w, "", rides[0].ID+"."+x.currency, x.total(), x.currency)
	})
	wire.Each(w, "slices", rides, func(x resource.Ride) {
		s.resources.Slice(w, &x)
	})
	wire.Each(w, "refundRules", rides, func(x resource.Ride) {
		resource.WriteRules(w, x.Run.Form)
	})
	discounted := slices.DeleteFunc(rides, func(x resource.Ride) bool {
		return x.Discount < 0
	})
	wire.Each(w, "discounts", discounted, func(x resource.Ride) {
		s.resources.Discount(w, "", x.Leg)
	})
	w.EndObject()
}

// ErrOfferExpired is returned for the token of an offer that was good before.
var ErrOfferExpired = errors.New("search: offer expired")

// Offer is what an offer token carries: a journey, its fares, until when, and for whom.
type Offer struct {
	partner auth.ID // zero: for every partner
	Expires time.Time
	Legs    []schedule.LegRef
	fares   []Fare
	room    []byte // for its payload
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
func fares(list []Fare, tt *schedule.Timetable, legs schedule.Journey) []Fare {
	list = allFares(list, tt, legs)
	for i := len(list) - 1; i >= 0 && len(list) > MaxFares; i-- {
		if !slices.Contains(currencies, list[i].currency) {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// allFares appends what a journey costs in each currency in which all of its legs are sold.
func allFares(list []Fare, tt *schedule.Timetable, legs schedule.Journey) []Fare {
	for _, m := range tt.Price(&legs[0]) {
		list = append(list, Fare{m.Currency, [2]int64{m.Amount}})
	}
	if len(legs) == 1 {
		return list
	}
	second := tt.Price(&legs[1])
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

// legSize is how many bytes a leg takes in a token.
const legSize = 20

// MaxFares keeps a token with two legs within auth.MaxToken.
const MaxFares = 24

// append appends the payload of the offer's token to b; its first byte is the ring's.
func (o *Offer) append(b []byte) []byte {
	b = append(b, 0)
	b = append(b, o.partner[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(o.Expires.UnixMilli()))
	b = append(b, byte(len(o.Legs)))
	for _, l := range o.Legs { // its fields in turn; binary.Append does the same, more slowly
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

// ReadOffer checks a token shown by a partner. Errors: auth.ErrMalformed, errExpired.
func (s *Service) ReadOffer(token string, partner auth.ID, now time.Time) (*Offer, error) {
	b, err := s.Ring.Load().Open(token)
	const head = 1 + 16 + 8 + 1
	if err != nil || len(b) < head {
		return nil, auth.ErrMalformed
	}
	o := &Offer{
		partner: auth.ID(b[1:17]),
		Expires: time.UnixMilli(int64(binary.BigEndian.Uint64(b[17:25]))).UTC(),
	}
	n := int(b[25])
	b = b[head:]
	if n < 1 || n > 2 || len(b) < n*legSize || o.partner != (auth.ID{}) && o.partner != partner {
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
	if !now.Before(o.Expires) {
		return nil, ErrOfferExpired
	}
	return o, nil
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
