package gtfs

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule"
)

// slugOf makes a URL-friendly word of a name. It is "" when nothing in the name can be spelled.
func slugOf(name string) string {
	apart := func(r rune) bool {
		return !strings.ContainsRune(plain, r)
	}
	return strings.Join(strings.FieldsFunc(schedule.SpelledName(name), apart), "-")
}

// The kinds of rows that have slugs, as Tables.Former names them.
const (
	formerCompany = "company"
	formerCity    = "city"
	formerRoute   = "route"
)

// finishSlugs sets the slugs of companies, cities and routes, and remembers the slugs of those that are
// gone.
func (f *Feed) finishSlugs(before *schedule.Tables) {
	f.out.Former = nil
	companies := func(x *schedule.Company) named {
		return named{x.ID, x.Name, "", &x.Slug}
	}
	cities := func(x *schedule.City) named {
		return named{x.ID, x.Name, x.Names[schedule.EN], &x.Slug}
	}
	routes := func(x *schedule.Route) named {
		return named{x.ID, x.Name, x.Names[schedule.EN], &x.Slug}
	}
	slugs(f, formerCompany, f.out.Companies, before.Companies, before.Former, companies)
	slugs(f, formerCity, f.out.Cities, before.Cities, before.Former, cities)
	slugs(f, formerRoute, f.out.Routes, before.Routes, before.Former, routes)
	f.locateFormer(before)
}

// locateFormer remembers where the cities were that were named after their stops.
func (f *Feed) locateFormer(before *schedule.Tables) {
	old := remember(before)
	for i := range f.out.Former {
		x := &f.out.Former[i]
		c := old.byID[x.ID]
		if x.Kind == formerCity && c != nil && len(c.points) > 0 {
			x.Name = c.name
			x.Zone = c.zone
			x.Lat = c.points[0].lat
			x.Lon = c.points[0].lon
		}
	}
}

// named is a row that gets a slug. Slug is the feed's wish, and then the result. English is its name in
// English, for names that cannot be spelled in ASCII.
type named struct {
	id, name, english string
	slug              *string
}

// slugs sets the slug of each row: first of those that had one before, then as the feed asks, then after
// the names. A name gets no slug that another row had before: whoever kept that slug would be misled.
func slugs[T any](f *Feed, kind string, rows, old []T, former []schedule.Former, of func(*T) named) {
	before := map[string]string{}
	kept := map[string]bool{} // by id; all of them
	for _, x := range former {
		if x.Kind == kind {
			before[x.ID] = x.Slug
			kept[x.Slug] = true
		}
	}
	for i := range old {
		x := of(&old[i])
		before[x.id] = *x.slug
		kept[*x.slug] = true
	}
	if kind == formerCity {
		for id, slug := range f.inherited {
			if before[id] == "" {
				before[id] = slug
			}
		}
	}
	taken := map[string]bool{}
	next := map[string]int{}
	var asking, others []named
	for i := range rows {
		x := of(&rows[i])
		asked := slugOf(*x.slug)
		had := before[x.id]
		delete(before, x.id)
		// A slug that is the feed's word and a number was set because another row had the word first.
		mayKeep := asked == "" || had == asked || strings.TrimRight(had, digits) == asked+"-"
		switch {
		case had != "" && !taken[had] && mayKeep:
			*x.slug = had
			taken[had] = true
		case asked != "":
			asking = append(asking, x)
		default:
			others = append(others, x)
		}
	}
	for _, x := range append(asking, others...) {
		derived := *x.slug == ""
		slug := slugOf(*x.slug)
		for _, text := range []string{x.name, x.english, x.id, "x"} {
			if slug == "" {
				slug = slugOf(text)
			}
		}
		unique := slug
		// The numbers go on after the last number of that word, as a feed may have thousands of one name.
		for n := max(2, next[slug]); taken[unique] || derived && kept[unique]; n++ {
			unique = slug + "-" + strconv.Itoa(n)
			next[slug] = n + 1
		}
		*x.slug = unique
		taken[unique] = true
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		f.out.Former = append(f.out.Former, schedule.Former{
			Kind: kind,
			ID:   id,
			Slug: before[id],
		})
	}
}
