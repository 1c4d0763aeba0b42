package statement_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waybill/schedule/ids"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/events"
	"waybill/server/proof/statement"
	"waybill/store/durable"
	"waybill/store/journal"
)

// moneyScript has a ticket of two carriers that is paid and refunded by their rules, one that is paid after
// its window, one refunded within the grace, one of an external operator, one that is only booked, and a run
// that is cancelled after a timetable was imported.
const moneyScript = `
partner anna
GET /v2/offers?departureCitySlug=rivne&arrivalCitySlug=prague&departureDate=2026-11-25
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"},{"firstName":"Ivan","lastName":"Franko"}]}
    201
    two = data.booking.id
    t1 = data.booking.tickets[0].id
    t2 = data.booking.tickets[1].id
POST /v2/bookings/$two/pay {"ticketIds":["$t1"]}
    200
wait 21m
POST /v2/bookings/$two/pay {"ticketIds":["$t2"]}
    200
admin ticket-move ticket=$t2 booking=new
    moved = $out
wait 80h
POST /v2/bookings/$moved/cancel
    200
partner boris
GET /v2/offers?departureCitySlug=bucharest&arrivalCitySlug=vienna&departureDate=2026-11-25
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"EUR","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}
    201
    external = data.booking.id
    x = data.booking.tickets[0].id
POST /v2/bookings/$external/pay
    200
POST /v2/bookings/$external/cancel
    200
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"Olha","lastName":"Kobylianska"},{"firstName":"Taras","lastName":"Shevchenko"},{"firstName":"Hryhorii","lastName":"Skovoroda"}]}
    201
    b = data.booking.id
    g = data.booking.tickets[0].id
    k = data.booking.tickets[1].id
    o = data.booking.tickets[2].id
POST /v2/bookings/$b/pay {"ticketIds":["$g","$k"]}
    200
POST /v2/bookings/$b/book {"ticketIds":["$o"]}
    200
POST /v2/bookings/$b/cancel {"ticketIds":["$g"]}
    200
admin run-move trip=kl-0530 date=2026-11-25 minutes=10 reason=snow
import
admin run-cancel trip=kl-0530 date=2026-11-25 reason=strike`

// playMoney plays it, and calls beside while the server runs.
func playMoney(t *testing.T, dir string, beside func()) (ids map[string]string) {
	synctest.Test(t, func(t *testing.T) {
		p := rig.NewPlayer(t, dir, "money")
		for line := range strings.Lines(moneyScript) {
			if strings.TrimSpace(line) == "import" {
				renamed := map[string][][2]string{"routes.txt": {{"ZL 1,", "ZL 1a,"}}}
				rig.Import(t, p.S, rig.FeedWith(t, renamed))
				continue
			}
			p.Play(strings.TrimRight(line, "\n"))
		}
		if beside != nil {
			beside()
		}
		p.Finish()
		ids = p.Vars
	})
	return ids
}

// written returns the rows of a statement.
func written(t *testing.T, dir string, inUse bool, f statement.Filter) [][]string {
	t.Helper()
	var out strings.Builder
	if _, err := statement.Write(durable.Dir(dir), inUse, f, "csv", &out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// days is a period in UTC, or in a zone.
func days(t *testing.T, from, to, zone string) statement.Period {
	t.Helper()
	p, err := statement.ParsePeriod(from, to, zone)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Decision statement.rows: each sale and refund, of each carrier, by what rule; Booked and what an external
// operator keeps move nothing; last the line up to which the journal was read.
func TestAStatementHasEachMovement(t *testing.T) {
	dir := t.TempDir()
	vars := playMoney(t, dir, nil)
	period := days(t, "2026-11-20", "2026-11-30", "")
	seqs := regexp.MustCompile(`^(sale|refund|journal),\d+,`)
	var rows []string
	for _, row := range written(t, dir, false, statement.Filter{Period: period}) {
		line := seqs.ReplaceAllString(strings.Join(row, ","), "$1,#,")
		for name := range strings.FieldsSeq("two t1 t2 moved external x b g k") {
			line = strings.ReplaceAll(line, vars[name], "$"+name)
		}
		rows = append(rows, line)
	}
	text := "\n" + strings.Join(rows, "\n") + "\n"
	head := regexp.MustCompile(`hash [0-9a-f]{64} checkpoint \d+`)
	text = head.ReplaceAllString(text, "hash H checkpoint N")
	if text != statementOfMoney {
		t.Errorf("the statement is %s", text)
	}
}

const statementOfMoney = `
kind,seq,time,currency,amount,ticket,booking,partner,company,rule
opening,,2026-11-20T00:00:00.000Z,EUR,0.00,,,,,
opening,,2026-11-20T00:00:00.000Z,UAH,0.00,,,,,
sale,#,2026-11-20T08:00:00.000Z,UAH,390.00,$t1,$two,anna,zorevia-lines,sale
sale,#,2026-11-20T08:00:00.000Z,UAH,2040.00,$t1,$two,anna,vltavia-bus,sale
sale,#,2026-11-20T08:21:00.000Z,UAH,390.00,$t2,$two,anna,zorevia-lines,sale
sale,#,2026-11-20T08:21:00.000Z,UAH,2040.00,$t2,$two,anna,vltavia-bus,sale
refund,#,2026-11-23T16:21:00.000Z,UAH,-351.00,$t2,$moved,anna,zorevia-lines,rule rr-zor-24h hours 24 percent 90.00
refund,#,2026-11-23T16:21:00.000Z,UAH,-1836.00,$t2,$moved,anna,vltavia-bus,rule rr-vlt-24h hours 24 percent 90.00
sale,#,2026-11-23T16:21:00.000Z,EUR,50.00,$x,$external,boris,carpadan-express,sale
sale,#,2026-11-23T16:21:00.000Z,UAH,770.00,$g,$b,boris,zorevia-lines,sale
sale,#,2026-11-23T16:21:00.000Z,UAH,770.00,$k,$b,boris,zorevia-lines,sale
refund,#,2026-11-23T16:21:00.000Z,UAH,-770.00,$g,$b,boris,zorevia-lines,grace
refund,#,2026-11-23T16:21:00.000Z,UAH,-770.00,$k,$b,boris,zorevia-lines,run cancelled
closing,,2026-12-01T00:00:00.000Z,EUR,50.00,,,,,
closing,,2026-12-01T00:00:00.000Z,UAH,2673.00,,,,,
journal,#,2026-11-23T16:21:00.000Z,,,,,,,hash H checkpoint N
`

// All movements are what verify prints, of whatever was played.
func TestTheSumIsWhatTheBooksHave(t *testing.T) {
	dirs := map[string]string{}
	for name := range strings.FieldsSeq(
		"run_cancel run_move run_provider refund_tiers grace external change edits legacy_provider") {
		dirs[name] = t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			p := rig.NewPlayer(t, dirs[name], name)
			script, err := os.ReadFile(rig.File("testdata/script/" + name + ".txt"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(script)) {
				p.Line++
				p.Play(strings.TrimRight(line, "\n"))
			}
			p.Finish()
		})
	}
	dirs["money"] = t.TempDir()
	playMoney(t, dirs["money"], nil)
	dirs["the fixture"] = rig.File("testdata/journal/v3")
	refunds := 0
	for name, dir := range dirs {
		want, companies := booksOf(t, dir)
		got := map[string][2]int64{}
		moved := statement.NewMovements()
		err := events.Read(durable.Dir(dir), false, func(l *journal.Line, x ledger.Entry) error {
			list, err := moved.Apply(l.Stamp, x.Event)
			for _, m := range list {
				sum := got[m.Currency]
				if m.Kind == statement.Refund {
					refunds++
					sum[1] -= m.Amount
				} else {
					sum[0] += m.Amount
				}
				got[m.Currency] = sum
				companies[m.Company] -= m.Amount
			}
			return err
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, the books have %v; %v", name, got, want, err)
		}
		for company, left := range companies {
			if left != 0 {
				t.Errorf("%s: of company %s %d is missing", name, company, left)
			}
		}
	}
	if refunds < 10 {
		t.Errorf("only %d refunds were played", refunds)
	}
}

// booksOf returns what verify counts in a directory, and what its companies have of it, from their legs.
func booksOf(t *testing.T, dir string) (money map[string][2]int64, companies map[string]int64) {
	t.Helper()
	var end journal.Head
	remember := func(_ ledger.State, l *journal.Line, _ ledger.Entry) error {
		end = l.Head
		return nil
	}
	s, err := events.Replay(durable.Dir(dir), false, remember)
	if err != nil {
		t.Fatal(err)
	}
	tt, err := ledger.LoadTimetable(durable.Dir(dir), "") // money does not depend on it
	if err != nil {
		t.Fatal(err)
	}
	books, err := s.Bookings.Audit(tt, end.Time)
	if err != nil {
		t.Fatal(dir, err)
	}
	money = map[string][2]int64{}
	for currency, sum := range books.Money {
		if sum != [2]int64{} { // a movement of nothing is left out
			money[currency] = sum
		}
	}
	companies = map[string]int64{}
	for b := range s.Bookings.Freeze().All() {
		for i := range b.Tickets {
			x := &b.Tickets[i]
			if _, payment := x.Status(end.Time); payment != "Paid" {
				continue
			}
			for _, l := range x.Itinerary() {
				companies[l.Run.Form.Company.Slug] += l.Amount - l.Refund
			}
		}
	}
	return money, companies
}

// Opening is what had moved before the first day, closing what has at the end of the last, both of the zone;
// what is before and after makes up all.
func TestAPeriodOpensWithWhatMovedBefore(t *testing.T) {
	dir := t.TempDir()
	playMoney(t, dir, nil)
	all := written(t, dir, false, statement.Filter{Period: days(t, "2026-11-01", "2026-11-30", "")})
	// The first sale is at 08:00 UTC of the 20th, which is 22:00 of the 19th in Honolulu.
	for _, c := range []struct{ day, zone, opening, closing string }{
		{"2026-11-19", "", "", ""},
		{"2026-11-20", "", "opening 2026-11-20T00:00:00.000Z UAH 0.00", "closing 2026-11-21T00:00:00.000Z UAH"},
		{"2026-11-21", "", "opening 2026-11-21T00:00:00.000Z UAH", "closing 2026-11-22T00:00:00.000Z UAH"},
		{"2026-11-19", "Pacific/Honolulu", "opening 2026-11-19T10:00:00.000Z UAH 0.00", "closing 2026-11-20T10:00:00.000Z UAH"},
	} {
		rows := written(t, dir, false, statement.Filter{Period: days(t, c.day, c.day, c.zone)})
		var text []string
		for _, row := range rows {
			cells := slices.DeleteFunc(row, func(s string) bool { return s == "" })
			text = append(text, strings.Join(cells, " "))
		}
		said := strings.Join(text, "\n")
		if !strings.Contains(said, c.opening) || !strings.Contains(said, c.closing) ||
			c.opening == "" && len(rows) != 2 {
			t.Errorf("%s %s:\n%s", c.day, c.zone, said)
		}
	}
	first := written(t, dir, false, statement.Filter{Period: days(t, "2026-11-20", "2026-11-20", "")})
	later := written(t, dir, false, statement.Filter{Period: days(t, "2026-11-21", "2026-11-30", "")})
	balance := func(rows [][]string, kind string) (list []string) {
		for _, row := range rows {
			if row[0] == kind && row[4] != "0.00" {
				list = append(list, row[3]+row[4])
			}
		}
		return list
	}
	if a, b := balance(first, "closing"), balance(later, "opening"); !slices.Equal(a, b) || len(a) == 0 {
		t.Errorf("it closes with %s and opens with %s", a, b)
	}
	if a, b := balance(later, "closing"), balance(all, "closing"); !slices.Equal(a, b) {
		t.Errorf("it closes with %s, and all of it with %s", a, b)
	}
}

// The statements of all partners, and those of all companies, make up that of all.
func TestAStatementOfAPartnerOrACompany(t *testing.T) {
	dir := t.TempDir()
	playMoney(t, dir, nil)
	period := days(t, "2026-11-20", "2026-11-30", "")
	moves := func(f statement.Filter) (list []string) {
		f.Period = period
		for _, row := range written(t, dir, false, f) {
			if row[0] == statement.Sale || row[0] == statement.Refund {
				list = append(list, fmt.Sprint(row))
			}
		}
		return list
	}
	all := moves(statement.Filter{})
	slices.Sort(all)
	for what, parts := range map[string][]statement.Filter{
		"partners": {{Partner: "anna"}, {Partner: "boris"}},
		"companies": {{Company: "zorevia-lines"}, {Company: "vltavia-bus"}, {Company: "carpadan-express"},
			{Company: "wislovia-coach"}}, // which has sold nothing
	} {
		var sum []string
		for _, f := range parts {
			sum = append(sum, moves(f)...)
		}
		slices.Sort(sum)
		if !slices.Equal(sum, all) || len(all) < 8 {
			t.Errorf("%s:\n%s\nall:\n%s", what, sum, all)
		}
	}
	for _, f := range []statement.Filter{{Partner: "nobody"}, {Company: "nobody"}, {Company: "zorevia"}} {
		f.Period = period
		var out strings.Builder
		_, err := statement.Write(durable.Dir(dir), false, f, "csv", &out)
		if err == nil || strings.Contains(err.Error(), "\n") || out.String() != "" {
			t.Errorf("%+v: %v, %s", f, err, &out)
		}
	}
}

// Beside a server a statement ends with the newest note: what comes later need not be on the disk.
func TestBesideAServerAStatementEndsWithANote(t *testing.T) {
	dir := t.TempDir()
	period := days(t, "2026-11-20", "2026-11-30", "")
	playMoney(t, dir, func() {
		rows := written(t, dir, true, statement.Filter{Period: period})
		last := rows[len(rows)-1]
		if !strings.HasSuffix(last[9], " checkpoint "+last[1]) {
			t.Errorf("it ends with %s", last)
		}
	})
	rows := written(t, dir, false, statement.Filter{Period: period})
	last := rows[len(rows)-1]
	if !strings.HasSuffix(last[9], " checkpoint "+last[1]) {
		t.Errorf("it ends with %s", last)
	}
	// Of an earlier note, what comes after it is left out beside a server.
	early := filepath.Join(dir, "checkpoints.log")
	log, err := os.ReadFile(early)
	if err != nil {
		t.Fatal(err)
	}
	end := strings.Index(string(log), "\n\nwaybill/")
	for name, text := range map[string][]byte{"checkpoints.log": log[:end+2], "checkpoint": log[:end+1]} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := rows[len(rows)-1]
	for _, inUse := range []bool{true, false} {
		rows = written(t, dir, inUse, statement.Filter{Period: period})
		last = rows[len(rows)-1]
		if inUse == (last[1] == whole[1]) || inUse != strings.HasSuffix(last[9], " checkpoint "+last[1]) {
			t.Errorf("it ends with %s, with a server: %v", last, inUse)
		}
	}
	// Without its notes nobody vouches for the line.
	if err := os.Remove(filepath.Join(dir, "checkpoints.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "checkpoint")); err != nil {
		t.Fatal(err)
	}
	rows = written(t, dir, false, statement.Filter{Period: period})
	if last := rows[len(rows)-1]; !strings.HasSuffix(last[9], " checkpoint 0") {
		t.Errorf("it ends with %s", last)
	}
	var out strings.Builder
	_, err = statement.Write(durable.Dir(dir), false, statement.Filter{Period: period}, "text", &out)
	if err != nil || !strings.HasPrefix(out.String(), "kind     seq  time ") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// A period is some days of a zone, in whatever order clocks go there.
func TestPeriods(t *testing.T) {
	for _, c := range []struct{ from, to, zone, want string }{
		{"2026-11-20", "2026-11-20", "", "2026-11-20T00:00:00Z 2026-11-21T00:00:00Z"},
		{"2026-03-29", "2026-03-29", "Europe/Kyiv", "2026-03-28T22:00:00Z 2026-03-29T21:00:00Z"},
		{"2026-03-28", "2026-03-29", "Asia/Beirut", "2026-03-27T22:00:00Z 2026-03-29T21:00:00Z"},
		{"2026-11-21", "2026-11-20", "", "-from 2026-11-21 is after -to 2026-11-20"},
		{"", "2026-11-20", "", "-from must be given as a day, as in 2026-11-20"},
		{"2026-11-20", "2026-11-31", "", `-to "2026-11-31" is not a day as in 2026-11-20, of the years 1970 to 2199`},
		{"2026-11-20", "2026-11-20", "Europe/Kiew", `-zone "Europe/Kiew" is not a time zone as in Europe/Kyiv`},
		{"2026-11-20", "2026-11-20", "Local", `-zone "Local" is not a time zone as in Europe/Kyiv`},
	} {
		p, err := statement.ParsePeriod(c.from, c.to, c.zone)
		got := fmt.Sprint(err)
		if err == nil {
			const layout = "2006-01-02T15:04:05Z"
			got = p.Start().UTC().Format(layout) + " " + p.End().UTC().Format(layout)
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A line that speaks of what no line has is named.
func TestALineThatSpeaksOfNothingIsNamed(t *testing.T) {
	dir := t.TempDir()
	playMoney(t, dir, nil)
	text := rig.JournalText(t, dir)
	format, err := os.ReadFile(filepath.Join(dir, "FORMAT"))
	if err != nil {
		t.Fatal(err)
	}
	for kind, what := range map[string]string{"ticket.paid": "ticket", "tickets.canceled": "id"} {
		lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"type":"`+kind+`"`) })
		lines[at] = regexp.MustCompile(`"`+what+`":"[^"]{22}"`).ReplaceAllString(lines[at],
			`"`+what+`":"`+ids.ID{7}.String()+`"`)
		forged := t.TempDir()
		if err := os.CopyFS(forged, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		chained := []byte(rig.Rechained(string(format), lines))
		if err := os.WriteFile(filepath.Join(forged, rig.JournalFile), chained, 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("seq %d: no line before it sells the ticket %s", at+1, ids.ID{7})
		_, err = statement.Write(durable.Dir(forged), false, statement.Filter{Period: days(t, "2026-11-20",
			"2026-11-20", "")}, "csv", new(strings.Builder))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
}
