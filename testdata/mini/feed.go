package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A row is a line of a file of the feed: its cells by the names of their columns.
type row map[string]string

// feed is the timetable, by the ids of things.
var feed struct {
	cities, citySlugs, stops, companies, routes, buses map[string]row
	fmsObjects, services, exceptions, transfers        map[string]row
	trips                                              map[string]*Trip
	rides                                              map[string][]Leg // by cities, without dates
	fares                                              map[string]int   // by what they name
	refundRules                                        map[string][]row // by route or company
	discounts                                          []row
	firstCompany                                       row
}

// A Trip is what a bus does on each day on which it runs.
type Trip struct {
	row
	route, company, bus row
	calls               []Call
}

// A Call is a trip's stay at a stop. Its times count from the start of the service day.
type Call struct {
	row
	stop           row
	arrive, depart time.Duration
}

const dateForm = "20060102" // is how the feed writes days

// readFeed reads the files of GTFS, and others for what GTFS has no place for.
func readFeed(dir string) {
	companies, cities, buses := rows(dir, "agency.txt"), rows(dir, "areas.txt"), rows(dir, "waybill_buses.txt")
	feed.companies, feed.firstCompany = by(companies, "agency_id"), companies[0]
	feed.cities, feed.citySlugs = by(cities, "area_id"), by(cities, "waybill_slug")
	feed.buses, feed.fmsObjects = by(buses, "bus_id"), by(buses, "fms_object_id")
	feed.stops = by(rows(dir, "stops.txt"), "stop_id")
	feed.routes = by(rows(dir, "routes.txt"), "route_id")
	feed.services = by(rows(dir, "calendar.txt"), "service_id")
	feed.exceptions = by(rows(dir, "calendar_dates.txt"), "service_id", "date")
	feed.transfers = by(rows(dir, "transfers.txt"), "from_stop_id", "to_stop_id")
	feed.discounts = sorted(rows(dir, "waybill_discounts.txt"), "amount", -1)
	feed.refundRules = map[string][]row{}
	for _, r := range sorted(rows(dir, "waybill_refund_rules.txt"), "hours", -1) {
		of := cmp.Or(r["route_id"], r["agency_id"])
		feed.refundRules[of] = append(feed.refundRules[of], r)
	}
	for _, r := range rows(dir, "stop_areas.txt") {
		feed.stops[r["stop_id"]]["city"] = r["area_id"]
	}
	tables := map[string]map[string]row{"areas": feed.cities, "routes": feed.routes, "stops": feed.stops}
	for _, r := range rows(dir, "translations.txt") { // beside what is translated, as area_name.PL
		column := r["field_name"] + "." + strings.ToUpper(r["language"])
		tables[r["table_name"]][r["record_id"]][column] = r["translation"]
	}
	fares := by(rows(dir, "fare_attributes.txt"), "fare_id")
	feed.fares = map[string]int{}
	for _, r := range rows(dir, "fare_rules.txt") { // of fares that name the same the cheapest counts
		fare, ride := fares[r["fare_id"]], r.key("route_id", "origin_id", "destination_id")
		names, price := fare.key("currency_type", "agency_id")+" "+ride, fare.hundredths("price")
		feed.fares[names] = min(price, cmp.Or(feed.fares[names], price))
	}
	readTrips(dir)
}

// readTrips reads trips, where they call, and which rides there are. A call without times is halfway between
// those around it.
func readTrips(dir string) {
	feed.trips = map[string]*Trip{}
	for id, r := range by(rows(dir, "trips.txt"), "trip_id") {
		route := feed.routes[r["route_id"]]
		feed.trips[id] = &Trip{r, route, feed.companies[route["agency_id"]], feed.buses[r["waybill_bus_id"]], nil}
	}
	for _, r := range sorted(rows(dir, "stop_times.txt"), "stop_sequence", 1) {
		trip := feed.trips[r["trip_id"]]
		arrive, depart := sinceStart(r["arrival_time"]), sinceStart(r["departure_time"])
		trip.calls = append(trip.calls, Call{r, feed.stops[r["stop_id"]], arrive, depart})
	}
	feed.rides = map[string][]Leg{}
	for id, trip := range feed.trips {
		for i, call := range trip.calls {
			if call.row["arrival_time"] == "" {
				middle := (trip.calls[i-1].depart + trip.calls[i+1].arrive) / 2
				trip.calls[i].arrive, trip.calls[i].depart = middle, middle
			}
			for k, next := range trip.calls[i+1:] {
				if call.row["pickup_type"] != "1" && next.row["drop_off_type"] != "1" {
					cities := call.stop["city"] + " " + next.stop["city"]
					feed.rides[cities] = append(feed.rides[cities], Leg{Run{id, ""}, i, i + 1 + k})
				}
			}
		}
	}
}

// sinceStart reads a time of a service day, as 25:10:00.
func sinceStart(text string) time.Duration {
	var hours, minutes, seconds time.Duration
	fmt.Sscanf(text, "%d:%d:%d", &hours, &minutes, &seconds)
	return hours*time.Hour + minutes*time.Minute + seconds*time.Second
}

func rows(dir, name string) (rows []row) {
	text := must(os.ReadFile(filepath.Join(dir, name)))
	lines := must(csv.NewReader(bytes.NewReader(text)).ReadAll())
	for _, line := range lines[1:] {
		cells := row{}
		for i, column := range lines[0] {
			cells[column] = line[i]
		}
		rows = append(rows, cells)
	}
	return rows
}

// key is some cells of a row, with spaces between.
func (r row) key(columns ...string) string {
	cells := []string{}
	for _, column := range columns {
		cells = append(cells, r[column])
	}
	return strings.Join(cells, " ")
}

// by makes rows known by their keys.
func by(rows []row, columns ...string) map[string]row {
	known := map[string]row{}
	for _, r := range rows {
		known[r.key(columns...)] = r
	}
	return known
}

// sorted puts rows into the order of a number, the largest first where sign is -1.
func sorted(rows []row, column string, sign float64) []row {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Compare(sign*a.number(column), sign*b.number(column))
	})
	return rows
}

func (r row) number(column string) float64 {
	number, _ := strconv.ParseFloat(r[column], 64)
	return number
}

// in is a cell in a language, as far as there is a translation.
func (r row) in(language, column string) string { return cmp.Or(r[column+"."+language], r[column]) }

var zones = map[string]*time.Location{}

// zone is a time zone by its name. It is kept, since looking one up reads a file.
func zone(name string) *time.Location {
	if zones[name] == nil {
		zones[name] = must(time.LoadLocation(name))
	}
	return zones[name]
}
