package gtfs_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/schedule/gtfs"
)

// named lists ids and slugs of all that has a slug.
func (x *imported) named() map[string]string {
	m := map[string]string{}
	for _, c := range x.Companies {
		m["company "+c.ID] = c.Slug
	}
	for _, c := range x.Cities {
		m["city "+c.ID] = c.Slug
	}
	for _, r := range x.Routes {
		m["route "+r.ID] = r.Slug
	}
	return m
}

// again imports a feed in place of what was imported before.
func again(t *testing.T, before *imported, f files) *imported {
	t.Helper()
	return loadAfter(t, f.fs(), gtfs.Options{}, before.tables)
}

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// unique makes sure that slugs are URL-friendly and no two of a kind are the same.
func (x *imported) unique(t *testing.T) {
	t.Helper()
	seen := map[string]string{}
	for id, slug := range x.named() {
		kind, _, _ := strings.Cut(id, " ")
		if other, ok := seen[kind+slug]; ok {
			t.Errorf("%s and %s have the slug %q", id, other, slug)
		}
		seen[kind+slug] = id
		if !slugForm.MatchString(slug) {
			t.Errorf("%s has the slug %q", id, slug)
		}
	}
}

// alike is a feed in which many things have the same name.
func alike() files {
	f := plain().with("areas.txt", "area_id,area_name,waybill_slug\n"+
		"x1,Odesa,\n"+
		"x2,Одеса,\n"+
		"x3,ODESA!,\n"+
		"x4,Elsewhere,odesa\n"+
		"x5,Odesa 2,\n"+
		"日本,日本,\n").
		with("stop_areas.txt", "area_id,stop_id\nx1,a\n")
	for _, id := range []string{"o", "p", "q"} {
		f = f.plus("agency.txt", id+",Agency,https://x.example,Europe/Kyiv").plus("routes.txt",
			id+"1,ag,,Alfa Line,3", id+"2,ag,,,3")
	}
	return f
}

// TestSlugs makes slugs of names, each once; those that a feed gives come first.
func TestSlugs(t *testing.T) {
	x := clean(t, alike())
	x.unique(t)
	got := x.named()
	for id, want := range map[string]string{"city x4": "odesa", "city x1": "odesa-2", "city x2": "odesa-3",
		"city x3": "odesa-4", "city x5": "odesa-2-2",
		"company ag": "agency", "company o": "agency-2", "route r": "alfa-line", "route o1": "alfa-line-2",
		"city ~.Bravo": "bravo"} {
		if got[id] != want {
			t.Errorf("%s has the slug %q, want %q", id, got[id], want)
		}
	}
	if got := x.cityOf(t, "b").Slug; got != "bravo" {
		t.Errorf("the city of Bravo has the slug %q", got)
	}
	for name, want := range map[string]string{
		"Київ":      "kyiv",
		"Львів":     "lviv",
		"Запоріжжя": "zaporizhzhia",
		"Кам’янець-Подільський": "kamianets-podilskyi",
		"Ужгород":          "uzhhorod",
		"Ґалаґан":          "galagan",
		"Ївга":             "ivha",
		"Łódź":             "lodz",
		"Kraków":           "krakow",
		"Šiauliai":         "siauliai",
		"Košice":           "kosice",
		"Győr":             "gyor",
		"Iași":             "iasi",
		"Straße":           "strasse",
		"İstanbul":         "istanbul",
		"Iğdır":            "igdir",
		"Saint-Étienne":    "saint-etienne",
		"Frankfurt (Oder)": "frankfurt-oder",
		"  A  --  B ":      "a-b",
		"A/B":              "a-b",
		"Ångström":         "angstrom",
		"Ærø":              "aero",
		"Αθήνα":            "athina",
		"L'Aquila":         "laquila",
		"e\u0301":          "e",
		"Й":                "i",
		"2nd Street":       "2nd-street",
	} {
		x := clean(t, plain().with("stops.txt", fmt.Sprintf("stop_id,stop_name,stop_lat,stop_lon\n"+
			"a,%q,50,30\n"+
			"b,Bravo,50,31\n"+
			"c,Charlie,50,32\n", name)))
		if got := x.cityOf(t, "a").Slug; got != want {
			t.Errorf("the slug of %q is %q, want %q", name, got, want)
		}
	}
}

// TestAgain keeps slugs and ids over a second import, whatever the order of rows and whatever is new.
func TestAgain(t *testing.T) {
	first := clean(t, alike())
	want := first.named()
	sameNames := func(x *imported, also int) {
		t.Helper()
		x.unique(t)
		got := x.named()
		for id, slug := range want {
			if got[id] != slug {
				t.Errorf("%s had the slug %q and now has %q", id, slug, got[id])
			}
		}
		if len(got) != len(want)+also {
			t.Errorf("%d things with a slug, want %d: %q", len(got), len(want)+also,
				slices.Sorted(maps.Keys(got)))
		}
	}
	second := again(t, first, alike())
	sameNames(second, 0)
	sameLines(t, "the same feed", second.describe(), first.describe())
	for seed := range uint64(20) {
		sameNames(again(t, second, shuffled(alike(), seed)), 0)
	}
	sameNames(again(t, second, alike().edit(t, "areas.txt", "x1,Odesa,", "x0,Odesa,\nx1,Odesa,")), 1)
	sameNames(again(t, second, alike().edit(t, "areas.txt", "x1,Odesa,", "x1,Another Name,")), 0)
	sameNames(again(t, second, alike().edit(t, "agency.txt", "o,Agency",
		"n,Agency,https://x.example,Europe/Kyiv\n"+
			"o,Renamed")), 1)
	sameNames(again(t, second, alike().edit(t, "routes.txt", "o1,ag,,Alfa Line",
		"n1,ag,,Alfa Line,3\no1,ag,,Renamed")), 1)
	third := again(t, second, alike().edit(t, "areas.txt", "x1,Odesa,", "x1,Odesa,given"))
	third.unique(t)
	if got := third.named()["city x1"]; got != "given" {
		t.Errorf("a city that is given another slug has %q", got)
	}
}

// TestFreedSlug: a slug that nobody has any more goes to the one that asks for it.
func TestFreedSlug(t *testing.T) {
	first := clean(t, plain())
	if got := first.cityOf(t, "a").Slug; got != "alfa" {
		t.Fatalf("slug %q", got)
	}
	// Stop a now belongs to an area: the city named after the stop is gone.
	second := again(t, first, plain().with("areas.txt",
		"area_id,area_name,waybill_slug\nx,Alfa,alfa\n").with("stop_areas.txt", "area_id,stop_id\nx,a\n"))
	if got := second.cityOf(t, "a").Slug; got != "alfa" {
		t.Errorf("the feed gives the slug alfa, which no other city has, but the city's is %q", got)
	}
}

// TestGivenSlugs: slugs that a feed gives come before those made of names, for companies and routes as for
// cities.
func TestGivenSlugs(t *testing.T) {
	f := plain().with("agency.txt", "agency_id,agency_name,agency_url,agency_timezone,waybill_slug\n"+
		"ag,Agency,https://x.example,Europe/Kyiv,\n"+
		"b,B,https://x.example,Europe/Kyiv,agency\n").
		with("routes.txt", "route_id,agency_id,route_short_name,route_long_name,route_type,waybill_slug\n"+
			"r,ag,,Alfa Line,3,\n"+
			"q,ag,,Q,3,alfa-line\n").
		with("areas.txt", "area_id,area_name,waybill_slug\nx,Xray,\ny,Yankee,xray\n")
	got := clean(t, f).named()
	for id, want := range map[string]string{
		"company b":  "agency",
		"company ag": "agency-2",
		"route q":    "alfa-line",
		"route r":    "alfa-line-2",
		"city y":     "xray",
		"city x":     "xray-2",
	} {
		if got[id] != want {
			t.Errorf("%s has the slug %q, want %q", id, got[id], want)
		}
	}
}

// TestSlugsOfWhatIsAway: nothing else gets the slug of a company, a route or an area that is not there for a
// while, and it has it again when it comes back. A partner may be limited to a company by its slug.
func TestSlugsOfWhatIsAway(t *testing.T) {
	with := func(ids ...string) files {
		f := plain().with("areas.txt", "area_id,area_name\n")
		for _, id := range ids {
			f = f.plus("agency.txt", id+",Al,https://x.example,Europe/Kyiv").plus("routes.txt",
				id+",ag,,R,3").plus("areas.txt", id+",Ar")
		}
		return f
	}
	x := clean(t, with("a", "b"))
	first := x.named()
	for _, step := range []struct{ present, fresh string }{{"a c", "c"}, {"c", ""}, {"b c", ""},
		{"a b c d", "d"}} {
		x = again(t, x, with(strings.Fields(step.present)...))
		x.unique(t)
		now := x.named()
		for id := range strings.FieldsSeq(step.present) {
			for _, kind := range []string{"company ", "route ", "city "} {
				if slug := first[kind+id]; slug != "" && now[kind+id] != slug {
					t.Errorf("with %s: %s%s has the slug %q, and had %q", step.present, kind, id,
						now[kind+id], slug)
				}
			}
		}
		for id, slug := range now {
			if first[id] == "" {
				first[id] = slug
			}
		}
		for id, slug := range first {
			kind, _, _ := strings.Cut(id, " ")
			if now[kind+" "+step.fresh] == slug && id != kind+" "+step.fresh {
				t.Errorf("with %s: %s %s has the slug %q of %s", step.present, kind, step.fresh, slug, id)
			}
		}
	}
}

// TestAreaInPlaceOfAName: an area that takes the place of a city of a name has its slug; another area has
// not.
func TestAreaInPlaceOfAName(t *testing.T) {
	first := clean(t, same("p,50,30,", "q,53,30,"))
	area := func(stop string) files {
		return same("p,50,30,", "q,53,30,").with("areas.txt",
			"area_id,area_name\nx,Same\n").with("stop_areas.txt", "area_id,stop_id\nx,"+stop+"\n")
	}
	for _, stop := range []string{"p", "q"} {
		got, want := again(t, first, area(stop)).cityOf(t, stop).Slug, first.cityOf(t, stop).Slug
		if got != want {
			t.Errorf("the area of %s has the slug %q, want %q", stop, got, want)
		}
	}
	gone := same("r,56,30,").with("areas.txt", "area_id,area_name\nx,Same\n").with("stop_areas.txt",
		"area_id,stop_id\nx,r\n")
	if got := again(t, first, gone).cityOf(t, "r").Slug; got != "same-3" {
		t.Errorf("an area 300 km away has the slug %q", got)
	}
}
