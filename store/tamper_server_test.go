package store_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// seller is a server on a directory, and a partner that calls it.
type seller struct {
	t      *testing.T
	s      *server.Server
	key    string
	cookie string
}

// call returns what a regexp finds in the answer.
func (s *seller) call(find, method, target, body string) string {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("x-api-key", s.key)
	r.Header.Set("Cookie", s.cookie)
	w := httptest.NewRecorder()
	s.s.ServeHTTP(w, r)
	found := regexp.MustCompile(find).FindStringSubmatch(fmt.Sprint(w.Result().Header["Set-Cookie"], w.Body))
	if w.Code >= 300 || found == nil {
		s.t.Fatalf("%s %s: %d without %s: %s", method, target, w.Code, find, w.Body)
	}
	return found[len(found)-1]
}

func (s *seller) admin(op string, form ...string) string {
	s.t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	var out strings.Builder
	if err := s.s.Admin.Do(op, &admin.Act{Form: values, Out: &out}); err != nil {
		s.t.Fatal(op, err)
	}
	return strings.TrimSpace(out.String())
}

// book makes a booking and gives its id and those of its tickets.
func (s *seller) book(to string, passengers int, name string) (id string, tickets []string) {
	s.t.Helper()
	offer := s.call(`"offers":\[{"id":"([^"]+)"`, "GET",
		"/v2/offers?departureCitySlug=kyiv&arrivalCitySlug="+to+"&departureDate=2026-11-24", "")
	one := fmt.Sprintf(`{"firstName":%q,"lastName":"Franko","phones":[{"phone":"+380501234567"}]}`, name)
	s.call(`"booking":{"id":"([^"]+)"`, "GET",
		"/v2/bookings/"+s.call(`"booking":{"id":"([^"]+)"`, "POST", "/v2/bookings",
			`{"offerId":"`+offer+`","currency":"UAH","passengers":[`+one+strings.Repeat(","+one,
				passengers-1)+`]}`), "")
	var list struct {
		Data struct {
			Bookings []struct {
				ID      string
				Tickets []struct{ ID string }
			}
		}
	}
	err := json.Unmarshal([]byte(s.call(`(?s)\[\] (.*)`, "GET", "/v2/bookings?take=1", "")), &list)
	if err != nil || len(list.Data.Bookings) != 1 {
		s.t.Fatal(err, list)
	}
	for _, t := range list.Data.Bookings[0].Tickets {
		tickets = append(tickets, t.ID)
	}
	return list.Data.Bookings[0].ID, tickets
}

// shortFeed is the demo feed with three routes alone: verify reads the timetable of every sale each time.
func shortFeed(t *testing.T) fs.FS {
	t.Helper()
	kept := map[string]string{ // a column of a file, and what it has in the lines that stay
		"routes.txt":          `^(route_id|r-kyiv-(lviv|odesa|warsaw)),`,
		"trips.txt":           `^(route_id|r-kyiv-(lviv|odesa|warsaw)),`,
		"fare_rules.txt":      `^fare_id,|,r-kyiv-(lviv|odesa|warsaw),kyiv,(lviv|odesa|warsaw)$`,
		"fare_attributes.txt": `^fare_id,|,zorevia$`,
		"stop_times.txt":      `^(trip_id|k[low]-\w+),`,
		"waybill_buses.txt":   `^(bus_id|bus-zor-\w+),`,
		"translations.txt":    `^table_name,`,
	}
	feed := fstest.MapFS{}
	files, err := filepath.Glob("../testdata/demo/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keep := regexp.MustCompile(kept[filepath.Base(file)])
		var lines strings.Builder
		for line := range strings.Lines(string(text)) {
			if keep.MatchString(strings.TrimSpace(line)) {
				lines.WriteString(line)
			}
		}
		feed[filepath.Base(file)] = &fstest.MapFile{Data: []byte(lines.String())}
	}
	return feed
}

// sold returns the files of a server that has sold and refunded, signed in a user and written a report, over
// two restarts.
func sold(t *testing.T, first map[string]string, name string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, first)
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	s := &seller{t: t}
	open := func() {
		var err error
		s.s, err = server.Open(server.Config{Dir: dir, Now: func() time.Time {
			now = now.Add(time.Second)
			return now
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	shut := func() {
		if err := s.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open()
	err := s.s.Admin.Import(shortFeed(t), "demo", admin.ImportOptions{}, new(strings.Builder))
	if err != nil {
		t.Fatal(err)
	}
	s.key = s.admin("partner-add", "name", name)
	one, tickets := s.book("lviv", 3, name)
	s.call("Paid", "POST", "/v2/bookings/"+one+"/pay", `{"ticketIds":["`+tickets[0]+`"]}`)
	s.call("Booked", "POST", "/v2/bookings/"+one+"/book", `{"ticketIds":["`+tickets[1]+`"]}`)
	shut()
	open()
	s.admin("ticket-status", "ticket", tickets[1], "status", "Prepaid")
	s.admin("ticket-move", "ticket", tickets[0], "booking", "new")
	now = now.Add(time.Hour)
	two, _ := s.book("warsaw", 2, name)
	s.call("Paid", "POST", "/v2/bookings/"+two+"/pay", "")
	now = now.Add(time.Hour)
	s.call("Refund", "POST", "/v2/bookings/"+two+"/cancel", "")
	person := auth.Person{Email: "a@example.com", FirstName: name, LastName: "B"}
	rig.AddUser(t, s.s, admin.Self(), person, "correct-horse", "zorevia-lines", "ADMIN")
	s.cookie = s.call(`(waybill_access=[^;]+)`, "POST", "/v2/auth/idp/login",
		`{"idToken":"`+s.admin("idtoken", "email", "a@example.com")+`"}`)
	s.call("report", "POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2027-11-20T00:00:00Z"}`)
	rig.Eventually(t, "the report is written", func() bool { return rig.QueuedReports(t, s.s) == 0 })
	shut()
	open()
	s.book("lviv", 1, name)
	s.book("odesa", 1, name)
	shut()
	return files(t, dir)
}

// divided returns a journal of one file as one of two, as a smaller limit would have it.
func divided(all map[string]string) map[string]string {
	lines := journalLines(all)
	half := len(lines) / 2
	all["journal/"+fmt.Sprintf("%012d.jsonl", 1)] = strings.Join(lines[:half], "")
	all["journal/"+fmt.Sprintf("%012d.jsonl", half+1)] = strings.Join(lines[half:], "")
	return all
}

// TestTamperedServer: the same as TestTampered, of a server's directory. Its lines are framed like the short
// ones of TestTampered. Here a bit in 1213 is tried, and of the lines that could replace one a ninth; with
// -crashes all are.
func TestTamperedServer(t *testing.T) {
	t.Parallel()
	all := divided(sold(t, nil, "Anna"))
	same := map[string]string{}
	for _, name := range []string{"FORMAT", "checkpoint.key", "checkpoint.pub"} {
		same[name] = all[name]
	}
	other := divided(sold(t, same, "Olha"))
	delete(all, "admin.sock")
	t.Logf("%d bytes in %d files, %d lines", len(strings.Join(journalLines(all), "")),
		len(named(all, "journal/")), len(journalLines(all)))
	step := stride
	lineStep := 1
	if *crashes == 0 {
		step = 2999
		lineStep = 17
	}
	verdict(func(fsys durable.FS) (inspect.Report, error) {
		rep, err := verify.Directory(fsys, false, inspect.Expected{})
		return rep.Report, err
	}).findsAll(t, all, other, step, lineStep)
}
