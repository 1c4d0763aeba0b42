package export_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/report"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/events"
	"waybill/server/proof/export"
	"waybill/store/durable"
	"waybill/store/journal"
)

// exportOffice plays an office's day on a new directory, exports it beside the running server into out, and
// closes it.
func exportOffice(t *testing.T, dir, out string) {
	rig.PlayOffice(t, dir, func() {
		if _, err := export.Write(durable.Dir(dir), true, durable.Dir(out)); err != nil {
			t.Fatal(err)
		}
	})
}

// readTable reads a file of an export.
func readTable(t *testing.T, out, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(out, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(name, err)
	}
	return rows
}

// stateOf replays a directory's journal.
func stateOf(t *testing.T, dir string) (ledger.State, journal.Head) {
	t.Helper()
	var head journal.Head
	remember := func(_ ledger.State, l *journal.Line, _ ledger.Entry) error {
		head = l.Head
		return nil
	}
	s, err := events.Replay(durable.Dir(dir), false, remember)
	if err != nil {
		t.Fatal(err)
	}
	return s, head
}

// Decision export.tables: what was exported beside a server and after it, whatever names hold, is in the
// tables; a directory that is not empty is left alone.
func TestExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live := filepath.Join(t.TempDir(), "new")
	out := t.TempDir()
	exportOffice(t, dir, live)
	rig.Erase(t, dir, "erased@example.com")
	if _, err := export.Write(durable.Dir(dir), false, durable.Dir(out)); err != nil {
		t.Fatal(err)
	}
	for _, x := range described(t) {
		rows := readTable(t, out, x.name)
		earlier := readTable(t, live, x.name)
		if got := strings.Join(rows[0], ","); got != x.columns || len(rows) < 2 {
			t.Errorf("%s has %d rows of %s", x.name, len(rows)-1, got)
		}
		if len(earlier) < len(rows) && x.name != "events" { // the server's end may be a line
			t.Errorf("%s has %d rows beside the server, %d after it", x.name, len(earlier), len(rows))
		}
		for _, row := range slices.Concat(rows, earlier) {
			text := strings.Join(row, " ")
			if strings.Contains(text, "pbkdf2") ||
				regexp.MustCompile(`"(access|refresh)":"`).MatchString(text) {
				t.Errorf("%s shows a secret: %s", x.name, text)
			}
		}
	}
	people := fmt.Sprint(readTable(t, out, "tickets"))
	for _, want := range []string{`Robert'); drop table tickets;--`, `"Lesia", Ї`, ` Ivan `,
		`=cmd|' /C calc'!A0`, `\.`} {
		if !strings.Contains(people, want) {
			t.Errorf("there is no passenger %s: %s", want, people)
		}
	}
	for name, want := range map[string]string{
		"partners":      `o'brien;--,"=1+1" zorevia-lines,vltavia-bus`,
		"forms":         `Kyiv "=1+1", Warsaw`,
		"events":        `{"erased":"2027-01-02T03:04:05.678Z"}`,
		"geolocation":   "fms-zor-02 true",
		"users":         "anna@example.com Anna Nowak",
		"ticket_phones": "2 +380507654321",
	} {
		if text := fmt.Sprint(readTable(t, out, name)); !strings.Contains(text, want) {
			t.Errorf("%s has no %s: %s", name, want, text)
		}
	}
	for name, gone := range map[string]string{
		"tickets":       "Erased",
		"users":         "Gone",
		"ticket_phones": "+380509999999",
	} {
		if text := fmt.Sprint(readTable(t, out, name)); strings.Contains(text, gone) {
			t.Errorf("%s has %s: %s", name, gone, text)
		}
	}
	if info, err := os.Stat(filepath.Join(live, "tickets.csv")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if info, err := os.Stat(live); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	before, _ := durable.Dir(out).List(".")
	if len(before) != len(described(t))+1 {
		t.Errorf("there are other files than those of the tables and schema.sql: %s", before)
	}
	_, err := export.Write(durable.Dir(dir), false, durable.Dir(out))
	if err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error("an export goes where there is one:", err)
	}
	if after, _ := durable.Dir(out).List("."); !slices.Equal(before, after) {
		t.Error("what is there was changed:", after)
	}
	loadIntoSQLite(t, dir, out)
}

// loadIntoSQLite loads an export as schema.sql says, and compares it with the state.
func loadIntoSQLite(t *testing.T, dir, out string) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Log("no sqlite3: the export is not loaded")
		return
	}
	sqlite := func(stdin string) string {
		cmd := exec.Command("sqlite3", "-bail", "../db.sqlite")
		cmd.Dir, cmd.Stdin = out, strings.NewReader(stdin)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("sqlite3: %v\n%.1000s\n%s", err, stdin, text)
		}
		return strings.TrimSpace(string(text))
	}
	if said := sqlite(export.Schema) + sqlite(loading("sqlite")) +
		sqlite("pragma foreign_key_check; pragma integrity_check;"); said != "ok" {
		t.Error("sqlite3 says", said)
	}
	compareWithSQLite(t, dir, sqlite)
	for _, x := range described(t) {
		if got := sqlite("select * from " + x.name + " where '' in (" + x.columns + ");"); got != "" {
			t.Errorf("empty texts in %s: %s", x.name, got)
		}
	}
}

// compareWithSQLite holds what queries give against the state.
func compareWithSQLite(t *testing.T, dir string, sqlite func(string) string) {
	s, head := stateOf(t, dir)
	var standing []string
	var paid, refunded, seats, bookings, legs, count int64
	for b := range s.Bookings.Freeze().All() {
		bookings++
		standing = append(standing, b.ID.String()+"|"+b.Status(head.Time))
		for i := range b.Tickets {
			x := &b.Tickets[i]
			if _, payment := x.Status(head.Time); payment == "Paid" {
				paid += x.Price()
			}
			refunded += x.Refund()
			for _, l := range x.Itinerary() {
				seats += int64(l.Seat)
				legs++
			}
			count++
		}
	}
	if refunded == 0 || paid <= refunded {
		t.Errorf("paid %d, refunded %d", paid, refunded)
	}
	for query, want := range map[string]string{
		`select printf('%d', round(100 * sum(price))) from tickets where payment_status = 'Paid'`:                                                           fmt.Sprint(paid),
		`select printf('%d', round(100 * (sum(price) - sum(refund_amount)))) from tickets where payment_status = 'Paid'`:                                    fmt.Sprint(paid - refunded),
		`select printf('%d', round(100 * sum(amount))) = (select printf('%d', round(100 * sum(price))) from tickets), count(*), sum(seat) from ticket_legs`: fmt.Sprintf("1|%d|%d", legs, seats),
		`select count(*) from tickets`:                      fmt.Sprint(count),
		`select count(*) from bookings`:                     fmt.Sprint(bookings),
		`select max(seq), count(*) from events`:             fmt.Sprintf("%d|%d", head.Seq, head.Seq),
		`select time from events order by seq desc limit 1`: head.Time.Format("2006-01-02T15:04:05.000Z"),
		`select count(*) from tickets where refund_amount is not null and status = 'Refund' or refund_amount is null and status <> 'Refund'`:     fmt.Sprint(count),
		`select booking_id, status from bookings order by rowid`:                                                                                 strings.Join(standing, "\n"),
		`select count(*) from run_stops where arrival_at > departure_at or not exists (select 1 from run_stops where arrival_at < departure_at)`: "0",
		`select count(*) from sessions where refreshed_at < access_until and access_until < ends_at`:                                             "2",
		`select count(*) from reports where completed_at >= created_at and downloaded_at is null and start_date < end_date`:                      "1",
		`select count(*) < (select count(*) from runs) from forms`:                                                                               "1",
		`select sum(amount) from movements`:                                                                    fmt.Sprint(paid - refunded),
		`select -sum(amount) from movements where kind = 'refund'`:                                             fmt.Sprint(refunded),
		`select count(*) from geolocation where is_geolocation`:                                                "1",
		`select count(*) from tickets where first_name is null`:                                                "1",
		`select count(*) from events where type = 'booking.created' and data like '{%' and personal like '{%'`: "3",
		// A leg leaves its first stop when the ticket's journey starts.
		`select count(*) from ticket_legs join tickets using (ticket_id) join run_stops s on s.run_id = ticket_legs.run_id and s.position = boarding
			where leg = 1 and s.departure_at <> tickets.departure_at`: "0",
	} {
		if got := sqlite(query + ";"); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// loading returns the lines of schema.sql that load an export.
func loading(database string) string {
	var lines strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^-- `+database+`: (.*\n)`).FindAllStringSubmatch(export.Schema,
		-1) {
		lines.WriteString(m[1])
	}
	return lines.String()
}

// table is a table as schema.sql has it.
type table struct{ name, columns, body string }

// described returns the tables of schema.sql, where each line is a column or a key.
func described(t *testing.T) (list []table) {
	t.Helper()
	tableOf := regexp.MustCompile(`(?s)create table (\w+) \(\n(.*?)\n\);`)
	for _, m := range tableOf.FindAllStringSubmatch(export.Schema, -1) {
		var columns []string
		for line := range strings.Lines(m[2]) {
			column := regexp.MustCompile(`^    (\w+) (text|integer|bigint|date|timestamptz|boolean|double precision|numeric\(\d+,2\))( |,|$)`).FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if column != nil {
				columns = append(columns, column[1])
			} else if !regexp.MustCompile(`^    (primary|foreign) key`).MatchString(line) {
				t.Errorf("%s: %q", m[1], line)
			}
		}
		list = append(list, table{m[1], strings.Join(columns, ","), m[2]})
	}
	return list
}

// schema.sql loads every table, after those it names, and makes null what may be. TestExport sees that its
// tables are the files.
func TestSchema(t *testing.T) {
	known := map[string]bool{}
	var psql strings.Builder
	var sqlite strings.Builder
	for _, x := range described(t) {
		var nullable []string
		for line := range strings.Lines(x.body) {
			name := strings.Fields(line)[0]
			isColumn := slices.Contains(strings.Split(x.columns, ","), name)
			if isColumn && !strings.Contains(line, "not null") && !strings.Contains(line, "primary key") {
				nullable = append(nullable, fmt.Sprintf("%s = nullif(%[1]s, '')", name))
			}
		}
		for _, other := range regexp.MustCompile(`references (\w+)`).FindAllStringSubmatch(x.body, -1) {
			if !known[other[1]] {
				t.Errorf("%s comes before %s, which it names", x.name, other[1])
			}
		}
		known[x.name] = true
		fmt.Fprintf(&psql, "\\copy %s from '%[1]s.csv' with (format csv, header, encoding 'UTF8')\n", x.name)
		fmt.Fprintf(&sqlite, ".import --csv --skip 1 %s.csv %[1]s\n", x.name)
		want := "update " + x.name + " set " + strings.Join(nullable, ", ") + ";\n"
		if nullable != nil && !strings.Contains(loading("sqlite"), want) {
			t.Errorf("there is no %s", want)
		}
	}
	if got := loading("psql"); got != psql.String() || psql.String() == "" {
		t.Errorf("psql loads\n%swant\n%s", got, psql.String())
	}
	if got := loading("sqlite"); !strings.HasPrefix(got, sqlite.String()) {
		t.Errorf("sqlite loads\n%swant\n%s", got, sqlite.String())
	}
}

// An export that cannot be finished leaves nothing, nor is one made of a directory without a journal.
func TestExportThatFails(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	named := t.TempDir()
	format := []byte("waybill-journal v3 ABCDEFGHIJKLMNOPQRSTUVWXYZ\n")
	if err := os.WriteFile(filepath.Join(named, "FORMAT"), format, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{t.TempDir(): "FORMAT: is missing", named: "no journal is here"} {
		_, err := export.Write(durable.Dir(dir), false, durable.Dir(out))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Write(durable.Dir(t.TempDir()), false, durable.Dir(file)); err == nil {
		t.Error("an export goes into a file")
	}
}

// shrinking is a directory whose journal lacks its last line from the second reading on.
type shrinking struct {
	durable.Dir
	cut   durable.Dir
	reads int
}

func (s *shrinking) Open(name string) (durable.Readable, error) {
	if name != rig.JournalFile {
		return s.Dir.Open(name)
	}
	if s.reads++; s.reads > 1 {
		return s.cut.Open(name)
	}
	return s.Dir.Open(name)
}

// Decision copies.whole: an export that has not read up to the last line is none.
func TestAnExportEndsWithTheLastLine(t *testing.T) {
	dir := t.TempDir()
	s, _ := rig.Demo(t, server.Config{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cut := t.TempDir()
	if err := os.CopyFS(cut, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(rig.JournalText(t, dir), "\n")
	shorter := strings.Join(lines[:len(lines)-2], "")
	if err := os.WriteFile(filepath.Join(cut, rig.JournalFile), []byte(shorter), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, inUse := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "out")
		from := &shrinking{Dir: durable.Dir(dir), cut: durable.Dir(cut)}
		_, err := export.Write(from, inUse, durable.Dir(out))
		want := fmt.Sprintf("line %d of the journal was the last, and the export ends with line %d",
			len(lines)-1, len(lines)-2)
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Error("there is an export")
		}
	}
}

// What lines only imply is in an export: sessions that end with the start of another, reports that are made
// again, and a subject whose provider is not known yet.
func TestExportOfWhatIsImplied(t *testing.T) {
	dir := t.TempDir()
	var clock rig.HandClock
	s, err := server.Open(server.Config{Dir: dir, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	user := ids.ID{1}
	link := auth.Linked{Subject: auth.HashOf("subject")}
	done := ids.ID{9}
	record := func(events ...ledger.Event) {
		t.Helper()
		for _, e := range events {
			if err := s.Record(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	record(
		&auth.UserAdded{
			User:   user,
			Link:   &link,
			Access: auth.Access{Company: auth.Company{ID: "c"}, Role: "ADMIN"},
			Person: auth.Person{Email: "a@example.com"},
		},
		&auth.SessionStarted{
			Session: ids.ID{2},
			User:    user,
			Company: "c",
			Tokens:  auth.NewTokens(clock.Now(), "a", "b"),
		},
		&report.Ordered{
			ID:       done,
			Company:  "c",
			User:     user,
			OrderBy:  report.CreatedAt,
			Start:    clock.Now(),
			End:      clock.Now(),
			FirstDay: "2026-11-20",
			LastDay:  "2026-11-20",
		},
		&report.Completed{ID: done, SHA256: "00"},
	)
	clock.Move(40 * 24 * time.Hour)
	record(
		&auth.SessionStarted{
			Session: ids.ID{3},
			User:    user,
			Company: "c",
			Tokens:  auth.NewTokens(clock.Now(), "c", "d"),
		},
		&ledger.PersonalErased{Reason: "asked", Reports: []ids.ID{done}},
	)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := export.Write(durable.Dir(dir), false, durable.Dir(out)); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{
		"sessions":   `^\[\[session_id .*\] \[` + fmt.Sprint(ids.ID{3}) + ` .*\]\]$`,
		"reports":    ` 2026-11-20T08:00:00.000Z   \]\]$`, // not completed, nor downloaded, and no hash
		"identities": ` \? \S+\]\]$`,
	} {
		if got := fmt.Sprint(readTable(t, out, table)); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %s, want %s", table, got, want)
		}
	}
}
