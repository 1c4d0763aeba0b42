// Package gtfs makes a timetable's tables from a feed in GTFS Schedule, with columns of Waybill's own
// (decision feed.read).
//
// [Read] takes any feed as it comes: files and rows in any order, files and columns it does not know. Package
// feed reads its rows and keeps what is wrong with them; here it is decided what they mean. What cannot be
// used is skipped, row by row, saying where and why. No feed is an error.
//
//	f, counts, err := gtfs.Read(os.DirFS("sample"), gtfs.Options{Skip: report})
//	tables := f.Tables(before) // slugs and cities stay what they were
package gtfs

import (
	"cmp"
	"encoding/base64"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule"
	"waybill/schedule/journey"
)

// Options are the choices of one import (decision feed.options).
type Options struct {
	BusOnly   bool                                       // keep route types 3, 200–299 and 700–799 only
	FarePerKm []schedule.FarePerKm                       // prices what no fare matches; at most one
	Skip      func(file string, line int, reason string) // is told of each row that is not used
}

// Feed is a feed that was read, with its tables.
type Feed struct {
	opt          Options
	files        *Files
	out          schedule.Tables
	areas        int               // how many of the cities are areas; they come first
	inherited    map[string]string // slugs of areas that were cities of a name, by id
	places       map[string]*place
	zones        map[string]bool
	clocks       map[[2]string]bool // whether two zones are one, once asked
	translations map[translated]schedule.Names
}

// Read reads all of a feed but what depends on the timetable before, and counts its rows by file. The error
// is an ErrInvalid or the file system's.
func Read(dir fs.FS, opt Options) (f *Feed, counts map[string]int, err error) {
	files, err := Open(dir, opt.Skip)
	if err != nil {
		return nil, nil, err
	}
	f = &Feed{
		opt:          opt,
		files:        files,
		out:          schedule.Tables{FarePerKm: opt.FarePerKm},
		places:       map[string]*place{},
		zones:        map[string]bool{},
		clocks:       map[[2]string]bool{},
		translations: map[translated]schedule.Names{},
	}
	// Each file comes before those that name its rows.
	for _, read := range []func(){
		f.readTranslations, f.readAgencies, f.readStops, f.readRoutes, f.readBuses,
		f.readServices, f.readTrips, f.readFrequencies, f.readFares,
		f.readRefundRules, f.readDiscounts, f.readTransfers,
	} {
		if read(); files.Err != nil {
			return nil, files.Counts, files.Err
		}
	}
	f.finishCities(new(schedule.Tables))
	return f, files.Counts, nil
}

// Size returns the tables before Tables has finished them, so that their rows can be counted.
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

// keep puts a row into a table, where its id finds it. It does nothing if the row is unused.
func keep[T any](r *Row, table *[]T, x T) {
	if !r.Unused {
		r.Became(add(table, x))
	}
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

// TripID returns the id that a trip of a feed has in the timetable, by its id in the feed or in the
// timetable.
func TripID(id string) string {
	if strings.HasPrefix(id, "~") {
		return id
	}
	return urlSafe(id)
}

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
	for r := range f.files.Rows("agency.txt") {
		r.Check(r.Get("agency_timezone") != "", "agency_timezone", "is missing")
		if r.Get("agency_name") == "" && !r.Unused {
			r.Decided("companies without an agency_name, which are named by their agency_id")
		}
		keep(r, &f.out.Companies, schedule.Company{
			Zone:           f.zone(r, "agency_timezone"),
			ID:             urlSafe(r.Unique("agency_id")),
			Name:           cmp.Or(r.Get("agency_name"), r.Get("agency_id")),
			Email:          r.Get("agency_email"),
			Website:        r.Get("agency_url"),
			Slug:           r.Get("waybill_slug"),
			CEO:            r.Get("waybill_ceo"),
			PartnerCompany: r.Get("waybill_partner_company"),
			LogoURL:        r.Get("waybill_logo_url"),
			Rules:          r.Get("waybill_rules"),
			Socials:        r.List("waybill_socials", " "),
			Tier:           r.Get("waybill_tier"),
			Registration:   r.Get("waybill_registration"),
			Address:        r.Get("waybill_address"),
			VAT:            r.Get("waybill_vat"),
			Insurer:        r.Get("waybill_insurer"),
			Policy:         r.Get("waybill_policy"),
			Source:         cmp.Or(r.Get("waybill_source"), schedule.OwnSource),
		})
	}
	// A feed of one agency may leave its id out everywhere (GTFS, agency.txt).
	n := len(f.out.Companies)
	switch {
	case n == 0 && f.files.Err == nil:
		f.files.Err = Invalid("agency.txt has no usable row")
	case n == 1 && f.files.Counts["agency.txt"] == 1: // it need not be named
		f.files.IDs["agency.txt"][""] = 0
	}
}

// readRoutes reads the routes. Those of other means of transport are left out where only buses are wanted.
func (f *Feed) readRoutes() {
	for r := range f.files.Rows("routes.txt") {
		id := r.ID("route_id")
		company := r.Ref("agency_id", "agency.txt")
		kind, err := strconv.Atoi(r.Get("route_type"))
		r.Check(err == nil || !f.opt.BusOnly, "route_type", "is not a number")
		// 3 is a bus; of the extended types the 200s are coaches and the 700s buses.
		bus := kind == 3 || kind/100 == 2 || kind/100 == 7
		if f.opt.BusOnly && !r.Unused && !bus {
			r.LeaveOut()
			r.Decided("routes left out by -bus-only")
			continue
		}
		// Passengers know a route by its long name; some feeds have only numbers.
		column := "route_long_name"
		if r.Get(column) == "" {
			column = "route_short_name"
		}
		route := schedule.Route{
			ID:      urlSafe(id),
			Company: company,
			Name:    r.Get(column),
			Names: f.names("routes", column, id,
				r.Get(column)),
			Slug:        r.Get("waybill_slug"),
			Description: r.Get("route_desc"),
		}
		// The amenities on board, as wifi:Wi-Fi.
		for _, pair := range r.List("waybill_services", ";") {
			id, name, _ := strings.Cut(pair, ":")
			route.Services = append(route.Services, schedule.Amenity{
				ID:   urlSafe(strings.TrimSpace(id)),
				Name: strings.TrimSpace(name),
			})
		}
		keep(r, &f.out.Routes, route)
	}
}

// readBuses reads waybill_buses.txt: which bus a trip has, and its seats. GTFS knows no seats, and without
// them nothing can be sold.
func (f *Feed) readBuses() {
	// An FMS object is one bus: two would be turned on and off together.
	objects := map[string]bool{}
	for r := range f.files.Rows("waybill_buses.txt") {
		bus := schedule.Bus{
			ID:           urlSafe(r.ID("bus_id")),
			Company:      r.Maybe("agency_id", "agency.txt"),
			Seats:        int32(r.Number("seats", 1, schedule.MaxSeats)),
			FMSObject:    r.Get("fms_object_id"),
			Registration: r.Get("registration_number"),
			Brand:        r.Get("brand"),
			Model:        r.Get("model"),
			Images:       r.List("image_urls", " "),
			Geolocation:  r.Get("is_geolocation") == "1",
		}
		r.Check(!objects[bus.FMSObject], "fms_object_id", "is there already")
		if bus.FMSObject != "" && !r.Unused {
			objects[bus.FMSObject] = true
		}
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

// readRefundRules reads the refund rules of routes. A route with rules of its own has none of its agency's,
// even where its own were all skipped.
func (f *Feed) readRefundRules() {
	usable := map[int32]bool{} // by route
	skipped := map[int32]int{} // the first line, by route
	for r := range f.files.Rows("waybill_refund_rules.txt") {
		x := schedule.RefundRule{
			ID:      urlSafe(r.Get("rule_id")),
			Company: -1,
			Route:   r.Maybe("route_id", "routes.txt"),
		}
		// A rule is of a route, or else of a company.
		if x.Route < 0 || r.Get("agency_id") != "" {
			x.Company = r.Ref("agency_id", "agency.txt")
		}
		x.Hours = int32(r.Number("hours", 0, math.MaxUint16))
		x.Percent = r.Hundredths("amount", schedule.WholePercent, notPercent)
		r.OptionalID("rule_id")
		route, known := r.Find("route_id", "routes.txt")
		switch {
		case !r.Unused:
			usable[x.Route] = true
			keep(r, &f.out.RefundRules, x)
		// A skipped rule must not leave the route to its agency's rules, which may give more back.
		case known && r.Reason != "" && skipped[route] == 0:
			skipped[route] = r.Line
		}
	}
	for _, route := range slices.Sorted(maps.Keys(skipped)) {
		if !usable[route] {
			f.files.Decided("waybill_refund_rules.txt", skipped[route],
				"routes whose own refund rules were all skipped, which refund nothing")
			f.out.RefundRules = append(f.out.RefundRules, schedule.RefundRule{
				ID:      "none",
				Company: -1,
				Route:   route,
			})
		}
	}
}

// readDiscounts reads the discounts of routes.
func (f *Feed) readDiscounts() {
	for r := range f.files.Rows("waybill_discounts.txt") {
		x := schedule.Discount{
			ID:          urlSafe(r.Get("discount_id")),
			Name:        r.Get("name"),
			Description: r.Get("description"),
			Route:       r.Ref("route_id", "routes.txt"),
			First:       r.Date("start_date"),
			Last:        r.Date("end_date"),
		}
		r.OptionalID("discount_id")
		r.Check(r.Get("rule") == "Percent", "rule", "is not Percent")
		x.Percent = r.Hundredths("amount", schedule.WholePercent, notPercent)
		keep(r, &f.out.Discounts, x)
	}
}

// readTransfers reads how long changes take. Where a row that restricts a change between two stops is
// skipped, no change is offered there.
func (f *Feed) readTransfers() {
	type key struct{ from, to int32 }
	seen := map[key]bool{}
	for r := range f.files.Rows("transfers.txt") {
		special := false // it is about some routes or trips only
		for _, column := range []string{"from_route_id", "to_route_id", "from_trip_id", "to_trip_id"} {
			special = special || r.Get(column) != ""
			r.Check(r.Get(column) == "", column, "is not supported: transfers go by stop")
		}
		from := r.Ref("from_stop_id", "stops.txt")
		to := r.Ref("to_stop_id", "stops.txt")
		again := seen[key{from, to}]
		r.Check(!again, "from_stop_id", "and to_stop_id repeat an earlier row")
		x := schedule.Transfer{Forbidden: r.Get("transfer_type") == "3"}
		// A row that neither forbids a change nor says how long it takes says nothing new.
		usual := r.Get("min_transfer_time") == ""
		restricts := x.Forbidden || !usual
		if !usual {
			x.Seconds = int32(r.Number("min_transfer_time", 0, math.MaxInt32))
		}
		known := r.Known("from_stop_id", "stops.txt") && r.Known("to_stop_id", "stops.txt")
		switch {
		case !r.Unused:
		case restricts && known && !again && !special:
			x.Forbidden = true
			r.Decided("changes that are not offered because the row that restricts them was skipped")
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
func (f *Feed) addTransfer(r *Row, x schedule.Transfer, from, to int32) {
	// The row stays in the tables, where the search decides. The import reports the consequence.
	a := &f.out.Stops[from]
	b := &f.out.Stops[to]
	far := schedule.Kilometres(a.Lat, a.Lon, b.Lat, b.Lon) > journey.MaxWalk
	if far && !x.Forbidden {
		r.Decided("transfers between stops more than 5 km apart, between which no change is offered")
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
	for r := range f.files.Rows("translations.txt") {
		if r.Get("table_name") == "" {
			r.Decided("translations without a table_name, as before 2020, which are not used")
			continue
		}
		code, _, _ := strings.Cut(strings.ToLower(r.Get("language")), "-")
		language := slices.Index([]string{"uk", "pl", "cs", "en", "ru"}, code) // as schedule has them
		if language < 0 {
			r.Decided("translations into other languages than Ukrainian, Polish, Czech, " +
				"English and Russian, which are not used")
			continue
		}
		// A translation is of one record, or of all fields of its kind that hold a value.
		at := translated{
			table:  r.Get("table_name"),
			field:  r.Get("field_name"),
			record: r.Get("record_id"),
		}
		if at.record == "" {
			at.value = r.Get("field_value")
		}
		if r.Unused {
			continue
		}
		variant := strings.ToLower(r.Get("language")) != code // as cs-CZ of cs
		was, there := seen[key{at, language}]
		if there && variant {
			continue // the translation that is there is as good, or better
		}
		r.Check(!there || was, "translation", "repeats a translation into this language")
		if !r.Unused {
			seen[key{at, language}] = variant
			names := f.translations[at]
			names[language] = r.Get("translation")
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
