package gtfs_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// national is a feed of 445,000 stop times: 17,800 trips of 25 stops on 400
// routes, some of which leave out stops, among 5,000 stops.
func national() (feed fstest.MapFS, rows, size int) {
	const trips, calls, stops, routes = 17_800, 25, 5_000, 400
	f := plain()
	var b strings.Builder
	write := func(name string, n int, row func(i int)) {
		header, _, _ := strings.Cut(f[name], "\n")
		b.Reset()
		b.WriteString(header + "\n")
		for i := range n {
			row(i)
		}
		f[name] = b.String()
	}
	write("stops.txt", stops, func(i int) {
		fmt.Fprintf(&b, "stop-%d,Stop number %d,%.6f,%.6f\n", i, i/2, 44+float64(i%97)/10,
			22+float64(i%89)/10)
	})
	write("routes.txt", routes, func(i int) { fmt.Fprintf(&b, "route-%d,ag,%d,Line number %d,3\n", i, i, i) })
	write("trips.txt", trips, func(i int) { fmt.Fprintf(&b, "route-%d,daily,trip-%d\n", i%routes, i) })
	write("stop_times.txt", trips*calls, func(i int) {
		trip := i / calls
		at := i % calls
		route := trip % routes
		start := trip / routes * 1200
		minutes := start + at*(240+trip%5*30)
		fmt.Fprintf(&b, "trip-%d,%02d:%02d:00,%02d:%02d:30,stop-%d,%d\n", trip, minutes/3600, minutes/60%60,
			minutes/3600, minutes/60%60, (route*13+at+at*(trip%3))%stops, at+1)
	})
	for _, text := range f {
		size += len(text)
	}
	return f.fs(), trips * calls, size
}

// BenchmarkImport reads a national feed; the target is seconds, and memory of a small multiple of the text.
func BenchmarkImport(b *testing.B) {
	feed, rows, size := national()
	b.Run("import", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(size))
		var tables *schedule.Tables
		before := kept(feed)
		for b.Loop() {
			var err error
			tables, _, err = gtfs.Import(feed,
				gtfs.Options{Skip: func(file string, line int, reason string) {
					b.Fatalf("%s:%d: %s", file, line, reason)
				}})
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		b.ReportMetric(float64(kept(tables)-before)/float64(size), "kept/text")
	})
	b.Run("new", func(b *testing.B) {
		tables, _, err := gtfs.Import(feed, gtfs.Options{Skip: func(string, int, string) {}})
		if err != nil {
			b.Fatal(err)
		}
		before := kept(tables)
		b.ReportAllocs()
		var tt *schedule.Timetable
		for b.Loop() {
			if tt, err = schedule.New(tables); err != nil {
				b.Fatal(err)
			}
			journey.Prepare(tt)
		}
		b.ReportMetric(float64(kept(tt)-before)/float64(size), "kept/text")
	})
}

// kept returns the memory in use while v is.
func kept(v any) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(v)
	return int64(m.HeapAlloc)
}
