package gtfs_test

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/schedule"
	"waybill/schedule/gtfs"
)

const stopHeader = "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,stop_timezone,waybill_country,platform_code,waybill_platform\n"

// TestCityOfStop: its area, else its parent station, else its own name.
func TestCityOfStop(t *testing.T) {
	// Children come before their parents: a row may name later ones.
	f := plain().with("stops.txt", stopHeader+
		"a,Alfa,50,30,,,,,,\n"+
		"b1,Platform 1,,,4,bs,,,1,1A\nbs,Bravo Platforms,50,31,0,b,,,,\nb,Bravo,50.5,31.5,1,,,,,\n"+
		"c,Charlie,50,32,0,cs,,,7,\ncs,Charlie Station,50,32,1,,,,,\n"+
		"d,Delta,50,33,0,ds,,,,\nds,Delta Station,50,33,1,,,,,\n"+
		"e1,Echo,50,34,,,,,,\ne2,Echo,50,34.1,,,,,,\n"+
		"n,,50,35,,,,,,\n"+
		"door,Door,50,31,2,b,,,,\nnode,,,,3,b,,,,\n").
		with("areas.txt", "area_id,area_name\nx,Xray\ny,Yankee\nz,\n").
		with("stop_areas.txt", "area_id,stop_id\nx,c\ny,ds\nx,d\ny,c\nz,e2\n")
	x := clean(t, f)
	for stop, want := range map[string]string{"a": "Alfa", "b": "Bravo", "bs": "Bravo", "b1": "Bravo",
		"c": "Xray", "cs": "Charlie Station",
		"d": "Xray", "ds": "Yankee", "e1": "Echo", "e2": "z", "n": "n"} {
		if got := x.cityOf(t, stop).Name; got != want {
			t.Errorf("stop %s is in %q, want %q", stop, got, want)
		}
	}
	for stop, want := range map[string]bool{
		"a":  false,
		"b":  true,
		"bs": true,
		"b1": true,
		"c":  true,
		"e1": false,
	} {
		if s, _ := x.stop(stop); s.Station != want {
			t.Errorf("stop %s: station is %v, want %v", stop, s.Station, want)
		}
	}
	b1, _ := x.stop("b1")
	if b1.Platform != "1A" || b1.Parent != "bs" || b1.Lat != 50 || b1.Lon != 31 || b1.Place != "Platform 1" {
		t.Errorf("a boarding area does not take what it leaves out from its platform: %+v", b1)
	}
	if c, _ := x.stop("c"); c.Platform != "7" {
		t.Errorf("platform_code is not taken: %+v", c)
	}
	for _, id := range []string{"door", "node"} {
		if _, ok := x.stop(id); ok {
			t.Errorf("%s is a stop, but no bus calls there", id)
		}
	}
}

// TestParents: a stop whose parent is not there stands alone; one in a circle of parents is refused.
func TestParents(t *testing.T) {
	f := plain().with("stops.txt", stopHeader+"a,Alfa,50,30,,,,,,\n"+
		"b,Bravo,50,31,,,,,,\n"+
		"c,Charlie,50,32,,,,,,\n"+
		"d,Delta,50,33,,gone,,,,\n"+
		"e,Echo,50,34,,e,,,,\n"+
		"g,Golf,50,35,,h,,,,\n"+
		"h,Hotel,50,36,,g,,,,\n"+
		"i,India,,,1,,,,,\n")
	x := load(t, f.fs(), gtfs.Options{})
	wantSkipped(t, x.skipped, "stops.txt:6: ", "stops.txt:7: ", "stops.txt:8: ", "stops.txt:9: ")
	if s, ok := x.stop("d"); !ok || x.Cities[s.City].Name != "Delta" {
		t.Errorf("the stop whose parent is not there is %v", s)
	}
	alone := "stops whose parent_station is no usable row, which stand alone: 1, first at stops.txt:5"
	if said := decisions(t, f); !slices.Contains(said, alone) {
		t.Errorf("the import does not say %q: %q", alone, said)
	}
}

// wantSkipped compares where rows were skipped, and wants a reason for each.
func wantSkipped(t testing.TB, got []string, want ...string) {
	t.Helper()
	var places []string
	for _, s := range got {
		file, rest, _ := strings.Cut(s, ":")
		line, reason, _ := strings.Cut(rest, ": ")
		places = append(places, file+":"+line+": ")
		if reason == "" || strings.ContainsAny(reason, "\n\r") {
			t.Errorf("no reason, or one of several lines: %q", s)
		}
	}
	slices.Sort(places)
	slices.Sort(want)
	if slices.Equal(places, want) {
		return
	}
	for _, s := range got {
		if !slices.ContainsFunc(want, func(p string) bool { return strings.HasPrefix(s, p) }) {
			t.Errorf("skipped, but usable: %s", s)
		}
	}
	for _, p := range want {
		if !slices.Contains(places, p) {
			t.Errorf("not skipped: %s", p)
		}
	}
	t.Errorf("%d rows skipped, want %d", len(places), len(want))
}

// TestZonesAndCountries: waybill_timezone, else stop_timezone, else the agency's;
// waybill_country, else from the zone.
func TestZonesAndCountries(t *testing.T) {
	f := plain().with("stops.txt", stopHeader+"a,Alfa,50,30,,,,,,\n"+
		"b,Bravo,50,31,,,Europe/Prague,,,\n"+
		"c,Charlie,50,32,,,Europe/Prague,sk,,\n"+
		"d,Delta,50,33,0,ds,,,,\n"+
		"ds,Delta Station,50,33,1,,Europe/Chisinau,,,\n"+
		"e,Echo,50,34,,,Europe/Prague,DE,,\n"+
		"f,Foxtrot,50,35,,,Etc/GMT+3,,,\n"+
		"g,Golf,50,36,,,,,,\nh,Hotel,50,36,,,,,,\n").
		with("areas.txt", "area_id,area_name,waybill_country,waybill_timezone\n"+
			"x,Xray,,Europe/Istanbul\n"+
			"y,Yankee,PL,\n"+
			"z,Zulu,GR,Europe/Rome\n").
		with("stop_areas.txt", "area_id,stop_id\nx,e\ny,b\nz,c\n").
		plus("agency.txt", "wa,Warsaw Lines,https://wa.example,Europe/Warsaw").plus("routes.txt",
		"q,wa,8,Warsaw Line,3").plus("trips.txt", "q,daily,u").
		plus("stop_times.txt", "u,08:00:00,08:00:00,g,1", "u,09:00:00,09:00:00,a,2")
	x := clean(t, f)
	for stop, want := range map[string][2]string{
		"a": {"Europe/Kyiv", "UA"},
		"b": {"Europe/Prague", "PL"},
		"c": {"Europe/Rome", "GR"},
		"d": {"Europe/Chisinau", "MD"},
		"e": {"Europe/Istanbul", "DE"},
		"f": {"Etc/GMT+3", ""},
		"g": {"Europe/Warsaw", "PL"},
		"h": {"Europe/Kyiv", "UA"},
	} {
		if c := x.cityOf(t, stop); c.Zone != want[0] || c.Country != want[1] {
			t.Errorf("stop %s is in zone %q, country %q, want %q", stop, c.Zone, c.Country, want)
		}
	}
}

// TestCountries knows the zones of all countries of the interface.
func TestCountries(t *testing.T) {
	for zone, want := range map[string]string{
		"Europe/Kyiv":       "UA",
		"Europe/Kiev":       "UA",
		"Europe/Uzhgorod":   "UA",
		"Europe/Istanbul":   "TR",
		"Europe/Warsaw":     "PL",
		"Europe/Prague":     "CZ",
		"Europe/Rome":       "IT",
		"Europe/Berlin":     "DE",
		"Europe/Bratislava": "SK",
		"Europe/Budapest":   "HU",
		"Europe/Brussels":   "BE",
		"Europe/Amsterdam":  "NL",
		"Europe/Bucharest":  "RO",
		"Europe/Sofia":      "BG",
		"Europe/Paris":      "FR",
		"Europe/Vienna":     "AT",
		"Europe/Vilnius":    "LT",
		"Europe/Riga":       "LV",
		"Europe/Tallinn":    "EE",
		"Europe/Madrid":     "ES",
		"Europe/Luxembourg": "LU",
		"Europe/Zurich":     "CH",
		"Europe/Athens":     "GR",
		"Europe/Chisinau":   "MD",
		"Europe/Ljubljana":  "SI",
	} {
		f := plain()
		got := clean(t, f.with("agency.txt",
			strings.Replace(f["agency.txt"], "Europe/Kyiv", zone, 1))).Cities[0].Country
		if got != want {
			t.Errorf("the country of %s is %q, want %q", zone, got, want)
		}
	}
}

// TestTranslations: record_id goes before field_value, for cities of either kind and for routes.
func TestTranslations(t *testing.T) {
	f := plain().with("areas.txt", "area_id,area_name\nx,Xray\n").with("stop_areas.txt",
		"area_id,stop_id\nx,c\n").
		plus("routes.txt", "q,ag,,,3", "s,ag,55,,3").plus("trips.txt", "q,daily,u", "s,daily,v").
		plus("stop_times.txt", "u,08:00:00,08:00:00,a,1", "u,09:00:00,09:00:00,c,2",
			"v,08:00:00,08:00:00,b,1", "v,09:00:00,09:00:00,c,2").
		with("translations.txt",
			"table_name,field_name,language,translation,record_id,record_sub_id,field_value\n"+
				"areas,area_name,uk,Ікс (значення),,,Xray\n"+
				"areas,area_name,pl,Iks (wartość),,,Xray\n"+
				"areas,area_name,uk,Ікс,x,,\n"+
				"stops,stop_name,en,Alpha,a,,\n"+
				"stops,stop_name,EN,Alpha by value,,,Alfa\n"+
				"stops,stop_name,cs-CZ,Álfa,a,,\n"+
				"stops,stop_name,de,Alfa auf Deutsch,a,,\n"+
				"stops,stop_desc,ru,Не имя,a,,\nagency,agency_name,uk,Не місто,a,,\n"+
				"routes,route_long_name,pl,Linia Alfa,r,,\n"+
				"routes,route_short_name,ru,Семь,r,,\n"+
				"routes,route_short_name,ru,Линия 55,,,55\n")
	x := clean(t, f)
	for _, c := range []struct {
		stop string
		want schedule.Names
	}{{"a", schedule.Names{"", "", "Álfa", "Alpha", ""}},
		{"c", schedule.Names{"Ікс", "Iks (wartość)", "", "", ""}}, {"b", schedule.Names{}}} {
		if got := x.cityOf(t, c.stop).Names; got != c.want {
			t.Errorf("stop %s: %q, want %q", c.stop, got, c.want)
		}
	}
	for _, c := range []struct {
		trip string
		lang schedule.Language
		want string
	}{
		{"t", schedule.Untranslated, "Alfa Line"},
		{"t", schedule.PL, "Linia Alfa"},
		{"t", schedule.RU, "Alfa Line"},
		{"u", schedule.Untranslated, "Alfa – Xray"},
		{"u", schedule.UK, "Alfa – Ікс"},
		{"u", schedule.EN, "Alpha – Xray"},
		{"u", schedule.CS, "Álfa – Xray"},
		{"v", schedule.Untranslated, "55"},
		{"v", schedule.RU, "Линия 55"},
		{"v", schedule.UK, "55"},
	} {
		i, _ := x.TripByID(c.trip)
		if got := x.RouteName(i, c.lang); got != c.want {
			t.Errorf("the route of %s in language %d is %q, want %q", c.trip, c.lang, got, c.want)
		}
	}
	for name, want := range map[string]string{
		"ікс":     "Xray",
		"ALPHA":   "Alfa",
		"alf":     "Alfa",
		"iks":     "Xray",
		"ray":     "Xray",
		"wartosc": "Xray",
	} {
		if list := x.FindCities(name, ""); len(list) != 1 || x.Cities[list[0]].Name != want {
			t.Errorf("the name %q finds %d cities, want %s", name, len(list), want)
		}
	}
}

var urlSafe = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// TestIDs: ids of what a feed brings are URL-safe, and no two are the same.
func TestIDs(t *testing.T) {
	raw := []string{"plain", "~", "~plain", "~n", "~nplain", ".", "..", "...", "a b", "a%20b", "a/b", "a+b",
		"a?b", "#", "Київ", "Kyїv", "ё", "e", "é", "日本", "%", "\u00a0x", "A",
		"~" + base64.RawURLEncoding.EncodeToString([]byte("a b")), "~~", "a~b", "-", "_",
		strings.Repeat("x", 300), "'", "&", "\\", ":", ";", "a.b", "n/a", "NULL", "0"}
	f := plain()
	for _, id := range raw {
		f = f.plus("agency.txt", id+",X,https://x.example,Europe/Kyiv").plus("routes.txt",
			id+",ag,,N,3").plus("trips.txt", id+",daily,"+id).
			plus("stops.txt", id+","+id+",50,30").plus("stop_times.txt", id+",08:00:00,08:00:00,"+id+",1",
			id+",09:00:00,09:00:00,b,2")
	}
	f = f.with("areas.txt", "area_id,area_name\n"+strings.Join(raw, ",N\n")+",N\n")
	x := clean(t, f)
	ids := map[string][]string{}
	for _, c := range x.Companies {
		ids["company"] = append(ids["company"], c.ID)
	}
	for _, c := range x.Cities {
		ids["city"] = append(ids["city"], c.ID)
		ids["slug"] = append(ids["slug"], c.Slug)
	}
	for _, c := range x.Stops {
		ids["stop"] = append(ids["stop"], c.ID)
	}
	for _, c := range x.Routes {
		ids["route"] = append(ids["route"], c.ID)
		ids["route slug"] = append(ids["route slug"], c.Slug)
	}
	for _, c := range x.Trips {
		ids["trip"] = append(ids["trip"], c.ID)
	}
	for kind, list := range ids {
		if len(list) < len(raw) {
			t.Errorf("%d ids of kind %s, want %d", len(list), kind, len(raw))
		}
		slices.Sort(list)
		if n := len(slices.Compact(slices.Clone(list))); n != len(list) {
			t.Errorf("%d ids of kind %s, but only %d different ones: %q", len(list), kind, n, list)
		}
		for _, id := range list {
			if !urlSafe.MatchString(id) || strings.Trim(id, ".") == "" {
				t.Errorf("%s %q is not URL-safe", kind, id)
			}
		}
	}
	for _, id := range []string{"plain", "A", "a.b", "-", "_", "0", "NULL"} {
		if _, ok := x.stop(id); !ok {
			t.Errorf("stop id %q is URL-safe but is not kept as it is", id)
		}
	}
}

// TestUnnamedAgency: an agency without an id is none of those that have one.
func TestUnnamedAgency(t *testing.T) {
	x := load(t, plain().plus("agency.txt", ",Nameless,https://x.example,Europe/Kyiv",
		"agency,Agency,https://y.example,Europe/Kyiv").fs(), gtfs.Options{})
	seen := map[string]bool{}
	for _, c := range x.Companies {
		if seen[c.ID] {
			t.Errorf("two companies have the id %q", c.ID)
		}
		seen[c.ID] = true
	}
}
