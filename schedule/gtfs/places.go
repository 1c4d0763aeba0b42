package gtfs

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
)

// zone reads a time zone, which is the same on every machine; it may be blank.
func (f *Feed) zone(r *row, column string) string {
	name := r.get(column)
	if _, tried := f.zones[name]; !tried {
		_, err := time.LoadLocation(name)
		f.zones[name] = err == nil && name != "Local"
	}
	r.check(f.zones[name], column, "is not an IANA time zone")
	return name
}

// stopRow is a row of stops.txt until all are read. Its ids are the feed's; its City is -1 where no area has it.
type stopRow struct {
	schedule.Stop
	zone, country string
	located       bool
	line          int
}

// readStops reads the areas, the stops, and which of these are in which of those.
func (f *Feed) readStops() {
	for r := range f.rows("areas.txt") {
		id, name := r.id("area_id"), r.get("area_name")
		keep(r, &f.out.Cities, schedule.City{
			ID: urlSafe(id), Name: cmp.Or(name, id), Slug: r.get("waybill_slug"),
			Names:   f.names("areas", "area_name", id, name),
			Country: strings.ToUpper(r.get("waybill_country")), Zone: f.zone(r, "waybill_timezone"),
		})
	}
	var stops []stopRow
	for r := range f.rows("stops.txt") {
		id, kind := r.id("stop_id"), r.get("location_type")
		if kind == "2" || kind == "3" {
			continue // an entrance or a node in a station: no bus calls there
		}
		s := stopRow{
			Stop: schedule.Stop{
				ID: id, Parent: r.get("parent_station"), Station: kind == "1", City: -1, FareZone: r.get("zone_id"),
				Place: r.get("stop_name"), Platform: cmp.Or(r.get("waybill_platform"), r.get("platform_code")),
			},
			zone: f.zone(r, "stop_timezone"), country: strings.ToUpper(r.get("waybill_country")),
			located: r.get("stop_lat") != "" || r.get("stop_lon") != "", line: r.line,
		}
		if s.located {
			s.Lat, s.Lon = r.degrees("stop_lat", 90), r.degrees("stop_lon", 180)
		}
		keep(r, &stops, s)
	}
	for r := range f.rows("stop_areas.txt") {
		stop, area := r.ref("stop_id", "stops.txt"), r.ref("area_id", "areas.txt")
		if !r.unused && stops[stop].City < 0 {
			stops[stop].City = area
		}
	}
	if f.err == nil {
		byID := f.ids["stops.txt"]
		f.ids["stops.txt"] = index{}
		for _, s := range stops {
			f.placeStop(s, stops, byID)
		}
	}
}

// placeStop finds a stop's city: its area, else its parent station's city, else a city of its own name (contract §5).
// What a stop leaves out it takes from its station.
func (f *Feed) placeStop(s stopRow, stops []stopRow, byID index) {
	top := &s
	for depth := 0; top.Parent != ""; depth++ {
		i, ok := byID[top.Parent]
		if !ok || depth == 3 {
			reason := fmt.Sprintf("parent_station %q is not in stops.txt, or a part of this stop", top.Parent)
			f.opt.Skip("stops.txt", s.line, reason)
			return
		}
		top = &stops[i]
		if !s.located {
			s.Lat, s.Lon, s.located = top.Lat, top.Lon, top.located
		}
		if s.City < 0 {
			s.City = top.City
		}
		s.Place, s.Station = cmp.Or(s.Place, top.Place), s.Station || top.Station
		s.zone, s.country = cmp.Or(s.zone, top.zone), cmp.Or(s.country, top.country)
	}
	if !s.located {
		f.opt.Skip("stops.txt", s.line, "has no coordinates")
		return
	}
	if s.City < 0 {
		name := cmp.Or(top.Place, top.ID)
		if _, ok := f.cityByName[name]; !ok {
			names := f.names("stops", "stop_name", top.ID, name)
			f.cityByName[name] = add(&f.out.Cities, schedule.City{ID: "~." + urlSafe(name), Name: name, Names: names})
		}
		s.City = f.cityByName[name]
	}
	c := &f.out.Cities[s.City]
	c.Zone, c.Country = cmp.Or(c.Zone, s.zone), cmp.Or(c.Country, s.country)
	id := s.ID
	if s.ID = urlSafe(id); s.Parent != "" {
		s.Parent = urlSafe(s.Parent)
	}
	f.ids["stops.txt"][id] = add(&f.out.Stops, s.Stop)
}

// finishCities gives a city without a zone that of the first company to serve it; and without a country, the zone's.
func (f *Feed) finishCities() {
	for _, p := range f.out.Patterns {
		for _, s := range p.Stops {
			c := &f.out.Cities[f.out.Stops[s].City]
			c.Zone = cmp.Or(c.Zone, f.out.Companies[f.out.Routes[p.Route].Company].Zone)
		}
	}
	country := map[string]string{} // by zone
	for line := range strings.Lines(countries) {
		code, zones, _ := strings.Cut(line, " ")
		for zone := range strings.FieldsSeq(zones) {
			country[zone] = code
		}
	}
	for i := range f.out.Cities {
		c := &f.out.Cities[i]
		c.Zone = cmp.Or(c.Zone, f.out.Companies[0].Zone)
		c.Country = cmp.Or(c.Country, country[c.Zone])
	}
}

// countries lists countries with their zones: all of the interface's 23, their neighbours, and some beyond.
//
//go:embed countries.txt
var countries string

// languageCodes are those of translations.txt, in the order of schedule's languages.
var languageCodes = []string{"uk", "pl", "cs", "en", "ru"}

// translated is a field that translations.txt translates: that of a record, or of each with a value.
type translated struct{ table, field, record, value string }

func (f *Feed) readTranslations() {
	for r := range f.rows("translations.txt") {
		code, _, _ := strings.Cut(strings.ToLower(r.get("language")), "-")
		language := slices.Index(languageCodes, code)
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
