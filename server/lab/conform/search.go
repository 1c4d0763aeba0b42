package conform

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/server/lab/transcript"
)

// prepare finds out what all rules need, the clock, and what they will lack. Journeys are looked for when a
// rule needs one.
func (p *player) prepare() (err error) {
	if p.skew, err = p.readClock(p.baseURL()); err != nil {
		return fmt.Errorf("no server answers: %w", err)
	}
	for _, given := range []struct{ name, value, flags string }{
		{"idToken", p.opt.IDToken, "-id-token"},
		{"email", p.opt.Email, "-email and -password-file"},
		{"password", cmp.Or(p.opt.Password, "no-password-was-given"), ""}, // which no user has, either
		{"fms", p.opt.FMSObject, "-fms"},
		{"stop", p.opt.StopID, "-stop"},
	} {
		p.known[given.name] = transcript.InText(given.value)
		if given.value == "" {
			delete(p.known, given.name)
			p.never[given.name] = &skip{"it needs " + given.flags}
		}
	}
	if p.opt.From != "" {
		p.know("", journey{p.opt.From, p.opt.To, p.opt.Date})
	}
	return p.like.prepare(p)
}

// The search for journeys.
const (
	citiesTried = 40
	allPairs    = citiesTried * citiesTried // at most
	pairsTried  = 300                       // for the main journey, and at the server to be like
	enough      = 4                         // departures of a day
	startsIn    = 3                         // days: no rule's clock gets there but those that say so
	daysTried   = 7
	windows     = 6 // of windowDays, for days unlike others
	windowDays  = 14
	stride      = 5 // pairs of cities, where one of a few in a hundred will do
	roomFor     = 3 // passengers, on journeys of a kind
	searchTime  = time.Minute
)

// roomTried are for how many passengers there is room on the main journey, rather more than fewer; 0 is for
// one, also where the schedule has no price in the currency that it shows unless another is asked for.
var roomTried = [...]int{10, 2, 1, 0}

// kinds are the journeys that rules need beside the main one, and what is looked for.
var kinds = map[string]string{
	"change":   "a change, of the service's own source",
	"discount": "a discount, of the service's own source",
	"direct":   "no change, of the service's own source",
	"external": "a source other than " + ownSource,
	"small":    "3 seats left, of the service's own source",
	"company":  "a bus of the user's company",
	"through":  "a stop in a third city on the way, of the service's own source",
	"zones":    "two cities in different time zones",
	"clocks":   "departures on a day on which the clocks of the city change",
	"holiday":  "a day that has not as many departures as the same day of the two weeks before",
}

// journey is a day between two cities, given by their slugs. Without a city it is none.
type journey struct{ from, to, date string }

// search is what is known of journeys.
type search struct {
	main   journey
	moved  bool               // the clock may have passed it
	cities []city             // that are looked through, by slug; nil before they are read
	done   map[string]bool    // kinds that need no more looking for; "" is the main journey
	met    map[string]journey // the last of each kind
	room   int                // for so many passengers kinds are looked for
	next   int                // the pair of cities that comes next for kinds
}

// city is one that journeys are looked for from and to.
type city struct{ Slug, TimeZone string }

// know lets the rules know a journey of a kind.
func (p *player) know(kind string, j journey) {
	if kind == "" && !p.inScratch {
		p.search.main = j
	}
	p.search.met[kind] = j
	if kind != "" {
		kind += "_"
	}
	values := map[string]string{kind + "from": j.from, kind + "to": j.to, kind + "date": j.date}
	maps.Copy(p.known, values)
	maps.Copy(p.Vars, values)
	p.like.know(values)
}

// seek looks for the journey that a variable is of, and reports whether that may have found it.
func (p *player) seek(variable string) bool {
	kind, rest, ok := strings.Cut(variable, "_")
	if !ok {
		kind, rest = "", variable
	}
	if rest != "from" && rest != "to" && rest != "date" || kind != "" && kinds[kind] == "" {
		return false
	}
	if p.search.done[kind] {
		return false
	}
	p.search.done[kind] = true
	err := p.readCities()
	switch {
	case err != nil:
	case kind == "":
		err = p.findJourney()
	case kind == "zones", kind == "clocks", kind == "holiday":
		err = p.findSpecial(kind)
	default:
		err = p.findKind(kind)
	}
	if p.known[variable] != "" {
		return true
	}
	if kind != "" {
		kind += "_"
	}
	for _, name := range []string{"from", "to", "date"} {
		p.never[kind+name] = err
		p.lacking[kind+name] = err
	}
	return false
}

// readCities reads the cities that are looked through. Lists have no order that the interface gives: the
// journey that is found is the same all the same.
func (p *player) readCities() error {
	if p.search.cities != nil {
		return nil
	}
	var list struct {
		Data struct{ Cities []city }
	}
	if err := p.look(p.baseURL()+"/v2/cities", nil, &list); err != nil {
		return err
	}
	if len(list.Data.Cities) < 2 {
		return &skip{"there are no two cities to search for a journey between"}
	}
	cities := list.Data.Cities
	slices.SortFunc(cities, func(a, b city) int { return strings.Compare(a.Slug, b.Slug) })
	p.search.cities = cities[:min(len(cities), citiesTried)]
	return nil
}

// pairs goes through so many pairs of two cities, spread evenly over a span of all that begins with the
// first-th, as long as the time of a search lasts.
func (p *player) pairs(first, tried, span int) iter.Seq2[city, city] {
	most := len(p.search.cities) - 1
	began := time.Now()
	return func(yield func(from, to city) bool) {
		for n := range tried {
			place := first + n*span/tried
			i := place / most
			j := place % most
			if j >= i {
				j++
			}
			if i > most || p.stopped() || time.Since(began) > searchTime {
				return
			}
			if !yield(p.search.cities[i], p.search.cities[j]) {
				return
			}
		}
	}
}

// findJourney looks for two cities with a departure that has a price and enough seats, and takes the day with
// the most departures. That there is none is why rules are not shown, unless a search was not answered.
func (p *player) findJourney() error {
	var err error
	for _, seats := range roomTried {
		if err = p.findRoomFor(seats); p.search.main.from != "" {
			p.search.room = min(roomFor, max(seats, 1))
			return nil
		}
	}
	return err
}

// findRoomFor looks for the main journey.
func (p *player) findRoomFor(seats int) error {
	most := 0
	var last error
	for from, to := range p.pairs(0, pairsTried, pairsTried) {
		date, departures, err := p.bestDay(p.baseURL(), journey{from.Slug, to.Slug, p.firstDay()}, seats)
		if err != nil {
			last = err
			continue
		}
		if departures > most {
			most = departures
			p.know("", journey{from.Slug, to.Slug, date})
		}
		if most >= enough {
			break
		}
	}
	if most == 0 && last != nil {
		return last
	}
	return &skip{"no journey was found within a week between the first cities; name one with -from, -to " +
		"and -date"}
}

// firstDay is the first that is looked through.
func (p *player) firstDay() string {
	return p.skew.now().UTC().AddDate(0, 0, startsIn).Format(time.DateOnly)
}

// findSpecial looks for a journey of a kind that lists of departures show, at the other server if there is
// one: what the judged one does not show is what the rule is to find.
func (p *player) findSpecial(kind string) error {
	base := p.baseURL()
	tried := pairsTried
	switch {
	case p.like.asked(p):
		base = p.like.url
	case kind == "holiday":
		tried = notCompared
	}
	for from, to := range p.pairs(0, tried, tried*stride) {
		date, err := p.specialDay(kind, base, from, to)
		if err != nil {
			return err
		}
		if date != "" {
			p.know(kind, journey{from.Slug, to.Slug, date})
			return nil
		}
	}
	if kind == "holiday" && p.search.main.from != "" { // in this timetable all weeks are alike
		p.know(kind, p.search.main)
		return nil
	}
	return &skip{"no journey was found with " + kinds[kind]}
}

// specialDay returns a day on which a journey between two cities is of a kind; "" is none.
func (p *player) specialDay(kind, base string, from, to city) (date string, err error) {
	j := journey{from.Slug, to.Slug, p.firstDay()}
	switch kind {
	case "zones":
		if offsetAt(zoneOf(from), j.date) == offsetAt(zoneOf(to), j.date) {
			return "", nil
		}
		date, _, err = p.bestDay(base, j, 0)
		return date, err
	case "clocks":
		if j.date = nextChange(from, j.date); j.date == "" {
			return "", nil
		}
		perDay, err := p.departures(base, j, 1, 0)
		if perDay[j.date] == 0 {
			return "", err
		}
		return j.date, err
	}
	perDay, err := p.departures(base, j, windowDays, 0)
	for n := 1; n < windows && len(perDay) > 0 && err == nil; n++ {
		var more map[string]int
		j.date = addDays(j.date, windowDays)
		more, err = p.departures(base, j, windowDays, 0)
		maps.Copy(perDay, more)
	}
	end := addDays(j.date, windowDays)
	for day := p.firstDay(); day < end; day = addDays(day, 1) {
		one, two := perDay[addDays(day, -7)], perDay[addDays(day, -14)]
		if one > 0 && one == two && perDay[day] != one {
			return day, err
		}
	}
	return "", err
}

// addDays returns a day so many days later.
func addDays(day string, days int) string {
	at, _ := time.Parse(time.DateOnly, day)
	return at.AddDate(0, 0, days).Format(time.DateOnly)
}

// zoneOf returns the time zone of a city; UTC where it has none that is known.
func zoneOf(c city) *time.Location {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// offsetAt returns how far the clocks of a zone are ahead of UTC on a day.
func offsetAt(zone *time.Location, day string) int {
	at, _ := time.ParseInLocation(time.DateOnly, day, zone)
	_, offset := at.Add(12 * time.Hour).Zone()
	return offset
}

// nextChange returns the next day, from one on, on which the clocks of a city change; "" where none is within
// a year.
func nextChange(of city, day string) string {
	zone := zoneOf(of)
	for range 366 {
		if offsetAt(zone, addDays(day, -1)) != offsetAt(zone, day) {
			return day
		}
		day = addDays(day, 1)
	}
	return ""
}

// lookAhead has journeys lie ahead that the clock has passed.
func (p *player) lookAhead() error {
	j := p.search.main
	soon := addDays(p.firstDay(), -1)
	if j.from == "" {
		return nil
	}
	if !p.search.moved || j.date >= soon {
		p.know("", j)
		return nil
	}
	for kind := range kinds {
		delete(p.search.done, kind)
		delete(p.known, kind+"_from")
		delete(p.Vars, kind+"_from") // so that it is looked for
	}
	p.search.next = 0
	j.date = p.firstDay()
	date, _, err := p.bestDay(p.baseURL(), j, 0)
	if err == nil && date == "" {
		err = &skip{"no departure was found within a week from " + j.date + ", to which the clock was moved"}
	}
	if err == nil {
		j.date = date
		p.know("", j)
	}
	return err
}

// bestDay returns the first day with the most departures that can be sold to so many passengers, of the days
// from the journey's on, and how many it has; "" where there are none.
func (p *player) bestDay(base string, j journey, seats int) (best string, departures int, err error) {
	perDay, err := p.departures(base, j, daysTried, seats)
	for _, day := range slices.Sorted(maps.Keys(perDay)) {
		if perDay[day] > departures {
			best = day
			departures = perDay[day]
		}
	}
	return best, departures, err
}

// departures returns how many departures that have a price each day has, from the journey's on; for 0 seats
// those without one count, too.
func (p *player) departures(base string, j journey, days, seats int) (perDay map[string]int, err error) {
	query := url.Values{
		"departureCitySlug": {j.from},
		"arrivalCitySlug":   {j.to},
		"date":              {j.date},
		"days":              {fmt.Sprint(days)},
		"passengers":        {fmt.Sprint(max(seats, 1))},
		"take":              {"100"},
	}
	var list struct {
		Data struct {
			Departures []struct {
				DepartureDateTime string
				Price             struct{ Amount *float64 }
			}
		}
	}
	if err := p.look(base+"/v2/offers/schedule?"+query.Encode(), nil, &list); err != nil {
		return nil, err
	}
	perDay = map[string]int{}
	for _, d := range list.Data.Departures {
		if (d.Price.Amount != nil || seats == 0) && len(d.DepartureDateTime) >= len(time.DateOnly) {
			perDay[d.DepartureDateTime[:len(time.DateOnly)]]++
		}
	}
	return perDay, nil
}

// findKind looks through the offers of a day for those of a kind. What it meets of other kinds it keeps.
func (p *player) findKind(kind string) error {
	if p.opt.Key == "" {
		return &skip{"it needs -key"}
	}
	if kind == "company" { // which is known only since it was signed in for
		p.search.next = 0
	}
	date := p.firstDay()
	p.seek("from")
	before := p.search.met[kind] // on a day that is over
	before.date = date
	for _, j := range []journey{{p.known["from"], p.known["to"], p.known["date"]}, before} {
		if p.known[kind+"_from"] == "" && j.from != "" {
			if err := p.lookAt(j); err != nil {
				return err
			}
		}
	}
	for from, to := range p.pairs(p.search.next, allPairs, allPairs) {
		if p.known[kind+"_from"] != "" {
			break
		}
		p.search.next++
		if err := p.lookAt(journey{from.Slug, to.Slug, date}); err != nil {
			return err
		}
	}
	return &skip{fmt.Sprintf("no journey was found with %s among the offers of %s for %d passengers between "+
		"%d cities, in %d searches", kinds[kind], date, p.search.room, len(p.search.cities), p.search.next)}
}

// look reads a list in which journeys are looked for. Error: *failure.
func (p *player) look(where string, header http.Header, list any) error {
	a, err := p.send("GET", where, "", header)
	switch {
	case err != nil:
	case a.Status != http.StatusOK:
		err = fmt.Errorf("status is %d, and should be 200", a.Status)
	default:
		err = json.Unmarshal(a.Body, list)
	}
	if err != nil {
		path, _, _ := strings.Cut(where, "?")
		return &failure{path, fmt.Sprintf("%v\nGET %s\ncame %d %s", err, where, a.Status, a.Body)}
	}
	return nil
}

// lookAt keeps the first journey of each kind that the offers between two cities have.
func (p *player) lookAt(j journey) error {
	query := url.Values{
		"departureCitySlug": {j.from},
		"arrivalCitySlug":   {j.to},
		"departureDate":     {j.date},
		"passengers":        {fmt.Sprint(p.search.room)},
	}
	var list offers
	key := http.Header{"X-Api-Key": {p.opt.Key}}
	if err := p.look(p.baseURL()+"/v2/offers?"+query.Encode(), key, &list); err != nil {
		return err
	}
	for _, o := range list.Data.Offers {
		for kind := range kinds {
			if p.known[kind+"_from"] == "" && o.is(kind, p.Vars["company"]) {
				p.know(kind, j)
			}
		}
	}
	return nil
}

// findStop has a stop: that of -stop, or one of an offer. A server that has no offers yet has none to show.
func (p *player) findStop() error {
	if p.opt.StopID != "" {
		return nil
	}
	if p.opt.Key == "" {
		return &skip{"it needs -stop, or -key"}
	}
	p.become("key")
	err := p.step("offer shown 1")
	if err == nil {
		err = p.playStep("    stop = data.offers[id=$shown].slices[0].stops[0].id")
	}
	if err != nil {
		return &skip{"it needs -stop, as no offer shows one"}
	}
	return nil
}

// foreignToken has the given ID token as if it was made for another service: its audience is another.
func (p *player) foreignToken() error {
	parts := strings.Split(p.opt.IDToken, ".")
	var claims map[string]any
	if len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		json.Unmarshal(text, &claims) // of what is no JSON nothing is kept
	}
	if claims["aud"] == nil {
		return &skip{"it needs -id-token, of a form that shows for which service it was made"}
	}
	claims["aud"] = "another-service"
	text, err := json.Marshal(claims)
	parts[1] = base64.RawURLEncoding.EncodeToString(text)
	p.Vars["foreign"] = strings.Join(parts, ".")
	return err
}
