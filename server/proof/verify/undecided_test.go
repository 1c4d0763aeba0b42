package verify_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
)

// What the program decides under its lock, and what nobody decided again before.

// theFrame matches what a line begins with, for a line of another type that stands beside it.
var theFrame = regexp.MustCompile(`"seq":\d+(,.*"type":")[^"]*","data":.*`)

// beside returns a new line that has the time of another.
func beside(line, kind, data string) string {
	return theFrame.ReplaceAllString(line, `"seq":0${1}`+kind+`","data":{`+data+`}}`)
}

// member returns the value of a text member of a line.
func member(line, name string) string {
	_, value, _ := strings.Cut(line, `"`+name+`":"`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// indexOf returns the place of the first line of a type.
func indexOf(lines []string, kind string) int {
	return slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"type":"`+kind+`"`) })
}

// Decision verify.undecided: a sale by a partner without a living key, a second sale under one key within its
// day, a revival on another seat though its own was free, and a change of a run that nobody has.
func withUndecided(t *testing.T, h *honest) (dirs []string) {
	t.Helper()
	must := func(dir, want string) {
		t.Helper()
		o := ours(t, dir)
		if o.Verdict != "books" || !strings.Contains(o.Problems[0].Text, want) {
			t.Errorf("verify says %+v, want %s", o, want)
		}
		dirs = append(dirs, dir)
	}
	must(forge(t, h.dir, func(lines []string) []string {
		at := indexOf(lines, "partner.key_added")
		key := lines[at]
		revoked := beside(key, "partner.revoked", fmt.Sprintf(`"partner":%q,"keyHashes":[%q]`,
			member(key, "partner"), member(key, "keyHash")))
		return append(lines[:at+1:at+1], append([]string{revoked}, lines[at+1:]...)...)
	}), "whose keys are all revoked")
	for kind, data := range map[string]string{
		"run.cancelled": `"reason":"x","tickets":[],"before":{}`,
		"run.moved":     `"minutes":10,"reason":"x","runs":[],"tickets":[],"before":{}`,
	} {
		must(forge(t, h.dir, func(lines []string) []string {
			last := lines[len(lines)-1]
			return append(lines, beside(last, kind, `"run":{"trip":"none","date":"2026-11-20"},`+data))
		}), "the timetable has no such run")
	}
	must(forge(t, withARevival(t), func(lines []string) []string {
		for i := range lines {
			lines[i] = strings.Replace(lines[i], `"seats":[1],"request"`, `"seats":[5],"request"`, 1)
		}
		return lines
	}), "and its own seat 1 is free")
	return append(dirs, withARepeatedSale(t)...)
}

// withARevival returns the directory of a server where a ticket was paid after its window was over.
func withARevival(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now})
	a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 1))
	clock.Move(21 * time.Minute)
	a = rig.Call(t, s, key, "POST", "/v2/bookings/"+a.Data.Booking.ID+"/pay", "")
	if err := s.Close(); err != nil || a.Status != http.StatusOK {
		t.Fatal(err, a)
	}
	return dir
}

// withARepeatedSale returns the directories of a partner who sold under a key, 23 and 24 hours before the
// second sale, which is forged to be under that key, too.
func withARepeatedSale(t *testing.T) (dirs []string) {
	t.Helper()
	for hours, verdict := range map[time.Duration]string{23: "books", 24: "sound"} {
		dir := t.TempDir()
		var clock rig.HandClock
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now})
		for _, under := range []string{"first", "other"} {
			offer := rig.Offer(t, s, key, rig.KyivLviv)
			w := rig.KeyedCall(s, key, under, "/v2/bookings", rig.BookingBody(offer, 1))
			if w.Code != http.StatusCreated {
				t.Fatal(w.Body)
			}
			clock.Move(hours * time.Hour)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		dir = forge(t, dir, func(lines []string) []string {
			for i := range lines {
				lines[i] = strings.Replace(lines[i], `"retry":{"key":"other"`, `"retry":{"key":"first"`, 1)
			}
			return lines
		})
		o := ours(t, dir)
		if o.Verdict != verdict {
			t.Errorf("%d hours later it is %+v", hours, o)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// withFilesOfNothing returns copies with a report, a timetable and a letter that no line names: remarks.
func withFilesOfNothing(t *testing.T, h *honest) (dirs []string) {
	t.Helper()
	for _, name := range []string{"reports/AAAAAAAAAAAAAAAAAAAAAA.csv", "outbox/A.1000-1.eml",
		"timetables/" + strings.Repeat("0", 64) + ".jsonl"} {
		dir := forge(t, h.dir, func(lines []string) []string { return lines })
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := ours(t, dir)
		if o.Verdict != "sound" || len(o.Remarks) == 0 || o.Remarks[len(o.Remarks)-1].Kind != "beyond" {
			t.Errorf("of %s verify says %+v", name, o)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

const orderAReport = `user email=olena@zorevia.example.com company=zorevia-lines role=ADMIN
browser olena
admin idtoken email=olena@zorevia.example.com
    token = $out
POST /v2/auth/idp/login {"idToken":"$token"}
    200
POST /v2/reports/company/orders {"startDate":"2026-11-01T00:00:00Z","endDate":"2026-12-01T00:00:00Z"}
    202
    r = data.report.id
rest`

// withAReport returns the directory of a server on a clock that stands still, where a report has been
// written, and copies whose report was changed, which breaks a rule, and is not there, which is a remark.
func withAReport(t *testing.T) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "honest")
	var file string
	synctest.Test(t, func(t *testing.T) {
		p := rig.NewPlayer(t, dir, "seed")
		for line := range strings.Lines(orderAReport) {
			p.Play(strings.TrimSuffix(line, "\n"))
		}
		file = "reports/" + p.Vars["r"] + ".csv"
		p.Finish()
	})
	changed, gone := filepath.Join(t.TempDir(), "changed"), filepath.Join(t.TempDir(), "gone")
	err := errors.Join(os.CopyFS(changed, os.DirFS(dir)), os.CopyFS(gone, os.DirFS(dir)),
		os.WriteFile(filepath.Join(changed, file), []byte("x"), 0o600), os.Remove(filepath.Join(gone, file)))
	if err != nil {
		t.Fatal(err)
	}
	o := ours(t, changed)
	if o.Verdict != "books" || o.Problems[0].Text != "the file is not the report that was written" {
		t.Errorf("of another file verify says %+v", o)
	}
	missing := func(r remark) bool { return r.Kind == "missing" }
	if o := ours(t, gone); o.Verdict != "sound" || !slices.ContainsFunc(o.Remarks, missing) {
		t.Errorf("of no file verify says %+v", o)
	}
	return []string{dir, changed, gone}
}

// withACancellation returns the directory of the script in which an operator cancels tickets.
func withACancellation(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "honest")
	script, err := os.ReadFile(rig.File("testdata/script/ticket_cancel.txt"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := rig.NewPlayer(t, dir, "ticket_cancel")
		for line := range strings.Lines(string(script)) {
			if !strings.HasPrefix(line, "#") {
				p.Play(strings.TrimSuffix(line, "\n"))
			}
		}
		p.Finish()
	})
	if o := ours(t, dir); o.Verdict != "sound" {
		t.Errorf("verify says %+v", o)
	}
	return dir
}

// withAChange returns the directory of a sale with a change, and a copy whose timetable, put in its place,
// says that this change takes a day.
func withAChange(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now, MaxTransfers: 1})
	rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	must := func(dir string, want string) {
		t.Helper()
		if o := ours(t, dir); o.Verdict != want {
			t.Errorf("verify says %+v, want %s", o, want)
		}
	}
	must(dir, "sound")
	names, err := filepath.Glob(filepath.Join(dir, "timetables", "*.jsonl"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	table, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	was := strings.TrimSuffix(filepath.Base(names[0]), ".jsonl")
	var hash string
	forged := forge(t, dir, func(lines []string) []string {
		sale := lines[indexOf(lines, "booking.created")]
		stops := regexp.MustCompile(`"stop":\{"id":"([^"]+)"`).FindAllStringSubmatch(sale, -1)
		for _, a := range stops {
			for _, b := range stops {
				table = fmt.Appendf(table, `{"Transfers":{"from":%q,"to":%q,"seconds":86400}}`+"\n", a[1], b[1])
			}
		}
		hash = fmt.Sprintf("%x", sha256.Sum256(table))
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], was, hash)
		}
		return lines
	})
	err = os.WriteFile(filepath.Join(forged, "timetables", hash+".jsonl"), table, 0o600)
	if err := errors.Join(err, os.Remove(filepath.Join(forged, "timetables", was+".jsonl"))); err != nil {
		t.Fatal(err)
	}
	must(forged, "books")
	return []string{dir, forged}
}
