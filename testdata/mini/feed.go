package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A row is a line of a file of the feed: its cells by the names of their columns.
type row map[string]string

// feed is the timetable, as a GTFS feed tells it, by the ids of things. It is read once, at the start.
var feed struct {
	cities, stops, companies, routes, buses map[string]row
	services, exceptions, transfers         map[string]row
	fares, discounts, refundRules           []row
	trips                                   map[string]*Trip
	firstCompany                            row
}

type Trip struct {
	row
	bus   row
	calls []Call
}

// A Call is a trip's stay at a stop. Its times count from the start of the service day.
type Call struct {
	row
	stop           row
	arrive, depart time.Duration
}

// dateForm is how the feed writes days, and so do we inside.
const dateForm = "20060102"

// fareNames are what a fare may be for; where a cell is blank, it is for all.
var fareNames = []string{"agency_id", "route_id", "origin_id", "destination_id"}

func readFeed(dir string) {
	companies, areas := rows(dir, "agency.txt"), byID(rows(dir, "stop_areas.txt"), "stop_id")
	feed.companies, feed.firstCompany = byID(companies, "agency_id"), companies[0]
	feed.routes = byID(rows(dir, "routes.txt"), "route_id")
	feed.buses = byID(rows(dir, "waybill_buses.txt"), "bus_id")
	feed.services = byID(rows(dir, "calendar.txt"), "service_id")
	feed.exceptions = byIDs(rows(dir, "calendar_dates.txt"), "service_id", "date")
	feed.transfers = byIDs(rows(dir, "transfers.txt"), "from_stop_id", "to_stop_id")
	feed.discounts = sorted(rows(dir, "waybill_discounts.txt"), "amount", -1)
	feed.refundRules = sorted(rows(dir, "waybill_refund_rules.txt"), "hours", -1)
	feed.cities, feed.stops = byID(rows(dir, "areas.txt"), "area_id"), byID(rows(dir, "stops.txt"), "stop_id")
	for id, stop := range feed.stops { // in the city of its area, or else of its station's, or of its own name
		city := cmp.Or(areas[id]["area_id"], areas[stop["parent_station"]]["area_id"], stop["stop_name"])
		stop["city"] = city
		if feed.cities[city] == nil {
			feed.cities[city] = row{"area_id": city, "area_name": city, "waybill_timezone": stop["stop_timezone"]}
		}
	}
	for _, table := range []map[string]row{feed.cities, feed.companies, feed.routes} {
		for id, r := range table {
			r["waybill_slug"] = cmp.Or(r["waybill_slug"], id)
		}
	}
	for _, r := range rows(dir, "translations.txt") { // it stands beside what is translated, as area_name.PL
		tables := map[string]map[string]row{"areas": feed.cities, "routes": feed.routes}
		if translated := tables[r["table_name"]][r["record_id"]]; translated != nil {
			translated[r["field_name"]+"."+strings.ToUpper(r["language"])] = r["translation"]
		}
	}
	rules := map[string][]row{}
	for _, r := range rows(dir, "fare_rules.txt") {
		rules[r["fare_id"]] = append(rules[r["fare_id"]], r)
	}
	for _, price := range sorted(rows(dir, "fare_attributes.txt"), "price", 1) {
		if rules[price["fare_id"]] == nil {
			rules[price["fare_id"]] = []row{{}}
		}
		for _, rule := range rules[price["fare_id"]] { // each makes a fare; those that name most come first
			fare := maps.Clone(price)
			maps.Copy(fare, rule)
			isBlank := func(name string) bool { return fare[name] == "" }
			fare["names"] = strconv.Itoa(len(slices.DeleteFunc(slices.Clone(fareNames), isBlank)))
			feed.fares = append(feed.fares, fare)
		}
	}
	feed.fares = sorted(feed.fares, "names", -1)
	readTrips(dir)
}

// readTrips reads trips and their times. Those that are blank lie in equal steps between those around them.
func readTrips(dir string) {
	feed.trips = map[string]*Trip{}
	for id, r := range byID(rows(dir, "trips.txt"), "trip_id") {
		feed.trips[id] = &Trip{row: r, bus: feed.buses[r["waybill_bus_id"]]}
		if feed.trips[id].bus == nil {
			feed.trips[id].bus = row{"seats": seatsUnlessGiven}
		}
	}
	for _, r := range sorted(rows(dir, "stop_times.txt"), "stop_sequence", 1) {
		trip := feed.trips[r["trip_id"]]
		call := Call{row: r, stop: feed.stops[r["stop_id"]]}
		if arrival, departure := r["arrival_time"], r["departure_time"]; arrival+departure != "" {
			call.arrive, call.depart = sinceStart(cmp.Or(arrival, departure)), sinceStart(cmp.Or(departure, arrival))
		}
		trip.calls = append(trip.calls, call)
	}
	for _, trip := range feed.trips {
		last := 0
		for i, call := range trip.calls {
			if call.row["arrival_time"]+call.row["departure_time"] == "" {
				continue
			}
			before := trip.calls[last].depart
			for k := last + 1; k < i; k++ {
				share := time.Duration(k-last) * (call.arrive - before) / time.Duration(i-last)
				trip.calls[k].arrive = before + share.Truncate(time.Second)
				trip.calls[k].depart = trip.calls[k].arrive
			}
			last = i
		}
	}
}

// sinceStart reads a time of a service day, as 25:10:00.
func sinceStart(text string) time.Duration {
	var hours, minutes, seconds time.Duration
	must(fmt.Sscanf(text, "%d:%d:%d", &hours, &minutes, &seconds))
	return hours*time.Hour + minutes*time.Minute + seconds*time.Second
}

// rows reads one file. One that is not there has no rows.
func rows(dir, name string) []row {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	reader.FieldsPerRecord = -1
	rows, lines := []row{}, must(reader.ReadAll())
	for _, line := range lines {
		cells := row{}
		for i := range min(len(line), len(lines[0])) {
			cells[strings.TrimSpace(lines[0][i])] = strings.TrimSpace(line[i])
		}
		rows = append(rows, cells)
	}
	return rows[min(1, len(rows)):]
}

// byID makes rows known by one of their cells.
func byID(rows []row, column string) map[string]row { return byIDs(rows, column, "") }

// byIDs makes rows known by two of their cells, with a space between.
func byIDs(rows []row, first, second string) map[string]row {
	known := map[string]row{}
	for _, r := range rows {
		known[strings.TrimSpace(r[first]+" "+r[second])] = r
	}
	return known
}

// sorted puts rows into the order of a number, the largest first where sign is -1.
func sorted(rows []row, column string, sign float64) []row {
	key := func(r row) float64 { return sign * r.number(column) }
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(key(a), key(b)) })
	return rows
}

func (r row) number(column string) float64 {
	number, _ := strconv.ParseFloat(r[column], 64)
	return number
}

// hundredths of an amount or of a per cent are whole numbers.
func (r row) hundredths(column string) int { return int(math.Round(r.number(column) * 100)) }

// in is a cell in a language, as far as there is a translation.
func (r row) in(language, column string) string {
	if r[column] == "" {
		return ""
	}
	return cmp.Or(r[column+"."+language], r[column])
}

var zones = map[string]*time.Location{}

func zone(name string) *time.Location {
	if zones[name] == nil {
		zones[name] = must(time.LoadLocation(name))
	}
	return zones[name]
}
