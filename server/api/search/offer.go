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
	*finding
	legs  journey.Journey
	seats int
}

// finding is the timetable and the instant of a search.
type finding struct {
	tt journey.Finder
	at time.Time
}

// search returns a page of the journeys of a query that have seats for all passengers, in order, and how many
// there are in all. The timetable is searched without the lock; the lock is only taken to ask for the seats
// of what was found. A ride that turns out full is not there, which may bring forth others.
//
// What is not on the page is counted, and not kept: of a schedule of 14 days that was a quarter of the
// garbage.
func (s *Finder) search(tt journey.Finder, q *journey.Query, passengers, skip, take int) (
	page []Found, total int, err error) {
	_, err = s.Store.Glance(func(_ ledger.State, at time.Time) {
		q.After = at.Unix()
	})
	if err != nil {
		return nil, 0, err
	}
	q.Changes = s.maxTransfers
	q.Full = map[schedule.Leg]bool{}
	// A ride that is full leaves the next search, until none is found that is: each time there is at least
	// one less.
	for {
		journeys, beyond := tt.SearchBeyond(q)
		known := len(q.Full)
		page = make([]Found, 0, min(len(journeys), take))
		total = 0
		err = s.Store.ViewOn(func(st ledger.State, at time.Time) (line uint64) {
			line = st.OffersLine()
			in := &finding{tt, at}
			seats := func(ride *schedule.Leg) int {
				left, changed := st.Bookings.SeatsLeft(tt.Timetable, ride, at)
				line = max(line, changed)
				return left
			}
			for _, j := range beyond { // what has not seats enough hides nothing
				for i := range j {
					if seats(&j[i]) < passengers {
						q.Full[j[i]] = true
					}
				}
			}
			for _, j := range journeys {
				f := Found{finding: in, legs: j, seats: schedule.MaxSeats}
				for i := range j {
					left := seats(&j[i])
					if left < passengers {
						q.Full[j[i]] = true
					}
					f.seats = min(f.seats, left)
				}
				if f.seats < passengers {
					continue
				}
				if total >= skip && len(page) < take {
					page = append(page, f)
				}
				total++
			}
			return line
		})
		if err != nil || len(q.Full) == known || s.maxTransfers == 0 {
			return page, total, err
		}
	}
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
	tt := journey.On(s.Timetable.Load())
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
	for i := range f.legs {
		rides = append(rides, resource.Offered(f.tt.Timetable, &f.legs[i]))
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
	// Last: it changes the list of the rides.
	discounted := slices.DeleteFunc(rides, func(x resource.Ride) bool {
		return x.Discount < 0
	})
	wire.Each(w, "discounts", discounted, func(x resource.Ride) {
		s.resources.Discount(w, "", x.Leg)
	})
	w.EndObject()
}
