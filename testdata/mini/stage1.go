package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Stage 1: cities and stops. Anybody may look them up.

// The countries of City, and none.
var countries = strings.Split(",UA,TR,PL,CZ,IT,DE,SK,HU,BE,NL,RO,BG,FR,AT,LT,LV,EE,ES,LU,CH,GR,MD,SI", ",")

// nameColumns have the name of a city, and its translations.
var nameColumns = []string{"area_name", "area_name.UK", "area_name.PL", "area_name.CS", "area_name.EN",
	"area_name.RU"}

func (s *Server) listCities(r *Request) answer {
	name, country := strings.ToLower(r.query("name")), r.choice("country", countries...)
	take := r.number("take", r.number("limit", 50, 1, 100), 1, 100)
	skip := r.number("skip", r.number("offset", 0, 0, largestSkip), 0, largestSkip)
	r.want(len([]rune(name)) != 1, "name", "has fewer than 2 characters")
	r.check()
	cities := slices.SortedFunc(maps.Values(feed.cities), func(a, b row) int {
		return cmp.Compare(a["area_name"], b["area_name"])
	})
	cities = slices.DeleteFunc(cities, func(city row) bool {
		isNamed := func(column string) bool { return strings.Contains(strings.ToLower(city[column]), name) }
		return country != "" && city["waybill_country"] != country ||
			!slices.ContainsFunc(nameColumns, isNamed)
	})
	return ok(200, object{"cities": views(page(cities, skip, take), cityView), "total": len(cities)})
}

func cityOf(slug string) (row, bool) {
	for _, city := range feed.cities {
		if city["waybill_slug"] == slug {
			return city, true
		}
	}
	return nil, false
}

func (s *Server) showCity(r *Request) answer {
	return ok(200, object{"city": cityView(found(cityOf(r.PathValue("slug"))))})
}

func (s *Server) showStop(r *Request) answer {
	stop := feed.stops[r.PathValue("id")]
	view := placeView(found(stop, stop != nil))
	view["type"] = "BUS_STOP"
	if stop["location_type"] == "1" || stop["parent_station"] != "" {
		view["type"] = "BUS_STATION"
	}
	return ok(200, object{"stop": view})
}

// placeView is what a Stop and a Stop record have in common.
func placeView(stop row) object {
	return object{"id": stop["stop_id"], "place": stop["stop_name"], "latitude": stop.number("stop_lat"),
		"longitude": stop.number("stop_lon"), "city": cityView(feed.cities[stop["city"]])}
}

func cityView(city row) object {
	return object{"id": city["area_id"], "name": city["area_name"], "slug": city["waybill_slug"],
		"country": city["waybill_country"], "timeZone": city["waybill_timezone"]}
}
