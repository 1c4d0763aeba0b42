package gtfs

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"waybill/schedule"
)

// zone reads the name of a time zone, which is the same on every machine; it may be blank.
func (f *Feed) zone(r *Row, column string) string {
	name := r.Get(column)
	if _, tried := f.zones[name]; !tried {
		_, err := time.LoadLocation(name)
		f.zones[name] = err == nil && name != "Local"
	}
	r.Check(f.zones[name], column, "is not an IANA time zone")
	return name
}

// stopRow is a row of stops.txt until all are read. Its ids are the feed's; its City is -1 where no area has
// it.
type stopRow struct {
	schedule.Stop
	zone, country string
	located       bool
	line          int
}

// readStops reads the areas, the stops, and which of these are in which of those.
func (f *Feed) readStops() {
	for r := range f.files.Rows("areas.txt") {
		id := r.ID("area_id")
		name := r.Get("area_name")
		keep(r, &f.out.Cities, schedule.City{
			ID:      urlSafe(id),
			Name:    cmp.Or(name, id),
			Slug:    r.Get("waybill_slug"),
			Area:    true,
			Names:   f.names("areas", "area_name", id, name),
			Country: strings.ToUpper(r.Get("waybill_country")),
			Zone:    f.zone(r, "waybill_timezone"),
		})
	}
	f.areas = len(f.out.Cities)
	stops := f.readStopRows()
	inArea := map[[2]int32]bool{}
	for r := range f.files.Rows("stop_areas.txt") {
		stop := r.Ref("stop_id", "stops.txt")
		area := r.Ref("area_id", "areas.txt")
		r.Check(!inArea[[2]int32{stop, area}], "stop_id", "is already in this area")
		if r.Unused {
			continue
		}
		inArea[[2]int32{stop, area}] = true
		if stops[stop].City < 0 {
			stops[stop].City = area
		} else {
			r.Decided("stops in several areas, whose city is the first area")
		}
	}
	if f.files.Err != nil {
		return
	}
	// From here on an id finds the stop in the tables, no longer its row. Stops that are skipped are not
	// found.
	byID := f.files.IDs["stops.txt"]
	f.files.IDs["stops.txt"] = Index{}
	for _, s := range stops {
		f.placeStop(s, stops, byID)
	}
}

// readStopRows reads stops.txt.
func (f *Feed) readStopRows() (stops []stopRow) {
	for r := range f.files.Rows("stops.txt") {
		id := r.ID("stop_id")
		kind := r.Get("location_type")
		if kind == "2" || kind == "3" { // no bus calls there
			r.Decided("entrances and nodes of stations, which are no stops")
			continue
		}
		s := stopRow{
			Stop: schedule.Stop{
				ID:       id,
				Parent:   r.Get("parent_station"),
				Station:  kind == "1",
				City:     -1,
				FareZone: r.Get("zone_id"),
				Place:    r.Get("stop_name"),
				Names:    f.names("stops", "stop_name", id, r.Get("stop_name")),
				Platform: cmp.Or(r.Get("waybill_platform"), r.Get("platform_code")),
			},
			zone:    f.zone(r, "stop_timezone"),
			country: strings.ToUpper(r.Get("waybill_country")),
			located: r.Get("stop_lat") != "" || r.Get("stop_lon") != "",
			line:    r.Line,
		}
		if s.located {
			s.Lat = r.Degrees("stop_lat", 90)
			s.Lon = r.Degrees("stop_lon", 180)
		}
		if s.Place == "" && s.Parent == "" && !r.Unused {
			r.Decided("stops without a stop_name, which are named by their stop_id")
		}
		if s.located && !r.Unused && s.Lat == 0 && s.Lon == 0 { // in the Gulf of Guinea, where no bus stops
			s.located = false
			r.Decided("stops at latitude 0, longitude 0, which counts as no coordinates")
		}
		keep(r, &stops, s)
	}
	return stops
}

// inherit takes what a stop leaves out from the one around it.
func (s *stopRow) inherit(top *stopRow) {
	if !s.located {
		s.Lat = top.Lat
		s.Lon = top.Lon
		s.located = top.located
	}
	if s.City < 0 {
		s.City = top.City
	}
	if s.Place == "" {
		s.Place = top.Place
		s.Names = top.Names
	}
	s.Station = s.Station || top.Station
	s.zone = cmp.Or(s.zone, top.zone)
	s.country = cmp.Or(s.country, top.country)
}

// placeStop finds the area or the place that a stop is in (decision cities.origin). Members that a stop
// leaves out are its station's.
func (f *Feed) placeStop(s stopRow, stops []stopRow, byID Index) {
	// GTFS has three levels, a boarding area in a platform in a station. Some feeds have rows in a circle.
	top := &s
	for depth := 0; top.Parent != ""; depth++ {
		i, ok := byID[top.Parent]
		if !ok {
			f.files.Decided("stops.txt", s.line, "stops whose parent_station is no usable row, which stand alone")
			if depth == 0 {
				s.Parent = ""
			}
			break
		}
		if depth == 3 {
			reason := fmt.Sprintf("parent_station %q is part of this stop", top.Parent)
			f.files.Skip("stops.txt", s.line, reason)
			return
		}
		top = &stops[i]
		s.inherit(top)
	}
	if !s.located {
		f.files.Skip("stops.txt", s.line, "has no coordinates")
		return
	}
	id := s.ID
	topID := urlSafe(top.ID)
	s.ID = urlSafe(id)
	if s.Parent != "" {
		s.Parent = urlSafe(s.Parent)
	}
	stop := add(&f.out.Stops, s.Stop)
	f.files.IDs["stops.txt"][id] = stop
	if s.City >= 0 {
		c := &f.out.Cities[s.City]
		if c.Zone != "" && s.zone != "" && !f.sameClock(c.Zone, s.zone) {
			f.files.Decided("stops.txt", s.line,
				"stops in another time zone than their area, whose zone counts")
		}
		c.Zone = cmp.Or(c.Zone, s.zone)
		c.Country = cmp.Or(c.Country, s.country)
		return
	}
	// Without an area the stop is a part of its station's place, which finishCities puts into a city.
	p := f.places[topID]
	if p == nil {
		name := cmp.Or(top.Place, top.ID)
		p = &place{
			id:    topID,
			name:  name,
			names: f.names("stops", "stop_name", top.ID, name),
			at:    point{s.Lat, s.Lon},
		}
		if top.located {
			p.at = point{top.Lat, top.Lon}
		}
		f.places[topID] = p
	}
	// Of several stops the least counts, so that the result does not depend on the order of the rows.
	p.zone = least(p.zone, s.zone)
	p.country = least(p.country, s.country)
	p.stops = append(p.stops, stop)
}

// finishCities gives each stop its city, and each city its zone and country. It may be called again, with
// another timetable before.
func (f *Feed) finishCities(before *schedule.Tables) {
	served := f.servedBy()
	for _, p := range f.places {
		for _, s := range p.stops {
			p.zone = cmp.Or(p.zone, served[s].Zone)
		}
	}
	f.makeNamedCities(before)
	for stop, company := range served {
		c := &f.out.Cities[f.out.Stops[stop].City]
		c.Zone = cmp.Or(c.Zone, company.Zone)
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

// servedBy returns, for each stop, the company that calls there. Of several companies it is the one with
// the least id, whatever the order of rows. Where none calls it is the zero Company.
func (f *Feed) servedBy() []schedule.Company {
	served := make([]schedule.Company, len(f.out.Stops))
	for _, p := range f.out.Patterns {
		company := f.out.Companies[f.out.Routes[p.Route].Company]
		for _, s := range p.Stops {
			was := served[s]
			if was.Zone == "" || company.ID < was.ID {
				served[s] = company
			}
		}
	}
	return served
}

// countries lists countries with their zones: all of the interface's 23, their neighbours, and some beyond.
//
//go:embed countries.txt
var countries string
