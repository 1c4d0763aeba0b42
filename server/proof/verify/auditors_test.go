package verify_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

var directories = flag.String("directories", "", "a `folder` of what tests have left, for both auditors to judge")

// opinion is what an auditor says of a directory, as far as both auditors say it.
type opinion struct {
	Verdict  string
	Problems []struct {
		Seq  uint64
		Text string
	}
	Remarks []remark
	Books   any
}

// remark is one, without its words.
type remark struct {
	Kind string
	Seq  uint64
}

// lines returns the numbers of the lines that have problems, each once.
func (o *opinion) lines() []uint64 {
	list := []uint64{}
	for _, p := range o.Problems {
		list = append(list, p.Seq)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ours returns verify's opinion.
func ours(t *testing.T, dir string) opinion {
	t.Helper()
	return expecting(t, dir, inspect.Expected{})
}

// expecting returns verify's opinion, of somebody who expects something.
func expecting(t *testing.T, dir string, expected inspect.Expected) opinion {
	t.Helper()
	v, _ := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, expected, "")
	return opinionOf(t, v)
}

// opinionOf returns a verdict as far as both auditors say it.
func opinionOf(t *testing.T, v verify.Verdict) (o opinion) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// theirs returns the opinions of audit.py, which judges all directories in one go: a start of Python takes
// longer than a look at one. given are flags besides.
func theirs(t *testing.T, dirs []string, given ...string) []opinion {
	t.Helper()
	list, said, err := judgedByPython(dirs, given...)
	if err != nil && err.Error() == "exit status 2" {
		return slices.Repeat([]opinion{{Verdict: "usage"}}, len(dirs))
	}
	if len(list) < len(dirs) {
		t.Fatalf("%s: audit.py ends with %v: %s", dirs[len(list)], err, said)
	}
	sound := !slices.ContainsFunc(list, func(o opinion) bool { return o.Verdict != "sound" })
	if sound != (err == nil) {
		t.Errorf("all are sound: %v, and %v", sound, err)
	}
	return list
}

// judgedByPython returns the opinions of audit.py, up to the directory at which it breaks off, and what it
// says besides. It needs no site-packages (-S).
func judgedByPython(dirs []string, given ...string) (list []opinion, said string, err error) {
	var out, besides bytes.Buffer
	python := exec.Command("python3", slices.Concat([]string{"-I", "-S", rig.File("server/docs/audit.py"),
		"-json"}, dirs, given)...)
	python.Stdout, python.Stderr = &out, &besides
	err = python.Run()
	for told := json.NewDecoder(&out); ; {
		var o opinion
		if told.Decode(&o) != nil {
			return list, besides.String(), err
		}
		list = append(list, o)
	}
}

// oddities are values that readers of JSON take differently, by what they replace in a sale: a forger uses
// them to have an auditor see other numbers than the program does, or none, as it has ended.
var oddities = map[string]string{
	`"amount":\d+`:          `"amount":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	`"amount":(\d+)`:        `"amount":Infinity`,
	`"amount":\d{1,9}`:      `"amount":` + strings.Repeat("9", 5000),
	`"amount":\d{1,8}`:      `"amount":77000.0`,
	`"amount":[0-9]+`:       `"amount":null`,
	`"amount":[0-9]{1,9}`:   `"amount":-9223372036854775808`,
	`"seats":\[\d+\]`:       `"seats":[70000]`,
	`"request":"[^"]*"`:     `"request":"\ud800"`,
	`"currency":"[A-Z]{3}"`: `"currency":"uah"`,
}

// Decision audit.script: the second auditor shares no line with this program. It comes to the same verdict as
// verify, names the same lines and has the same books: over what is honest, what is forged, and with
// -directories over what the server's tests have left. [TestFraudsAreSeenAsThePageSays] has them judge
// frauds.
func TestBothAuditorsAgree(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	h := newHonest(t)
	all := []string{h.dir, h.yesterday, rig.File("testdata/journal/v3")}
	theirs(t, all) // sound both: exit code 0
	all = append(all, withoutJournal(t)...)
	all = append(all, withRidesOfNothing(t), withACancellation(t))
	all = append(all, withLinesOfNothing(t, h)...)
	all = append(all, before1970(t))
	all = append(all, withUndecided(t, h)...)
	all = append(all, withFilesOfNothing(t, h)...)
	all = append(all, withAReport(t)...)
	all = append(all, withAChange(t)...)
	for what, with := range oddities {
		all = append(all, forge(t, h.dir, func(lines []string) []string {
			for i, l := range lines {
				if strings.Contains(l, `"type":"booking.created"`) && strings.Contains(l, h.bookings[1]) {
					lines[i] = regexp.MustCompile(what).ReplaceAllLiteralString(l, with)
				}
			}
			return lines
		}))
	}
	if *directories != "" {
		left, err := filepath.Glob(filepath.Join(*directories, "*", "data"))
		if err != nil || len(left) == 0 {
			t.Fatalf("%s has %d directories, %v", *directories, len(left), err)
		}
		all = append(all, left...)
	}
	for some := range slices.Chunk(all, 20) {
		t.Run(filepath.Base(filepath.Dir(some[0])), func(t *testing.T) {
			t.Parallel()
			for i, they := range theirs(t, some) {
				compareOpinions(t, some[i], ours(t, some[i]), they)
			}
		})
	}
}

// withoutJournal returns an empty directory, one that has only its name, and what a standby leaves that was
// sent nothing: none has anything that could be sound.
func withoutJournal(t *testing.T) []string {
	t.Helper()
	empty, named, begun := t.TempDir(), t.TempDir(), t.TempDir()
	text, err := os.ReadFile(rig.File("testdata/journal/v3/FORMAT"))
	if err == nil {
		err = os.WriteFile(filepath.Join(named, "FORMAT"), text, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(begun, "journal"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{empty, named, begun} {
		if o := ours(t, dir); o.Verdict != "failed" || o.Problems[0].Text != "no journal is here" {
			t.Errorf("of what has no journal verify says %+v", o)
		}
	}
	return []string{empty, named, begun}
}

// linesOfNothing are lines of users, sessions, messages and reports that name what is not there, by type.
var linesOfNothing = map[string]string{
	"user.access_given": `"user":"AAAAAAAAAAAAAAAAAAAAAA","access":{"company":{"id":"a","name":"a","slug":"a","tier":""},` +
		`"role":"ADMIN"}`,
	"user.removed":      `"user":"AAAAAAAAAAAAAAAAAAAAAA"`,
	"session.started":   `"session":"AAAAAAAAAAAAAAAAAAAAAQ","user":"AAAAAAAAAAAAAAAAAAAAAA","company":"a",` + tokens,
	"session.refreshed": `"session":"AAAAAAAAAAAAAAAAAAAAAA",` + tokens,
	"session.ended":     `"session":"AAAAAAAAAAAAAAAAAAAAAA","reason":"logout"`,
	"outbox.sent":       `"messages":["1-1"],"as":"mail"`,
	"outbox.parked":     `"message":"1-1","reason":"x"`,
	"outbox.retried":    `"messages":["1-1"]`,
	"geolocation.set":   `"fmsObject":"a","isGeolocation":true,"user":"AAAAAAAAAAAAAAAAAAAAAA"`,
	"report.ordered": `"report":"AAAAAAAAAAAAAAAAAAAAAQ","company":"a","user":"AAAAAAAAAAAAAAAAAAAAAA",` +
		`"orderBy":"CreatedAt","startDate":"2026-11-20T09:00:00Z","endDate":"2026-11-20T09:00:00Z",` +
		`"firstDay":"2026-11-20","lastDay":"2026-11-20"`,
	"report.downloaded": `"report":"AAAAAAAAAAAAAAAAAAAAAA"`,
	"personal.erased":   `"lines":[],"reason":"x","reports":["AAAAAAAAAAAAAAAAAAAAAA"]`,
}

// tokens are those of a session.
var tokens = `"access":"` + strings.Repeat("1", 64) + `","accessUntil":"2026-11-20T09:00:00Z","refresh":"` +
	strings.Repeat("2", 64) + `","until":"2026-12-20T09:00:00Z"`

// withLinesOfNothing returns copies of an honest directory with one of linesOfNothing each. Verify names what
// is not there.
func withLinesOfNothing(t *testing.T, h *honest) (dirs []string) {
	t.Helper()
	head := regexp.MustCompile(`"seq":\d+(,.*"type":")[^"]*","data":.*`)
	for name, data := range linesOfNothing {
		dir := forge(t, h.dir, func(lines []string) []string {
			last := lines[len(lines)-1]
			return append(lines, head.ReplaceAllString(last, `"seq":0${1}`+name+`","data":{`+data+`}}`))
		})
		dirs = append(dirs, dir)
		missing := "AAAAAAAAAAAAAAAAAAAAAA does not exist"
		if strings.HasPrefix(name, "outbox") {
			missing = "1-1 does not exist"
		}
		o := ours(t, dir)
		if o.Verdict != "books" || len(o.Problems) != 1 || !strings.Contains(o.Problems[0].Text, missing) {
			t.Errorf("of %s of nothing verify says %+v", name, o)
		}
	}
	return dirs
}

// before1970 returns the directory of a server whose clock is before 1970, where instants are below zero: a
// seat that was given back is free, and whoever gave it back is no passenger any more.
func before1970(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	now := time.Date(1969, 12, 30, 8, 0, 0, 0, time.UTC)
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: func() time.Time { return now }})
	w := rig.Ask(s, key, "GET", "/v2/offers/schedule?days=14&date=1970-01-01&"+rig.KyivLviv, "")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"total":0`) {
		t.Errorf("a search answers %d %s", w.Code, w.Body)
	}
	seats := rig.SeatsLeft(t, s, rig.KyivLviv)
	a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 3))
	path := "/v2/bookings/" + a.Data.Booking.ID
	for _, act := range []struct{ do, tickets string }{
		{"/pay", `{}`}, {"/cancel", `{"ticketIds":["` + a.Data.Booking.Tickets[0].ID + `"]}`},
	} {
		if a := rig.Call(t, s, key, "POST", path+act.do, act.tickets); a.Status != 200 {
			t.Fatal(act.do, a)
		}
	}
	if left := rig.SeatsLeft(t, s, rig.KyivLviv); left != seats-2 {
		t.Errorf("%d seats of %d are left, and two are paid", left, seats)
	}
	if said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", "10"); err != nil ||
		!strings.Contains(said, "tickets that stay valid: 2;") {
		t.Errorf("a move says %q, %v", said, err)
	}
	last := `{"ticketIds":["` + a.Data.Booking.Tickets[2].ID + `"]}`
	if a := rig.Call(t, s, key, "POST", path+"/cancel", last); a.Status != 200 {
		t.Fatal(a)
	}
	rig.CompareWithReplay(t, s, dir, false)
	return dir
}

// withRidesOfNothing returns the directory of a server that sold the first stretch of a run, before an import
// without the first stop. Decision timetable.rides: who rode there takes no seat of what is left of the run.
// So nothing is a surplus beside three who fill the bus, and who did not pay in time still can.
func withRidesOfNothing(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now})
	book := func(query string, passengers int) (id string) {
		offer := rig.Offer(t, s, key, query)
		a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, passengers))
		if a.Status != 201 {
			t.Fatal(a)
		}
		return a.Data.Booking.ID
	}
	pay := func(id string) rig.Answer { return rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "") }
	first := "departureCitySlug=ivano-frankivsk&arrivalCitySlug=nadvirna"
	rest := "departureCitySlug=nadvirna&arrivalCitySlug=bukovel"
	lapsed := book(first, 1)
	clock.Move(21 * time.Minute)
	for _, id := range []string{book(first, 1), book(rest, 3)} {
		if a := pay(id); a.Status != 200 {
			t.Fatal(a)
		}
	}
	var said bytes.Buffer
	feed := rig.FeedWith(t, map[string][][2]string{
		"stop_times.txt": {{"fb-0900,09:00:00,09:00:00,1,frankivsk-bus,,\n", ""}},
	})
	if err := s.Admin.Import(feed, "without the first stop", admin.ImportOptions{}, &said); err != nil {
		t.Fatal(err)
	}
	for _, surplus := range []string{"seats are taken", "belongs to the tickets"} {
		if strings.Contains(said.String(), surplus) {
			t.Errorf("the import says\n%s", &said)
		}
	}
	if a := pay(lapsed); a.Status != 200 || a.Data.Booking.Tickets[0].Slices[0].Seat.Label != "2" {
		t.Errorf("paid after the import: %+v, want seat 2, as 1 is of who rides there as sold", a)
	}
	rig.CompareWithReplay(t, s, dir, false)
	if o := ours(t, dir); o.Verdict == "books" || o.Verdict == "damaged" {
		t.Errorf("verify says %+v", o)
	}
	return dir
}

// compareOpinions sees that both auditors say the same of a directory.
func compareOpinions(t *testing.T, dir string, we, they opinion) {
	t.Helper()
	if we.Verdict != they.Verdict || !slices.Equal(we.lines(), they.lines()) ||
		!reflect.DeepEqual(we.Books, they.Books) || !slices.Equal(we.Remarks, they.Remarks) {
		t.Errorf("%s\nverify:   %+v\naudit.py: %+v", dir, we, they)
	}
}

// audit.py judges directories. An archive, be it of a sound directory, is none: it says so, and is not sound.
func TestTheSecondAuditorRefusesAnArchive(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "data.zip")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	err = archive.AddFS(os.DirFS(rig.File("testdata/journal/v3")))
	if err := errors.Join(err, archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("python3", "-I", "-S", rig.File("server/docs/audit.py"), name).Output()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Errorf("audit.py ends with %v", err)
	}
	want := "  failed: " + name + " is not a directory; unpack an archive first\n"
	if !strings.HasPrefix(string(out), name+": failed\n") || !strings.Contains(string(out), want) {
		t.Errorf("audit.py says\n%s\nwant\n%s", out, want)
	}
}

// A reader who goes away early, as head does, and a terminal that lacks letters are no cause for a traceback.
func TestTheSecondAuditorOnOddTerminals(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	dir := filepath.Join(t.TempDir(), "дані")
	if err := os.CopyFS(dir, os.DirFS(rig.File("testdata/journal/v3"))); err != nil {
		t.Fatal(err)
	}
	for what, of := range map[string]struct{ run, says string }{
		"a reader that is gone": {`exec python3 -I -S "$0" "$1" | exec true`, ""},
		"a terminal in ASCII":   {`PYTHONIOENCODING=ascii exec python3 -S "$0" "$1"`, `\u0456: sound`},
	} {
		sh := exec.Command("sh", "-c", of.run, rig.File("server/docs/audit.py"), dir)
		var stderr strings.Builder
		sh.Stderr = &stderr
		out, err := sh.Output()
		if err != nil || stderr.Len() > 0 || !strings.Contains(string(out), of.says) {
			t.Errorf("%s: %v\n%s%s", what, err, out, &stderr)
		}
	}
}
