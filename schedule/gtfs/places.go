package gtfs

import (
	"cmp"
	"slices"
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

func (f *Feed) readAreas() {
	for r := range f.rows("areas.txt") {
		id, name := r.id("area_id", f.areas), r.get("area_name")
		zone := f.zone(r, "waybill_timezone")
		if r.unused {
			continue
		}
		f.areas[id] = add(&f.out.Cities, schedule.City{
			ID: urlSafe(id), Name: cmp.Or(name, id), Names: f.names("areas", "area_name", id, name),
			Slug: r.get("waybill_slug"), Country: strings.ToUpper(r.get("waybill_country")), Zone: zone,
		})
	}
}

// stopRow is a row of stops.txt until all are read: rows may name later ones.
type stopRow struct {
	schedule.Stop        // City is −1 where no area has the stop
	id, parent    string // as the feed has them
	zone, country string
	located       bool
	line          int
}

func (f *Feed) readStops() {
	var stops []stopRow
	byID := index{}
	for r := range f.rows("stops.txt") {
		id, kind := r.id("stop_id", byID), r.get("location_type")
		if kind == "2" || kind == "3" {
			continue // an entrance or a node in a station: no bus calls there
		}
		s := stopRow{
			Stop: schedule.Stop{
				ID: urlSafe(id), Place: r.get("stop_name"), Platform: cmp.Or(r.get("waybill_platform"), r.get("platform_code")),
				City: -1, Station: kind == "1", FareZone: r.get("zone_id"),
			},
			id: id, parent: r.get("parent_station"), zone: f.zone(r, "stop_timezone"), country: strings.ToUpper(r.get("waybill_country")),
			located: r.get("stop_lat") != "" || r.get("stop_lon") != "", line: r.line,
		}
		if s.located {
			s.Lat, s.Lon = r.degrees("stop_lat", 90), r.degrees("stop_lon", 180)
		}
		if !r.unused {
			byID[id] = add(&stops, s)
		}
	}
	for r := range f.rows("stop_areas.txt") {
		stop := r.ref("stop_id", byID, "stops.txt")
		area := r.ref("area_id", f.areas, "areas.txt")
		if !r.unused && stops[stop].City < 0 {
			stops[stop].City = area
		}
	}
	if f.err == nil {
		for _, s := range stops {
			f.placeStop(s, stops, byID)
		}
	}
}

// placeStop finds a stop's city: its area, else its parent station's city,
// else a city of its own name (contract §5). What a stop leaves out it takes from its station.
func (f *Feed) placeStop(s stopRow, stops []stopRow, byID index) {
	top := &s
	for depth := 0; top.parent != ""; depth++ {
		i, ok := byID[top.parent]
		if !ok || depth == 3 {
			f.skip("stops.txt", s.line, "parent_station %q is not in stops.txt, or a part of this stop", top.parent)
			return
		}
		top = &stops[i]
		s.Stop.Parent = cmp.Or(s.Stop.Parent, top.ID)
		if !s.located {
			s.Lat, s.Lon, s.located = top.Lat, top.Lon, top.located
		}
		if s.City < 0 {
			s.City = top.City
		}
		s.Place = cmp.Or(s.Place, top.Place)
		s.Station = s.Station || top.Station
		s.zone, s.country = cmp.Or(s.zone, top.zone), cmp.Or(s.country, top.country)
	}
	if !s.located {
		f.skip("stops.txt", s.line, "has no coordinates")
		return
	}
	if s.City < 0 {
		s.City = f.cityNamed(cmp.Or(top.Place, top.id), top.id)
	}
	c := &f.out.Cities[s.City]
	c.Zone, c.Country = cmp.Or(c.Zone, s.zone), cmp.Or(c.Country, s.country)
	f.stops[s.id] = add(&f.out.Stops, s.Stop)
}

// cityNamed gives the city that has the name of a stop.
func (f *Feed) cityNamed(name, stop string) int32 {
	if _, ok := f.named[name]; !ok {
		f.named[name] = add(&f.out.Cities, schedule.City{ID: "~." + urlSafe(name), Name: name, Names: f.names("stops", "stop_name", stop, name)})
	}
	return f.named[name]
}

// finishCities settles what depends on the whole feed: a city without a zone has that of the first company to serve it.
func (f *Feed) finishCities() {
	for _, p := range f.out.Patterns {
		for _, s := range p.Stops {
			c := &f.out.Cities[f.out.Stops[s].City]
			c.Zone = cmp.Or(c.Zone, f.out.Companies[f.out.Routes[p.Route].Company].Zone)
		}
	}
	for i := range f.out.Cities {
		c := &f.out.Cities[i]
		c.Zone = cmp.Or(c.Zone, f.out.Companies[0].Zone)
		c.Country = cmp.Or(c.Country, countryOf(c.Zone))
	}
}

// zoneCountries names the country of a zone: all of the interface's 23, their neighbours, and some beyond.
const zoneCountries = `UA Europe/Kyiv Europe/Kiev Europe/Uzhgorod Europe/Zaporozhye TR Europe/Istanbul Asia/Istanbul Turkey PL Europe/Warsaw Poland
CZ Europe/Prague IT Europe/Rome DE Europe/Berlin Europe/Busingen SK Europe/Bratislava HU Europe/Budapest BE Europe/Brussels NL Europe/Amsterdam
RO Europe/Bucharest BG Europe/Sofia FR Europe/Paris AT Europe/Vienna LT Europe/Vilnius LV Europe/Riga EE Europe/Tallinn ES Europe/Madrid Atlantic/Canary Africa/Ceuta
LU Europe/Luxembourg CH Europe/Zurich GR Europe/Athens MD Europe/Chisinau Europe/Tiraspol SI Europe/Ljubljana
AL Europe/Tirane BA Europe/Sarajevo BY Europe/Minsk DK Europe/Copenhagen FI Europe/Helsinki GB Europe/London GE Asia/Tbilisi HR Europe/Zagreb IE Europe/Dublin
IS Atlantic/Reykjavik LI Europe/Vaduz MC Europe/Monaco ME Europe/Podgorica MK Europe/Skopje MT Europe/Malta NO Europe/Oslo PT Europe/Lisbon Atlantic/Madeira Atlantic/Azores
RS Europe/Belgrade SE Europe/Stockholm SM Europe/San_Marino CY Asia/Nicosia AM Asia/Yerevan AZ Asia/Baku KZ Asia/Almaty IL Asia/Jerusalem
US America/New_York America/Chicago America/Denver America/Los_Angeles America/Phoenix America/Anchorage Pacific/Honolulu America/Detroit
CA America/Toronto America/Vancouver America/Edmonton America/Winnipeg America/Halifax America/Montreal JP Asia/Tokyo AU Australia/Sydney Australia/Melbourne Australia/Brisbane Australia/Perth
NZ Pacific/Auckland BR America/Sao_Paulo MX America/Mexico_City AR America/Argentina/Buenos_Aires IN Asia/Kolkata CN Asia/Shanghai KR Asia/Seoul SG Asia/Singapore`

// countryOf gives a zone's country, "" when it is not listed.
func countryOf(zone string) string {
	country := ""
	for word := range strings.FieldsSeq(zoneCountries) {
		if len(word) == 2 {
			country = word
		} else if word == zone {
			return country
		}
	}
	return ""
}

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
