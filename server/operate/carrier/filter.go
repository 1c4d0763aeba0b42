package carrier

import (
	"slices"
	"strings"

	"waybill/schedule"
)

// filter says which trips are looked for by names (decision runs.names). Names are compared folded, in
// each language of the timetable.
type filter struct {
	tt            *schedule.Timetable
	company, city term
	text          term
	cities        map[string][]string // the folded names of cities, by id
}

// term is a name or a part of one.
type term struct {
	folded string
	whole  bool // a name is just this, so that other names of which it is a part are not meant
}

// newFilter returns the filter of a query.
func newFilter(tt *schedule.Timetable, q Query) *filter {
	x := &filter{
		tt:      tt,
		company: newTerm(q.Company),
		city:    newTerm(q.City),
		text:    newTerm(q.Text),
		cities:  map[string][]string{},
	}
	for i := range tt.Companies {
		x.company.whole = x.company.whole || slices.Contains(companyNames(&tt.Companies[i]), x.company.folded)
	}
	for i := range tt.Cities {
		x.city.whole = x.city.whole || slices.Contains(x.cityNames(&tt.Cities[i]), x.city.folded)
	}
	return x
}

// newTerm returns a term of a query.
func newTerm(text string) term {
	return term{folded: schedule.FoldName(strings.TrimSpace(text))}
}

// isIn reports whether the term is one of some folded names, or a part of one where no name is just this.
func (t *term) isIn(names []string) bool {
	if t.whole {
		return slices.Contains(names, t.folded)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.Contains(name, t.folded)
	})
}

// has reports whether a trip is one that is looked for.
func (x *filter) has(form *schedule.Form) bool {
	company := companyNames(&form.Company)
	var cities []string
	for i := range form.Stops {
		cities = append(cities, x.cityNames(&form.Stops[i].City)...)
	}
	if !x.company.isIn(company) || !x.city.isIn(cities) {
		return false
	}
	if x.text.isIn(company) || x.text.isIn(cities) {
		return true
	}
	trip := []string{
		schedule.FoldName(form.Trip),
		schedule.FoldName(schedule.FeedID(form.Trip)),
		schedule.FoldName(form.Name),
	}
	return x.text.isIn(trip) || x.text.isIn(x.routeNames(form))
}

// companyNames returns the folded names of a company.
func companyNames(c *schedule.Company) []string {
	return []string{schedule.FoldName(c.Name), schedule.FoldName(c.Slug)}
}

// routeNames returns the folded names of a trip's route.
func (x *filter) routeNames(form *schedule.Form) []string {
	names := []string{schedule.FoldName(form.Route.Name)}
	if trip, known := x.tt.TripByID(form.Trip); known {
		for _, name := range x.tt.Route(trip).Names {
			names = appendName(names, name)
		}
	}
	return names
}

// cityNames returns the folded names of a city.
func (x *filter) cityNames(city *schedule.City) []string {
	if names, known := x.cities[city.ID]; known {
		return names
	}
	names := []string{schedule.FoldName(city.Name), schedule.FoldName(city.Slug)}
	if i, known := x.tt.CityByID(city.ID); known {
		for _, name := range x.tt.Cities[i].Names {
			names = appendName(names, name)
		}
	}
	x.cities[city.ID] = names
	return names
}

// appendName appends a name in a language, unless there is none.
func appendName(names []string, name string) []string {
	if name == "" {
		return names
	}
	return append(names, schedule.FoldName(name))
}
