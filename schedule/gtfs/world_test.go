package gtfs_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// How the import reads what real feeds say (decision feed.read).

// portlands is a feed with two towns of one name: one can go from Boston to Portland in Maine, and from
// Portland in Oregon to Seattle.
func portlands() files {
	f := plain()
	f["agency.txt"] = "agency_id,agency_name,agency_url,agency_timezone\n" +
		"ag,Agency,https://a.example,America/New_York\n"
	f["stops.txt"] = "stop_id,stop_name,stop_lat,stop_lon,stop_timezone\n" +
		"bos,Boston,42.35,-71.06,America/New_York\n" +
		"pwm,Portland,43.65,-70.29,America/New_York\n" +
		"pdx,Portland,45.53,-122.68,America/Los_Angeles\n" +
		"sea,Seattle,47.60,-122.33,America/Los_Angeles\n"
	f["trips.txt"] = "route_id,service_id,trip_id\nr,daily,east\nr,daily,west\n"
	f["stop_times.txt"] = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n" +
		"east,08:00:00,08:00:00,bos,1\neast,10:00:00,10:00:00,pwm,2\n" +
		"west,11:00:00,11:00:00,pdx,1\nwest,14:35:00,14:35:00,sea,2\n"
	return f
}

func TestNoJourneyBetweenTownsOfOneName(t *testing.T) {
	x := clean(t, portlands())
	boston := x.cityOf(t, "bos")
	seattle := x.cityOf(t, "sea")
	from, _ := x.CityByID(boston.ID)
	to, _ := x.CityByID(seattle.ID)
	day, err := schedule.ParseDay("2026-06-01")
	if err != nil {
		t.Fatal(err)
	}
	if list := x.Search(&journey.Query{From: from, To: to, First: day, Days: 2, Changes: 1}); len(list) > 0 {
		t.Errorf("Boston to Seattle is sold, by way of two Portlands: %+v", list)
	}
	maine := x.cityOf(t, "pwm")
	oregon := x.cityOf(t, "pdx")
	if maine.ID == oregon.ID || maine.Slug == oregon.Slug {
		t.Errorf("two towns 4,000 km apart are one city: %+v, %+v", maine, oregon)
	}
	if maine.Zone != "America/New_York" || oregon.Zone != "America/Los_Angeles" {
		t.Errorf("the zones of the two Portlands are %s and %s", maine.Zone, oregon.Zone)
	}
	if maine.Name != "Portland" || oregon.Name != "Portland" {
		t.Errorf("the names of the two Portlands are %s and %s", maine.Name, oregon.Name)
	}
}

// same is a feed whose further stops are all called Same; each row is an id, a latitude, a longitude and a
// zone.
func same(rows ...string) files {
	f := plain()
	f["stops.txt"] = "stop_id,stop_lat,stop_lon,stop_timezone,stop_name\n" +
		"a,50,30,,Alfa\n" +
		"b,50,31,,Bravo\n" +
		"c,50,32,,Charlie\n"
	for _, row := range rows {
		f["stops.txt"] += row + ",Same\n"
	}
	return f
}

// TestCityOfOneName: stops that only share a name are one city within 30 km, all of them, and in one time
// zone.
func TestCityOfOneName(t *testing.T) {
	// A degree of latitude is 111.19 km long: 0.269 are 29.9 km, 0.271 are 30.1.
	for name, c := range map[string]struct {
		rows   []string
		cities string // the stops of each
	}{
		"near":               {[]string{"s1,50,30,", "s2,50.269,30,"}, "s1+s2"},
		"far":                {[]string{"s1,50,30,", "s2,50.271,30,"}, "s1 s2"},
		"a chain":            {[]string{"s1,50,30,", "s2,50.2,30,", "s3,50.4,30,"}, "s1+s2 s3"},
		"to the nearest":     {[]string{"s1,50,30,", "s2,50.5,30,", "s3,50.26,30,"}, "s1 s2+s3"},
		"zones":              {[]string{"s1,50,30,Europe/Kyiv", "s2,50.01,30,Europe/Warsaw"}, "s1 s2"},
		"names of one zone":  {[]string{"s1,50,30,Europe/Kyiv", "s2,50.01,30,Europe/Kiev"}, "s1+s2"},
		"like zones":         {[]string{"s1,50,30,Europe/Prague", "s2,50.01,30,Europe/Warsaw"}, "s1 s2"},
		"no zone":            {[]string{"s1,50,30,Europe/Kyiv", "s2,50.01,30,"}, "s1+s2"},
		"over the date line": {[]string{"s1,50,179.95,", "s2,50,-179.95,"}, "s1+s2"},
		"a square":           {[]string{"s1,50,30,", "s2,50.2,30,", "s3,50,30.25,", "s4,50.2,30.25,"}, "s1+s2+s3+s4"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				x := clean(t, shuffled(same(c.rows...), seed))
				x.unique(t)
				stops := map[string][]string{}
				for _, s := range x.Stops {
					if s.Place == "Same" {
						stops[x.Cities[s.City].ID] = append(stops[x.Cities[s.City].ID], s.ID)
					}
				}
				var cities []string
				for _, list := range stops {
					slices.Sort(list)
					cities = append(cities, strings.Join(list, "+"))
				}
				slices.Sort(cities)
				if got := strings.Join(cities, " "); got != c.cities {
					t.Fatalf("cities of %s, want %s", got, c.cities)
				}
			}
		})
	}
}

// TestZoneOfServedStop: where a feed has no stop_timezone, a stop has that of the company that calls there.
func TestZoneOfServedStop(t *testing.T) {
	f := same("s1,50,30,", "s2,50.01,30,").
		plus("agency.txt", "wa,Warsaw Lines,https://wa.example,Europe/Warsaw").
		plus("routes.txt", "q,wa,8,Warsaw Line,3").plus("trips.txt", "q,daily,u").
		plus("stop_times.txt", "t,11:00:00,11:00:00,s1,4", "u,08:00:00,08:00:00,s2,1",
			"u,09:00:00,09:00:00,a,2")
	x := clean(t, f)
	one, other := x.cityOf(t, "s1"), x.cityOf(t, "s2")
	if one.ID == other.ID || one.Zone != "Europe/Kyiv" || other.Zone != "Europe/Warsaw" {
		t.Errorf("stops that buses of Kyiv and of Warsaw call at are in %+v and %+v", one, other)
	}
}

// TestSlugsOfOneName: each city keeps its id and slug, whatever the order of rows or what is added later.
func TestSlugsOfOneName(t *testing.T) {
	rows := []string{"s3,50,30,", "s5,52,30,", "s7,54,30,"}
	first := clean(t, same(rows...))
	slug := map[string]string{}
	for _, stop := range []string{"s3", "s5", "s7"} {
		slug[stop] = first.cityOf(t, stop).ID + " " + first.cityOf(t, stop).Slug
	}
	if slug["s3"] != "~.Same same" || slug["s5"] == slug["s7"] {
		t.Errorf("ids and slugs %q", slug)
	}
	keeps := func(what string, x *imported, stops ...string) {
		t.Helper()
		x.unique(t)
		for _, stop := range stops {
			if got := x.cityOf(t, stop).ID + " " + x.cityOf(t, stop).Slug; got != slug[stop] {
				t.Errorf("%s: the city of %s is %s, and was %s", what, stop, got, slug[stop])
			}
		}
	}
	for seed := range uint64(10) {
		keeps("another order", clean(t, shuffled(same(rows...), seed)), "s3", "s5", "s7")
		more := shuffled(same(append(rows, "s1,50.1,30,", "s0,58,30,", "s4,52.1,30,", "s9,54,30.1,")...),
			seed)
		grown := again(t, first, more)
		keeps("more of them", grown, "s3", "s5", "s7")
		if near, old := grown.cityOf(t, "s1").ID, grown.cityOf(t, "s3").ID; near != old {
			t.Errorf("a stop that was added 11 km from %s is in %s", old, near)
		}
	}
	keeps("one is gone", again(t, first, same(rows[1:]...)), "s5", "s7")
	// What comes in between takes no city apart, although with it other places would fit together.
	pair := clean(t, same("s3,50,30,", "s5,50.2,30,"))
	split := again(t, pair, same("s1,50.4,30,", "s3,50,30,", "s5,50.2,30,"))
	if split.cityOf(t, "s3").ID != split.cityOf(t, "s5").ID ||
		split.cityOf(t, "s1").ID == split.cityOf(t, "s5").ID {
		t.Error("a stop that was added later takes a city apart")
	}
}

// TestPlacesKeepTheirSlugs: a city is its place, whatever the stops there are called, and also when it was
// away.
func TestPlacesKeepTheirSlugs(t *testing.T) {
	at := func(x *imported, stop string) string { return x.cityOf(t, stop).ID + " " + x.cityOf(t, stop).Slug }
	for _, c := range []struct {
		what   string
		feeds  []files
		stop   string // of the last feed, in the city that
		before string // this stop of the first was in
		other  string // of the last feed, in another
	}{
		{"another stop id, and a far " +
			"stop", []files{same("m,50,30,"), same("a,53.6,30,", "z,50.001,30,")}, "z", "m", "a"},
		{"withdrawn, and a far " +
			"stop", []files{same("m,50,30,", "n,52,30,"), same("a,53.6,30,", "n,52,30,")}, "n", "n", "a"},
		{"a season away", []files{same("m,50,30,"), same(), same("b,52.7,30,", "m,50,30,")}, "m", "m", "b"},
		{"a season away, under another stop id",
			[]files{same("m,50,30,"), same("b,52.7,30,"), same("b,52.7,30,", "q,50,30.01,")}, "q", "m", "b"},
		{"two, both with other stop " +
			"ids", []files{same("p0,50,30,", "p1,51,30,"), same("q0,51,30,", "q1,50,30,")}, "q0", "p1", "q1"},
		{"a stop id that moved", []files{same("m,50,30,"), same("m,53,30,", "n,50,30,")}, "n", "m", "m"},
	} {
		first := clean(t, c.feeds[0])
		last := first
		for _, f := range c.feeds[1:] {
			last = again(t, last, f)
			last.unique(t)
		}
		if got, want := at(last, c.stop), at(first, c.before); got != want {
			t.Errorf("%s: the city is %s, and was %s", c.what, got, want)
		}
		for _, old := range first.Cities {
			now := last.cityOf(t, c.other)
			if c.what != "two, both with other stop ids" &&
				now.Name == "Same" && (now.ID == old.ID || now.Slug == old.Slug) {
				t.Errorf("%s: another place has the id or the slug that %+v had", c.what, old)
			}
		}
	}
}

// TestSurplusCells: a row with more cells than its header is skipped, and widens nothing.
func TestSurplusCells(t *testing.T) {
	f := plain().plus("stops.txt", "d,Delta,50,33,surplus", "e,Echo,50,34,", "f,Foxtrot,50")
	x := load(t, f.fs(), gtfs.Options{})
	wantSkipped(t, x.skipped, "stops.txt:5: ", "stops.txt:6: ", "stops.txt:7: ")
	if want := "stops.txt:5: has 5 cells, but the header has 4"; x.skipped[0] != want {
		t.Errorf("%q, want %q", x.skipped[0], want)
	}
}

// zoned is a feed with a fare from each stop's zone to the next, and one for everything else.
func zoned(rules string) files {
	f := plain()
	f["stops.txt"] = "stop_id,stop_name,stop_lat,stop_lon,zone_id\n" +
		"a,Alfa,50,30,za\n" +
		"b,Bravo,50,31,zb\n" +
		"c,Charlie,50,32,zc\n"
	f["fare_attributes.txt"] = "fare_id,price,currency_type,payment_method,transfers\n" +
		"far,2000,JPY,0,0\nnear,20,JPY,0,0\n"
	f["fare_rules.txt"] = "fare_id,route_id,origin_id,destination_id\n" + rules
	return f
}

// TestSkippedRulesMatchNothing: a fare whose rules were all skipped is not a fare for everything.
func TestSkippedRulesMatchNothing(t *testing.T) {
	for name, c := range map[string]struct {
		rules        string
		near, beyond []schedule.Money // from Alfa to Bravo, and from Alfa to Charlie
	}{
		"all can be used": {"near,r,za,zb\nfar,r,za,zc\n", jpy(20), jpy(2000)},
		"surplus cells":   {"near,r,za,zb,,\nfar,r,za,zc\n", nil, jpy(2000)},
		"one of two":      {"near,r,za,zb,,\nnear,r,za,zb\nfar,r,za,zc\n", jpy(20), jpy(2000)},
		"no such route":   {"near,gone,za,zb\nfar,r,za,zc\n", nil, jpy(2000)},
		"no rule":         {"far,r,za,zc\n", jpy(20), jpy(2000)},
		"a quote":         {"near,\"r,za,zb\nfar,r,za,zc\n", nil, jpy(2000)},
		"a quote first":   {"\"near,r,za,zb\nfar,r,za,zc\n", nil, jpy(2000)},
		"no fare told":    {",r,za,zb\nfar,r,za,zc\n", nil, jpy(2000)},
		"nothing known":   {",gone,za,zb\nfar,r,za,zc\n", nil, jpy(2000)},
		"the general one": {"far,r,za,zc,,\n", jpy(20), nil},
		"only the route":  {"far,r,,,surplus\n", nil, nil},
		"another route":   {"far,gone,za,zc,,\n", jpy(20), jpy(20)},
		"no such fare":    {"gone,r,za,zc,,\nfar,r,za,zc\n", jpy(20), jpy(2000)},
	} {
		t.Run(name, func(t *testing.T) {
			x := load(t, zoned(c.rules).fs(), gtfs.Options{})
			if got := x.price(t, "alfa", "bravo", "2026-06-01"); !slices.Equal(got, c.near) {
				t.Errorf("Alfa to Bravo costs %v, want %v", got, c.near)
			}
			if got := x.price(t, "alfa", "charlie", "2026-06-01"); !slices.Equal(got, c.beyond) {
				t.Errorf("Alfa to Charlie costs %v, want %v", got, c.beyond)
			}
		})
	}
}

// TestSkippedFaresWithholdTheirOwn: what is skipped of fare_attributes.txt withholds the price of its rides
// in its currency, and nothing else.
func TestSkippedFaresWithholdTheirOwn(t *testing.T) {
	eur := func(cents int64) []schedule.Money { return []schedule.Money{{Currency: "EUR", Amount: cents}} }
	for name, c := range map[string]struct {
		attributes, rules string
		want              []schedule.Money
	}{
		"a rule's, in its currency": {"f,10,EUR,0,0,\ng,5,UAH,0,0,,surplus\n", "g,r,,\n", eur(1000)},
		"a rule's":                  {"f,10,EUR,0,0,\ng,5,EUR,0,0,,surplus\n", "g,r,,\n", nil},
		"a company's":               {"f,10,EUR,0,0,\ng,5,EUR,0,0,ag,surplus\n", "", nil},
		"for everything":            {"f,10,EUR,0,0,\ng,5,EUR,0,0,,surplus\n", "", eur(1000)},
		"an amount":                 {"f,10,EUR,0,0,\ng,five,EUR,0,0,\n", "g,r,,\n", nil},
		"the second of a key":       {"f,10,EUR,0,0,\nf,5,EUR,0,0,\n", "", eur(1000)},
		"the second, a company's":   {"f,10,EUR,0,0,\nf,5,EUR,0,0,ag\n", "", eur(1000)},
	} {
		f := zoned(c.rules).with("fare_attributes.txt",
			"fare_id,price,currency_type,payment_method,transfers,agency_id\n"+c.attributes)
		x := load(t, f.fs(), gtfs.Options{})
		if got := x.price(t, "alfa", "bravo", "2026-06-01"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func jpy(amount int64) []schedule.Money {
	return []schedule.Money{{Currency: "JPY", Amount: amount * 100}}
}

// TestSkippedRowsWidenNothing: what a skipped row would have restricted is not free of it.
func TestSkippedRowsWidenNothing(t *testing.T) {
	t.Run("a day without service", func(t *testing.T) {
		x := load(t, plain().with("calendar_dates.txt", "service_id,date,exception_type\n"+
			"daily,20260602,2,surplus\n").fs(), gtfs.Options{})
		if got := x.departures(t, "alfa", "charlie", "2026-06-01", 3); len(got) != 2 {
			t.Errorf("departures %q: none on June 2", got)
		}
	})
	t.Run("a day without service, in other words", func(t *testing.T) {
		for _, row := range []string{"daily,2026-06-02,2", `daily,"20260602,2`} {
			x := load(t, plain().with("calendar_dates.txt", "service_id,date,exception_type\n"+row+"\n").fs(),
				gtfs.Options{})
			if got := x.departures(t, "alfa", "charlie", "2026-06-01", 3); len(got) != 2 {
				t.Errorf("%s: departures %q: none on June 2", row, got)
			}
		}
	})
	t.Run("a change that is forbidden, or takes long", func(t *testing.T) {
		for _, row := range []string{"b,b,3,,surplus", "b,b,2,7200,surplus", "b,b,2,two hours", `b,b,"3,`} {
			x := load(t, plain().with("transfers.txt",
				"from_stop_id,to_stop_id,transfer_type,min_transfer_time\n"+row+"\n").fs(), gtfs.Options{})
			if len(x.Transfers) != 1 || !x.Transfers[0].Forbidden {
				t.Errorf("%s: transfers %+v", row, x.Transfers)
			}
		}
	})
	t.Run("the one agency of two", func(t *testing.T) {
		f := plain().plus("agency.txt", "b,B,https://b.example,Europe/Kyiv,surplus").plus("routes.txt",
			"q,,8,Nobody's,3")
		x := load(t, f.fs(), gtfs.Options{})
		wantSkipped(t, x.skipped, "agency.txt:3: ", "routes.txt:3: ")
	})
	t.Run("intervals", func(t *testing.T) {
		f := plain().with("frequencies.txt", "trip_id,start_time,end_time,headway_secs\n"+
			"t,09:00:00,08:00:00,600\n").
			plus("trips.txt", "r,daily,u").plus("stop_times.txt", "u,08:00:00,08:00:00,b,1",
			"u,09:00:00,09:00:00,a,2")
		x := load(t, f.fs(), gtfs.Options{})
		if got := x.departures(t, "alfa", "charlie", "2026-06-01", 3); len(got) != 0 {
			t.Errorf("departures %q of a trip that only runs at intervals", got)
		}
	})
	t.Run("refund rules of a route", func(t *testing.T) {
		const header = "rule_id,route_id,agency_id,hours,amount\n"
		x := load(t, plain().with("waybill_refund_rules.txt",
			header+"all,,ag,24,100\nown,r,,24,50,surplus\n").fs(), gtfs.Options{})
		if rules := x.trip(t, "t").Rules; len(rules) != 1 || rules[0].Percent != 0 {
			t.Errorf("a route whose own rule was skipped gives back %+v", rules)
		}
	})
}

// TestSecondOfOneKey: of two rows with the same key the second is skipped.
func TestSecondOfOneKey(t *testing.T) {
	const days = ",1,1,1,1,1,1,1,20260601,20260630"
	f := plain().plus("calendar.txt", "daily"+days).
		with("calendar_dates.txt", "service_id,date,exception_type\ndaily,20260603,1\ndaily,20260603,2\n").
		with("frequencies.txt", "trip_id,start_time,end_time,headway_secs\n"+
			"t,08:00:00,09:00:00,3600\n"+
			"t,08:00:00,10:00:00,600\n").
		with("transfers.txt", "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,60\na,b,3,\n").
		with("areas.txt", "area_id,area_name\nx,Xray\n").with("stop_areas.txt",
		"area_id,stop_id\nx,a\nx,a\n").
		with("translations.txt", "table_name,field_name,language,translation,record_id\n"+
			"areas,area_name,uk,Ікс,x\n"+
			"areas,area_name,uk,Хрест,x\n").
		with("waybill_refund_rules.txt", "rule_id,route_id,agency_id,hours,amount\n"+
			"rr,,ag,24,100\n"+
			"rr,,ag,48,50\n").
		with("waybill_discounts.txt",
			"discount_id,route_id,name,description,rule,amount,start_date,end_date\n"+
				"d,r,,,Percent,10,20260101,20261231\nd,r,,,Percent,20,20260101,20261231\n").
		with("fare_attributes.txt", "fare_id,price,currency_type,payment_method,transfers\n"+
			"f,1,EUR,0,0\n"+
			"f,2,EUR,0,0\n").
		with("fare_rules.txt", "fare_id,route_id\nf,r\nf,r\n")
	x := load(t, f.fs(), gtfs.Options{})
	wantSkipped(t, x.skipped, "calendar.txt:3: ", "calendar_dates.txt:3: ", "frequencies.txt:3: ",
		"transfers.txt:3: ",
		"stop_areas.txt:3: ", "translations.txt:3: ", "waybill_refund_rules.txt:3: "+
			"", "waybill_discounts.txt:3: ",
		"fare_attributes.txt:3: ", "fare_rules.txt:3: ")
	// But a second row that takes a day away holds: what is in doubt is not sold.
	if got := x.departures(t, "xray", "charlie", "2026-06-01", 30); len(got) != 29 {
		t.Errorf("%d departures, want 29", len(got))
	}
}

// TestTimesWithoutSeconds reads 06:45 as 06:45:00.
func TestTimesWithoutSeconds(t *testing.T) {
	f := plain()
	f["stop_times.txt"] = strings.ReplaceAll(f["stop_times.txt"], ":00,", ",")
	x := clean(t, f)
	sameLines(t, "without seconds", x.describe(), clean(t, plain()).describe())
	load(t, plain().edit(t, "stop_times.txt", "t,10:00:00", "t,10:0").fs(), gtfs.Options{})
}

// TestControlCharactersAreTakenOut: no cell has a control character, an id neither, nor one that turns the
// direction of text; the import says how many there were. Padding and the ends of lines are none.
func TestControlCharactersAreTakenOut(t *testing.T) {
	f := padded(plain())
	f["stops.txt"] = strings.ReplaceAll(f["stops.txt"], "Alfa", "\x1b[2J\u009bAl\tfa\x7f\u202e")
	f["trips.txt"] = strings.ReplaceAll(f["trips.txt"], "daily,t", "daily,\x07t")
	x := clean(t, f)
	if got := x.cityOf(t, "a").Name; got != "[2JAlfa" {
		t.Errorf("the city of the stop is %q", got)
	}
	if len(x.rides(t, "2jalfa", "bravo")) != 1 {
		t.Error("the trip whose id has a control character lost its stop times")
	}
	want := "control characters and characters that reverse text, which are removed: 6, first at stops.txt:2"
	if said := decisions(t, f); !slices.Contains(said, want) {
		t.Errorf("the import says %q, not %q", said, want)
	}
	f["stops.txt"] = plain()["stops.txt"]
	f["trips.txt"] = plain()["trips.txt"]
	if said := decisions(t, padded(f)); len(said) != 1 { // of the bus that there is not
		t.Errorf("of padding the import says %q", said)
	}
}

// padded has each row end in a tab and CRLF.
func padded(f files) files {
	return f.each(func(text string) string { return strings.ReplaceAll(text, "\n", "\t\r\n") })
}

// decisions returns what an import of a feed says that it decided.
func decisions(t *testing.T, f files) (list []string) {
	t.Helper()
	read, _, err := gtfs.Read(f.fs(), gtfs.Options{Skip: func(string, int, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range read.Decisions() {
		list = append(list, d.String())
	}
	return list
}

// TestNullIsland: latitude and longitude both 0 are no coordinates, and a distance fare of 0.00 is no fare.
func TestNullIsland(t *testing.T) {
	f := plain().edit(t, "stops.txt", "b,Bravo,50,31", "b,Bravo,0,0.0")
	perKm := gtfs.Options{FarePerKm: []schedule.FarePerKm{{Currency: "EUR", Micros: 60_000}}}
	x := load(t, f.fs(), perKm)
	wantSkipped(t, x.skipped, "stops.txt:3: ", "stop_times.txt:3: ")
	// One of the two alone is a coordinate.
	clean(t, plain().edit(t, "stops.txt", "b,Bravo,50,31", "b,Bravo,0,31"))
	x = load(t, plain().edit(t, "stops.txt", "b,Bravo,50,31", "b,Bravo,50,30").fs(), perKm)
	if got := x.price(t, "alfa", "bravo", "2026-06-01"); got != nil {
		t.Errorf("a ride of no length costs %v", got)
	}
}

// TestOneFeed: two feeds in one archive are none, and what is missing is named.
func TestOneFeed(t *testing.T) {
	under := func(dirs ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for _, dir := range dirs {
			for name, file := range plain().fs() {
				m[dir+name] = file
			}
		}
		return m
	}
	for says, feed := range map[string]fstest.MapFS{
		"it contains 2 feeds, the top and the directory other":         under("", "other/"),
		"it contains 2 feeds, the directory one and the directory two": under("one/", "two/"),
	} {
		_, _, err := gtfs.Read(feed, gtfs.Options{})
		refused(t, err, says)
	}
	for missing, says := range map[string]string{
		"stop_times.txt": "the top has no stop_times.txt", "agency.txt": "the top has no agency.txt",
		"calendar.txt": "the top has no calendar.txt or calendar_dates.txt",
	} {
		f := plain()
		delete(f, missing)
		_, _, err := gtfs.Read(f.fs(), gtfs.Options{})
		refused(t, err, says)
	}
	nested := fstest.MapFS{"feed.zip": &fstest.MapFile{Data: []byte("PK")}}
	_, _, err := gtfs.Read(nested, gtfs.Options{})
	refused(t, err, "it contains feed.zip")
	// The files of a Macintosh beside a feed are none.
	mac := under("feed/")
	for name := range plain() {
		mac["__MACOSX/feed/._"+name] = &fstest.MapFile{Data: []byte("\x00")}
	}
	load(t, mac, gtfs.Options{})
}
