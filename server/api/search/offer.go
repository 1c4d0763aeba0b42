package search

import (
	"math"
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/schedule/journey"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// Found is a journey, with the seats that are left on it.
type Found struct {
	journey.Found
	*finding
}

// finding is the timetable and the instant of a search.
type finding struct {
	tt journey.Finder
	at time.Time
}

// search returns a page of the journeys of a query that have seats for all passengers, in order, and how many
// there are in all. The timetable is searched without the lock; the lock is only taken to ask for the seats
// of what was found. A ride that turns out full is not there, which may bring forth others.
func (s *Finder) search(tt *journey.Kept, q *journey.Query, passengers, skip, take int) (
	page []Found, total int, err error) {
	_, err = s.Store.Glance(func(_ ledger.State, at time.Time) {
		q.After = at.Unix()
	})
	if err != nil {
		return nil, 0, err
	}
	q.Changes = s.maxTransfers
	look := tt.Look(q, passengers)
	in := &finding{tt: tt.Finder}
	for again := true; again; {
		err = s.Store.ViewOn(func(st ledger.State, at time.Time) (line uint64) {
			line = st.OffersLine()
			in.at = at
			seats := func(ride *schedule.Leg, enough int) int {
				left, changed := st.Bookings.SeatsLeft(tt.Timetable, ride, enough, at)
				line = max(line, changed)
				return left
			}
			again = look.Ask(seats, skip, take)
			return line
		})
		if err != nil {
			return nil, 0, err
		}
		if again {
			look.Again()
		}
	}
	page = make([]Found, len(look.Page))
	for i, found := range look.Page {
		page[i] = Found{found, in}
	}
	return page, look.Total, nil
}

// keptRows is how many rows of what was found are kept, of about 0.5 KB each.
const keptRows = 1 << 17

// network returns the timetable in force, with what searches have found in it.
func (s *Finder) network() *journey.Kept {
	tt := s.Timetable.Load()
	kept := s.kept.Load()
	if kept == nil || kept.Timetable != tt {
		// An import, or a run that was changed: what was found before goes.
		kept = journey.Keep(journey.On(tt), keptRows)
		s.kept.Store(kept)
	}
	return kept
}

// GetOffers answers GET /v2/offers.
func (s *Finder) GetOffers(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	list, err := s.FindOffers(r, p, "passengers")
	return web.Show(w, err, func(w *wire.Writer) {
		wire.Each(w, "offers", list, func(f Found) {
			s.WriteOffer(w, &f, p, false)
		})
		w.String("source", schedule.OwnSource)
	})
}

// FindOffers reads the query of an offers search and runs it.
func (s *Finder) FindOffers(r *http.Request, p *auth.Partner, passengersName string) ([]Found, error) {
	tt := s.network()
	q := web.NewQuery(r)
	var missing []string // parameters that name no city
	// The slug counts where both are given.
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
	query := &journey.Query{
		From:      city("departure"),
		To:        city("arrival"),
		Days:      1,
		Companies: make([]bool, len(tt.Companies)),
	}
	// The timetable leaves out what this partner may not sell, so that changes are found without it.
	for i := range tt.Companies {
		query.Companies[i] = Sells(p, &tt.Companies[i])
	}
	if !slices.Contains(query.Companies, false) {
		query.Companies = nil // as everybody's, what is found can be kept
	}
	query.First, _ = q.Day("departureDate", q.Required("departureDate"))
	passengers := q.Number(passengersName, 1, 1, web.Unbounded)
	if err := q.Err(); err != nil {
		return nil, err
	}
	// What is wrong with the request comes before what there is not.
	if missing != nil {
		return nil, web.NotFoundFor(missing...)
	}
	list, _, err := s.search(tt, query, passengers, 0, math.MaxInt)
	return list, err
}

// Sells reports whether a partner may sell what a company runs.
func Sells(p *auth.Partner, c *schedule.Company) bool {
	return p.Sells(c.Slug)
}

// WriteOffer writes an Offer; the legacy interface's has no expiresAt.
func (s *Finder) WriteOffer(w *wire.Writer, f *Found, p *auth.Partner, legacy bool) {
	rides := make([]resource.Ride, 0, 2)
	for i := range f.Legs {
		rides = append(rides, resource.Offered(f.tt.Timetable, &f.Legs[i]))
	}
	var o Offer
	o.fill(f, p.ID)
	w.Object("")
	s.writeSigned(w, o.append(nil))
	w.String("source", rides[0].Run.Form.Company.Source)
	w.Int("seatsLeft", int64(f.Seats))
	w.Time("arrivalDate", time.Unix(f.Legs.Arr(), 0))
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
	// Last: it changes the list of the rides.
	discounted := slices.DeleteFunc(rides, func(x resource.Ride) bool {
		return x.Discount < 0
	})
	wire.Each(w, "discounts", discounted, func(x resource.Ride) {
		s.resources.Discount(w, "", x.Leg)
	})
	w.EndObject()
}
