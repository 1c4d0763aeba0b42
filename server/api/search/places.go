package search

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"waybill/schedule"
	"waybill/schedule/journey"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// countries are those cities can be filtered by (interface, City).
var countries = strings.Fields("UA TR PL CZ IT DE SK HU BE NL RO BG FR AT LT LV EE ES LU CH GR MD SI")

// ListCities answers GET /v2/cities.
func (s *Finder) ListCities(w http.ResponseWriter, r *http.Request) error {
	q := web.NewQuery(r)
	name := q.Text("name")
	if name != "" && utf8.RuneCountInString(schedule.FoldText(name)) < 2 {
		q.Complain("name", "must have at least 2 characters")
	}
	country := q.Choice("country", "", countries)
	take, skip := q.TakeSkip(web.MaxCities)
	// limit and offset are other names of take and skip, which count where both are given.
	if q.Values.Get("take") == "" && len(q.Values["take"]) < 2 {
		take = q.Number("limit", take, 1, web.MaxCities)
	}
	if q.Values.Get("skip") == "" && len(q.Values["skip"]) < 2 {
		skip = q.Skip("offset")
	}
	if err := q.Err(); err != nil {
		return err
	}
	// The same for everybody until the next import, so that a client may keep it.
	tt := journey.On(s.Timetable.Load())
	list := tt.FindCities(name, country)
	return web.ReplyTagged(w, r, func(w *wire.Writer) {
		wire.Each(w, "cities", web.PageOf(list, skip, take), func(i int32) {
			resource.WriteCity(w, "", &tt.Cities[i])
		})
		w.Int("total", int64(len(list)))
	})
}

// GetCity answers GET /v2/cities/{slug}.
func (s *Finder) GetCity(w http.ResponseWriter, r *http.Request) error {
	tt := s.Timetable.Load()
	i, ok := tt.CityBySlug(r.PathValue("slug"))
	if !ok {
		return web.NotFoundFor("slug")
	}
	return web.ReplyTagged(w, r, func(w *wire.Writer) {
		resource.WriteCity(w, "city", &tt.Cities[i])
	})
}

// GetStop answers GET /v2/stops/{id}.
func (s *Finder) GetStop(w http.ResponseWriter, r *http.Request) error {
	tt := s.Timetable.Load()
	i, ok := tt.StopByID(r.PathValue("id"))
	if !ok {
		return web.NotFoundFor("id")
	}
	stop := &tt.Stops[i]
	kind := "BUS_STOP"
	if stop.Station {
		kind = "BUS_STATION"
	}
	return web.ReplyTagged(w, r, func(w *wire.Writer) {
		w.Object("stop")
		w.String("id", stop.ID)
		w.String("place", stop.Place)
		w.String("type", kind)
		w.Float("latitude", stop.Lat)
		w.Float("longitude", stop.Lon)
		resource.WriteCity(w, "city", &tt.Cities[stop.City])
		w.EndObject()
	})
}
