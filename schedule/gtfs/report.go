package gtfs

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"waybill/schedule/journey"
)

// Decisions returns the decisions of the import, in the order in which they were taken.
func (f *Feed) Decisions() []decision {
	return f.files.Decisions()
}

// Apart returns, as a line or none, the names of stops that stand for several cities. After Tables it may
// return another line: cities that were apart before stay so.
func (f *Feed) Apart() []string {
	names := f.apart()
	if len(names) == 0 {
		return nil
	}
	return []string{"stop names that stand for several cities, because the stops are over 30 km apart " +
		"or in several time zones, or were before: " + sample(names)}
}

const maxNamed = 20 // that a line of the report names; the others are counted

// Remarks returns what else an operator should know before the timetable is in force, a line each.
func (f *Feed) Remarks() (list []string) {
	remark := func(format string, args ...any) {
		list = append(list, fmt.Sprintf(format, args...))
	}
	if first, end := f.out.ServiceDays(); first < end {
		remark("service from %s to %s", first, end-1)
	} else {
		remark("no trip runs on any day: nothing will be sold")
	}
	list = append(list, f.Apart()...)
	if names := f.largeAreas(); len(names) > 0 {
		remark("areas with several stops; a run is listed once for each pair of boarding and alighting "+
			"stops, or only once where there are more than %d pairs: %s", journey.MaxPairs, sample(names))
	}
	for _, rate := range f.out.FarePerKm {
		remark("rides that no fare matches are priced by distance, in %s", rate.Currency)
	}
	if n := f.norefund(); n > 0 {
		remark("routes without a refund rule, whose tickets are not refunded after the first 20 "+
			"minutes: %d of %d", n, len(f.out.Routes))
	}
	if currencies := f.currencies(); len(currencies) > 0 {
		remark("currencies: %s; the public schedule asks for UAH, PLN, CZK, EUR and USD, partners for any",
			strings.Join(currencies, ", "))
	}
	if n := f.unpriced(); n > 0 {
		remark("routes without any fare, which are not sold; -fare-per-km prices them by distance: %d of %d",
			n, len(f.out.Routes))
	}
	for _, family := range ignoredFamilies {
		if names := f.present(family.files); len(names) > 0 {
			remark("ignored: %s (%s)", strings.Join(names, ", "), family.name)
		}
	}
	if names := f.unknownFiles(); len(names) > 0 {
		remark("ignored: %s (not used by Waybill)", sample(names))
	}
	return list
}

// sample lists the first of many names.
func sample(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// ignoredFamilies are the parts of GTFS that are ignored as a whole. An operator is told why, rather than
// finding out from prices or stops that are not there.
var ignoredFamilies = []struct {
	name  string
	files []string
}{
	{
		"GTFS Fares v2; fares are read from fare_attributes.txt and fare_rules.txt",
		strings.Fields(`
			fare_products.txt fare_leg_rules.txt fare_leg_join_rules.txt fare_transfer_rules.txt
			fare_media.txt rider_categories.txt timeframes.txt networks.txt route_networks.txt`),
	},
	{
		"GTFS Flex; only stops at fixed times are read",
		strings.Fields(`
			booking_rules.txt location_groups.txt location_group_stops.txt locations.geojson`),
	},
}

// readFiles are the files that an import reads.
var readFiles = strings.Fields(`
	agency.txt areas.txt calendar.txt calendar_dates.txt fare_attributes.txt fare_rules.txt feed_info.txt
	frequencies.txt routes.txt stop_areas.txt stop_times.txt stops.txt transfers.txt translations.txt trips.txt
	waybill_buses.txt waybill_discounts.txt waybill_refund_rules.txt`)

// present returns those of some files that the feed has.
func (f *Feed) present(files []string) (list []string) {
	for _, name := range files {
		if f.files.Has(name) {
			list = append(list, name)
		}
	}
	return list
}

// unknownFiles returns the feed's files that are neither read nor of an ignored family.
func (f *Feed) unknownFiles() (list []string) {
	entries, err := fs.ReadDir(f.files.Dir, ".")
	if err != nil {
		return nil
	}
	known := slices.Clone(readFiles)
	for _, family := range ignoredFamilies {
		known = append(known, family.files...)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || slices.Contains(known, name) {
			continue
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			name = strconv.Quote(name) // a newline in a name would end the report's line
		}
		list = append(list, name)
	}
	return list
}

// largeAreas describes the areas that have more than one stop, the largest first.
func (f *Feed) largeAreas() (list []string) {
	stops := make([]int, f.areas)
	for _, s := range f.out.Stops {
		if int(s.City) < f.areas {
			stops[s.City]++
		}
	}
	var large []int
	for i, n := range stops {
		if n > 1 {
			large = append(large, i)
		}
	}
	slices.SortStableFunc(large, func(a, b int) int {
		return stops[b] - stops[a]
	})
	for _, i := range large {
		name := f.out.Cities[i].Name
		list = append(list, fmt.Sprintf("%s (%d stops)", name, stops[i]))
	}
	return list
}

// currencies returns those of the fares.
func (f *Feed) currencies() (list []string) {
	for _, fare := range f.out.Fares {
		if !slices.Contains(list, fare.Currency) {
			list = append(list, fare.Currency)
		}
	}
	for _, rate := range f.out.FarePerKm {
		if !slices.Contains(list, rate.Currency) {
			list = append(list, rate.Currency)
		}
	}
	slices.Sort(list)
	return list
}

// norefund counts the routes that neither have refund rules of their own nor any of their company.
func (f *Feed) norefund() (n int) {
	routes := map[int32]bool{}
	companies := map[int32]bool{}
	for _, rule := range f.out.RefundRules {
		if rule.Route >= 0 {
			routes[rule.Route] = true
		} else {
			companies[rule.Company] = true
		}
	}
	for i, route := range f.out.Routes {
		if !routes[int32(i)] && !companies[route.Company] {
			n++
		}
	}
	return n
}

// unpriced counts the routes that no fare can match, in a feed that has fares. An operator would otherwise
// wonder why a route is shown and cannot be bought.
func (f *Feed) unpriced() (n int) {
	if len(f.out.FarePerKm) > 0 {
		return 0
	}
	anyone := false
	companies := map[int32]bool{}
	routes := map[int32]bool{}
	for _, fare := range f.out.Fares {
		switch {
		case fare.Route >= 0:
			routes[fare.Route] = true
		case fare.Company >= 0:
			companies[fare.Company] = true
		default:
			anyone = true
		}
	}
	for i, route := range f.out.Routes {
		if !anyone && !companies[route.Company] && !routes[int32(i)] {
			n++
		}
	}
	return n
}
