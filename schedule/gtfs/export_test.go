package gtfs

import (
	"io/fs"

	"waybill/schedule"
)

// Import reads a feed that follows no timetable.
func Import(feed fs.FS, opt Options) (*schedule.Tables, map[string]int, error) {
	f, counts, err := Read(feed, opt)
	if err != nil {
		return nil, counts, err
	}
	return f.Tables(new(schedule.Tables)), counts, nil
}
