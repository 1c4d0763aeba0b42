package schedule

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Tables are a timetable's rows as an import leaves them. A row names another
// by its index, -1 where it names none. They are written as JSON lines, one
// row a line, so that the timetable in force can be read, searched and compared with plain tools.
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
	Zone           string   `json:"zone"`   // IANA name; the clock of its stop times
}

// OwnSource is the source of what the service sells itself.
const OwnSource = "Service"

// City is what a search is for.
type City struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Slug    string `json:"slug"`
	Country string `json:"country"` // ISO 3166-1 alpha-2
	Zone    string `json:"zone"`
	Names   Names  `json:"names,omitzero"`
}

// Names are translations by [Language]; "" where there is none.
type Names [languages]string

// Language is one of those the schedule can be asked in.
type Language int

// The languages of the interface, in its order.
const (
	UK Language = iota
	PL
	CS
	EN
	RU
	languages
)

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

// DefaultSeats is the capacity of a trip without a bus.
const DefaultSeats = 49

// MaxSeats is the largest capacity of a bus.
const MaxSeats = 1000

// Service is a set of service days.
type Service struct {
	ID    string   `json:"id"`
	First Day      `json:"first"`
	Bits  []uint64 `json:"bits"` // bit i: First+i
}

// Runs tells whether the service runs on the day.
func (s *Service) Runs(d Day) bool {
	i := int(d - s.First)
	return i >= 0 && i>>6 < len(s.Bits) && s.Bits[i>>6]>>(i&63)&1 == 1
}

// Pattern is the order in which trips of a route call at stops.
type Pattern struct {
	Route int32   `json:"route"`
	Stops []int32 `json:"stops"`
	// NoPickup and NoDropOff list positions where one cannot board or alight.
	NoPickup  []int16 `json:"noPickup,omitempty"`
	NoDropOff []int16 `json:"noDropOff,omitempty"`
}

// Times are arrival and departure at each position of a pattern, in turn, in
// seconds after noon minus 12 hours of the service day in the company's zone.
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

// Fare is a price for a ride. Fields that are given must match; the fare with
// most of them wins, then the cheapest.
type Fare struct {
	Company  int32  `json:"company"`
	Route    int32  `json:"route"`
	From     string `json:"from,omitempty"` // fare zones
	To       string `json:"to,omitempty"`
	Currency string `json:"currency"`
	Amount   int64  `json:"amount"` // minor units
}

// RefundRule gives back Percent of the price of a ticket cancelled at least Hours hours before departure.
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

// row is one line of the file: exactly one field is set.
type row struct {
	Company    *Company    `json:"company,omitempty"`
	City       *City       `json:"city,omitempty"`
	Stop       *Stop       `json:"stop,omitempty"`
	Route      *Route      `json:"route,omitempty"`
	Bus        *Bus        `json:"bus,omitempty"`
	Service    *Service    `json:"service,omitempty"`
	Pattern    *Pattern    `json:"pattern,omitempty"`
	Times      Times       `json:"times,omitempty"`
	Trip       *Trip       `json:"trip,omitempty"`
	Fare       *Fare       `json:"fare,omitempty"`
	RefundRule *RefundRule `json:"refundRule,omitempty"`
	Discount   *Discount   `json:"discount,omitempty"`
	Transfer   *Transfer   `json:"transfer,omitempty"`
	FarePerKm  *FarePerKm  `json:"farePerKm,omitempty"`
}

// Encode writes the tables and gives the SHA-256 of what it wrote, in hex.
func (t *Tables) Encode(w io.Writer) (hash string, err error) {
	sum := sha256.New()
	buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	enc := json.NewEncoder(buf)
	put := func(r row) {
		if err == nil {
			err = enc.Encode(r)
		}
	}
	each(t.Companies, func(x *Company) { put(row{Company: x}) })
	each(t.Cities, func(x *City) { put(row{City: x}) })
	each(t.Stops, func(x *Stop) { put(row{Stop: x}) })
	each(t.Routes, func(x *Route) { put(row{Route: x}) })
	each(t.Buses, func(x *Bus) { put(row{Bus: x}) })
	each(t.Services, func(x *Service) { put(row{Service: x}) })
	each(t.Patterns, func(x *Pattern) { put(row{Pattern: x}) })
	each(t.Times, func(x *Times) { put(row{Times: *x}) })
	each(t.Trips, func(x *Trip) { put(row{Trip: x}) })
	each(t.Fares, func(x *Fare) { put(row{Fare: x}) })
	each(t.RefundRules, func(x *RefundRule) { put(row{RefundRule: x}) })
	each(t.Discounts, func(x *Discount) { put(row{Discount: x}) })
	each(t.Transfers, func(x *Transfer) { put(row{Transfer: x}) })
	each(t.FarePerKm, func(x *FarePerKm) { put(row{FarePerKm: x}) })
	if err == nil {
		err = buf.Flush()
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

func each[T any](list []T, f func(*T)) {
	for i := range list {
		f(&list[i])
	}
}

// Decode reads what Encode wrote and checks it against the hash.
func Decode(r io.Reader, hash string) (*Tables, error) {
	sum := sha256.New()
	dec := json.NewDecoder(bufio.NewReaderSize(io.TeeReader(r, sum), 1<<16))
	t := new(Tables)
	for line := 1; ; line++ {
		var x row
		if err := dec.Decode(&x); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("schedule: timetable: line %d: %w", line, err)
		}
		t.add(&x)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != hash {
		return nil, fmt.Errorf("schedule: timetable: its SHA-256 is %s, not %s", got, hash)
	}
	return t, nil
}

func (t *Tables) add(x *row) {
	keep(&t.Companies, x.Company)
	keep(&t.Cities, x.City)
	keep(&t.Stops, x.Stop)
	keep(&t.Routes, x.Route)
	keep(&t.Buses, x.Bus)
	keep(&t.Services, x.Service)
	keep(&t.Patterns, x.Pattern)
	if x.Times != nil {
		t.Times = append(t.Times, x.Times)
	}
	keep(&t.Trips, x.Trip)
	keep(&t.Fares, x.Fare)
	keep(&t.RefundRules, x.RefundRule)
	keep(&t.Discounts, x.Discount)
	keep(&t.Transfers, x.Transfer)
	keep(&t.FarePerKm, x.FarePerKm)
}

func keep[T any](list *[]T, x *T) {
	if x != nil {
		*list = append(*list, *x)
	}
}
