package search

import (
	"net/http"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/schedule/journey"
	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// What a search can be asked in (interface, Offers).
var (
	languages  = []string{"UK", "PL", "CS", "EN", "RU"} // in the order of schedule's
	currencies = []string{"UAH", "PLN", "CZK", "EUR", "USD"}
)

// The limits of a schedule (interface, Limits).
const (
	maxDays       = 14
	maxPassengers = 10
)

// GetSchedule answers GET /v2/offers/schedule.
func (s *Finder) GetSchedule(w http.ResponseWriter, r *http.Request) error {
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
	// One timetable for the whole answer, whatever is imported meanwhile.
	tt := s.network()
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
	page, total, err := s.search(tt, &journey.Query{
		From:  dep,
		To:    arr,
		First: first,
		Days:  days,
	}, passengers, skip, take)
	return web.Show(w, err, func(w *wire.Writer) {
		x := rows{
			Finder:   s,
			currency: currency,
			language: language,
		}
		w.String("source", schedule.OwnSource)
		w.Int("total", int64(total))
		w.String("currency", currency)
		w.Int("passengers", int64(passengers))
		wire.Each(w, "departures", page, func(f Found) {
			x.write(w, &f)
		})
	})
}

// rows writes the rows of a schedule, and has room for what they have in common.
type rows struct {
	*Finder
	currency string
	language schedule.Language
	offer    Offer  // of a row
	payload  []byte // of its token
}

// write writes a row. The second time, it keeps the members that stay as they are for the next search. Many
// rows are shown once only, and would take memory for nothing.
func (x *rows) write(w *wire.Writer, f *Found) {
	w.Object("")
	text := f.Text.Load()
	if text != nil && text.Currency == x.currency && text.Language == x.language {
		x.payload = expiring(x.payload[:0], text.Token(), f.at.Add(web.OfferLife))
		x.writeSigned(w, x.payload)
		w.Raw("", text.Row())
	} else {
		x.offer.fill(f, ids.ID{}) // anybody's: a schedule is asked for without a key
		x.payload = x.offer.append(x.payload[:0])
		x.writeSigned(w, x.payload)
		start := len(w.B)
		x.writeLasting(w, f)
		if f.Shown.Swap(true) {
			f.Text.Store(journey.NewText(x.currency, x.language, x.payload, w.B[start+len(","):]))
		}
	}
	w.Int("seatsLeft", int64(f.Seats))
	w.EndObject()
}

// writeLasting writes the members of a row that stay as they are.
func (x *rows) writeLasting(w *wire.Writer, f *Found) {
	tt := f.tt
	first := &f.Legs[0]
	last := &f.Legs[len(f.Legs)-1]
	company := tt.Company(first.Trip)
	w.Object("company")
	w.String("id", company.ID)
	w.OptionalString("name", company.Name)
	w.OptionalString("slug", company.Slug)
	w.OptionalString("logoUrl", company.LogoURL)
	w.EndObject()
	writeLocal(w, "departureDateTime", first.Dep, tt.CityZone(tt.Boarding(first).City))
	writeLocal(w, "arrivalDateTime", last.Arr, tt.CityZone(tt.Alighting(last).City))
	w.Int("travelTimeMinutes", (last.Arr-first.Dep)/60)
	w.OptionalString("routeName", tt.RouteName(first.Trip, x.language))
	w.Object("price")
	if price, ok := x.offer.Fare(x.currency); ok {
		w.Hundredths("amount", price.total())
	} else {
		w.Null("amount")
	}
	w.String("currency", x.currency)
	w.EndObject()
}

// writeLocal writes an instant in Unix seconds by a zone's clock.
func writeLocal(w *wire.Writer, name string, at int64, zone *time.Location) {
	t := time.Unix(at, 0)
	_, offset := t.In(zone).Zone()
	w.LocalTime(name, t, offset, false)
}
