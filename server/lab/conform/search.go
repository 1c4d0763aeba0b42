package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
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
		{"password", p.opt.Password, "-email and -password-file"},
		{"fms", p.opt.FMSObject, "-fms"},
		{"stop", p.opt.StopID, "-stop"},
	} {
		p.known[given.name] = secret(given.value)
		if given.value == "" {
			delete(p.known, given.name)
			p.never[given.name] = &skip{"it needs " + given.flags}
		}
	}
	if p.opt.From != "" {
		p.know("", p.opt.From, p.opt.To, p.opt.Date)
	}
	return p.like.prepare(p)
}

// The search for journeys.
const (
	citiesTried = 40
	pairsTried  = 300 // for the main journey
	enough      = 4   // departures of a day
	startsIn    = 3   // days: no rule's clock gets there
	daysTried   = 7
	roomFor     = 4 // passengers, on journeys of a kind
	searchTime  = time.Minute
)

// kinds are the journeys that rules need beside the main one, and what is looked for.
var kinds = map[string]string{
	"change":   "a change, of the service's own source",
	"discount": "a discount, of the service's own source",
	"external": "a source other than " + ownSource,
}

// search is what is known of journeys.
type search struct {
	cities []string        // that are looked through, by slug; nil before they are read
	done   map[string]bool // kinds that need no more looking for; "" is the main journey
	next   int             // the pair of cities that comes next for kinds
	began  time.Time       // the search for kinds; zero before it
}

// know lets the rules know a journey of a kind.
func (p *player) know(kind, from, to, date string) {
	if kind != "" {
		kind += "_"
	}
	values := map[string]string{kind + "from": from, kind + "to": to, kind + "date": date}
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
	if p.search.done == nil {
		p.search.done = map[string]bool{"": p.opt.From != ""}
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
	a, err := p.send("GET", p.baseURL()+"/v2/cities", "", nil)
	var list struct {
		Data struct{ Cities []struct{ Slug string } }
	}
	if err == nil && a.Status == http.StatusOK {
		err = json.Unmarshal(a.Body, &list)
	}
	if err != nil || len(list.Data.Cities) < 2 {
		text := fmt.Sprintf("GET %s/v2/cities\ncame %d %s\nno two cities to search for a journey "+
			"between", p.baseURL(), a.Status, a.Body)
		return &failure{"no cities", text}
	}
	for _, c := range list.Data.Cities {
		p.search.cities = append(p.search.cities, c.Slug)
	}
	slices.Sort(p.search.cities)
	p.search.cities = p.search.cities[:min(len(p.search.cities), citiesTried)]
	return nil
}

// pair returns the n-th pair of two cities; false after the last.
func (s *search) pair(n int) (from, to string, ok bool) {
	most := len(s.cities) - 1
	i := n / most
	j := n % most
	if i > most {
		return "", "", false
	}
	if j >= i {
		j++
	}
	return s.cities[i], s.cities[j], true
}

// findJourney looks for two cities with a departure that has a price and enough seats, and takes the day with
// the most departures. That there is none is why rules are not shown, unless no search was answered at all.
func (p *player) findJourney() error {
	first := p.skew.now().UTC().AddDate(0, 0, startsIn).Format(time.DateOnly)
	most := 1
	answered := false
	var last error
	for n := 0; n < pairsTried && most < enough && !p.stopped(); n++ {
		from, to, ok := p.search.pair(n)
		if !ok {
			break
		}
		date, departures, err := p.bestDay(from, to, first)
		if err != nil {
			last = err
			continue
		}
		answered = true
		if departures > most {
			most = departures
			p.know("", from, to, date)
		}
	}
	if !answered && last != nil {
		return last
	}
	return &skip{"no journey was found within a week between the first cities; name one with -from, -to " +
		"and -date"}
}

// bestDay returns the day with the most departures that can be sold between two cities, of the days from the
// first on, and how many it has.
func (p *player) bestDay(from, to, first string) (best string, departures int, err error) {
	query := url.Values{
		"departureCitySlug": {from},
		"arrivalCitySlug":   {to},
		"date":              {first},
		"days":              {fmt.Sprint(daysTried)},
		"passengers":        {"10"},
		"take":              {"100"},
	}
	target := "/v2/offers/schedule?" + query.Encode()
	a, err := p.send("GET", p.baseURL()+target, "", nil)
	var list struct {
		Data struct {
			Departures []struct {
				DepartureDateTime string
				Price             struct{ Amount *float64 }
			}
		}
	}
	if err == nil && a.Status == http.StatusOK {
		err = json.Unmarshal(a.Body, &list)
	}
	if err != nil || a.Status != http.StatusOK {
		text := fmt.Sprintf("GET %s%s\ncame %d %s\nwant 200", p.baseURL(), target, a.Status, a.Body)
		return "", 0, &failure{"no schedule", text}
	}
	perDay := map[string]int{}
	for _, d := range list.Data.Departures {
		if d.Price.Amount == nil || len(d.DepartureDateTime) < len(time.DateOnly) {
			continue
		}
		day := d.DepartureDateTime[:len(time.DateOnly)]
		perDay[day]++
		if perDay[day] > departures {
			best = day
			departures = perDay[day]
		}
	}
	return best, departures, nil
}

// findKind looks through the offers of a day for those of a kind. What it meets of other kinds it keeps.
func (p *player) findKind(kind string) error {
	if p.opt.Key == "" {
		return &skip{"it needs -key"}
	}
	if p.search.began.IsZero() {
		p.search.began = time.Now()
	}
	date := p.skew.now().UTC().AddDate(0, 0, startsIn).Format(time.DateOnly)
	for ; p.known[kind+"_from"] == "" && !p.stopped(); p.search.next++ {
		from, to, ok := p.search.pair(p.search.next)
		if !ok || time.Since(p.search.began) > searchTime {
			break
		}
		if err := p.lookAt(from, to, date); err != nil {
			return err
		}
	}
	return &skip{fmt.Sprintf("no journey was found with %s among the offers of %s between %d cities, in "+
		"%d searches", kinds[kind], date, len(p.search.cities), p.search.next)}
}

// lookAt keeps the first journey of each kind that the offers between two cities have.
func (p *player) lookAt(from, to, date string) error {
	query := url.Values{
		"departureCitySlug": {from},
		"arrivalCitySlug":   {to},
		"departureDate":     {date},
		"passengers":        {fmt.Sprint(roomFor)},
	}
	target := "/v2/offers?" + query.Encode()
	a, err := p.send("GET", p.baseURL()+target, "", http.Header{"X-Api-Key": {p.opt.Key}})
	if err == nil && a.Status != http.StatusOK {
		err = errors.New("want 200")
	}
	if err != nil {
		text := fmt.Sprintf("GET %s%s\ncame %d %s\n%v", p.baseURL(), target, a.Status, a.Body, err)
		return &failure{"no offers", text}
	}
	for kind := range kinds {
		if p.known[kind+"_from"] == "" && len(offersOf(&a, kind)) > 0 {
			p.know(kind, from, to, date)
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
	err := p.step("GET /v2/offers?departureCitySlug=$from&arrivalCitySlug=$to&departureDate=$date")
	if err == nil && p.Answer.Status == http.StatusOK {
		err = p.playStep("    stop = data.offers[0].slices[0].stops[0].id")
	}
	if err != nil || p.Answer.Status != http.StatusOK {
		return &skip{"it needs -stop, as no offer shows one"}
	}
	return nil
}
