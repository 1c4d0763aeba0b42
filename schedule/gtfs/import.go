// Package gtfs makes a timetable's tables from a feed in GTFS Schedule, with columns of Waybill's own (contract §5).
//
// [Read] takes any feed as it comes: a byte-order mark, CRLF, padded cells, rows and columns in any order, files and
// columns it does not know. What it cannot use it skips, row by row, saying where and why. No feed is an error.
// A row knows how to read its cells and keeps what is first wrong with them; a Feed makes tables of the rows left.
package gtfs

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"io/fs"
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
	out          schedule.Tables
	ids          map[string]index // by file
	cityByName   index            // of those that have the name of a stop
	zones        map[string]bool
	translations map[translated]schedule.Names
}

// Read reads all of a feed but what depends on the timetable before. The error is ErrNoFeed or the file system's.
func Read(feed fs.FS, opt Options) (*Feed, Counts, error) {
	dir, err := root(feed)
	if err != nil {
		return nil, nil, err
	}
	f := &Feed{
		opt: opt, dir: dir, text: bufio.NewReaderSize(nil, maxLine), left: maxUnpacked,
		counts: Counts{}, out: schedule.Tables{FarePerKm: opt.FarePerKm}, ids: map[string]index{},
		cityByName: index{}, zones: map[string]bool{}, translations: map[translated]schedule.Names{},
	}
	for _, read := range []func(){
		f.readTranslations, f.readAgencies, f.readStops, f.readRoutes, f.readBuses,
		f.readServices, f.readTrips, f.readFrequencies, f.readFares, f.readRules, f.readTransfers,
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

// Tables finishes the tables, once, to follow the timetable before: slugs stay what they were.
func (f *Feed) Tables(before *schedule.Tables) *schedule.Tables {
	slugs(f.out.Companies, before.Companies, func(x *schedule.Company) named { return named{x.ID, x.Name, &x.Slug} })
	slugs(f.out.Cities, before.Cities, func(x *schedule.City) named { return named{x.ID, x.Name, &x.Slug} })
	slugs(f.out.Routes, before.Routes, func(x *schedule.Route) named { return named{x.ID, x.Name, &x.Slug} })
	return &f.out
}

func add[T any](table *[]T, row T) int32 {
	*table = append(*table, row)
	return int32(len(*table) - 1)
}

const (
	digits = "0123456789"
	plain  = "abcdefghijklmnopqrstuvwxyz" + digits
)

// urlSafe gives an id of the feed as the interface has it: the same if URL-safe, else in a form that no other id has.
func urlSafe(id string) string {
	if strings.Trim(id, plain+"ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~") == "" && strings.Trim(id, ".") != "" && id[0] != '~' {
		return id
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(id)) // no plain id starts with a tilde
}

func (f *Feed) readAgencies() {
	for r := range f.rows("agency.txt") {
		r.check(r.get("agency_timezone") != "", "agency_timezone", "is missing")
		keep(r, &f.out.Companies, schedule.Company{
			Zone: f.zone(r, "agency_timezone"), ID: urlSafe(r.unique("agency_id")),
			Name: r.get("agency_name"), Email: r.get("agency_email"), Website: r.get("agency_url"),
			Slug: r.get("waybill_slug"), CEO: r.get("waybill_ceo"), PartnerCompany: r.get("waybill_partner_company"),
			LogoURL: r.get("waybill_logo_url"), Rules: r.get("waybill_rules"), Socials: r.list("waybill_socials", " "),
			Tier: r.get("waybill_tier"), Source: cmp.Or(r.get("waybill_source"), schedule.OwnSource),
		})
	}
	switch n := len(f.out.Companies); {
	case n == 0 && f.err == nil:
		f.err = noFeed("agency.txt has no usable row")
	case n == 1: // it need not be named
		f.ids["agency.txt"][""] = 0
	}
}

func (f *Feed) readRoutes() {
	for r := range f.rows("routes.txt") {
		id, company := r.id("route_id"), r.ref("agency_id", "agency.txt")
		kind, err := strconv.Atoi(r.get("route_type"))
		r.check(err == nil || !f.opt.BusOnly, "route_type", "is not a number")
		if f.opt.BusOnly && !r.unused && kind != 3 && kind/100 != 2 && kind/100 != 7 {
			f.ids[r.file][id] = leftOut
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
		keep(r, &f.out.Routes, route)
	}
}

func (f *Feed) readBuses() {
	objects := map[string]bool{}
	for r := range f.rows("waybill_buses.txt") {
		bus := schedule.Bus{
			ID: urlSafe(r.id("bus_id")), Company: r.maybe("agency_id", "agency.txt"),
			Seats: int32(r.number("seats", 1, schedule.MaxSeats)), FMSObject: r.get("fms_object_id"),
			Registration: r.get("registration_number"), Brand: r.get("brand"), Model: r.get("model"),
			Images: r.list("image_urls", " "), Geolocation: r.get("is_geolocation") == "1",
		}
		r.check(!objects[bus.FMSObject], "fms_object_id", "is there already")
		objects[bus.FMSObject] = bus.FMSObject != "" && (objects[bus.FMSObject] || !r.unused)
		keep(r, &f.out.Buses, bus)
	}
}

// ParseFarePerKm reads a price per kilometre as in EUR:0.06, of at least a hundredth of a minor unit.
func ParseFarePerKm(s string) (f schedule.FarePerKm, ok bool) {
	currency, amount, _ := strings.Cut(s, ":")
	rate, err := strconv.ParseFloat(amount, 64)
	ok = err == nil && rate >= 1e-4 && rate < 1e6 && schedule.IsCurrency(currency) && !strings.ContainsAny(amount, "eExX_+")
	return schedule.FarePerKm{Currency: currency, Micros: int64(rate*1e6 + 0.5)}, ok
}

func (f *Feed) readFares() {
	var fares []schedule.Fare
	ruled := map[int32]bool{} // also by a rule that cannot be used: the fare is not for everything
	for r := range f.rows("fare_attributes.txt") {
		fare := schedule.Fare{Company: -1, Route: -1, Currency: strings.ToUpper(r.get("currency_type"))}
		r.id("fare_id")
		if r.get("agency_id") != "" { // blank is every agency, even where there is but one
			fare.Company = r.ref("agency_id", "agency.txt")
		}
		fare.Amount = r.hundredths("price", math.MaxInt64, "is not an amount with at most two decimals")
		r.check(schedule.IsCurrency(fare.Currency), "currency_type", "is not three letters")
		keep(r, &fares, fare)
	}
	for r := range f.rows("fare_rules.txt") {
		if i := r.ref("fare_id", "fare_attributes.txt"); !r.unused {
			fare := fares[i]
			ruled[i], fare.Route = true, r.maybe("route_id", "routes.txt")
			fare.From, fare.To = r.get("origin_id"), r.get("destination_id")
			const wrong = "is not supported: fares go by the zones of the first and the last stop"
			r.check(r.get("contains_id") == "", "contains_id", wrong)
			keep(r, &f.out.Fares, fare)
		}
	}
	for i, x := range fares {
		if !ruled[int32(i)] {
			f.out.Fares = append(f.out.Fares, x)
		}
	}
}

// readRules reads what a route gives back, and what it takes off.
func (f *Feed) readRules() {
	const notPercent = "is not a percentage from 0 to 100"
	for r := range f.rows("waybill_refund_rules.txt") {
		x := schedule.RefundRule{ID: urlSafe(r.get("rule_id")), Company: -1, Route: r.maybe("route_id", "routes.txt")}
		if x.Route < 0 || r.get("agency_id") != "" {
			x.Company = r.ref("agency_id", "agency.txt")
		}
		x.Hours, x.Percent = int32(r.number("hours", 0, math.MaxUint16)), r.hundredths("amount", 100_00, notPercent)
		keep(r, &f.out.RefundRules, x)
	}
	for r := range f.rows("waybill_discounts.txt") {
		x := schedule.Discount{
			ID: urlSafe(r.get("discount_id")), Name: r.get("name"), Description: r.get("description"),
			Route: r.ref("route_id", "routes.txt"), First: r.date("start_date"), Last: r.date("end_date"),
		}
		r.check(r.get("rule") == "Percent", "rule", "is not Percent")
		x.Percent = r.hundredths("amount", 100_00, notPercent)
		keep(r, &f.out.Discounts, x)
	}
}

func (f *Feed) readTransfers() {
	for r := range f.rows("transfers.txt") {
		for _, column := range []string{"from_route_id", "to_route_id", "from_trip_id", "to_trip_id"} {
			r.check(r.get(column) == "", column, "is not supported: transfers go by stop")
		}
		from, to := r.ref("from_stop_id", "stops.txt"), r.ref("to_stop_id", "stops.txt")
		x, usual := schedule.Transfer{Forbidden: r.get("transfer_type") == "3"}, r.get("min_transfer_time") == ""
		if !usual {
			x.Seconds = int32(r.number("min_transfer_time", 0, math.MaxInt32))
		}
		if !r.unused && (x.Forbidden || !usual) {
			x.From, x.To = f.out.Stops[from].ID, f.out.Stops[to].ID
			keep(r, &f.out.Transfers, x)
		}
	}
}

// translated is a field that translations.txt translates: that of a record, or of each with a value.
type translated struct{ table, field, record, value string }

func (f *Feed) readTranslations() {
	for r := range f.rows("translations.txt") {
		code, _, _ := strings.Cut(strings.ToLower(r.get("language")), "-")
		language := slices.Index([]string{"uk", "pl", "cs", "en", "ru"}, code) // as schedule has them
		if language < 0 {
			continue
		}
		at := translated{table: r.get("table_name"), field: r.get("field_name"), record: r.get("record_id")}
		if at.record == "" {
			at.value = r.get("field_value")
		}
		names := f.translations[at]
		names[language] = r.get("translation")
		f.translations[at] = names
	}
}

// names gives the translations of a field, those for the record before those for its value.
func (f *Feed) names(table, field, record, value string) schedule.Names {
	names := f.translations[translated{table: table, field: field, record: record}]
	same := f.translations[translated{table: table, field: field, value: value}]
	for i := range names {
		names[i] = cmp.Or(names[i], same[i])
	}
	return names
}

// spelling writes in ASCII what folding leaves: Greek, and Cyrillic by the Ukrainian passport rules where it matters.
var spelling = strings.NewReplacer(append(strings.Fields(`а a б b в v г h ґ g д d е e є ie ж zh з z и y і i ї i й i
	к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ы y э e ю iu я ia ё e ѐ e ѝ i
	ѓ gj ѕ dz ј j љ lj њ nj ќ kj џ dzh ђ dj ћ c ў u
	α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o`),
	"ь", "", "ъ", "", "’", "", "'", "", "ʼ", "", "`", "")...)

// slugOf makes a URL-friendly word of a name, "" when nothing of it can be spelled.
func slugOf(name string) string {
	spelled := spelling.Replace(schedule.Fold(spelling.Replace(strings.ToLower(name))))
	apart := func(r rune) bool { return !strings.ContainsRune(plain, r) }
	return strings.Join(strings.FieldsFunc(spelled, apart), "-")
}

// named is what gets a slug: Slug is what the feed gives, and then what it got.
type named struct {
	id, name string
	slug     *string
}

// slugs gives each row its slug: first to those that had one before, then as the feed asks, then after the names.
func slugs[T any](rows, old []T, of func(*T) named) {
	before := map[string]string{}
	for i := range old {
		x := of(&old[i])
		before[x.id] = *x.slug
	}
	taken, next := map[string]bool{}, map[string]int{}
	var asking, others []named
	for i := range rows {
		x := of(&rows[i])
		asked, had := slugOf(*x.slug), before[x.id]
		switch {
		case had != "" && !taken[had] && (asked == "" || had == asked || strings.TrimRight(had, digits) == asked+"-"):
			*x.slug, taken[had] = had, true
		case asked != "":
			asking = append(asking, x)
		default:
			others = append(others, x)
		}
	}
	for _, x := range append(asking, others...) {
		slug := cmp.Or(slugOf(*x.slug), slugOf(x.name), slugOf(x.id), "x")
		unique := slug
		for n := max(2, next[slug]); taken[unique]; n++ {
			unique = slug + "-" + strconv.Itoa(n)
			next[slug] = n + 1
		}
		*x.slug, taken[unique] = unique, true
	}
}
