package gtfs_test

import (
	"reflect"
	"testing"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// trip returns the form of a trip, by its id.
func (x *imported) trip(t testing.TB, id string) *schedule.Form {
	t.Helper()
	i, ok := x.TripByID(id)
	if !ok {
		t.Fatalf("there is no trip %q", id)
	}
	return x.Form(i)
}

// price returns what the first ride between two cities on a day costs.
func (x *imported) price(t testing.TB, from, to, day string) []schedule.Money {
	t.Helper()
	a, _ := x.CityBySlug(from)
	b, _ := x.CityBySlug(to)
	d, err := schedule.ParseDay(day)
	if err != nil {
		t.Fatal(err)
	}
	list := x.Search(&journey.Query{From: a, To: b, First: d, Days: 1})
	if len(list) == 0 {
		t.Fatalf("no ride from %s to %s on %s", from, to, day)
	}
	return x.Price(&list[0][0])
}

// unplaced takes out of a form where its rows stood in their tables.
func unplaced(f *schedule.Form) *schedule.Form {
	f.Route.Company = 0
	f.Bus.Company = 0
	for i := range f.Stops {
		f.Stops[i].Stop.City = 0
	}
	for i := range f.Rules {
		f.Rules[i].Company = 0
		f.Rules[i].Route = 0
	}
	for i := range f.Discounts {
		f.Discounts[i].Route = 0
	}
	return f
}

// TestColumns reads every column of Waybill's own.
func TestColumns(t *testing.T) {
	f := plain().with("agency.txt",
		"agency_id,agency_name,agency_url,agency_timezone,agency_email,waybill_slug,waybill_ceo,waybill_partner_company,waybill_logo_url,waybill_rules,waybill_socials,waybill_tier,waybill_source\n"+
			"ag,Agency,https://a.example,Europe/Kyiv,m@a.example,The Agency,C. E. O.,Partner,https://a.example/logo,\"No, no\",https://s.example/1  https://s.example/2 ,PRO,Elsewhere\n").
		with("routes.txt",
			"route_id,agency_id,route_short_name,route_long_name,route_desc,route_type,waybill_slug,waybill_services\n"+
				"r,ag,7,,By the sea,3,sea-line,wifi:Wi-Fi ; wc : Toilet;\n").
		with("trips.txt",
			"route_id,service_id,trip_id,trip_headsign,trip_short_name,waybill_bus_id,waybill_phones\n"+
				"r,daily,t,Charlie,7/1,b1, +380 +381 \n"+
				"r,daily,u,Charlie,,,\n").
		plus("stop_times.txt", "u,18:00:00,18:00:00,a,1", "u,19:00:00,19:00:00,b,2").
		with("waybill_buses.txt",
			"bus_id,agency_id,seats,registration_number,brand,model,image_urls,fms_object_id,is_geolocation\n"+
				"b1,ag,19,AA 1,Setra,S 1,https://i.example/1 https://i.example/2,fms/1 ä,1\n"+
				"b2,,1000,,,,,,\n").
		with("waybill_refund_rules.txt", "rule_id,route_id,agency_id,hours,amount\n"+
			"x1,,ag,2,50.5\n"+
			"x2,,,24,90\n").
		with("waybill_discounts.txt",
			"discount_id,route_id,name,description,rule,amount,start_date,end_date\n"+
				"d 1,r,Spring,Cheap,Percent,12.5,20260301,20260531\n")
	x := clean(t, f)
	first, _ := schedule.ParseDay("2026-03-01")
	last, _ := schedule.ParseDay("2026-05-31")
	call := func(i int32, at, dep int32) schedule.FormStop {
		c := x.Cities[i]
		c.Names = schedule.Names{}
		stop := x.Stops[i]
		stop.City = 0 // where a row stands in its table does not show
		return schedule.FormStop{Stop: stop, City: c, Arr: at * 60, Dep: dep * 60}
	}
	want := &schedule.Form{
		Trip: "t", Name: "7/1", Phones: []string{"+380", "+381"},
		Company: schedule.Company{ID: "ag", Name: "Agency", Slug: "the-agency", CEO: "C. E. O.",
			PartnerCompany: "Partner", LogoURL: "https://a.example/logo", Email: "m@a.example",
			Website: "https://a.example", Rules: "No, no",
			Socials: []string{"https://s.example/1", "https://s.example/2"}, Tier: "PRO", Source: "Elsewhere",
			Zone: "Europe/Kyiv"},
		Route: schedule.Route{
			ID:          "r",
			Name:        "7",
			Slug:        "sea-line",
			Description: "By the sea",
			Services:    []schedule.Amenity{{ID: "wifi", Name: "Wi-Fi"}, {ID: "wc", Name: "Toilet"}},
		},
		Bus: schedule.Bus{ID: "b1", Seats: 19, Registration: "AA 1", Brand: "Setra", Model: "S 1",
			Images:    []string{"https://i.example/1", "https://i.example/2"},
			FMSObject: "fms/1 ä", Geolocation: true},
		Stops: []schedule.FormStop{call(0, 480, 480), call(1, 540, 545), call(2, 600, 600)},
		Rules: []schedule.RefundRule{{
			ID:      "x2",
			Hours:   24,
			Percent: 9000,
		}, {ID: "x1", Hours: 2, Percent: 5050}},
		Discounts: []schedule.Discount{{
			ID:          "~ZCAx",
			Name:        "Spring",
			Description: "Cheap",
			Percent:     1250,
			First:       first,
			Last:        last,
		}},
	}
	got, err := schedule.DecodeForm(x.trip(t, "t").Encode())
	if err != nil {
		t.Fatal(err)
	}
	if g, w := string(unplaced(got).Encode()), string(unplaced(want).Encode()); g != w {
		t.Errorf("the form of the trip is\n%s\nwant\n%s", g, w)
	}
	u := x.trip(t, "u")
	if u.Name != "Charlie" || u.Bus.Seats != 49 || u.Bus.ID != "" || u.Phones != nil {
		t.Errorf("a trip without a bus: %s", u.Encode())
	}
	if i, _ := x.TripByID("u"); x.Seats(i) != 49 {
		t.Errorf("%d seats, want 49", x.Seats(i))
	}
	if x := clean(t, plain()); x.Companies[0].Source != "Service" || x.Companies[0].Slug != "agency" ||
		x.Routes[0].Slug != "alfa-line" {
		t.Errorf("what is not given: %+v %+v", x.Companies[0], x.Routes[0])
	}
}

// TestFareRules prices rides by route and zone; a fare whose rules cannot be used is not for everything.
func TestFareRules(t *testing.T) {
	f := plain().with("stops.txt", "stop_id,stop_name,stop_lat,stop_lon,zone_id\n"+
		"a,Alfa,50,30,za\n"+
		"b,Bravo,50,31,zb\n"+
		"c,Charlie,50,32,\n").
		with("fare_attributes.txt", "fare_id,price,currency_type,payment_method,transfers,agency_id\n"+
			"all,9.5,EUR,0,0,\n"+
			"own,8,EUR,0,0,ag\n"+
			"ab,7.05,EUR,0,0,\n"+
			"ab2,300,uah,0,0,ag\n"+
			"bad,0.01,EUR,0,0,\nbad2,0.01,EUR,0,0,\ntrailing,5.500,PLN,0,0,\n").
		with("fare_rules.txt", "fare_id,route_id,origin_id,destination_id,contains_id\n"+
			"ab,r,za,zb,\n"+
			"ab2,,za,zb,\n"+
			"bad,gone,,,\n"+
			"bad2,,,,za\n")
	x := load(t, f.fs(), gtfs.Options{})
	wantSkipped(t, x.skipped, "fare_rules.txt:4: ", "fare_rules.txt:5: ")
	for _, c := range []struct {
		from, to string
		want     []schedule.Money
	}{
		{"alfa", "bravo", []schedule.Money{{Currency: "EUR", Amount: 705}, {Currency: "PLN", Amount: 550},
			{Currency: "UAH", Amount: 30000}}},
		{"alfa", "charlie", []schedule.Money{{Currency: "EUR", Amount: 800}, {Currency: "PLN", Amount: 550}}},
	} {
		if got := x.price(t, c.from, c.to, "2026-06-01"); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestFarePerKm prices what no fare matches, stop by stop.
func TestFarePerKm(t *testing.T) {
	for arg, want := range map[string]schedule.FarePerKm{
		"EUR:0.06": {Currency: "EUR", Micros: 60_000},
		"UAH:1":    {Currency: "UAH", Micros: 1_000_000},
		"PLN:.25":  {Currency: "PLN", Micros: 250_000},
	} {
		if got, ok := gtfs.ParseFarePerKm(arg); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", arg, got, ok, want)
		}
	}
	for _, arg := range []string{"", "EUR", "EUR:", ":0.06", "eur:0.06", "EURO:1", "EUR:-1", "EUR:0",
		"EUR:NaN", "EUR:Inf", "EUR:1e9", "EUR:0,06", "EUR:0.06 ", "EUR 0.06", "ЄВР:1"} {
		if got, ok := gtfs.ParseFarePerKm(arg); ok {
			t.Errorf("%q is taken as %+v", arg, got)
		}
	}
	// Degrees of longitude on the equator are 6371 × π ÷ 180 = 111.1949 km.
	f := plain().with("stops.txt", "stop_id,stop_name,stop_lat,stop_lon\n"+
		"a,Alfa,0,10\n"+
		"b,Bravo,0,13\n"+
		"c,Charlie,0,11\n").
		with("fare_attributes.txt", "fare_id,price,currency_type,payment_method,transfers\nab,20,EUR,0,0\n").
		with("fare_rules.txt", "fare_id,route_id,origin_id,destination_id\nab,r,za,zb\n")
	x := load(t, f.fs(), gtfs.Options{FarePerKm: []schedule.FarePerKm{{Currency: "EUR", Micros: 60_000}}})
	for _, c := range []struct {
		from, to string
		want     int64
	}{{"alfa", "bravo", 2002}, {"alfa", "charlie", 3336}, {"bravo", "charlie", 1334}} {
		got := x.price(t, c.from, c.to, "2026-06-01")
		if len(got) != 1 || got[0] != (schedule.Money{
			Currency: "EUR",
			Amount:   c.want,
		}) {
			t.Errorf("%s to %s: %v, want %d", c.from, c.to, got, c.want)
		}
	}
	priced := f.edit(t, "stops.txt", "stop_lon\na,Alfa,0,10\nb,Bravo,0,13\nc,Charlie,0,11",
		"stop_lon,zone_id\na,Alfa,0,10,za\nb,Bravo,0,13,zb\nc,Charlie,0,11,")
	x = load(t, priced.fs(), gtfs.Options{FarePerKm: []schedule.FarePerKm{{Currency: "UAH", Micros: 60_000}}})
	got := x.price(t, "alfa", "bravo", "2026-06-01")
	if len(got) != 1 || got[0] != (schedule.Money{
		Currency: "EUR",
		Amount:   2000,
	}) {
		t.Errorf("a ride that a fare matches: %v", got)
	}
}

// TestTransfers takes times and prohibitions by stop, and nothing else.
func TestTransfers(t *testing.T) {
	const header = "from_stop_id,to_stop_id,transfer_type,min_transfer_time,from_trip_id,to_route_id\n"
	x := load(t, plain().with("transfers.txt", header+"a,b,2,600,,\n"+
		"b,c,3,,,\n"+
		"c,a,0,,,\n"+
		"c,b,1,,,\n"+
		"b,a,2,,,\n"+
		"a,c,,0,,\n"+
		"b,b,2,900,t,\n"+
		"b,b,2,900,,r\n"+
		"gone,a,2,600,,\na,a,2,-5,,\na,a,2,2147483648,,\n").fs(), gtfs.Options{})
	wantSkipped(t, x.skipped, "transfers.txt:8: ", "transfers.txt:9: ", "transfers.txt:10: ",
		"transfers.txt:11: ", "transfers.txt:12: ")
	want := []schedule.Transfer{{
		From:    "a",
		To:      "b",
		Seconds: 600,
	}, {From: "b", To: "c", Forbidden: true}, {From: "a", To: "c"},
		{From: "a", To: "a", Forbidden: true}} // of a row that was skipped
	if !reflect.DeepEqual(x.Transfers, want) {
		t.Errorf("%+v, want %+v", x.Transfers, want)
	}
}
