package schedule_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/schedule"
)

// everything is a timetable in which every field of every table is set.
func everything(t testing.TB) *schedule.Tables {
	x := &schedule.Tables{
		Companies: []schedule.Company{{
			ID:             "co",
			Name:           "Co <&>\u2028",
			Slug:           "co",
			CEO:            "C",
			PartnerCompany: "P",
			LogoURL:        "l",
			Email:          "e",
			Website:        "w",
			Rules:          "line\n\"two\"",
			Socials:        []string{"a", "b"},
			Tier:           "PRO",
			Source:         "Elsewhere",
			Zone:           "Europe/Kyiv",
		}},
		Cities: []schedule.City{{
			ID:      "a",
			Name:    "Київ",
			Slug:    "a",
			Country: "UA",
			Zone:    "Europe/Kyiv",
			Names:   schedule.Names{"u", "p", "c", "e", "r"},
		},
			{ID: "b", Name: "B", Slug: "b", Country: "PL", Zone: "Europe/Warsaw"}},
		Stops: []schedule.Stop{{
			ID:       "s0",
			Place:    "P0",
			Platform: "1",
			Lat:      50.1,
			Lon:      -0.1,
			City:     0,
			Station:  true,
			Parent:   "s1",
			FareZone: "z",
		}, {ID: "s1", Lat: 1e-7, Lon: 179.99999999, City: 1}},
		Routes: []schedule.Route{{
			ID:          "r",
			Company:     0,
			Name:        "R",
			Names:       schedule.Names{1: "p"},
			Slug:        "r",
			Description: "d",
			Services:    []schedule.Amenity{{ID: "wifi", Name: "Wi-Fi"}},
		},
			{ID: "q", Company: 0, Slug: "q"}},
		Buses: []schedule.Bus{{
			ID:           "b",
			Company:      -1,
			Seats:        20,
			Registration: "X",
			Brand:        "B",
			Model:        "M",
			Images:       []string{"i"},
			FMSObject:    "f",
			Geolocation:  true,
		}},
		Services: []schedule.Service{daily(day(t, "2026-01-01"), 365), {ID: "never"}, {
			ID:    "all",
			First: day(t, "2026-01-01"),
			Bits:  []uint64{1<<64 - 1, 1 << 63},
		}},
		Patterns: []schedule.Pattern{{
			Route:     0,
			Stops:     []int32{0, 1, 0, 1},
			NoPickup:  []int16{1},
			NoDropOff: []int16{2},
		}, {Route: 1, Stops: []int32{1, 0}}},
		Times: []schedule.Times{{0, 60, 3600, 3660, 7200, 7260, 10800, 10800}, {100, 100, 4000, 4000}},
		Trips: []schedule.Trip{{
			ID:      "t",
			Pattern: 0,
			Service: 0,
			Times:   0,
			Shift:   -1800,
			Bus:     0,
			Name:    "N",
			Phones:  []string{"1"},
		}, {ID: "u", Pattern: 1, Service: 0, Times: 1, Bus: -1}},
		Fares: []schedule.Fare{{
			Company:  0,
			Route:    0,
			From:     "z",
			To:       "y",
			Currency: "EUR",
			Amount:   1 << 39,
		}, {Company: -1, Route: -1, Currency: "UAH"}},
		RefundRules: []schedule.RefundRule{{ID: "x", Company: 0, Route: -1, Hours: 24, Percent: 9950}},
		Discounts: []schedule.Discount{{
			ID:          "d",
			Route:       0,
			Name:        "D",
			Description: "E",
			Percent:     1250,
			First:       day(t, "2026-01-01"),
			Last:        day(t, "2026-12-31"),
		}},
		Transfers: []schedule.Transfer{{From: "s0", To: "s1", Seconds: 60, Forbidden: true}},
		FarePerKm: []schedule.FarePerKm{{Currency: "EUR", Micros: 60000}},
	}
	return x
}

// TestEncode: what is encoded is read as it was, and refused with any byte changed.
func TestEncode(t *testing.T) {
	tables := []*schedule.Tables{everything(t), {}, demo(t)}
	for i, x := range tables {
		var text bytes.Buffer
		hash, err := x.Encode(&text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := schedule.Decode(bytes.NewReader(text.Bytes()), hash)
		if err != nil || !reflect.DeepEqual(again, x) {
			t.Errorf("tables %d: decoded, they are others (%v)", i, err)
		}
		var second bytes.Buffer
		if h, err := again.Encode(&second); err != nil || h != hash ||
			!bytes.Equal(second.Bytes(), text.Bytes()) {
			t.Errorf("tables %d: encoded again, they are others (%v)", i, err)
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		if text.Len() > 0 &&
			slices.ContainsFunc(lines, func(l string) bool {
				return !strings.HasPrefix(l, "{") || !strings.HasSuffix(l, "}")
			}) {
			t.Errorf("tables %d: not one row a line", i)
		}
	}
	var text bytes.Buffer
	hash, _ := tables[0].Encode(&text)
	for i := range text.Len() {
		changed := bytes.Clone(text.Bytes())
		changed[i] ^= []byte{1, 0x20, 0x80}[i%3]
		if _, err := schedule.Decode(bytes.NewReader(changed), hash); err == nil {
			t.Errorf("byte %d changed to %q: taken", i, changed[i])
		}
		if i%10 > 0 {
			continue
		}
		if _, err := schedule.Decode(bytes.NewReader(text.Bytes()[:i]), hash); err == nil {
			t.Errorf("the first %d bytes: taken", i)
		}
	}
	for _, more := range []string{" ", "\n", "{}", "x", "\x00"} {
		if _, err := schedule.Decode(strings.NewReader(text.String()+more), hash); err == nil {
			t.Errorf("with %q at the end: taken", more)
		}
	}
}

// TestBadTables refuses tables in which a row names one that is not there.
func TestBadTables(t *testing.T) {
	for name, change := range map[string]func(x *schedule.Tables){
		"zone of a company":  func(x *schedule.Tables) { x.Companies[0].Zone = "Nowhere/City" },
		"zone of a city":     func(x *schedule.Tables) { x.Cities[0].Zone = "" },
		"local zone":         func(x *schedule.Tables) { x.Cities[0].Zone = "Local" },
		"city of a stop":     func(x *schedule.Tables) { x.Stops[0].City = 2 },
		"no city of a stop":  func(x *schedule.Tables) { x.Stops[0].City = -1 },
		"company of a route": func(x *schedule.Tables) { x.Routes[0].Company = 1 },
		"route of a pattern": func(x *schedule.Tables) { x.Patterns[0].Route = 2 },
		"stop of a pattern":  func(x *schedule.Tables) { x.Patterns[0].Stops = []int32{0, 2, 0, 1} },
		"one stop": func(x *schedule.Tables) {
			x.Patterns[0].Stops = []int32{0}
			x.Times[0] = schedule.Times{0, 0}
		},
		"too many stops":          func(x *schedule.Tables) { x.Patterns[0].Stops = make([]int32, schedule.MaxStops+1) },
		"position":                func(x *schedule.Tables) { x.Patterns[0].NoPickup = []int16{4} },
		"negative position":       func(x *schedule.Tables) { x.Patterns[0].NoDropOff = []int16{-1} },
		"pattern of a trip":       func(x *schedule.Tables) { x.Trips[0].Pattern = 2 },
		"service of a trip":       func(x *schedule.Tables) { x.Trips[0].Service = 3 },
		"times of a trip":         func(x *schedule.Tables) { x.Trips[0].Times = -1 },
		"times of another length": func(x *schedule.Tables) { x.Trips[0].Times = 1 },
		"bus of a trip":           func(x *schedule.Tables) { x.Trips[0].Bus = 1 },
		"bus below none":          func(x *schedule.Tables) { x.Trips[0].Bus = -2 },
		"company of a fare":       func(x *schedule.Tables) { x.Fares[0].Company = 1 },
		"route of a fare":         func(x *schedule.Tables) { x.Fares[0].Route = 2 },
		"route of a rule":         func(x *schedule.Tables) { x.RefundRules[0].Route = 2 },
		"company of a rule":       func(x *schedule.Tables) { x.RefundRules[0].Company = 7 },
		"route of a discount":     func(x *schedule.Tables) { x.Discounts[0].Route = -1 },
		"day before 1970":         func(x *schedule.Tables) { x.Services[0].First = -1 },
		"day that no year has":    func(x *schedule.Tables) { x.Services[0].First = math.MaxInt32 },
		"day after 2199":          func(x *schedule.Tables) { x.Services[0].First = 84_006 },
		"later day after 2199":    func(x *schedule.Tables) { x.Services[0].Bits = make([]uint64, 1314) },
		"seats below 0":           func(x *schedule.Tables) { x.Buses[0].Seats = -1 },
		"seats above the limit":   func(x *schedule.Tables) { x.Buses[0].Seats = schedule.MaxSeats + 1 },
		"fare below 0":            func(x *schedule.Tables) { x.Fares[0].Amount = -1 },
		"fare above the limit":    func(x *schedule.Tables) { x.Fares[0].Amount = schedule.MaxAmount + 1 },
		"refund of more":          func(x *schedule.Tables) { x.RefundRules[0].Percent = 100_01 },
		"refund below 0":          func(x *schedule.Tables) { x.RefundRules[0].Percent = -1 },
		"discount of more":        func(x *schedule.Tables) { x.Discounts[0].Percent = 100_01 },
		"rate above the limit":    func(x *schedule.Tables) { x.FarePerKm[0].Micros = schedule.MaxAmount + 1 },
	} {
		x := everything(t)
		change(x)
		if _, err := schedule.New(x); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	timetable(t, everything(t))
}

var formKey = regexp.MustCompile(`^[A-Za-z0-9_-]{16}$`)

// TestForm keeps a form and its key, the same for each day and each time it is asked for.
func TestForm(t *testing.T) {
	for _, x := range []*schedule.Tables{everything(t), demo(t)} {
		tt := timetable(t, x)
		other := timetable(t, x)
		keys := map[string]string{}
		for i := range tt.Trips {
			f := tt.Form(int32(i))
			again, err := schedule.DecodeForm(f.Encode())
			if err != nil || !reflect.DeepEqual(again, f) || again.Key() != f.Key() ||
				other.Form(int32(i)).Key() != f.Key() || tt.Form(int32(i)) != f {
				t.Errorf("trip %s: decoded or made again, the form is another (%v):\n%s\n%s", f.Trip, err,
					f.Encode(), again.Encode())
			}
			if !formKey.MatchString(f.Key()) || keys[f.Key()] != "" {
				t.Errorf("trips %s and %q have the key %q", f.Trip, keys[f.Key()], f.Key())
			}
			keys[f.Key()] = f.Trip
		}
	}
	for _, text := range []string{"", "{}", "null", "[]", `{"trip":"t"}`, `{"stops":[{}]}`,
		`{"stops":[{},{}]`, `{"stops":"x"}`, `{"stops":[{},{}],"bus":{"seats":1025}}`,
		`{"stops":[{},{}],"bus":{"seats":-1}}`} {
		if f, err := schedule.DecodeForm([]byte(text)); err == nil {
			t.Errorf("%q is taken as a form: %+v", text, f)
		}
	}
}

// TestFormKeys: a form is named by what a ticket shows and refunds by, and by nothing else.
func TestFormKeys(t *testing.T) {
	base := timetable(t, everything(t)).Form(0).Key()
	same := map[string]func(x *schedule.Tables){
		"another trip":       func(x *schedule.Tables) { x.Trips[1].Name = "Other" },
		"other days":         func(x *schedule.Tables) { x.Trips[0].Service = 2 },
		"another fare":       func(x *schedule.Tables) { x.Fares[0].Amount++ },
		"a shift in times":   func(x *schedule.Tables) { x.Trips[0].Shift = 0; shift(x.Times[0], -1800) },
		"a translation":      func(x *schedule.Tables) { x.Cities[0].Names[0] = "other" },
		"a new city above":   newCity,
		"a new route above":  newRoute,
		"a new agency above": newCompany,
	}
	for name, change := range same {
		x := everything(t)
		change(x)
		if key := timetable(t, x).Form(0).Key(); key != base {
			t.Errorf("%s gives the form another key, but shows nothing else", name)
		}
	}
	for name, change := range map[string]func(x *schedule.Tables){
		"name":     func(x *schedule.Tables) { x.Trips[0].Name = "Other" },
		"times":    func(x *schedule.Tables) { x.Times[0][1]++ },
		"shift":    func(x *schedule.Tables) { x.Trips[0].Shift++ },
		"stop":     func(x *schedule.Tables) { x.Stops[0].Platform = "2" },
		"city":     func(x *schedule.Tables) { x.Cities[1].Name = "Other" },
		"company":  func(x *schedule.Tables) { x.Companies[0].Rules = "Other" },
		"route":    func(x *schedule.Tables) { x.Routes[0].Description = "Other" },
		"bus":      func(x *schedule.Tables) { x.Buses[0].Seats++ },
		"no bus":   func(x *schedule.Tables) { x.Trips[0].Bus = -1 },
		"rule":     func(x *schedule.Tables) { x.RefundRules[0].Hours++ },
		"discount": func(x *schedule.Tables) { x.Discounts[0].Percent++ },
		"phones":   func(x *schedule.Tables) { x.Trips[0].Phones = nil },
	} {
		x := everything(t)
		change(x)
		if key := timetable(t, x).Form(0).Key(); key == base {
			t.Errorf("another %s does not give the form another key", name)
		}
	}
}

func shift(times schedule.Times, by int32) {
	for i := range times {
		times[i] += by
	}
}

// newCity, newRoute and newCompany put a row above the others, as a later feed may do.
func newCity(x *schedule.Tables) {
	x.Cities = slices.Insert(x.Cities, 0, schedule.City{ID: "new", Name: "New", Slug: "new", Zone: "UTC"})
	for i := range x.Stops {
		x.Stops[i].City++
	}
}

func newRoute(x *schedule.Tables) {
	x.Routes = slices.Insert(x.Routes, 0, schedule.Route{ID: "new", Slug: "new"})
	for i := range x.Patterns {
		x.Patterns[i].Route++
	}
	x.Fares[0].Route++
	x.Discounts[0].Route++
}

func newCompany(x *schedule.Tables) {
	x.Companies = slices.Insert(x.Companies, 0, schedule.Company{ID: "new", Slug: "new", Zone: "UTC"})
	for i := range x.Routes {
		x.Routes[i].Company++
	}
	x.Fares[0].Company++
	x.RefundRules[0].Company++
}

// TestResolve finds a ride again while it runs as it did, whatever else has changed, and not otherwise.
func TestResolve(t *testing.T) {
	before := timetable(t, everything(t))
	on := day(t, "2026-06-01")
	l := rideOn(before, 0, on, 0, 3)
	ref := before.Ref(l)
	for name, change := range map[string]func(x *schedule.Tables){
		"nothing":            func(*schedule.Tables) {},
		"a new city above":   newCity,
		"a new route above":  newRoute,
		"a new agency above": newCompany,
		"the order of trips": func(x *schedule.Tables) { slices.Reverse(x.Trips) },
		"times in between":   func(x *schedule.Tables) { x.Times[0][3]++ },
		"the bus":            func(x *schedule.Tables) { x.Trips[0].Bus = -1 },
		"a fare":             func(x *schedule.Tables) { x.Fares = nil },
		"another day":        func(x *schedule.Tables) { x.Services[0].Bits[0] = 0 },
	} {
		x := everything(t)
		change(x)
		tt := timetable(t, x)
		got, ok := tt.Resolve(ref)
		if !ok || got.Dep != l.Dep || got.Arr != l.Arr || got.Day != on || tt.Trips[got.Trip].ID != "t" ||
			tt.Boarding(&got).ID != "s0" || tt.Alighting(&got).ID != "s1" {
			t.Errorf("%s has changed: the ride is %+v, %v, want %+v", name, got, ok, *l)
		}
	}
	for name, change := range map[string]func(x *schedule.Tables){
		"departure":      func(x *schedule.Tables) { x.Times[0][1]++ },
		"arrival":        func(x *schedule.Tables) { x.Times[0][6]++ },
		"shift":          func(x *schedule.Tables) { x.Trips[0].Shift++ },
		"day":            func(x *schedule.Tables) { x.Services[0].Bits[(on-x.Services[0].First)/64] = 0 },
		"boarding stop":  func(x *schedule.Tables) { x.Stops[0].ID = "other" },
		"alighting stop": func(x *schedule.Tables) { x.Stops[1].ID = "other" },
		"trip":           func(x *schedule.Tables) { x.Trips[0].ID = "other" },
		"number of stops": func(x *schedule.Tables) {
			x.Patterns[0].Stops = x.Patterns[0].Stops[:3]
			x.Times[0] = x.Times[0][:6]
		},
		"zone":            func(x *schedule.Tables) { x.Companies[0].Zone = "Europe/Warsaw" },
		"discount's size": func(x *schedule.Tables) { x.Discounts[0].Percent++ },
		"discount":        func(x *schedule.Tables) { x.Discounts[0].ID = "other" },
		// it leaves on the evening of the day before
		"last day": func(x *schedule.Tables) { x.Discounts[0].Last = on - 2 },
	} {
		x := everything(t)
		change(x)
		if got, ok := timetable(t, x).Resolve(ref); ok {
			t.Errorf("the %s has changed, but the ride resolves to %+v", name, got)
		}
	}
	for i, change := range []func(r *schedule.LegRef){
		func(r *schedule.LegRef) {
			r.Trip++
		}, func(r *schedule.LegRef) {
			r.Day++
		}, func(r *schedule.LegRef) {
			r.Day = 1<<31 - 1
		}, func(r *schedule.LegRef) { r.Day = -1 << 31 }, func(r *schedule.LegRef) { r.From = -1 },
		func(r *schedule.LegRef) {
			r.From = r.To
		}, func(r *schedule.LegRef) {
			r.From, r.To = r.To, r.From
		}, func(r *schedule.LegRef) { r.To = 4 }, func(r *schedule.LegRef) { r.To = 1<<15 - 1 },
		func(r *schedule.LegRef) {
			r.From = 2
		}, func(r *schedule.LegRef) { r.To = 1 }, func(r *schedule.LegRef) { r.Print++ },
	} {
		r := ref
		change(&r)
		if got, ok := before.Resolve(r); ok {
			t.Errorf("reference %d, %s, resolves to %+v", i, fmt.Sprintf("%+v", r), got)
		}
	}
}
