// Package gtfs makes a timetable's tables from a feed in GTFS Schedule, with columns of Waybill's own
// (contract §5).
//
// [Read] takes any feed as it comes: a byte-order mark, CRLF, padded cells, rows and columns in any order,
// files and columns it does not know. What it cannot use it skips, row by row, saying where and why. No feed
// is an error. A row knows how to read its cells and keeps what is first wrong with them; a Feed makes tables
// of the rows left.
package gtfs

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule"
)

// Options are the choices of one import.
type Options struct {
	BusOnly   bool                                       // keep route types 3, 200–299 and 700–799 only
	FarePerKm []schedule.FarePerKm                       // prices what no fare matches; at most one
	Skip      func(file string, line int, reason string) // is told of each row that is not used
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

	counts       Counts
	decisions    []Decision
	out          schedule.Tables
	areas        int               // how many of the cities are areas; they come first
	inherited    map[string]string // slugs of areas that were cities of a name, by id
	ids          map[string]index  // by file
	places       map[string]*place
	zones        map[string]bool
	clocks       map[[2]string]bool // whether two zones are one, once asked
	translations map[translated]schedule.Names
}

// Read reads all of a feed but what depends on the timetable before. The error is ErrNoFeed or the file
// system's.
func Read(feed fs.FS, opt Options) (*Feed, Counts, error) {
	dir, err := root(feed)
	if err != nil {
		return nil, nil, err
	}
	f := &Feed{
		opt:          opt,
		dir:          dir,
		text:         bufio.NewReaderSize(nil, maxLine),
		left:         maxUnpacked,
		counts:       Counts{},
		out:          schedule.Tables{FarePerKm: opt.FarePerKm},
		ids:          map[string]index{},
		places:       map[string]*place{},
		zones:        map[string]bool{},
		clocks:       map[[2]string]bool{},
		translations: map[translated]schedule.Names{},
	}
	// Each file before those that name its rows.
	for _, read := range []func(){
		f.readTranslations, f.readAgencies, f.readStops, f.readRoutes, f.readBuses,
		f.readServices, f.readTrips, f.readFrequencies, f.readFares,
		f.readRefundRules, f.readDiscounts, f.readTransfers,
	} {
		if read(); f.err != nil {
			return nil, f.counts, f.err
		}
	}
	f.finishCities(new(schedule.Tables))
	return f, f.counts, nil
}

// Size returns the tables as they are before Tables has finished them, to be counted.
func (f *Feed) Size() *schedule.Tables {
	return &f.out
}

// Tables finishes the tables, once, to follow the timetable before: slugs, and the cities of stops that share
// a name, stay what they were.
func (f *Feed) Tables(before *schedule.Tables) *schedule.Tables {
	f.finishCities(before)
	f.finishSlugs(before)
	return &f.out
}

// add appends a row to a table and returns its index.
func add[T any](table *[]T, row T) int32 {
	*table = append(*table, row)
	return int32(len(*table) - 1)
}

const (
	digits = "0123456789"
	plain  = "abcdefghijklmnopqrstuvwxyz" + digits
)

// urlSafe returns an id of the feed as the interface has it: the same if URL-safe, else in a form that no
// other id has.
func urlSafe(id string) string {
	if strings.Trim(id, plain+"ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~") == "" && strings.Trim(id, ".") != "" &&
		id[0] != '~' {
		return id
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(id)) // no plain id starts with a tilde
}

// readAgencies reads the companies.
func (f *Feed) readAgencies() {
	for r := range f.rows("agency.txt") {
		r.check(r.get("agency_timezone") != "", "agency_timezone", "is missing")
		keep(r, &f.out.Companies, schedule.Company{
			Zone:           f.zone(r, "agency_timezone"),
			ID:             urlSafe(r.unique("agency_id")),
			Name:           r.get("agency_name"),
			Email:          r.get("agency_email"),
			Website:        r.get("agency_url"),
			Slug:           r.get("waybill_slug"),
			CEO:            r.get("waybill_ceo"),
			PartnerCompany: r.get("waybill_partner_company"),
			LogoURL:        r.get("waybill_logo_url"),
			Rules:          r.get("waybill_rules"),
			Socials:        r.list("waybill_socials", " "),
			Tier:           r.get("waybill_tier"),
			Source:         cmp.Or(r.get("waybill_source"), schedule.OwnSource),
		})
	}
	// A feed of one agency may leave its id out everywhere (GTFS, agency.txt).
	n := len(f.out.Companies)
	switch {
	case n == 0 && f.err == nil:
		f.err = noFeed("agency.txt has no usable row")
	case n == 1 && f.counts["agency.txt"] == 1: // it need not be named
		f.ids["agency.txt"][""] = 0
	}
}

// readRoutes reads the routes. Those of other means of transport are left out where only buses are wanted.
func (f *Feed) readRoutes() {
	for r := range f.rows("routes.txt") {
		id := r.id("route_id")
		company := r.ref("agency_id", "agency.txt")
		kind, err := strconv.Atoi(r.get("route_type"))
		r.check(err == nil || !f.opt.BusOnly, "route_type", "is not a number")
		if f.opt.BusOnly && !r.unused && kind != 3 && kind/100 != 2 && kind/100 != 7 {
			f.ids[r.file][id] = leftOut
			f.decided(r.file, r.line, "routes left out by -bus-only")
			continue
		}
		// Passengers know a route by its long name; some feeds have only numbers.
		column := "route_long_name"
		if r.get(column) == "" {
			column = "route_short_name"
		}
		route := schedule.Route{
			ID:      urlSafe(id),
			Company: company,
			Name:    r.get(column),
			Names: f.names("routes", column, id,
				r.get(column)),
			Slug:        r.get("waybill_slug"),
			Description: r.get("route_desc"),
		}
		// What there is on board, as wifi:Wi-Fi.
		for _, pair := range r.list("waybill_services", ";") {
			id, name, _ := strings.Cut(pair, ":")
			route.Services = append(route.Services, schedule.Amenity{
				ID:   urlSafe(strings.TrimSpace(id)),
				Name: strings.TrimSpace(name),
			})
		}
		keep(r, &f.out.Routes, route)
	}
}

// readBuses reads waybill_buses.txt: which bus a trip has, and its seats.
func (f *Feed) readBuses() {
	// An FMS object is one bus: two would be turned on and off together.
	objects := map[string]bool{}
	for r := range f.rows("waybill_buses.txt") {
		bus := schedule.Bus{
			ID:           urlSafe(r.id("bus_id")),
			Company:      r.maybe("agency_id", "agency.txt"),
			Seats:        int32(r.number("seats", 1, schedule.MaxSeats)),
			FMSObject:    r.get("fms_object_id"),
			Registration: r.get("registration_number"),
			Brand:        r.get("brand"),
			Model:        r.get("model"),
			Images:       r.list("image_urls", " "),
			Geolocation:  r.get("is_geolocation") == "1",
		}
		r.check(!objects[bus.FMSObject], "fms_object_id", "is there already")
		objects[bus.FMSObject] = bus.FMSObject != "" && (objects[bus.FMSObject] || !r.unused)
		keep(r, &f.out.Buses, bus)
	}
}

// ParseFarePerKm reads a price per kilometre as in EUR:0.06, of at least a hundredth of a minor unit.
func ParseFarePerKm(s string) (f schedule.FarePerKm, ok bool) {
	currency, amount, _ := strings.Cut(s, ":")
	// Go reads more than people write: exponents, hexadecimal, underscores.
	rate, err := strconv.ParseFloat(amount, 64)
	ok = err == nil && rate >= 1e-4 && rate < 1e6 && schedule.IsCurrency(currency) &&
		!strings.ContainsAny(amount, "eExX_+")
	return schedule.FarePerKm{
		Currency: currency,
		Micros:   int64(rate*1e6 + 0.5),
	}, ok
}

const notPercent = "is not a percentage from 0 to 100"

// readRefundRules reads what a route gives back. A route with rules of its own has none of its agency's, also
// where its own were all skipped.
func (f *Feed) readRefundRules() {
	seen := map[string]bool{}  // ids
	usable := map[int32]bool{} // by route
	skipped := map[int32]int{} // the first line, by route
	for r := range f.rows("waybill_refund_rules.txt") {
		x := schedule.RefundRule{
			ID:      urlSafe(r.get("rule_id")),
			Company: -1,
			Route:   r.maybe("route_id", "routes.txt"),
		}
		// A rule is of a route, or else of a company.
		if x.Route < 0 || r.get("agency_id") != "" {
			x.Company = r.ref("agency_id", "agency.txt")
		}
		x.Hours = int32(r.number("hours", 0, math.MaxUint16))
		x.Percent = r.hundredths("amount", 100_00, notPercent)
		id := r.get("rule_id")
		r.check(id == "" || !seen[id], "rule_id", "is there already")
		route, known := r.ids["routes.txt"][r.get("route_id")]
		switch {
		case !r.unused:
			seen[id] = true
			usable[x.Route] = true
			f.out.RefundRules = append(f.out.RefundRules, x)
		// A rule that is skipped must not leave the route to its agency's, which may give more back.
		case known && route >= 0 && r.reason != "" && skipped[route] == 0:
			skipped[route] = r.line
		}
	}
	for _, route := range slices.Sorted(maps.Keys(skipped)) {
		if !usable[route] {
			f.decided("waybill_refund_rules.txt", skipped[route], "routes whose own refund rules were all skipped, which give nothing back")
			f.out.RefundRules = append(f.out.RefundRules, schedule.RefundRule{
				ID:      "none",
				Company: -1,
				Route:   route,
			})
		}
	}
}

// readDiscounts reads what a route takes off.
func (f *Feed) readDiscounts() {
	seen := map[string]bool{} // ids
	for r := range f.rows("waybill_discounts.txt") {
		x := schedule.Discount{
			ID:          urlSafe(r.get("discount_id")),
			Name:        r.get("name"),
			Description: r.get("description"),
			Route:       r.ref("route_id", "routes.txt"),
			First:       r.date("start_date"),
			Last:        r.date("end_date"),
		}
		id := r.get("discount_id")
		r.check(id == "" || !seen[id], "discount_id", "is there already")
		r.check(r.get("rule") == "Percent", "rule", "is not Percent")
		x.Percent = r.hundredths("amount", 100_00, notPercent)
		seen[id] = seen[id] || !r.unused
		keep(r, &f.out.Discounts, x)
	}
}

// readTransfers reads how long changes take. Where a row that restricts a change between two stops is
// skipped, none is offered there.
func (f *Feed) readTransfers() {
	type key struct{ from, to int32 }
	seen := map[key]bool{}
	for r := range f.rows("transfers.txt") {
		special := false // it is about some routes or trips only
		for _, column := range []string{"from_route_id", "to_route_id", "from_trip_id", "to_trip_id"} {
			special = special || r.get(column) != ""
			r.check(r.get(column) == "", column, "is not supported: transfers go by stop")
		}
		from := r.ref("from_stop_id", "stops.txt")
		to := r.ref("to_stop_id", "stops.txt")
		again := seen[key{from, to}]
		r.check(!again, "from_stop_id", "and to_stop_id are there already")
		x := schedule.Transfer{Forbidden: r.get("transfer_type") == "3"}
		// A row that neither forbids a change nor says how long it takes says nothing new.
		usual := r.get("min_transfer_time") == ""
		restricts := x.Forbidden || !usual
		if !usual {
			x.Seconds = int32(r.number("min_transfer_time", 0, math.MaxInt32))
		}
		known := r.known("from_stop_id", "stops.txt") && r.known("to_stop_id", "stops.txt")
		switch {
		case !r.unused:
		case restricts && known && !again && !special:
			x.Forbidden = true
			f.decided(r.file, r.line, "changes that are not offered, because the row that restricts them was skipped")
		default:
			continue
		}
		seen[key{from, to}] = true
		if restricts {
			f.addTransfer(r, x, from, to)
		}
	}
}

// addTransfer adds a change between two stops, unless they are too far apart to walk.
func (f *Feed) addTransfer(r *row, x schedule.Transfer, from, to int32) {
	// The row stays in the tables, where the search decides. The import says what will come of it.
	a := &f.out.Stops[from]
	b := &f.out.Stops[to]
	if !x.Forbidden && schedule.Kilometres(a.Lat, a.Lon, b.Lat, b.Lon) > schedule.MaxWalk {
		f.decided(r.file, r.line, "transfers between stops more than 5 km apart, between which no change is offered")
	}
	x.From = a.ID
	x.To = b.ID
	f.out.Transfers = append(f.out.Transfers, x)
}

// translated is a field that translations.txt translates: that of a record, or of each with a value.
type translated struct{ table, field, record, value string }

// readTranslations reads the names in other languages.
func (f *Feed) readTranslations() {
	type key struct {
		translated
		language int
	}
	seen := map[key]bool{} // whether it is a variant
	for r := range f.rows("translations.txt") {
		if r.get("table_name") == "" {
			f.decided(r.file, r.line, "translations without a table_name, as before 2020, which are not used")
			continue
		}
		code, _, _ := strings.Cut(strings.ToLower(r.get("language")), "-")
		language := slices.Index([]string{"uk", "pl", "cs", "en", "ru"}, code) // as schedule has them
		if language < 0 {
			f.decided(r.file, r.line, "translations into other languages than Ukrainian, Polish, Czech, English and Russian, which are not used")
			continue
		}
		at := translated{
			table:  r.get("table_name"),
			field:  r.get("field_name"),
			record: r.get("record_id"),
		}
		if at.record == "" {
			at.value = r.get("field_value")
		}
		if r.unused {
			continue
		}
		variant := strings.ToLower(r.get("language")) != code // as cs-CZ of cs
		was, there := seen[key{at, language}]
		if there && variant {
			continue // what is there is as good, or better
		}
		r.check(!there || was, "translation", "is of what is translated into this language already")
		if !r.unused {
			seen[key{at, language}] = variant
			names := f.translations[at]
			names[language] = r.get("translation")
			f.translations[at] = names
		}
	}
}

// names returns the translations of a field, those for the record before those for its value.
func (f *Feed) names(table, field, record, value string) schedule.Names {
	names := f.translations[translated{
		table:  table,
		field:  field,
		record: record,
	}]
	same := f.translations[translated{
		table: table,
		field: field,
		value: value,
	}]
	for i := range names {
		names[i] = cmp.Or(names[i], same[i])
	}
	return names
}
