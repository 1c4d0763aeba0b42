package schedule

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"
)

// Tables are a timetable's rows as an import leaves them. A row names another by its index, -1 where it names
// none. They are written as JSON lines, a row each, so that plain tools read and compare the timetable in
// force.
type Tables struct {
	Companies   []Company
	Cities      []City
	Stops       []Stop
	Routes      []Route
	Buses       []Bus
	Services    []Service
	Patterns    []Pattern
	Times       []Times
	Trips       []Trip
	Fares       []Fare
	RefundRules []RefundRule
	Discounts   []Discount
	Transfers   []Transfer
	FarePerKm   []FarePerKm // at most one
	Former      []Former
	Withheld    []Withheld
}

// Company runs routes: a GTFS agency.
type Company struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	Slug           string   `json:"slug"`
	CEO            string   `json:"ceo,omitempty"`
	PartnerCompany string   `json:"partnerCompany,omitempty"`
	LogoURL        string   `json:"logoUrl,omitempty"`
	Email          string   `json:"email,omitempty"`
	Website        string   `json:"website,omitempty"`
	Rules          string   `json:"rules,omitempty"`
	Socials        []string `json:"socials,omitempty"`
	Tier           string   `json:"tier,omitempty"`
	Source         string   `json:"source"` // OwnSource, or an external operator

	// What a ticket over a border must show; "" is not given.
	Registration string `json:"registration,omitempty"` // the code under which the carrier is registered
	Address      string `json:"address,omitempty"`
	VAT          string `json:"vat,omitempty"`
	Insurer      string `json:"insurer,omitempty"`
	Policy       string `json:"policy,omitempty"`

	Zone string `json:"zone"` // IANA name; the clock of its stop times
}

// City is a city that journeys are searched from and to.
type City struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Slug    string `json:"slug"`
	Country string `json:"country"` // ISO 3166-1 alpha-2
	Zone    string `json:"zone"`
	Names   Names  `json:"names,omitzero"`
	Area    bool   `json:"area,omitempty"` // an area of the feed, not the name of its stops
}

// Names are translations by [Language]; "" where there is none.
type Names [RU + 1]string

// Language is one of the interface's, in its order; Untranslated asks for names as the feed has them.
type Language int

// The languages.
const Untranslated, UK, PL, CS, EN, RU Language = -1, 0, 1, 2, 3, 4

// Former is a company, city or route that an earlier timetable had and this one lacks. It is kept so that
// nothing else gets its slug, which partners know, and so that it gets the slug again when it comes back.
type Former struct {
	Kind string  `json:"kind"` // company, city or route
	ID   string  `json:"id"`
	Slug string  `json:"slug"`
	Name string  `json:"name,omitempty"` // of a city that is named after its stops, as what follows
	Zone string  `json:"zone,omitempty"`
	Lat  float64 `json:"lat,omitempty"` // of one of them
	Lon  float64 `json:"lon,omitempty"`
}

// Stop is a place where a bus calls.
type Stop struct {
	ID       string  `json:"id"`
	Place    string  `json:"place"`
	Platform string  `json:"platform,omitempty"`
	Lat      float64 `json:"lat"`
	Lon      float64 `json:"lon"`
	City     int32   `json:"city"`
	Station  bool    `json:"station,omitempty"`  // a station or a part of one
	Parent   string  `json:"parent,omitempty"`   // the id of the station it is part of
	FareZone string  `json:"fareZone,omitempty"` // "" in none
	Names    Names   `json:"names,omitzero"`     // translations of Place
}

// Route is a line that a company runs.
type Route struct {
	ID          string    `json:"id"`
	Company     int32     `json:"company"`
	Name        string    `json:"name,omitempty"` // "" is named after its first and last city
	Names       Names     `json:"names,omitzero"`
	Slug        string    `json:"slug"`
	Description string    `json:"description,omitempty"`
	Services    []Amenity `json:"services,omitempty"`
}

// Amenity is what a route offers on board: a "service" of the interface.
type Amenity struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Bus is a vehicle. A trip without one has the zero Bus with DefaultSeats.
type Bus struct {
	ID           string   `json:"id"`
	Company      int32    `json:"company"`
	Seats        int32    `json:"seats"`
	Registration string   `json:"registration,omitempty"`
	Brand        string   `json:"brand,omitempty"`
	Model        string   `json:"model,omitempty"`
	Images       []string `json:"images,omitempty"`
	FMSObject    string   `json:"fmsObject,omitempty"`
	Geolocation  bool     `json:"geolocation,omitempty"`
}

const (
	OwnSource    = "Service" // the source of what the service sells itself
	DefaultSeats = 49        // the capacity of a trip without a bus
	MaxSeats     = 1000      // the largest capacity of a bus
	MaxStops     = 1 << 9    // the longest a trip may be
	MaxAmount    = 1e12      // minor units of a fare
	WholePercent = 100_00
)

// The years of all days and instants that people give, and of timetables: a duration from the machine's clock
// can hold the way to each (decision timetable.bounds).
const (
	minYear = 1970
	maxYear = 2199
	days    = 84_006 // of them

	InYears = "of the years 1970 to 2199" // says so
	DayRule = "a day as in 2026-11-20, " + InYears
)

// IsInYears reports whether an instant is of these years.
func IsInYears(t time.Time) bool {
	year := t.UTC().Year()
	return minYear <= year && year <= maxYear
}

// IsStart reports whether a service day of these years can start at a Unix second: zones and moved runs put
// that within two days.
func IsStart(second int64) bool {
	const day = 24 * 60 * 60
	return -day <= second && second <= (days+2)*day
}

// Day is a calendar day, counted from 1970-01-01.
type Day int32

// DayOf returns the calendar day of t in t's own location.
func DayOf(t time.Time) Day {
	_, offset := t.Zone()
	s := t.Unix() + int64(offset)
	return Day((s - ((s%86400)+86400)%86400) / 86400)
}

// Date returns midnight UTC of the day, String the day as in 2026-11-20.
func (d Day) Date() time.Time {
	return time.Unix(int64(d)*86400, 0).UTC()
}

// String returns the day as 2026-11-20.
func (d Day) String() string {
	return d.Date().Format(time.DateOnly)
}

// ParseDay reads a day as DayRule says, which must exist.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || !IsInYears(t) {
		return 0, fmt.Errorf("%q is not "+DayRule, s)
	}
	return DayOf(t), nil
}

// In returns the instant at which the day starts in a zone: midnight, or where clocks jump over midnight, the
// jump.
func (d Day) In(zone *time.Location) time.Time {
	y, m, n := d.Date().Date()
	t := time.Date(y, m, n, 0, 0, 0, 0, zone)
	before, after := t.ZoneBounds()
	switch {
	case DayOf(t) < d:
		return after
	case t.Hour() != 0:
		return before
	}
	return t
}

// Service is a set of service days.
type Service struct {
	ID    string   `json:"id"`
	First Day      `json:"first"`
	Bits  []uint64 `json:"bits"` // bit i: First+i
}

// Runs reports whether the service runs on the day.
func (s *Service) Runs(d Day) bool {
	i := int(d - s.First)
	return i >= 0 && i>>6 < len(s.Bits) && s.Bits[i>>6]>>(i&63)&1 == 1
}

// Pattern is the order in which trips of a route call at stops.
type Pattern struct {
	Route     int32   `json:"route"`
	Stops     []int32 `json:"stops"`
	NoPickup  []int16 `json:"noPickup,omitempty"`  // positions where one cannot board
	NoDropOff []int16 `json:"noDropOff,omitempty"` // positions where one cannot alight
}

// Times are arrival and departure at each position of a pattern, in turn, in seconds after the service day's
// start.
type Times []int32

// Trip is one bus on each of its service days.
type Trip struct {
	ID      string   `json:"id"`
	Pattern int32    `json:"pattern"`
	Service int32    `json:"service"`
	Times   int32    `json:"times"`
	Shift   int32    `json:"shift,omitempty"` // seconds later than Times says
	Bus     int32    `json:"bus"`
	Name    string   `json:"name,omitempty"`
	Phones  []string `json:"phones,omitempty"`
}

// Fare is a price for a ride. Fields that are given must match; the fare with most of them wins, then the
// cheapest.
type Fare struct {
	Company  int32  `json:"company"`
	Route    int32  `json:"route"`
	From     string `json:"from,omitempty"` // fare zones
	To       string `json:"to,omitempty"`
	Currency string `json:"currency"`
	Amount   int64  `json:"amount"` // minor units
}

// Withheld is a fare whose amount or whose rule could not be read. Nobody knows the price of the rides that
// it matches: a fare that is less specific does not price them.
type Withheld struct {
	Company  int32  `json:"company"`
	Route    int32  `json:"route"`
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
	Currency string `json:"currency,omitempty"` // "" is every
}

// RefundRule pays back Percent of the price of a ticket cancelled at least Hours hours before departure.
type RefundRule struct {
	ID      string `json:"id"`
	Company int32  `json:"company"`
	Route   int32  `json:"route"` // -1: every route of the company that has no rules of its own
	Hours   int32  `json:"hours"`
	Percent int64  `json:"percent"` // hundredths of a per cent
}

// Discount is taken off the price of a ride whose local departure date is within First and Last.
type Discount struct {
	ID          string `json:"id"`
	Route       int32  `json:"route"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Percent     int64  `json:"percent"` // hundredths of a per cent
	First       Day    `json:"first"`
	Last        Day    `json:"last"`
}

// Transfer is the time a change between two stops needs.
type Transfer struct {
	From      string `json:"from"` // stop or station ids
	To        string `json:"to"`
	Seconds   int32  `json:"seconds"`
	Forbidden bool   `json:"forbidden,omitempty"`
}

// FarePerKm prices rides that no fare matches, by the distance between the stops on the way.
type FarePerKm struct {
	Currency string `json:"currency"`
	Micros   int64  `json:"micros"` // millionths of the currency per kilometre
}

// check makes sure that every index names a row, and that numbers are as an import bounds them.
func (t *Tables) check() error {
	noStop := func(i int32) bool {
		return !in(t.Stops, i)
	}
	maybe := func(company, route int32) bool {
		return (company == -1 || in(t.Companies, company)) && (route == -1 || in(t.Routes, route))
	}
	return cmp.Or(
		each(t.Stops, func(x *Stop) bool {
			return in(t.Cities, x.City)
		}),
		each(t.Routes, func(x *Route) bool {
			return in(t.Companies, x.Company)
		}),
		each(t.Buses, func(x *Bus) bool {
			return 0 <= x.Seats && x.Seats <= MaxSeats
		}),
		each(t.Services, func(x *Service) bool {
			_, end := x.days()
			return 0 <= x.First && x.First < days && len(x.Bits) <= days/64+1 && end <= days
		}),
		each(t.Patterns, func(x *Pattern) bool {
			nowhere := func(i int16) bool {
				return !in(x.Stops, int32(i))
			}
			return in(t.Routes, x.Route) && len(x.Stops) > 1 && len(x.Stops) <= MaxStops &&
				!slices.ContainsFunc(x.Stops, noStop) && !slices.ContainsFunc(x.NoPickup, nowhere) &&
				!slices.ContainsFunc(x.NoDropOff, nowhere)
		}),
		each(t.Trips, func(x *Trip) bool {
			return in(t.Patterns, x.Pattern) && in(t.Services, x.Service) &&
				(x.Bus == -1 || in(t.Buses, x.Bus)) &&
				in(t.Times, x.Times) && len(t.Times[x.Times]) == 2*len(t.Patterns[x.Pattern].Stops)
		}),
		each(t.Fares, func(x *Fare) bool {
			return maybe(x.Company, x.Route) && 0 <= x.Amount && x.Amount <= MaxAmount
		}),
		each(t.Withheld, func(x *Withheld) bool {
			return maybe(x.Company, x.Route)
		}),
		each(t.RefundRules, func(x *RefundRule) bool {
			return maybe(x.Company, x.Route) && 0 <= x.Percent && x.Percent <= WholePercent
		}),
		each(t.Discounts, func(x *Discount) bool {
			return in(t.Routes, x.Route) && 0 <= x.Percent && x.Percent <= WholePercent
		}),
		each(t.FarePerKm, func(x *FarePerKm) bool {
			return 0 <= x.Micros && x.Micros <= MaxAmount
		}),
	)
}

func in[R any](rows []R, i int32) bool {
	return i >= 0 && int(i) < len(rows)
}

// each returns an error for the first row that is wrong.
func each[R any](rows []R, right func(*R) bool) error {
	for i := range rows {
		if !right(&rows[i]) {
			return fmt.Errorf("row %d of its kind, %+v, does not fit the other tables", i, rows[i])
		}
	}
	return nil
}

// Encode writes the tables and returns the SHA-256 of the text in hex. A line has one member: a table's
// name, and a row.
func (t *Tables) Encode(w io.Writer) (hash string, err error) {
	sum := sha256.New()
	buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	enc := json.NewEncoder(buf)
	for table, rows := range reflect.ValueOf(t).Elem().Fields() {
		for i := range rows.Len() {
			if err := enc.Encode(map[string]any{table.Name: rows.Index(i).Interface()}); err != nil {
				return "", err
			}
		}
	}
	err = buf.Flush()
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

// Decode reads what Encode wrote and checks it against the hash.
func Decode(r io.Reader, hash string) (*Tables, error) {
	sum := sha256.New()
	lines := bufio.NewReaderSize(io.TeeReader(r, sum), 1<<16)
	t := new(Tables)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err = cmp.Or(err, t.add(line)); err != nil {
			return nil, fmt.Errorf("line %d is not a row of a table", n)
		}
	}
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != hash {
		return nil, fmt.Errorf("its SHA-256 is %s, not %s", got, hash)
	}
	return t, nil
}

// add takes in a line.
func (t *Tables) add(line []byte) error {
	name, row, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("}\n")), []byte(`":`))
	rows := reflect.ValueOf(t).Elem().FieldByName(string(bytes.TrimPrefix(name, []byte(`{"`))))
	if !rows.IsValid() {
		return errors.New("there is no such table")
	}
	// The row is read in place, as there may be many.
	n := rows.Len()
	rows.Grow(1)
	rows.SetLen(n + 1)
	return json.Unmarshal(row, rows.Index(n).Addr().Interface())
}
