package gtfs

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule"
)

func (im *importer) readAreas() error {
	err := im.read("areas.txt", func(t *table) {
		id := t.get("area_id")
		zone := t.get("waybill_timezone")
		if !isZone(zone) {
			t.drop("waybill_timezone %q is not an IANA time zone", zone)
			return
		}
		if _, ok := im.areas[id]; ok || id == "" {
			t.drop("area_id %q is missing or there already", id)
			return
		}
		im.areas[id] = im.city(schedule.City{
			ID: urlSafe(id), Name: cmp.Or(t.get("area_name"), id), Slug: t.get("waybill_slug"), Country: strings.ToUpper(t.get("waybill_country")),
			Zone: zone, Names: im.names("areas", "area_name", id, t.get("area_name")),
		})
	})
	if err != nil {
		return err
	}
	return im.read("stop_areas.txt", func(t *table) {
		stop, area := t.get("stop_id"), t.get("area_id")
		if _, ok := im.areas[area]; !ok {
			t.drop("area_id %q is not in areas.txt", area)
		} else if im.stopArea[stop].area == "" {
			im.stopArea[stop] = stopArea{area, t.line}
		}
	})
}

// stopArea is the first area that stop_areas.txt puts a stop in.
type stopArea struct {
	area string
	line int
}

func (im *importer) city(c schedule.City) int32 {
	im.out.Cities = append(im.out.Cities, c)
	return int32(len(im.out.Cities) - 1)
}

// stopRow is a row of stops.txt until all are read: rows may name later ones.
type stopRow struct {
	stop    schedule.Stop
	rawID   string
	parent  string
	zone    string
	country string
	located bool
	line    int
}

func (im *importer) readStops() error {
	var rows []stopRow
	index := map[string]int{}
	err := im.read("stops.txt", func(t *table) {
		id, kind := t.get("stop_id"), t.get("location_type")
		lat, err1 := strconv.ParseFloat(t.get("stop_lat"), 64)
		lon, err2 := strconv.ParseFloat(t.get("stop_lon"), 64)
		located := t.get("stop_lat") != "" || t.get("stop_lon") != ""
		_, double := index[id]
		zone := t.get("stop_timezone")
		switch {
		case id == "":
			t.drop("has no stop_id")
			return
		case double:
			t.drop("stop_id %q is there already", id)
			return
		case kind == "2" || kind == "3": // an entrance or a node in a station: no bus calls there
			return
		case located && (err1 != nil || err2 != nil || !(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180)):
			t.drop("stop_lat %q, stop_lon %q are not coordinates", t.get("stop_lat"), t.get("stop_lon"))
			return
		case !isZone(zone):
			t.drop("stop_timezone %q is not an IANA time zone", zone)
			return
		}
		index[id] = len(rows)
		rows = append(rows, stopRow{
			stop: schedule.Stop{
				ID: urlSafe(id), Place: t.get("stop_name"), Platform: cmp.Or(t.get("waybill_platform"), t.get("platform_code")),
				Lat: lat, Lon: lon, Station: kind == "1", FareZone: t.get("zone_id"),
			},
			rawID: id, parent: t.get("parent_station"), zone: zone, country: strings.ToUpper(t.get("waybill_country")), located: located, line: t.line,
		})
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(im.stopArea)) {
		if _, ok := index[id]; !ok {
			im.skip("stop_areas.txt", im.stopArea[id].line, "stop_id "+strconv.Quote(id)+" is not a usable stop")
		}
	}
	im.stopZones = map[int32]string{}
	for i := range rows {
		im.placeStop(rows, index, &rows[i])
	}
	return nil
}

// placeStop finds a stop's city: its area, else its parent station's city,
// else a city of its own name (contract §5). What a stop leaves out it takes from its station.
func (im *importer) placeStop(rows []stopRow, index map[string]int, row *stopRow) {
	named, zone, country, city := row, "", "", int32(-1)
	for up, depth := row, 0; ; depth++ {
		named = up
		zone, country = cmp.Or(zone, up.zone), cmp.Or(country, up.country)
		if up.located && !row.located {
			row.stop.Lat, row.stop.Lon, row.located = up.stop.Lat, up.stop.Lon, true
		}
		row.stop.Place = cmp.Or(row.stop.Place, up.stop.Place)
		row.stop.Station = row.stop.Station || up.stop.Station
		if in, ok := im.stopArea[up.rawID]; ok && city < 0 {
			city = im.areas[in.area]
		}
		i, ok := index[up.parent]
		if up.parent == "" {
			break
		}
		if !ok || depth == 3 {
			im.skip("stops.txt", row.line, "parent_station "+strconv.Quote(up.parent)+" is not in stops.txt, or a part of this stop")
			return
		}
		if up == row {
			row.stop.Parent = rows[i].stop.ID
		}
		up = &rows[i]
	}
	if !row.located {
		im.skip("stops.txt", row.line, "has no coordinates")
		return
	}
	if city < 0 {
		city = im.cityNamed(named)
	}
	c := &im.out.Cities[city]
	c.Country = cmp.Or(c.Country, country)
	if im.stopZones[city] == "" {
		im.stopZones[city] = zone
	}
	row.stop.City = city
	im.stops[row.rawID] = int32(len(im.out.Stops))
	im.out.Stops = append(im.out.Stops, row.stop)
}

func (im *importer) cityNamed(row *stopRow) int32 {
	name := cmp.Or(row.stop.Place, row.rawID)
	if i, ok := im.named[name]; ok {
		return i
	}
	i := im.city(schedule.City{ID: "~." + urlSafe(name), Name: name, Names: im.names("stops", "stop_name", row.rawID, name)})
	im.named[name] = i
	return i
}

// finishCities settles what depends on the whole feed: zones, countries, slugs.
func (im *importer) finishCities() {
	served := map[int32]string{}
	for i := range im.out.Patterns {
		p := &im.out.Patterns[i]
		for _, s := range p.Stops {
			if city := im.out.Stops[s].City; served[city] == "" {
				served[city] = im.out.Companies[im.out.Routes[p.Route].Company].Zone
			}
		}
	}
	for i := range im.out.Cities {
		c, n := &im.out.Cities[i], int32(i)
		c.Zone = cmp.Or(c.Zone, im.stopZones[n], served[n], im.out.Companies[0].Zone)
		c.Country = cmp.Or(c.Country, countryOf(c.Zone))
	}
}

// finishSlugs gives companies, cities and routes their slugs; those of before stay.
func (im *importer) finishSlugs(before *schedule.Tables) {
	if before == nil {
		before = new(schedule.Tables)
	}
	slugs(im.out.Companies, before.Companies, func(x *schedule.Company) named { return named{x.ID, x.Name, &x.Slug} })
	slugs(im.out.Cities, before.Cities, func(x *schedule.City) named { return named{x.ID, x.Name, &x.Slug} })
	slugs(im.out.Routes, before.Routes, func(x *schedule.Route) named { return named{x.ID, x.Name, &x.Slug} })
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
var languageCodes = [...]string{"uk", "pl", "cs", "en", "ru"}

// byRecord and byValue are the two ways translations.txt names what it translates.
const (
	byRecord = iota
	byValue
)

func (im *importer) readTranslations() error {
	return im.read("translations.txt", func(t *table) {
		language, _, _ := strings.Cut(strings.ToLower(t.get("language")), "-")
		for i, code := range languageCodes {
			if code != language {
				continue
			}
			key, way := t.get("record_id"), byRecord
			if key == "" {
				key, way = t.get("field_value"), byValue
			}
			at := [3]string{t.get("table_name"), t.get("field_name"), key}
			if im.translated[at] == nil {
				im.translated[at] = new([2]schedule.Names)
			}
			im.translated[at][way][i] = t.get("translation")
		}
	})
}

// names gives the translations of a field, those for the record before those for its value.
func (im *importer) names(file, field, id, value string) (n schedule.Names) {
	record, same := im.translated[[3]string{file, field, id}], im.translated[[3]string{file, field, value}]
	for i := range n {
		if record != nil {
			n[i] = record[byRecord][i]
		}
		if same != nil && n[i] == "" {
			n[i] = same[byValue][i]
		}
	}
	return n
}
