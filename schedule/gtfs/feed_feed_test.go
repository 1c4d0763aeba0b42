package gtfs_test

import (
	"fmt"
	"testing/fstest"

	"waybill/schedule/gtfs"
)

// A file is read row by row. A row that cannot be used says why, and is reported when the next is asked for.
func ExampleFiles_Rows() {
	sample := fstest.MapFS{}
	for _, name := range []string{"agency.txt", "stops.txt", "trips.txt", "calendar.txt", "stop_times.txt"} {
		sample[name] = &fstest.MapFile{}
	}
	sample["routes.txt"] = &fstest.MapFile{Data: []byte("\ufeffroute_id, sort\r\n" +
		"R1,1\r\n" +
		"R2,first\r\n" +
		"R1,2\r\n")}
	files, err := gtfs.Open(sample, func(file string, line int, reason string) {
		fmt.Printf("%s:%d: %s\n", file, line, reason)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for r := range files.Rows("routes.txt") {
		id := r.ID("route_id")
		sort := r.Number("sort", 0, 10)
		if r.Unused {
			continue
		}
		r.Became(int32(sort))
		fmt.Println(id, "is number", sort)
	}
	fmt.Println(files.Counts["routes.txt"], "rows, of which", len(files.IDs["routes.txt"]), "can be used")
	// Output:
	// R1 is number 1
	// routes.txt:3: sort "first" is not a whole number from 0 to 10
	// routes.txt:4: route_id "R1" already exists
	// 3 rows, of which 1 can be used
}
