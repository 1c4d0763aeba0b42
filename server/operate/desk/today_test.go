package desk_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
)

// A bus of a small timetable, as lines of a feed: its trip, its carrier, its first and last city, and when it
// is there.
type bus struct {
	trip, carrier, from, to, leaves, arrives string
}

// importBuses has a timetable of some buses, each day, come into force. Carriers and cities are named as in
// the feed; each city's clock is that of Kyiv, but of Warsaw. It returns what the import says.
func (o *operator) importBuses(carriers map[string]string, buses []bus) string {
	o.Helper()
	text := map[string]*strings.Builder{}
	add := func(file, header, line string) {
		if text[file] == nil {
			text[file] = new(strings.Builder)
			fmt.Fprintln(text[file], header)
		}
		if !strings.Contains(text[file].String(), line+"\n") {
			fmt.Fprintln(text[file], line)
		}
	}
	for id, named := range carriers {
		zone := "Europe/Kyiv"
		if id == "w" {
			zone = "Europe/Warsaw"
		}
		add("agency.txt", "agency_id,agency_name,agency_url,agency_timezone",
			id+","+named+",https://"+id+".example,"+zone)
	}
	add("calendar.txt",
		"service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date",
		"daily,1,1,1,1,1,1,1,20260101,20261231")
	for _, b := range buses {
		for _, city := range []string{b.from, b.to} {
			zone := "Europe/Kyiv"
			if city == "Warsaw" {
				zone = "Europe/Warsaw"
			}
			add("stops.txt", "stop_id,stop_name,stop_lat,stop_lon,stop_timezone",
				fmt.Sprintf("s-%s,%s,%d.5,%d.25,%s", city, city, 10+len(city)%40,
					20+int(city[len(city)-1])%9, zone))
		}
		route := "r-" + b.carrier + b.from + b.to
		add("routes.txt", "route_id,agency_id,route_short_name,route_type", route+","+b.carrier+",1,202")
		add("trips.txt", "route_id,service_id,trip_id", route+",daily,"+b.trip)
		const header = "trip_id,arrival_time,departure_time,stop_sequence,stop_id"
		add("stop_times.txt", header, b.trip+","+b.leaves+","+b.leaves+",1,s-"+b.from)
		add("stop_times.txt", header, b.trip+","+b.arrives+","+b.arrives+",2,s-"+b.to)
	}
	feed := fstest.MapFS{}
	for file, lines := range text {
		feed[file] = &fstest.MapFile{Data: []byte(lines.String())}
	}
	var said strings.Builder
	if err := o.front.Server.Admin.Import(feed, "buses", admin.ImportOptions{}, &said); err != nil {
		o.Fatal(err)
	}
	return said.String()
}

// night is a timetable of one carrier: buses that leave before and after midnight.
func (o *operator) night() {
	o.Helper()
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"night", "k", "Kyiv", "Lviv", "25:30:00", "33:00:00"},
		{"morning", "k", "Kyiv", "Lviv", "08:00:00", "16:00:00"},
		{"late", "k", "Kyiv", "Lviv", "23:50:00", "31:00:00"},
	})
}

// row is a run of a list.
var row = regexp.MustCompile(`(?s)<tr><td data-label="Leaves">(.*?)</td><th scope="row"><a href="([^"]*)">` +
	`.*?data-label="Trip">(.*?)</td>.*?</tr>`)

// rows returns the runs of a page, each as its trip and when it leaves, in words.
func (o *operator) rows(path string) (list []string) {
	o.Helper()
	for _, found := range row.FindAllStringSubmatch(o.see(path), -1) {
		leaves := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(found[1], "")
		list = append(list, found[3]+" "+html.UnescapeString(leaves))
	}
	return list
}

// lists checks which runs a page lists, and in which order.
func (o *operator) lists(path string, want ...string) {
	o.Helper()
	got := o.rows(path)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		o.Errorf("%s lists\n%s\nand not\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Decision runs.clock: a run stands on the day on which it leaves by the clock of its list, with its service
// day where that is another; a moved one on the day on which it now leaves.
func TestARunStandsOnTheDayOnWhichItLeaves(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.night()
	o.lists("/runs?date=2026-11-23",
		"night Mon 23 Nov 01:30 service day 2026-11-22", "morning Mon 23 Nov 08:00", "late Mon 23 Nov 23:50")
	o.post("/act/run-move", "trip=late&date=2026-11-23&minutes=40&reason=snow")
	o.lists("/runs?date=2026-11-23",
		"night Mon 23 Nov 01:30 service day 2026-11-22", "morning Mon 23 Nov 08:00")
	o.lists("/runs?date=2026-11-24",
		"late Tue 24 Nov 00:30 service day 2026-11-23",
		"night Tue 24 Nov 01:30 service day 2026-11-23",
		"morning Tue 24 Nov 08:00",
		"late Tue 24 Nov 23:50",
	)
	o.see("/runs?date=2026-11-24&q=late", `<span class="chip news">moved by +40 min</span>`)
	o.see("/run?trip=night&date=2026-11-23")
}

// Decision runs.clock: a run may leave days after its service day, as a feed says, and half a day later as it
// was moved by.
func TestARunMayLeaveDaysAfterItsServiceDay(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"far", "k", "Kyiv", "Lviv", "194:10:00", "200:00:00"},
	})
	o.lists("/runs?date=2026-11-27", "far Fri 27 Nov 02:10 service day 2026-11-19")
	o.post("/act/run-move", "trip=far&date=2026-11-24&minutes=-720&reason=snow")
	o.lists("/runs?date=2026-12-01",
		"far Tue 1 Dec 02:10 service day 2026-11-23", "far Tue 1 Dec 14:10 service day 2026-11-24")
}

// Decision runs.clock: a list has the clock of its first stops, and where these have several, that of the
// carrier with most of its runs. The page names it.
func TestAListHasOneClock(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	carriers := map[string]string{"k": "Kyiv Lines", "w": "Warsaw Coach"}
	buses := []bus{
		{"k1", "k", "Kyiv", "Warsaw", "09:00:00", "19:00:00"},
		{"k2", "k", "Kyiv", "Warsaw", "10:00:00", "20:00:00"},
		{"w1", "w", "Warsaw", "Kyiv", "23:30:00", "33:00:00"},
	}
	o.importBuses(carriers, buses)
	mixed := "/runs?date=2026-11-24"
	o.see(mixed, "<strong>Europe/Kyiv time</strong>")
	o.lists(mixed, "w1 Tue 24 Nov 00:30 service day 2026-11-23", "k1 Tue 24 Nov 09:00", "k2 Tue 24 Nov 10:00")
	one := mixed + "&company=warsaw"
	o.see(one, "<strong>Europe/Warsaw time</strong>")
	o.lists(one, "w1 Tue 24 Nov 23:30")
	buses = append(buses,
		bus{"w2", "w", "Warsaw", "Kyiv", "08:00:00", "18:00:00"},
		bus{"w3", "w", "Kyiv", "Warsaw", "08:00:00", "18:00:00"},
	)
	o.importBuses(carriers, buses)
	o.see(mixed, "<strong>Europe/Warsaw time</strong>")
	o.lists(mixed, "k1 Tue 24 Nov 08:00", "w2 Tue 24 Nov 08:00", "w3 Tue 24 Nov 08:00", "k2 Tue 24 Nov 09:00",
		"w1 Tue 24 Nov 23:30")
}

// Decision desk.today: Today ends at midnight by the clock of the station, neither at that of UTC
// nor at two in the morning; what left before midnight and is under way is one link away.
func TestTodayEndsAtMidnightOfTheStation(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.night()
	o.ask("POST", "/test/clock", `{"advance":"13h59m59s"}`, nil) // 23:59:59 in Kyiv
	o.see("/", "Runs of Friday 20 November 2026", "Europe/Kyiv time")
	o.lists("/", "late Fri 20 Nov 23:50 has left")
	o.ask("POST", "/test/clock", `{"advance":"1s"}`, nil)
	o.see("/", "Runs of Saturday 21 November 2026",
		`"/runs?underway=true">1 run that left before today is still under way`)
	o.see("/runs?underway=true", "Runs under way that left before 2026-11-21")
	o.lists("/runs?underway=true", "late Fri 20 Nov 23:50 has left")
	o.lists("/",
		"night Sat 21 Nov 01:30 service day 2026-11-20", "morning Sat 21 Nov 08:00", "late Sat 21 Nov 23:50")
	o.see("/runs", "Runs of 2026-11-21")
	o.ask("POST", "/test/clock", `{"advance":"2h"}`, nil) // midnight of UTC
	o.see("/", "Runs of Saturday 21 November 2026")
}

// Decision desk.today: a run that takes days stays a link away on Today for as long as it is under way.
func TestARunOfDaysIsOnTodayUntilItArrives(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	buses := []bus{
		{"far", "k", "Kyiv", "Lviv", "12:00:00", "72:00:00"}, // 60 hours
		{"short", "k", "Kyiv", "Lviv", "13:00:00", "15:00:00"},
	}
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, buses)
	const link = `<a href="/runs?underway=true">`
	o.see("/", link+"2 runs that left before today are still under way")
	o.lists("/runs?underway=true", "far Wed 18 Nov 12:00 has left", "far Thu 19 Nov 12:00 has left")
	o.ask("POST", "/test/clock", `{"advance":"14h"}`, nil) // midnight in Kyiv: one arrives
	o.lists("/runs?underway=true", "far Thu 19 Nov 12:00 has left", "far Fri 20 Nov 12:00 has left")
	o.lists("/runs?underway=true&company=nobody")
	o.lists("/runs?date=2026-11-19", "far Thu 19 Nov 12:00 has left", "short Thu 19 Nov 13:00 has arrived")
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, buses[1:])
	o.lacks(o.see("/"), link)
	o.see("/runs?underway=true", "No run that left before this day is still under way")
}

// Decision desk.today: a run that is over, when it would have arrived, leaves Today's list. Runs
// that have left stand at the end, and among the runs of the day they stay.
func TestARunThatIsOverLeavesToday(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.night()
	o.ask("POST", "/test/clock", `{"advance":"5h59m59s"}`, nil) // 15:59:59 in Kyiv
	o.lists("/", "late Fri 20 Nov 23:50", "morning Fri 20 Nov 08:00 has left")
	o.ask("POST", "/test/clock", `{"advance":"1s"}`, nil)
	o.lists("/", "late Fri 20 Nov 23:50")
	o.lists("/runs",
		"late Fri 20 Nov 23:50",
		"night Fri 20 Nov 01:30 has arrived service day 2026-11-19",
		"morning Fri 20 Nov 08:00 has arrived",
	)
}

// nextPage is the link to the next page of a list.
var nextPage = regexp.MustCompile(`href="([^"]*)" rel="next">the next page`)

// Decision desk.today: however many runs there are, none is out of reach, on Today and on Runs;
// 4 and 33 are on one page.
func TestNoRunIsOutOfReach(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	long := strings.Repeat("Щ", 60)
	for _, many := range []int{4, 33, 490} {
		var buses []bus
		for i := range many {
			buses = append(buses, bus{
				fmt.Sprintf("t%03d", i), "k", "Kyiv", long,
				fmt.Sprintf("%02d:%02d:00", 12+i/60, i%60), "30:00:00",
			})
		}
		o.importBuses(map[string]string{"k": long}, buses)
		for _, path := range []string{"/", "/runs?date=2026-11-20"} {
			seen := map[string]bool{}
			pages := 0
			for path != "" {
				pages++
				for _, run := range o.rows(path) {
					seen[run] = true
				}
				next := nextPage.FindStringSubmatch(o.see(path, long))
				path = ""
				if next != nil {
					path = html.UnescapeString(next[1])
				}
			}
			if want := (many + 49) / 50; len(seen) != many || pages != want {
				t.Errorf("of %d runs %d are seen on %d pages, want %d", many, len(seen), pages, want)
			}
		}
	}
	if got := len(o.rows("/?page=999")); got != 40 {
		t.Errorf("the last page has %d runs", got)
	}
	for _, bad := range []string{"0", "-1", "x"} {
		if status, _ := o.get("/?page=" + bad); status != http.StatusBadRequest {
			t.Errorf("page %s: %d", bad, status)
		}
	}
}

// Decision runs.names: runs are found by company and city, named in any language of the feed,
// whole or in part. A name that a city has is not taken for a part of another's.
func TestRunsAreFoundByCompanyAndCity(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	day := "/runs?date=2026-11-25"
	all := len(o.rows(day))
	for _, name := range []string{"Львів", "львів", "Lwów", "lwow", "Lvov", "Lviv", "Льв"} {
		path := day + "&city=" + url.QueryEscape(name)
		got := o.rows(path)
		if len(got) == 0 || len(got) == all || !strings.Contains(strings.Join(got, "\n"), trip) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for path, want := range map[string]string{
		"&company=Wislovia+Coach":           "Wislovia Coach",
		"&company=wislovia":                 "Wislovia Coach",
		"&company=wislovia&city=Katowice":   "Katowice",
		"&city=Warszawa&company=vltavia":    "",
		"&q=kl-0530":                        "Kyiv – Lviv",
		"&q=" + url.QueryEscape("Київ"):     "Kyiv",
		"&company=nobody":                   "",
		"&city=Lviv&company=nobody&q=lviv":  "",
		"&city=Kyiv&company=Zorevia+Lines+": "Kyiv",
	} {
		list := row.FindAllString(o.see(day+path), -1)
		if want == "" && len(list) > 0 || want != "" && len(list) == 0 {
			t.Errorf("%s lists %d runs", path, len(list))
		}
		for _, run := range list {
			byCompany := !strings.Contains(path, "q=") && !strings.Contains(path, "city")
			if byCompany && !strings.Contains(run, want) {
				t.Errorf("%s lists %s", path, run)
			}
		}
	}
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"a", "k", "Kyiv", "Brody", "12:00:00", "20:00:00"},
		{"b", "k", "Kyiv", "Novi Brody", "13:00:00", "20:00:00"},
	})
	o.lists(day+"&city=Brody", "a Wed 25 Nov 12:00")
	o.lists(day+"&city=Novi", "b Wed 25 Nov 13:00")
	o.lists(day+"&city=Brod", "a Wed 25 Nov 12:00", "b Wed 25 Nov 13:00")
	o.see(day+"&city=Brod", `<option value="Novi Brody">`, `<option value="Kyiv Lines">`,
		`"/runs?city=Brod&date=2026-11-26" rel="next"`)
}

// Decision desk.today: Today says first what needs somebody: refused messages, that no e-mail
// leaves this machine, tickets about which a provider's answer is missing, runs with more passengers than
// seats; each is a link.
func TestTodaySaysFirstWhatNeedsSomebody(t *testing.T) {
	t.Parallel()
	silent := false
	o := newOperatorWith(t, server.Config{
		Dir: filepath.Join(t.TempDir(), "d"),
		Confirm: func(context.Context, provider.Confirmation) error {
			if silent {
				return errors.New("no answer")
			}
			return nil
		},
	})
	o.enter()
	b := o.book("Ukrainka", "Franko").Data.Booking
	pay := "/v2/bookings/" + b.ID + "/pay"
	o.ask("POST", pay, `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	o.see("/", "No e-mail leaves this machine: there is no mail server. 1 e-mail became a file since the directory was made.")
	o.goesWrong(`{"on":"POST /v2/bookings/{id}/book","times":1,"do":"message-fails"}`)
	o.ask("POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`, nil)
	silent = true
	one := strings.NewReader(`{"ticketIds":["` + b.Tickets[1].ID + `"]}`)
	r, err := http.NewRequest("POST", o.service+pay, one)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-api-key", o.key)
	resp, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if body := o.read(resp); resp.StatusCode < 500 {
		t.Fatalf("a provider that is silent: %d %s", resp.StatusCode, body)
	}
	o.importWith("waybill_buses.txt", "bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,1,")
	page := o.see("/")
	at := 0
	for _, want := range []string{
		"<h1>Today</h1>",
		`<ul class="needs">`,
		`<li><a href="/messages">2 messages were refused for good.</a></li>`,
		`<li><a href="/messages">No e-mail leaves this machine: there is no mail server. 1 e-mail became a file since the directory was made.</a></li>`,
		`<li><a href="/search?state=unclear">The provider&#39;s answer about 1 ticket did not come`,
		`<li><a href="/run?date=2026-11-25&amp;trip=kl-0530">`,
		"</ul>",
		"Runs of Friday",
		`<meter min="0" max="`,
		"<h2>Tickets</h2>",
		"<h2>Evidence</h2>",
	} {
		n := strings.Index(page[at:], want)
		if n < 0 {
			t.Fatalf("there is no %q after what comes before it, in\n%s", want, page[at:])
		}
		at += n
	}
	o.see("/search?state=unclear", "Test Franko", "1 ticket,")
	if list := o.see("/search?state=paid", "Test Ukrainka"); strings.Contains(list, "Franko") {
		t.Errorf("a booked ticket is among those that are paid:\n%s", list)
	}
	if status, _ := o.get("/search?state=lost"); status != http.StatusBadRequest {
		t.Errorf("a state that there is not: %d", status)
	}
}

// Decision desk.today: with a mail server nobody is told that no e-mail leaves.
func TestWithAMailServerNothingWaits(t *testing.T) {
	t.Parallel()
	o := newOperatorWith(t, server.Config{
		Dir:  filepath.Join(t.TempDir(), "d"),
		Mail: outbound.MailConfig{Addr: "127.0.0.1:9", From: "waybill@example.com"},
	})
	o.enter()
	for path, says := range map[string]string{
		"/":         "Nothing needs your attention",
		"/messages": "No message is waiting",
	} {
		if page := o.see(path, says); strings.Contains(strings.ToLower(page), "no e-mail leaves") {
			t.Errorf("%s: %s", path, page)
		}
	}
}

// Decision feed.over: Today says that a timetable ends.
func TestTodaySaysThatATimetableEnds(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	const ends = "The last day of the timetable is 2026-11-27: import the next one."
	o.lacks(o.see("/"), ends)
	rig.Import(o, o.front.Server, rig.FeedWith(o, map[string][][2]string{
		"calendar.txt":       {{"20361231", "20261126"}},
		"calendar_dates.txt": {{",202612", ",202512"}, {",2027", ",2025"}},
	}))
	o.see("/", ends)
}

// Decision desk.today: Today names the zone whose clock a law has changed since tickets were sold.
func TestTodayNamesAClockThatHasChanged(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka")
	zone := [][2]string{{"Europe/Kyiv", "Europe/Istanbul"}}
	rig.Import(o, o.front.Server, rig.FeedWith(o, map[string][][2]string{
		"agency.txt": zone, "areas.txt": zone, "stops.txt": zone,
	}))
	o.see("/", "as the clock of Europe/Istanbul has changed since")
}
