package gtfs

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
)

// Options are the choices of one import.
type Options struct {
	BusOnly   bool                 // keep route types 3, 200–299 and 700–799 only
	FarePerKm []schedule.FarePerKm // prices what no fare matches; at most one
	// Before is the timetable that this one replaces; slugs stay what they were. May be nil.
	Before *schedule.Tables
	// Skip is told of each row that is not used. Line is 0 for a whole file.
	Skip func(file string, line int, reason string)
}

// Counts are the rows read, by file.
type Counts map[string]int

// Import reads a feed. Its error is ErrNoFeed, with the reason, or that of the file system.
func Import(feed fs.FS, opt Options) (*schedule.Tables, Counts, error) {
	f, counts, err := Read(feed, opt)
	if err != nil {
		return nil, counts, err
	}
	return f.Tables(opt.Before), counts, nil
}

// Feed is a feed that was read.
type Feed struct{ im *importer }

// Size gives the tables as they are before Tables has finished them, to be counted.
func (f *Feed) Size() *schedule.Tables { return &f.im.out }

// Tables finishes the tables of the feed, once, for it to follow the timetable before, which may be nil.
func (f *Feed) Tables(before *schedule.Tables) *schedule.Tables {
	f.im.finishSlugs(before)
	return &f.im.out
}

// Read reads a feed, all but what depends on the timetable before. Its errors are those of Import.
func Read(feed fs.FS, opt Options) (*Feed, Counts, error) {
	dir, err := root(feed)
	if err != nil {
		return nil, nil, err
	}
	im := &importer{
		feed: dir, opt: opt, skip: opt.Skip, text: bufio.NewReaderSize(nil, maxLine), left: maxUnpacked, counts: Counts{},
		companies: map[string]int32{}, areas: map[string]int32{}, named: map[string]int32{}, stops: map[string]int32{}, stopArea: map[string]stopArea{},
		routes: map[string]int32{}, buses: map[string]int32{}, fms: map[string]bool{}, services: map[string]*days{}, trips: map[string]int32{},
		translated: map[[3]string]*[2]schedule.Names{},
	}
	im.out.FarePerKm = opt.FarePerKm
	for _, step := range []func() error{
		im.readTranslations, im.readAgencies, im.readAreas, im.readStops, im.readRoutes, im.readBuses,
		im.readServices, im.readTrips, im.readStopTimes, im.readFrequencies,
		im.readFares, im.readRefundRules, im.readDiscounts, im.readTransfers,
	} {
		if err := step(); err != nil {
			return nil, im.counts, err
		}
	}
	im.finishCities()
	return &Feed{im}, im.counts, nil
}

// importer is one import. Maps go from a feed's id to an index of out.
type importer struct {
	feed   fs.FS
	opt    Options
	skip   func(file string, line int, reason string)
	text   *bufio.Reader // of the file being read
	left   int64
	counts Counts
	out    schedule.Tables

	companies, areas, named, stops, routes, buses, trips map[string]int32
	stopArea                                             map[string]stopArea
	fms                                                  map[string]bool
	services                                             map[string]*days
	serviceIndex                                         map[string]int32
	tripLines                                            []int            // by trip
	stopZones                                            map[int32]string // by city: what its stops say
	translated                                           map[[3]string]*[2]schedule.Names
}

// urlSafe gives the id by which the interface names what a feed calls id: the
// same where that is URL-safe, else an encoding that no other id has.
func urlSafe(id string) string {
	plain := id != "" && id[0] != '~'
	for i := 0; i < len(id) && plain; i++ {
		c := id[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
	}
	if plain && strings.Trim(id, ".") != "" {
		return id
	}
	// No plain id starts with a tilde.
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// isZone tells whether a name is of a zone that is the same on every machine.
func isZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

func itoa(n int) string { return strconv.Itoa(n) }

// fields gives the words of a cell.
func fields(cell, sep string) []string {
	var list []string
	for s := range strings.SplitSeq(cell, sep) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func (im *importer) readAgencies() error {
	err := im.read("agency.txt", func(t *table) {
		id := t.get("agency_id")
		zone := t.get("agency_timezone")
		if zone == "" || !isZone(zone) {
			t.drop("agency_timezone %q is not an IANA time zone", zone)
			return
		}
		if _, ok := im.companies[id]; ok {
			t.drop("agency_id %q is there already", id)
			return
		}
		c := schedule.Company{
			ID: urlSafe(id), Name: t.get("agency_name"), CEO: t.get("waybill_ceo"), PartnerCompany: t.get("waybill_partner_company"),
			LogoURL: t.get("waybill_logo_url"), Email: t.get("agency_email"), Website: t.get("agency_url"), Rules: t.get("waybill_rules"),
			Socials: fields(t.get("waybill_socials"), " "), Slug: t.get("waybill_slug"), Tier: t.get("waybill_tier"), Source: cmp.Or(t.get("waybill_source"), schedule.OwnSource), Zone: zone,
		}
		im.companies[id] = int32(len(im.out.Companies))
		im.out.Companies = append(im.out.Companies, c)
	})
	if err == nil && len(im.out.Companies) == 0 {
		err = noFeed("agency.txt has no usable row")
	}
	return err
}

// company finds the agency that a row names; a feed with one agency need not name it.
func (im *importer) company(id string) (int32, bool) {
	if id == "" && len(im.out.Companies) == 1 {
		return 0, true
	}
	i, ok := im.companies[id]
	return i, ok
}

func (im *importer) readRoutes() error {
	return im.read("routes.txt", func(t *table) {
		id := t.get("route_id")
		company, ok := im.company(t.get("agency_id"))
		kind, err := strconv.Atoi(t.get("route_type"))
		_, double := im.routes[id]
		switch {
		case id == "":
			t.drop("has no route_id")
			return
		case double:
			t.drop("route_id %q is there already", id)
			return
		case !ok:
			t.drop("agency_id %q is not in agency.txt", t.get("agency_id"))
			return
		case err != nil && im.opt.BusOnly:
			t.drop("route_type %q is not a number", t.get("route_type"))
			return
		case im.opt.BusOnly && kind != 3 && kind/100 != 2 && kind/100 != 7:
			im.routes[id] = leftOut
			return
		}
		long, short := t.get("route_long_name"), t.get("route_short_name")
		r := schedule.Route{ID: urlSafe(id), Company: company, Name: cmp.Or(long, short), Slug: t.get("waybill_slug"), Description: t.get("route_desc")}
		field := "route_long_name"
		if long == "" {
			field = "route_short_name"
		}
		r.Names = im.names("routes", field, id, r.Name)
		for _, pair := range fields(t.get("waybill_services"), ";") {
			sid, name, _ := strings.Cut(pair, ":")
			r.Services = append(r.Services, schedule.Amenity{ID: urlSafe(strings.TrimSpace(sid)), Name: strings.TrimSpace(name)})
		}
		im.routes[id] = int32(len(im.out.Routes))
		im.out.Routes = append(im.out.Routes, r)
	})
}

// leftOut marks what an option leaves out: rows that name it are passed over in silence.
const leftOut int32 = -2

func (im *importer) readBuses() error {
	return im.read("waybill_buses.txt", func(t *table) {
		id := t.get("bus_id")
		company, ok := im.company(t.get("agency_id"))
		if t.get("agency_id") == "" && !ok {
			company, ok = -1, true
		}
		seats, err := strconv.Atoi(t.get("seats"))
		_, double := im.buses[id]
		fms := t.get("fms_object_id")
		switch {
		case id == "":
			t.drop("has no bus_id")
		case double:
			t.drop("bus_id %q is there already", id)
		case !ok:
			t.drop("agency_id %q is not in agency.txt", t.get("agency_id"))
		case err != nil || seats < 1 || seats > schedule.MaxSeats:
			t.drop("seats %q is not a number from 1 to %d", t.get("seats"), schedule.MaxSeats)
		case fms != "" && im.fms[fms]:
			t.drop("fms_object_id %q is there already", fms)
		default:
			im.fms[fms] = true
			im.buses[id] = int32(len(im.out.Buses))
			im.out.Buses = append(im.out.Buses, schedule.Bus{
				ID: urlSafe(id), Company: company, Seats: int32(seats), Registration: t.get("registration_number"), Brand: t.get("brand"), Model: t.get("model"),
				Images: fields(t.get("image_urls"), " "), FMSObject: fms, Geolocation: t.get("is_geolocation") == "1",
			})
		}
	})
}

func (im *importer) readTrips() error {
	err := im.read("trips.txt", func(t *table) {
		id, service := t.get("trip_id"), t.get("service_id")
		route, ok := im.routes[t.get("route_id")]
		_, double := im.trips[id]
		_, runs := im.serviceIndex[service]
		bus := int32(-1)
		busID := t.get("waybill_bus_id")
		if busID != "" {
			if b, ok := im.buses[busID]; ok {
				bus = b
			} else {
				t.drop("waybill_bus_id %q is not in waybill_buses.txt", busID)
				return
			}
		}
		switch {
		case id == "":
			t.drop("has no trip_id")
		case double:
			t.drop("trip_id %q is there already", id)
		case !ok:
			t.drop("route_id %q is not in routes.txt", t.get("route_id"))
		case route == leftOut:
			im.trips[id] = leftOut
		case !runs:
			t.drop("service_id %q is neither in calendar.txt nor in calendar_dates.txt", service)
		default:
			im.trips[id] = int32(len(im.out.Trips))
			im.tripLines = append(im.tripLines, t.line)
			// Until its stop times are read, a trip's Pattern is its route.
			im.out.Trips = append(im.out.Trips, schedule.Trip{
				ID: urlSafe(id), Pattern: route, Service: im.serviceIndex[service], Bus: bus,
				Name: cmp.Or(t.get("trip_short_name"), t.get("trip_headsign")), Phones: fields(t.get("waybill_phones"), " "),
			})
		}
	})
	return err
}

// readFrequencies puts one trip per departure in place of each trip that runs at intervals.
func (im *importer) readFrequencies() error {
	type departure struct{ base, at int32 }
	made := map[departure]bool{} // intervals may overlap
	based := map[int32]bool{}
	ids := map[string]bool{}
	for i := range im.out.Trips {
		ids[im.out.Trips[i].ID] = true
	}
	var trips []schedule.Trip
	err := im.read("frequencies.txt", func(t *table) {
		id := t.get("trip_id")
		i, ok := im.trips[id]
		start, ok1 := parseTime(t.get("start_time"))
		end, ok2 := parseTime(t.get("end_time"))
		headway, err := strconv.Atoi(t.get("headway_secs"))
		switch {
		case i == leftOut:
			return
		case !ok:
			t.drop("trip_id %q is not a usable trip", id)
			return
		case !ok1 || !ok2:
			t.drop("start_time or end_time is not a time as in 08:30:00")
			return
		case err != nil || headway < 1:
			t.drop("headway_secs %q is not a number of seconds", t.get("headway_secs"))
			return
		case end <= start || int(end-start)/headway >= maxDepartures-len(trips):
			t.drop("gives no departures, or more than %d in the whole feed", maxDepartures)
			return
		}
		based[i] = true
		base := im.out.Trips[i]
		for next := int(start); next < int(end); next += min(headway, int(end)) {
			x, at := base, int32(next)
			if made[departure{i, at}] {
				continue
			}
			made[departure{i, at}] = true
			x.ID = fmt.Sprintf("%s~%02d%02d%02d", base.ID, at/3600, at/60%60, at%60)
			for ids[x.ID] {
				x.ID += "~"
			}
			ids[x.ID] = true
			x.Shift = at - im.out.Times[base.Times][1]
			trips = append(trips, x)
		}
	})
	var kept []schedule.Trip
	for i, x := range im.out.Trips {
		if !based[int32(i)] {
			kept = append(kept, x)
		}
	}
	im.out.Trips = append(kept, trips...)
	return err
}

// maxDepartures is how many trips frequencies.txt may expand to.
const maxDepartures = 500_000
