package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Stage 1: cities and stops. Anybody may look them up.

// The country filter values of City, and none.
var countries = strings.Split(",UA,TR,PL,CZ,IT,DE,SK,HU,BE,NL,RO,BG,FR,AT,LT,LV,EE,ES,LU,CH,GR,MD,SI", ",")

// listCities sorts by name. What its parameters are called the interface does not show.
func listCities(r *Request) answer {
	name, country := strings.ToLower(r.query("name")), r.choice("country", countries...)
	take, skip := r.number("take", 50, 1, 100), r.skip()
	r.want(len([]rune(name)) != 1, "name", "has fewer than 2 characters")
	r.check()
	cities := slices.Collect(maps.Values(feed.cities))
	cities = where(cities, func(city row) bool {
		return isNamed(city, name) && (country == "" || country == city["waybill_country"])
	})
	slices.SortFunc(cities, func(a, b row) int { return cmp.Compare(a["area_name"], b["area_name"]) })
	return ok(object{"cities": views(page(cities, skip, take), cityView), "total": len(cities)})
}

// isNamed looks for a part of a name in that of a city and its translations.
func isNamed(city row, part string) bool {
	for column, cell := range city {
		if strings.HasPrefix(column, "area_name") && strings.Contains(strings.ToLower(cell), part) {
			return true
		}
	}
	return false
}

func showCity(r *Request) answer {
	city := feed.citySlugs[r.PathValue("slug")]
	refuseIf(city == nil, notFound)
	return ok(object{"city": cityView(city)})
}

func showStop(r *Request) answer {
	stop := feed.stops[r.PathValue("id")]
	refuseIf(stop == nil, notFound)
	view := placeView(stop)
	view["type"] = "BUS_STOP"
	if stop["location_type"] == "1" || stop["parent_station"] != "" {
		view["type"] = "BUS_STATION"
	}
	return ok(object{"stop": view})
}

// placeView is what a Stop and a Stop record have in common.
func placeView(stop row) object {
	return object{
		"id": stop["stop_id"], "place": stop["stop_name"], "city": cityView(feed.cities[stop["city"]]),
		"latitude": stop.number("stop_lat"), "longitude": stop.number("stop_lon")}
}

func cityView(city row) object {
	return object{"id": city["area_id"], "name": city["area_name"], "slug": city["waybill_slug"],
		"country": city["waybill_country"], "timeZone": city["waybill_timezone"]}
}
