package gtfs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// FuzzRow puts arbitrary bytes in place of a file of a feed, or below its
// header. Import must not panic, must name a file of the feed and a line of it for each row
// it skips, and whatever it yields must be a timetable.
func FuzzRow(f *testing.F) {
	base := network()
	names := slices.Sorted(maps.Keys(base))
	for i, name := range names {
		header, body, _ := strings.Cut(base[name], "\n")
		f.Add(uint8(i), true, []byte(base[name]))
		f.Add(uint8(i), false, []byte(body))
		f.Add(uint8(i), false, []byte(strings.ReplaceAll(body, ",", ", \"")))
		f.Add(uint8(i), true, []byte("\xef\xbb\xbf"+header+"\r\n"+strings.Repeat(",", 20)))
		f.Add(uint8(i), false, []byte(strings.Repeat("x,", 9)+"\n"+strings.Repeat("1,", 9)+"\n\"\n"))
	}
	f.Add(uint8(slices.Index(names, "frequencies.txt")), false, []byte("t3,0:00:00,24:00:00,60\n"+
		"t1,99:00:00,999:59:59,100000\n"))
	f.Add(uint8(slices.Index(names, "stop_times.txt")), false, []byte("t1,999:59:59,,k1,2147483647,1,1\n"+
		"t2,0:00:00,0:00:00,lv,0,,\n"))
	f.Add(uint8(slices.Index(names, "calendar.txt")), false, []byte("week,1,1,1,1,1,1,1,00010101,99991231\n"))
	f.Fuzz(func(t *testing.T, file uint8, whole bool, data []byte) {
		name := names[int(file)%len(names)]
		text := string(data)
		if !whole {
			header, _, _ := strings.Cut(base[name], "\n")
			text = header + "\n" + text
		}
		lines := strings.Count(text, "\n") + 1
		skip := func(in string, line int, reason string) {
			if base[in] == "" || reason == "" || line < 1 ||
				line > max(lines, strings.Count(base[in], "\n")+1) {
				t.Errorf("skipped %q:%d: %q, which is no row of the feed", in, line, reason)
			}
		}
		tables, _, err := gtfs.Import(base.with(name, text).fs(), gtfs.Options{Skip: skip})
		if err != nil {
			return
		}
		tt, err := schedule.New(tables)
		if err != nil {
			t.Fatalf("what Import gave is no timetable: %v", err)
		}
		use(t, journey.On(tt))
	})
}

// use asks a timetable everything once.
func use(t *testing.T, tt journey.Finder) {
	first, err := schedule.ParseDay("2026-04-30")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tt.Trips[:min(len(tt.Trips), 50)] {
		form := tt.Form(int32(i))
		if again, err := schedule.DecodeForm(form.Encode()); err != nil || again.Key() != form.Key() {
			t.Fatalf("trip %q: a form that cannot be kept: %v", tt.Trips[i].ID, err)
		}
	}
	for from := range tt.Cities[:min(len(tt.Cities), 5)] {
		for to := range tt.Cities[:min(len(tt.Cities), 5)] {
			for _, j := range tt.Search(&journey.Query{
				From:    int32(from),
				To:      int32(to),
				First:   first,
				Days:    3,
				Changes: 1,
			}) {
				if j.Arr() < j.Dep() {
					t.Errorf("a journey arrives before it leaves: %v, %v", time.Unix(j.Dep(), 0),
						time.Unix(j.Arr(), 0))
				}
				for _, l := range j {
					if again, ok := tt.Resolve(tt.Ref(&l)); !ok || again != l {
						t.Errorf("the ride %+v resolves to %+v, %v", l, again, ok)
					}
					for _, m := range tt.Price(&l) {
						if m.Amount < 0 {
							t.Errorf("a ride costs %d %s", m.Amount, m.Currency)
						}
					}
				}
			}
		}
	}
}
