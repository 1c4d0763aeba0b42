package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/server/wire"
)

// found is a journey, with the seats that are left on it.
type found struct {
	*finding
	legs  schedule.Journey
	seats int
}

// finding is the timetable and the instant of a search.
type finding struct {
	tt *schedule.Timetable
	at time.Time
}

// search gives the journeys of a query that have seats for all passengers, in order. The timetable is searched
// without the lock; the lock is only taken to ask for the seats of what was found. A ride that turns out full is not
// there, which may bring forth others.
func (s *Server) search(tt *schedule.Timetable, q *schedule.Query, passengers int) (list []found, err error) {
	if _, err := s.st.Glance(func(_ *ledger.State, at time.Time) { q.After = at.Unix() }); err != nil {
		return nil, err
	}
	q.Changes, q.Full = s.cfg.MaxTransfers, map[schedule.Leg]bool{}
	for {
		journeys, known := tt.Search(q), len(q.Full)
		list = make([]found, 0, len(journeys))
		err = s.st.View(func(st *ledger.State, at time.Time) {
			in := &finding{tt, at}
			for _, j := range journeys {
				f := found{in, j, schedule.MaxSeats}
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
		if err != nil || len(q.Full) == known || s.cfg.MaxTransfers == 0 {
			return list, err
		}
	}
}

// writeToken writes the token of a journey as the member id, and leaves in o what it carries.
func (s *Server) writeToken(w *wire.Writer, f *found, partner auth.ID, o *offer) {
	o.partner, o.expires, o.legs = partner, f.at.Add(offerLife), o.legs[:0]
	for i := range f.legs {
		o.legs = append(o.legs, f.tt.Ref(&f.legs[i]))
	}
	o.fares = fares(o.fares[:0], f.tt, f.legs)
	o.room = o.append(o.room[:0])
	w.Key("id")
	w.B = append(w.B, '"')
	w.B = s.ring.Load().Sign(w.B, o.room)
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

// getSchedule answers GET /v2/offers/schedule.
func (s *Server) getSchedule(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	from, to := q.required("departureCitySlug"), q.required("arrivalCitySlug")
	first, _ := q.day("date", q.required("date"))
	days := q.number("days", 1, 1, maxDays)
	passengers := q.number("passengers", 1, 1, maxPassengers)
	currency := q.choice("currency", "UAH", currencies)
	language := schedule.Language(slices.Index(languages, q.choice("language", "UK", languages)))
	take, skip := q.page(maxSchedule)
	if err := q.err(); err != nil {
		return err
	}
	tt := s.timetable.Load()
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
		return unknown(missing...)
	}
	list, err := s.search(tt, &schedule.Query{From: dep, To: arr, First: first, Days: days}, passengers)
	return show(w, err, func(w *wire.Writer) {
		var o offer
		w.String("source", schedule.OwnSource)
		w.Int("total", int64(len(list)))
		w.String("currency", currency)
		w.Int("passengers", int64(passengers))
		wire.Each(w, "departures", page(list, skip, take), func(f found) { s.writeDeparture(w, &f, &o, currency, language) })
	})
}

// writeDeparture writes a schedule row; o is room for its offer.
func (s *Server) writeDeparture(w *wire.Writer, f *found, o *offer, currency string, language schedule.Language) {
	tt, first, last := f.tt, &f.legs[0], &f.legs[len(f.legs)-1]
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
	if price, ok := o.fare(currency); ok {
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

// getOffers answers GET /v2/offers.
func (s *Server) getOffers(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	list, err := s.findOffers(r, p, "passengers")
	return show(w, err, func(w *wire.Writer) {
		wire.Each(w, "offers", list, func(f found) { s.writeOffer(w, &f, p, false) })
		w.String("source", schedule.OwnSource)
	})
}

// findOffers reads the query of an offers search and runs it.
func (s *Server) findOffers(r *http.Request, p *auth.Partner, passengersName string) ([]found, error) {
	tt := s.timetable.Load()
	q := newQuery(r)
	var missing []string // parameters that name no city
	city := func(which string) (i int32) {
		slug, id := q.text(which+"CitySlug"), q.text(which+"CityId")
		name := which + "CitySlug"
		i, ok := tt.CityBySlug(slug)
		switch {
		case slug == "" && id == "":
			q.complain(name, "or "+which+"CityId is required")
		case slug == "":
			name = which + "CityId"
			i, ok = tt.CityByID(id)
		}
		if !ok {
			missing = append(missing, name)
		}
		return i
	}
	query := &schedule.Query{From: city("departure"), To: city("arrival"), Days: 1, Companies: make([]bool, len(tt.Companies))}
	for i := range tt.Companies {
		query.Companies[i] = sells(p, &tt.Companies[i])
	}
	query.First, _ = q.day("departureDate", q.required("departureDate"))
	passengers := q.number(passengersName, 1, 1, unbounded)
	if err := q.err(); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, unknown(missing...)
	}
	return s.search(tt, query, passengers)
}

// sells tells whether a partner may sell what a company runs.
func sells(p *auth.Partner, c *schedule.Company) bool {
	return len(p.Companies) == 0 || slices.Contains(p.Companies, c.Slug)
}

// writeOffer writes an Offer; the legacy interface's has no expiresAt.
func (s *Server) writeOffer(w *wire.Writer, f *found, p *auth.Partner, legacy bool) {
	rides := make([]ride, 0, 2)
	for i := range f.legs {
		rides = append(rides, offered(f.tt, &f.legs[i]))
	}
	var o offer
	w.Object("")
	s.writeToken(w, f, p.ID, &o)
	w.String("source", rides[0].Run.Form.Company.Source)
	w.Int("seatsLeft", int64(f.seats))
	w.Time("arrivalDate", time.Unix(f.legs.Arr(), 0))
	if !legacy {
		w.Time("expiresAt", o.expires)
	}
	wire.Each(w, "prices", o.fares, func(x fare) { writePrice(w, "", rides[0].id+"."+x.currency, x.total(), x.currency) })
	wire.Each(w, "slices", rides, func(x ride) { x.write(w) })
	wire.Each(w, "refundRules", rides, func(x ride) { writeRules(w, x.Run.Form) })
	discounted := slices.DeleteFunc(rides, func(x ride) bool { return x.Discount < 0 })
	wire.Each(w, "discounts", discounted, func(x ride) { writeDiscount(w, "", x.Leg) })
	w.EndObject()
}

// offerLife is how long an offer can be booked (interface, Limits).
const offerLife = 20 * time.Minute

var errExpired = errors.New("server: offer expired")

// offer is what an offer token carries: a journey, its fares, until when, and for whom.
type offer struct {
	partner auth.ID // zero: for every partner
	expires time.Time
	legs    []schedule.LegRef
	fares   []fare
	room    []byte // for its payload
}

// fare is what the legs cost in a currency, discount taken off, in minor units.
type fare struct {
	currency string
	amounts  [2]int64
}

func (f *fare) total() int64 { return f.amounts[0] + f.amounts[1] }

// fares appends what a journey costs: the currencies in which each leg is sold, by name. A token has room for 24 of them,
// so that no more are offered: those of the interface, and then the first by name.
func fares(list []fare, tt *schedule.Timetable, legs schedule.Journey) []fare {
	list = allFares(list, tt, legs)
	for i := len(list) - 1; i >= 0 && len(list) > maxFares; i-- {
		if !slices.Contains(currencies, list[i].currency) {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

func allFares(list []fare, tt *schedule.Timetable, legs schedule.Journey) []fare {
	for _, m := range tt.Price(&legs[0]) {
		list = append(list, fare{m.Currency, [2]int64{m.Amount}})
	}
	if len(legs) == 1 {
		return list
	}
	second := tt.Price(&legs[1])
	both := list[:0]
	for _, f := range list {
		if i := slices.IndexFunc(second, func(m schedule.Money) bool { return m.Currency == f.currency }); i >= 0 {
			f.amounts[1] = second[i].Amount
			both = append(both, f)
		}
	}
	return both
}

// legSize is how many bytes a leg takes in a token.
const legSize = 20

// maxFares keeps a token with two legs within auth.MaxToken.
const maxFares = 24

// append appends the payload of the offer's token to b; its first byte is the ring's.
func (o *offer) append(b []byte) []byte {
	b = append(b, 0)
	b = append(b, o.partner[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(o.expires.UnixMilli()))
	b = append(b, byte(len(o.legs)))
	for _, l := range o.legs { // its fields in turn; binary.Append does the same, more slowly
		b = binary.BigEndian.AppendUint64(b, l.Trip)
		b = binary.BigEndian.AppendUint32(b, uint32(l.Day))
		b = binary.BigEndian.AppendUint16(b, uint16(l.From))
		b = binary.BigEndian.AppendUint16(b, uint16(l.To))
		b = binary.BigEndian.AppendUint32(b, l.Print)
	}
	for _, f := range o.fares {
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
	o := &offer{partner: auth.ID(b[1:17]), expires: time.UnixMilli(int64(binary.BigEndian.Uint64(b[17:25]))).UTC()}
	n := int(b[25])
	b = b[head:]
	if n < 1 || n > 2 || len(b) < n*legSize || o.partner != (auth.ID{}) && o.partner != partner {
		return nil, auth.ErrMalformed
	}
	for range n {
		o.legs = append(o.legs, schedule.LegRef{
			Trip: binary.BigEndian.Uint64(b), Day: schedule.Day(binary.BigEndian.Uint32(b[8:])),
			From: int16(binary.BigEndian.Uint16(b[12:])), To: int16(binary.BigEndian.Uint16(b[14:])),
			Print: binary.BigEndian.Uint32(b[16:]),
		})
		b = b[legSize:]
	}
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
