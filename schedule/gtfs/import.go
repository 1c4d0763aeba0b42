package gtfs

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule"
)

// Options are the choices of one import.
type Options struct {
	BusOnly   bool                 // keep route types 3, 200–299 and 700–799 only
	FarePerKm []schedule.FarePerKm // prices what no fare matches; at most one
	// Skip is told of each row that is not used.
	Skip func(file string, line int, reason string)
}

// Counts are the rows read, by file.
type Counts map[string]int

// Feed is a feed that was read.
type Feed struct {
	opt  Options
	dir  fs.FS
	text *bufio.Reader // of the file being read
	left int64         // bytes that the feed may still have
	err  error         // the first

	counts Counts
	out    schedule.Tables

	// By the ids of the feed, the indexes of out.
	companies, areas, stops, routes, buses, services, trips index

	cityByName   index // of those that have the name of a stop
	zones        map[string]bool
	translations map[translated]schedule.Names
}

// Read reads a feed, all but what depends on the timetable before. Its error
// is ErrNoFeed, with the reason, or that of the file system.
func Read(feed fs.FS, opt Options) (*Feed, Counts, error) {
	dir, err := root(feed)
	if err != nil {
		return nil, nil, err
	}
	f := &Feed{
		opt: opt, dir: dir, text: bufio.NewReaderSize(nil, maxLine), left: maxUnpacked,
		counts: Counts{}, out: schedule.Tables{FarePerKm: opt.FarePerKm},
		companies: index{}, areas: index{}, stops: index{}, routes: index{}, buses: index{}, services: index{}, trips: index{},
		cityByName: index{}, zones: map[string]bool{}, translations: map[translated]schedule.Names{},
	}
	for _, read := range []func(){
		f.readTranslations, f.readAgencies, f.readAreas, f.readStops, f.readRoutes, f.readBuses,
		f.readServices, f.readTrips, f.readFrequencies,
		f.readFares, f.readRefundRules, f.readDiscounts, f.readTransfers,
	} {
		if read(); f.err != nil {
			return nil, f.counts, f.err
		}
	}
	f.finishCities()
	return f, f.counts, nil
}

// Size gives the tables as they are before Tables has finished them, to be counted.
func (f *Feed) Size() *schedule.Tables { return &f.out }

// Tables finishes the tables of the feed, once, for it to follow the timetable
// before, which may be nil: slugs stay what they were.
func (f *Feed) Tables(before *schedule.Tables) *schedule.Tables {
	if before == nil {
		before = new(schedule.Tables)
	}
	slugs(f.out.Companies, before.Companies, func(x *schedule.Company) named { return named{x.ID, x.Name, &x.Slug} })
	slugs(f.out.Cities, before.Cities, func(x *schedule.City) named { return named{x.ID, x.Name, &x.Slug} })
	slugs(f.out.Routes, before.Routes, func(x *schedule.Route) named { return named{x.ID, x.Name, &x.Slug} })
	return &f.out
}

// Import reads a feed that follows no timetable.
func Import(feed fs.FS, opt Options) (*schedule.Tables, Counts, error) {
	f, counts, err := Read(feed, opt)
	if err != nil {
		return nil, counts, err
	}
	return f.Tables(nil), counts, nil
}

// add puts a row into a table and gives its index.
func add[T any](table *[]T, row T) int32 {
	*table = append(*table, row)
	return int32(len(*table) - 1)
}

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	safe  = upper + "abcdefghijklmnopqrstuvwxyz0123456789-._~"
)

// urlSafe gives the id by which the interface names what a feed calls id: the
// same where that is URL-safe, else an encoding that no other id has.
func urlSafe(id string) string {
	if strings.Trim(id, safe) == "" && strings.Trim(id, ".") != "" && id[0] != '~' {
		return id
	}
	// No plain id starts with a tilde.
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

func (f *Feed) readAgencies() {
	for r := range f.rows("agency.txt") {
		zone := f.zone(r, "agency_timezone")
		r.check(zone != "", "agency_timezone", "is missing")
		id := r.unique("agency_id", f.companies)
		if r.unused {
			continue
		}
		f.companies[id] = add(&f.out.Companies, schedule.Company{
			ID: urlSafe(id), Name: r.get("agency_name"), Email: r.get("agency_email"), Website: r.get("agency_url"), Zone: zone,
			Slug: r.get("waybill_slug"), CEO: r.get("waybill_ceo"), PartnerCompany: r.get("waybill_partner_company"),
			LogoURL: r.get("waybill_logo_url"), Rules: r.get("waybill_rules"), Socials: r.list("waybill_socials", " "),
			Tier: r.get("waybill_tier"), Source: cmp.Or(r.get("waybill_source"), schedule.OwnSource),
		})
	}
	switch n := len(f.out.Companies); {
	case n == 0 && f.err == nil:
		f.err = noFeed("agency.txt has no usable row")
	case n == 1: // it need not be named
		f.companies[""] = 0
	}
}

func (f *Feed) readRoutes() {
	for r := range f.rows("routes.txt") {
		id := r.id("route_id", f.routes)
		company := r.ref("agency_id", f.companies, "agency.txt")
		kind, err := strconv.Atoi(r.get("route_type"))
		r.check(err == nil || !f.opt.BusOnly, "route_type", "is not a number")
		switch {
		case r.unused:
			continue
		case f.opt.BusOnly && kind != 3 && kind/100 != 2 && kind/100 != 7:
			f.routes[id] = leftOut
			continue
		}
		column := "route_long_name"
		if r.get(column) == "" {
			column = "route_short_name"
		}
		route := schedule.Route{
			ID: urlSafe(id), Company: company, Name: r.get(column), Names: f.names("routes", column, id, r.get(column)),
			Slug: r.get("waybill_slug"), Description: r.get("route_desc"),
		}
		for _, pair := range r.list("waybill_services", ";") {
			id, name, _ := strings.Cut(pair, ":")
			route.Services = append(route.Services, schedule.Amenity{ID: urlSafe(strings.TrimSpace(id)), Name: strings.TrimSpace(name)})
		}
		f.routes[id] = add(&f.out.Routes, route)
	}
}

func (f *Feed) readBuses() {
	objects := index{}
	for r := range f.rows("waybill_buses.txt") {
		id := r.id("bus_id", f.buses)
		company := r.maybe("agency_id", f.companies, "agency.txt")
		seats := r.number("seats", 1, schedule.MaxSeats)
		object := r.unique("fms_object_id", objects)
		if r.unused {
			continue
		}
		f.buses[id] = add(&f.out.Buses, schedule.Bus{
			ID: urlSafe(id), Company: company, Seats: int32(seats), Registration: r.get("registration_number"),
			Brand: r.get("brand"), Model: r.get("model"), Images: r.list("image_urls", " "),
			FMSObject: object, Geolocation: r.get("is_geolocation") == "1",
		})
		if object != "" {
			objects[object] = f.buses[id]
		}
	}
}

// readFrequencies puts one trip per departure in place of each trip that runs at intervals.
func (f *Feed) readFrequencies() {
	var departures []schedule.Trip
	made, replaced := map[string]bool{}, map[string]bool{} // by id
	for r := range f.rows("frequencies.txt") {
		trip := r.ref("trip_id", f.trips, "trips.txt")
		start, end := int(r.clock("start_time")), int(r.clock("end_time"))
		r.check(start != blank, "start_time", "is missing")
		headway := r.number("headway_secs", 1, math.MaxInt)
		r.check(end > start, "end_time", "leaves no departure")
		r.check((end-start)/headway < maxDepartures-len(departures), "headway_secs", "brings the feed beyond 500,000 departures")
		if r.unused {
			continue
		}
		base := f.out.Trips[trip]
		replaced[base.ID] = true
		for at := start; at < end; at += min(headway, end) {
			x := base
			x.ID = fmt.Sprintf("%s~%02d%02d%02d", base.ID, at/3600, at/60%60, at%60)
			if made[x.ID] { // intervals may overlap
				continue
			}
			made[x.ID] = true
			for _, taken := f.trips[x.ID]; taken; _, taken = f.trips[x.ID] {
				x.ID += "~"
			}
			x.Shift = int32(at) - f.out.Times[base.Times][1]
			departures = append(departures, x)
		}
	}
	kept := slices.DeleteFunc(f.out.Trips, func(t schedule.Trip) bool { return replaced[t.ID] })
	f.out.Trips = append(kept, departures...)
}

// maxDepartures is how many trips frequencies.txt may expand to.
const maxDepartures = 500_000
