package gtfs

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"waybill/schedule"
)

// Stops without an area are in a city of their name. A name alone is no city: a feed may well have two
// Portlands, 4,000 km apart. Places of one name are one city only where all of them are within 30 km and in
// one time zone (decision stops.names).

// A place is a stop outside of all stations, or a station with all its parts. It is in no area.
type place struct {
	id            string // URL-safe
	name          string
	names         schedule.Names
	at            point
	zone, country string  // "" where neither the feed nor a company that calls there says one
	stops         []int32 // the rows of Tables.Stops
}

// A point is a place on the earth, in degrees.
type point struct{ lat, lon float64 }

// A box is the least area between two parallels and two meridians that holds all of some points.
type box struct{ southWest, northEast point }

// emptyBox holds no point: its corners lie beyond all points.
var emptyBox = box{
	southWest: point{91, 181},
	northEast: point{-91, -181},
}

// with returns the least box that holds the box and a point.
func (b box) with(p point) box {
	b.southWest.lat = min(b.southWest.lat, p.lat)
	b.southWest.lon = min(b.southWest.lon, p.lon)
	b.northEast.lat = max(b.northEast.lat, p.lat)
	b.northEast.lon = max(b.northEast.lon, p.lon)
	return b
}

// small reports whether any two points of the box can be of one city. They can where the ends of both
// diagonals can.
func (b box) small() bool {
	northWest := point{b.northEast.lat, b.southWest.lon}
	southEast := point{b.southWest.lat, b.northEast.lon}
	return b.southWest.near(b.northEast) && northWest.near(southEast)
}

const maxCity = 30.0 // kilometres between two places of a city that share nothing but their name

// A namedCity is the places of a name that are one city.
type namedCity struct {
	id     string // of the city that these stops were in before, or ""
	places []*place
	zone   string
	area   box // that holds all places
}

// makeNamedCities makes a city of the places of each name that are near each other. Places that were in one
// city before stay in one as long as they are near, and a city keeps its id as long as one of its stops is
// there, or another at its place. What is found does not depend on the order of rows.
func (f *Feed) makeNamedCities(before *schedule.Tables) {
	f.out.Cities = f.out.Cities[:f.areas]
	old := remember(before)
	byName := map[string][]*place{}
	for _, p := range f.places {
		byName[p.name] = append(byName[p.name], p)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		for _, c := range f.gather(byName[name], old) {
			city := schedule.City{
				ID:   c.id,
				Name: name,
				Zone: c.zone,
			}
			for _, p := range c.places {
				city.Country = cmp.Or(city.Country, p.country)
				for i := range city.Names {
					city.Names[i] = cmp.Or(city.Names[i], p.names[i])
				}
			}
			row := add(&f.out.Cities, city)
			for _, p := range c.places {
				for _, s := range p.stops {
					f.out.Stops[s].City = row
				}
			}
		}
	}
	f.inherit(old)
}

// inherit finds the areas that replace a city which was named after the same stops. They get its slug.
func (f *Feed) inherit(old *memory) {
	// A city that is still there keeps its slug for itself.
	there := map[string]bool{}
	for _, c := range f.out.Cities {
		there[c.ID] = true
	}
	f.inherited = map[string]string{}
	for _, s := range f.out.Stops {
		city := &f.out.Cities[s.City]
		was := old.byStop[s.ID]
		if !city.Area || was == nil || there[was.id] {
			continue
		}
		// Of several the least counts, so that the result does not depend on the order of the rows.
		had := f.inherited[city.ID]
		if had == "" || was.slug < had {
			f.inherited[city.ID] = was.slug
		}
	}
}

// An oldCity is a city of a name in the timetable before, or in one before that.
type oldCity struct {
	id, slug, name, zone string
	points               []point // where its places were
}

// memory is the cities of names that there have been.
type memory struct {
	cities []*oldCity
	byID   map[string]*oldCity
	byName map[string][]*oldCity
	byStop map[string]*oldCity
	at     map[string]point // by stop: where it was
}

// remember returns what is known about the places of the timetable before.
func remember(before *schedule.Tables) *memory {
	m := &memory{
		byID:   map[string]*oldCity{},
		byName: map[string][]*oldCity{},
		byStop: map[string]*oldCity{},
		at:     map[string]point{},
	}
	// By everything by which a place of the new feed may be recognized.
	add := func(c *oldCity) {
		m.cities = append(m.cities, c)
		m.byID[c.id] = c
		m.byName[c.name] = append(m.byName[c.name], c)
	}
	for _, c := range before.Cities {
		if !c.Area && strings.HasPrefix(c.ID, namedPrefix) {
			add(&oldCity{
				id:   c.ID,
				slug: c.Slug,
				name: c.Name,
				zone: c.Zone,
			})
		}
	}
	for _, s := range before.Stops {
		c := m.byID[before.Cities[s.City].ID]
		if c != nil {
			c.points = append(c.points, point{s.Lat, s.Lon})
			m.byStop[s.ID] = c
			m.at[s.ID] = point{s.Lat, s.Lon}
		}
	}
	// Cities that were away for a season are remembered too, with where they were.
	for _, c := range before.Former {
		if c.Kind == formerCity && c.Name != "" && m.byID[c.ID] == nil {
			add(&oldCity{
				id:     c.ID,
				slug:   c.Slug,
				name:   c.Name,
				zone:   c.Zone,
				points: []point{{c.Lat, c.Lon}},
			})
		}
	}
	return m
}

// A past is the city of its name that a place was in before, with the evidence for that.
type past struct {
	id string // "" where it was in none
	by evidence
}

// evidence is the reason to take a place for an earlier one; the least is the best.
type evidence int

const (
	sameStop  evidence = iota // it has an earlier stop, at the same place
	samePlace                 // it is where the city was
	movedStop                 // it has an earlier stop, somewhere else
	noPast
)

// pastOf finds the city that a place was in: the one with a stop of it, or else the nearest that was here.
func (f *Feed) pastOf(p *place, old *memory) past {
	// A stop that stays where it was is the best evidence; one that has moved is the least.
	same := ""
	moved := ""
	for _, s := range p.stops {
		id := f.out.Stops[s].ID
		c := old.byStop[id]
		switch {
		case c == nil || c.name != p.name:
		case f.oneZone(c.zone, p.zone) && old.at[id].near(p.at):
			same = least(same, c.id)
		default:
			moved = least(moved, c.id)
		}
	}
	if same != "" {
		return past{same, sameStop}
	}
	// Other stop ids, as a new feed may have. Then the position counts, up to 30 km.
	best := ""
	nearest := maxCity
	for _, c := range old.byName[p.name] {
		km := f.distance(c, p)
		if km < nearest || km == nearest && c.id < best {
			best = c.id
			nearest = km
		}
	}
	if best != "" {
		return past{best, samePlace}
	}
	if moved != "" {
		return past{moved, movedStop}
	}
	return past{"", noPast}
}

// distance returns how many kilometres a place is from where a city was; infinite in another time zone.
func (f *Feed) distance(c *oldCity, p *place) float64 {
	km := math.Inf(1)
	if !f.oneZone(c.zone, p.zone) {
		return km
	}
	for _, at := range c.points {
		km = min(km, at.kilometres(p.at))
	}
	return km
}

// oneZone reports whether two time zones may be one; "" is a zone that is not known.
func (f *Feed) oneZone(a, b string) bool {
	return a == "" || b == "" || f.sameClock(a, b)
}

// least returns the lesser of two ids; "" is none.
func least(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// namedPrefix starts the id of each city that is named after its stops, and no id of an area.
const namedPrefix = "~."

// gather makes cities of the places of one name. Those that were in a city before come first, so that nothing
// that is added later takes them apart; then the places go by their ids.
func (f *Feed) gather(list []*place, old *memory) (cities []*namedCity) {
	// Each place's earlier city, with the evidence.
	was := map[*place]past{}
	for _, p := range list {
		was[p] = f.pastOf(p, old)
	}
	slices.SortFunc(list, func(a, b *place) int {
		return cmp.Or(
			compareBool(a.zone == "", b.zone == ""), // a place without a zone fits in with any
			cmp.Compare(was[a].by, was[b].by),
			cmp.Compare(was[a].id, was[b].id),
			cmp.Compare(a.id, b.id))
	})
	taken := map[string]*namedCity{}
	for _, p := range list {
		id := was[p].id
		// A place goes where it was, unless it does not fit there any more; else to the nearest that it fits.
		c := taken[id]
		if c == nil && id != "" {
			c = newNamedCity(id)
			taken[id] = c
			cities = append(cities, c)
		}
		if c == nil || !f.fits(c, p) {
			c = f.nearest(cities, p)
		}
		if c == nil {
			c = newNamedCity("")
			cities = append(cities, c)
		}
		c.add(p)
	}
	for _, c := range cities {
		if c.id != "" {
			continue
		}
		// No id names a place that it did not name before.
		used := func(id string) bool {
			return taken[id] != nil || old.byID[id] != nil
		}
		id := namedPrefix + urlSafe(c.places[0].name)
		if used(id) {
			id += "." + c.places[0].id
		}
		for used(id) {
			id += "~"
		}
		c.id = id
		taken[id] = c
	}
	return cities
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// newNamedCity returns a city without stops.
func newNamedCity(id string) *namedCity {
	return &namedCity{
		id:   id,
		area: emptyBox,
	}
}

// add makes a stop a part of a city.
func (c *namedCity) add(p *place) {
	c.places = append(c.places, p)
	c.zone = cmp.Or(c.zone, p.zone)
	c.area = c.area.with(p.at)
}

// nearest returns the city that a place fits in and whose first place is nearest; nil if there is none.
func (f *Feed) nearest(cities []*namedCity, p *place) (best *namedCity) {
	least := math.Inf(1)
	for _, c := range cities {
		if len(c.places) == 0 || !f.fits(c, p) {
			continue
		}
		km := p.at.kilometres(c.places[0].at)
		if km < least {
			best = c
			least = km
		}
	}
	return best
}

// fits reports whether a place is within 30 km of all places of a city, and in its time zone.
func (f *Feed) fits(c *namedCity, p *place) bool {
	if len(c.places) == 0 {
		return true
	}
	if !f.oneZone(c.zone, p.zone) {
		return false
	}
	// A degree of latitude has 111 km. Most places are far from most cities of their name.
	const far = maxCity / 110
	north := c.area.southWest.lat + far
	south := c.area.northEast.lat - far
	if p.at.lat > north || p.at.lat < south {
		return false
	}
	// Where all of them lie in a small box, they need not be looked at one by one: a city may have 20,000.
	if c.area.with(p.at).small() {
		return true
	}
	for _, other := range c.places {
		if !p.at.near(other.at) {
			return false
		}
	}
	return true
}

// near reports whether two points can be in one city.
func (p point) near(other point) bool {
	return p.kilometres(other) <= maxCity
}

// kilometres returns the distance of two points over the surface of a sphere.
func (p point) kilometres(other point) float64 {
	return schedule.Kilometres(p.lat, p.lon, other.lat, other.lon)
}

// sameClock reports whether two time zones are one, as Europe/Kiev and Europe/Kyiv are: their clocks showed
// the same each month since 1970.
func (f *Feed) sameClock(a, b string) bool {
	if a == b {
		return true
	}
	key := [2]string{min(a, b), max(a, b)}
	same, known := f.clocks[key]
	if !known {
		same = sameOffsets(a, b)
		f.clocks[key] = same
	}
	return same
}

// sameOffsets reports whether two time zones show the same time all the year round.
func sameOffsets(a, b string) bool {
	zoneA, errA := time.LoadLocation(a)
	zoneB, errB := time.LoadLocation(b)
	if errA != nil || errB != nil {
		return false
	}
	for year := 1970; year < 2038; year++ {
		for month := time.January; month <= time.December; month++ {
			at := time.Date(year, month, 1, 12, 0, 0, 0, time.UTC)
			_, offsetA := at.In(zoneA).Zone()
			_, offsetB := at.In(zoneB).Zone()
			if offsetA != offsetB {
				return false
			}
		}
	}
	return true
}

// apart describes the names that stand for several cities, the farthest apart first.
func (f *Feed) apart() (list []string) {
	type name struct {
		cities map[string][]point // by id
		km     float64
	}
	names := map[string]*name{}
	for _, p := range f.places {
		n := names[p.name]
		if n == nil {
			n = &name{cities: map[string][]point{}}
			names[p.name] = n
		}
		id := f.out.Cities[f.out.Stops[p.stops[0]].City].ID
		n.cities[id] = append(n.cities[id], p.at)
	}
	for key, n := range names {
		if len(n.cities) == 1 {
			delete(names, key)
			continue
		}
		n.km = farthest(n.cities)
	}
	for _, key := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(names[b].km, names[a].km), cmp.Compare(a, b))
	}) {
		n := names[key]
		list = append(list, fmt.Sprintf("%s (%d cities, up to %.0f km apart)", key, len(n.cities), n.km))
	}
	return list
}

// farthest returns how many kilometres are between places of different cities, at most: exactly where there
// are few, else between the first of each.
func farthest(cities map[string][]point) (km float64) {
	const few = 100
	var list [][]point
	all := 0
	for _, id := range slices.Sorted(maps.Keys(cities)) {
		list = append(list, cities[id])
		all += len(cities[id])
	}
	if all > few {
		for i := range list {
			list[i] = list[i][:1]
		}
		list = list[:min(len(list), few)]
	}
	for i, of := range list {
		for _, others := range list[:i] {
			for _, p := range of {
				for _, q := range others {
					km = max(km, p.kilometres(q))
				}
			}
		}
	}
	return km
}
