package gtfs_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

var long = flag.Bool("long", false, "try all, and not a third of them")

// sampled returns how many are tried of all that there are: all of them with -long.
func sampled[N int | uint64](all N) N {
	if *long {
		return all
	}
	return all / 3
}

// seasons start a week before clocks change in Europe, or in America, or do not change.
var seasons = []time.Time{date(2026, 3, 22), date(2026, 10, 18), date(2026, 3, 3), date(2026, 7, 1)}

// clocks are zones that change their clocks on different days, by other than an hour, at midnight, or not at
// all.
var clocks = []string{"Europe/Kyiv", "Europe/Warsaw", "Europe/London", "Europe/Istanbul", "America/New_York",
	"Africa/Cairo", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati", "Pacific/Pago_Pago"}

// randomFeed makes a small feed in which much is odd. All of its rows can be used.
func randomFeed(r *rand.Rand) files {
	m := map[string]*strings.Builder{}
	put := func(file, format string, args ...any) {
		if m[file] == nil {
			m[file] = new(strings.Builder)
		}
		fmt.Fprintf(m[file], format+"\n", args...)
	}
	put("agency.txt", "agency_id,agency_name,agency_url,agency_timezone")
	put("routes.txt", "agency_id,route_id,route_short_name,route_long_name,route_type")
	put("areas.txt", "area_id,area_name,waybill_timezone")
	put("stop_areas.txt", "area_id,stop_id")
	put("stops.txt", "stop_id,stop_name,stop_lat,stop_lon,parent_station,location_type,stop_timezone")
	agencies := 1 + r.IntN(3)
	for i := range agencies {
		put("agency.txt", "ag%d,Agency %d,https://x.example,%s", i, i, clocks[r.IntN(len(clocks))])
	}
	routes := 1 + r.IntN(4)
	for i := range routes {
		long := ""
		short := ""
		if r.IntN(2) == 0 {
			long = fmt.Sprintf("Line %d", r.IntN(2)) // some have the same name
		}
		if r.IntN(2) == 0 {
			short = fmt.Sprint(i)
		}
		put("routes.txt", "ag%d,r%d,%s,%s,%d", r.IntN(agencies), i, short, long, r.IntN(8))
	}
	var stops []string
	for i := range 3 + r.IntN(4) {
		zone := clocks[r.IntN(len(clocks))]
		switch r.IntN(3) {
		case 0: // an area with two stops
			put("areas.txt", "c%d,Area %d,%s", i, i, zone)
			put("stops.txt", "s%da,Somewhere,50,%d,,,\ns%db,Elsewhere,50,%d,,0,", i, i, i, i)
			put("stop_areas.txt", "c%d,s%da\nc%d,s%db", i, i, i, i)
			stops = append(stops, fmt.Sprintf("s%da", i), fmt.Sprintf("s%db", i))
		case 1: // a station with a platform, which is listed first
			put("stops.txt", "s%dp,Platform,50,%d,s%d,0,\ns%d,Station %d,50,%d,,1,%s", i, i, i, i, i, i, zone)
			stops = append(stops, fmt.Sprintf("s%dp", i), fmt.Sprintf("s%d", i))
		default:
			put("stops.txt", "s%d,Stop %d,50,%d,,,%s", i, i, i, zone)
			stops = append(stops, fmt.Sprintf("s%d", i))
		}
	}
	services := randomServices(r, put)
	randomTrips(r, put, routes, services, stops)
	f := files{}
	for name, text := range m {
		f[name] = text.String()
	}
	if r.IntN(2) == 0 {
		f = f.each(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })
	}
	return shuffled(f, r.Uint64())
}

// randomServices writes calendars of either kind and gives their ids.
func randomServices(r *rand.Rand, put func(file, format string, args ...any)) (ids []string) {
	put("calendar.txt",
		"start_date,end_date,service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday")
	put("calendar_dates.txt", "date,service_id,exception_type")
	for i := range 1 + r.IntN(4) {
		id := fmt.Sprintf("v%d", i)
		ids = append(ids, id)
		season := seasons[r.IntN(len(seasons))]
		only := r.IntN(3) == 0 // calendar_dates only
		if !only {
			start := date(2026, 1, 1)
			end := date(2026, 12, 31)
			if r.IntN(2) == 0 {
				start = season.AddDate(0, 0, r.IntN(10)-5)
				end = season.AddDate(0, 0, 5+r.IntN(20))
			}
			var days [7]any
			for k := range days {
				days[k] = r.IntN(4) / 3
				if r.IntN(2) == 0 {
					days[k] = 1
				}
			}
			put("calendar.txt", "%s,%s,"+id+",%d,%d,%d,%d,%d,%d,%d",
				append([]any{start.Format("20060102"), end.Format("20060102")}, days[:]...)...)
		}
		for _, k := range r.Perm(25)[:r.IntN(8)] {
			kind := 1 + r.IntN(2)
			if only {
				kind = 1
			}
			put("calendar_dates.txt", "%s,%s,%d", season.AddDate(0, 0, k-3).Format("20060102"), id, kind)
		}
		if only {
			put("calendar_dates.txt", "20260101,%s,1", id) // a service must have a row
		}
	}
	return ids
}

// randomTrips writes trips of up to four days, some of which run at intervals.
func randomTrips(r *rand.Rand, put func(file, format string, args ...any), routes int, services,
	stops []string) {
	put("trips.txt", "trip_id,service_id,route_id")
	put("stop_times.txt",
		"stop_sequence,trip_id,stop_id,departure_time,arrival_time,drop_off_type,pickup_type")
	put("frequencies.txt", "trip_id,start_time,end_time,headway_secs")
	write := func(at int) string {
		return fmt.Sprintf("%0*d:%02d:%02d", 1+r.IntN(2), at/3600, at/60%60, at%60)
	}
	for i := range 2 + r.IntN(7) {
		put("trips.txt", "t%d,%s,r%d", i, services[r.IntN(len(services))], r.IntN(routes))
		at := r.IntN(30*3600) / 300 * 300
		seq := r.IntN(5)
		n := 2 + r.IntN(5)
		long := []int{600, 3600, 20 * 3600}[r.IntN(3)]
		last := ""
		for k := range n {
			stop := stops[r.IntN(len(stops))]
			for stop == last {
				stop = stops[r.IntN(len(stops))]
			}
			last = stop
			arr := write(at)
			dep := write(at + r.IntN(2)*r.IntN(900))
			switch {
			case k > 0 && k < n-1 && r.IntN(3) == 0:
				arr = ""
				dep = ""
			case r.IntN(6) == 0:
				arr = ""
			case r.IntN(6) == 0:
				dep = ""
			}
			put("stop_times.txt", "%d,t%d,%s,%s,%s,%s,%s", seq, i, stop, dep, arr,
				[]string{"", "0", "0", "1", "2"}[r.IntN(5)], []string{"", "0", "0", "1", "3"}[r.IntN(5)])
			seq += 1 + r.IntN(100)
			at += 900 + r.IntN(long)/60*60
		}
		for range r.IntN(4) / 2 * r.IntN(3) {
			start := r.IntN(28*3600) / 600 * 600
			put("frequencies.txt", "t%d,%s,%s,%d", i, write(start), write(start+1+r.IntN(4*3600)),
				600*(1+r.IntN(8)))
		}
	}
}
