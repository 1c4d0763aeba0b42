package search

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/auth/secret"
	"waybill/schedule"
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
		room := make([]byte, 0, secret.MaxToken) // for one row after the other
		w.String("source", schedule.OwnSource)
		w.Int("total", int64(total))
		w.String("currency", currency)
		w.Int("passengers", int64(passengers))
		wire.Each(w, "departures", page, func(f Found) {
			s.writeDeparture(w, &f, room, currency, language)
		})
	})
}

// writeDeparture writes a schedule row; room is for the payload of its token.
func (s *Finder) writeDeparture(w *wire.Writer, f *Found, room []byte, currency string,
	language schedule.Language) {
	text := f.Text.Load()
	if text == nil || text.Currency != currency || text.Language != language {
		text = newText(f, currency, language)
		f.Text.Store(text)
	}
	w.Object("")
	s.writeSigned(w, expiring(room, text.Token, f.at.Add(web.OfferLife)))
	w.Raw("", text.Row)
	w.Int("seatsLeft", int64(f.Seats))
	w.EndObject()
}

// newText returns what all rows of a schedule with a journey have in common.
func newText(f *Found, currency string, language schedule.Language) *journey.Text {
	tt := f.tt
	first := &f.Legs[0]
	last := &f.Legs[len(f.Legs)-1]
	company := tt.Company(first.Trip)
	o := newOffer(f, auth.ID{}) // anybody's: a schedule is asked for without a key
	w := wire.NewWriter()
	defer w.Release()
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
	return &journey.Text{
		Currency: currency,
		Language: language,
		Row:      bytes.Clone(w.B),
		Token:    bytes.Clone(o.append(nil)),
	}
}

// writeLocal writes an instant in Unix seconds by a zone's clock.
func writeLocal(w *wire.Writer, name string, at int64, zone *time.Location) {
	t := time.Unix(at, 0)
	_, offset := t.In(zone).Zone()
	w.LocalTime(name, t, offset, false)
}
