package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/store/durable"
	"waybill/store/durable/readonly"
)

const cities = 60 // from each a line runs to the 7th, 14th … 49th after it

// mayUse returns an error for a directory that is neither new nor made by a load. It is not opened for that:
// even that would write a line, and have a test clock give way to the machine's.
func (l *Load) mayUse() error {
	dir := durable.Dir(l.Dir)
	journal, err := dir.List("journal")
	if err != nil || len(journal) == 0 {
		return err // a new one
	}
	timetables, err := dir.List(ledger.TimetableDir)
	for _, name := range timetables {
		text, err := readonly.ReadFile(dir, ledger.TimetableDir+"/"+name)
		if err != nil {
			return err
		}
		// The city that every network of a load has.
		if bytes.Contains(text, []byte(`"bench-0"`)) {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%s is neither new nor made by bench", l.Dir))
}

// adopt puts a new directory, or one that a load has made, on a feed of the next 60 days, and makes a key.
func (l *Load) adopt() error {
	day := func(n int) string {
		return time.Now().AddDate(0, 0, n).Format("20060102")
	}
	// Buses are large, so that a fill of millions finds seats, and leave every hour of the morning.
	feed := map[string]string{
		"agency": "agency_id,agency_name,agency_url,agency_timezone\n" +
			"bench,Bench,https://bench.example.com,Europe/Kyiv\n",
		"calendar": "service_id,start_date,end_date,monday,tuesday,wednesday,thursday,friday,saturday,sunday\n" +
			"daily," + day(0) + "," + day(59) + ",1,1,1,1,1,1,1\n",
		"waybill_buses":   "bus_id,agency_id,seats\nbus,bench,1000\n",
		"fare_attributes": "fare_id,price,currency_type\nfare,350.00,UAH\n",
		"stops":           "stop_id,stop_name,stop_lat,stop_lon\n",
		"routes":          "route_id,agency_id,route_long_name,route_type\n",
		"trips":           "trip_id,route_id,service_id,waybill_bus_id\n",
		"frequencies":     "trip_id,start_time,end_time,headway_secs\n",
		"stop_times":      "trip_id,stop_sequence,stop_id,arrival_time,departure_time\n",
	}
	for i := range cities {
		feed["stops"] += fmt.Sprintf("%d,Bench %d,%d,%d\n", i, i, 44+i%10, 22+i/10)
		feed["routes"] += fmt.Sprintf("%d,bench,Line %d,3\n", i, i)
		feed["trips"] += fmt.Sprintf("%d,%d,daily,bus\n", i, i)
		feed["frequencies"] += fmt.Sprintf("%d,06:00:00,12:00:00,3600\n", i)
		for k := range 8 {
			stop := (i + 7*k) % cities
			feed["stop_times"] += fmt.Sprintf("%d,%d,%d,%02d:00:00,%02d:05:00\n", i, k, stop, k, k)
		}
	}
	dir, err := os.MkdirTemp("", "waybill-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range feed {
		if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	err = l.server.Admin.Import(os.DirFS(dir), "bench", admin.ImportOptions{Strict: true}, io.Discard)
	if err != nil {
		return err
	}
	l.key, err = l.server.Admin.AddPartner("bench", nil)
	return err
}
