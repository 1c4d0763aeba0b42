package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/ledger"
	"waybill/store"
	"waybill/store/durable"
)

// office is a server with a company user who is signed in, in a bubble.
type office struct {
	*player
	logged bytes.Buffer
	fail   atomic.Bool // new files of reports
	wrap   func(durable.FS) durable.FS
}

type failingFS struct {
	durable.FS
	o *office
}

func (f failingFS) Create(name string) (durable.File, error) {
	if f.o.fail.Load() && strings.HasPrefix(name, ledger.ReportDir) {
		return nil, errors.New("no space left")
	}
	return f.FS.Create(name)
}

// newOffice opens a directory whose new report files can be made to fail.
func newOffice(t *testing.T, dir string) *office {
	o := &office{}
	p := newPlayer(t, dir, "clock")
	if err := p.s.Close(); err != nil {
		t.Fatal(err)
	}
	o.player = p
	o.reopen()
	o.steps(`
admin user-add email=olena@zorevia.example.com first-name=Olena last-name=Kovalenko password=correct-horse company=zorevia-lines role=ADMIN
admin idtoken email=olena@zorevia.example.com
    token = $out
browser office
POST /v2/auth/idp/login {"idToken":"$token"}
    200`)
	return o
}

func (o *office) reopen() {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var fsys durable.FS = failingFS{durable.Dir(o.dir), o}
	if o.wrap != nil {
		fsys = o.wrap(fsys)
	}
	s, err := Open(Config{
		Dir: o.dir, FS: fsys, MaxTransfers: 1, TestClock: true,
		Log: slog.New(slog.NewTextHandler(&o.logged, nil)), Now: func() time.Time {
			return time.Now().Add(scriptStart.Sub(began))
		},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.s = s
}

func (o *office) steps(text string) {
	o.t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		o.play(line)
	}
}

// completions counts the journal's lines that complete a report.
func (o *office) completions() (n int) {
	_, err := store.Read(durable.Dir(o.dir), true, func(_ store.Place, l *store.Line) error {
		if l.Type == "report.completed" {
			n++
		}
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return n
}

const orderReport = `
POST /v2/reports/company/orders {"startDate":"2026-11-20T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}
    202
    data.report.status == "Queued"
    report = data.report.id
settle`

// Contract §10: not Completed yet is 409. A report that cannot be written is a warning, and tried again.
func TestAReportThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		o.fail.Store(true)
		o.steps(orderReport + `
GET /v2/reports/company/orders
    200
    data.reports[0].status == "Queued"
    data.reports[0].expiresAt == null
GET /v2/reports/company/orders/$report/download
    409
    errors[0].errorCode == "CONFLICT"`)
		if !strings.Contains(o.logged.String(), "level=WARN") {
			t.Errorf("no warning: %s", &o.logged)
		}
		o.fail.Store(false)
		o.steps(`
wait 1m
settle
GET /v2/reports/company/orders/$report/download
    200`)
		if n := o.completions(); n != 1 {
			t.Errorf("%d completions", n)
		}
		o.finish()
	})
}

// A machine that stops before, while, or after a report's file is written loses no report and makes none
// twice; what is half-written is never served.
func TestAReportSurvivesACrashAtEveryMoment(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before", "half-written", "whole, not told"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t, dir)
			o.fail.Store(true)
			o.steps(orderReport)
			file := filepath.Join(dir, ledger.ReportDir, o.Vars["report"]+ledger.ReportSuffix)
			switch moment {
			case "half-written":
				file += ".tmp"
				fallthrough
			case "whole, not told":
				if err := os.WriteFile(file, []byte("orderId,half"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o.steps("GET /v2/reports/company/orders/$report/download\n    409\n")
			if err := o.s.Close(); err != nil {
				t.Fatal(err)
			}
			o.fail.Store(false)
			o.reopen()
			o.steps("settle\n" + `
GET /v2/reports/company/orders/$report/download
    200
    url = data.url
GET $url
    200
    body ~ ^orderId,bookingId.*partner$
list reports
    $out == $report.csv`)
			if n := o.completions(); n != 1 {
				t.Errorf("%s: %d completions", moment, n)
			}
			o.finish()
		})
	}
}

// Contract §2: what is due happens before the clock's answer: the files of expired reports are gone.
func TestMovingTheClockRemovesExpiredReports(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		o.steps(orderReport + `
POST /test/clock {"advance":"167h59m59.999s"}
    200
list reports
    $out == $report.csv
POST /test/clock {"advance":"1ms"}
    200
list reports
    $out == `)
		o.finish()
	})
}

// The file of a report goes when the report expires, and not up to an hour later: it counts as long as it is
// there.
func TestFilesGoWhenTheirReportsExpire(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		o.steps(orderReport + `
wait 10m` + strings.ReplaceAll(orderReport, "report = ", "second = ") + `
wait 167h50m
settle
list reports
    $out == $second.csv`)
		o.finish()
	})
}

// twiceFS is a directory in which another is always first to remove a report.
type twiceFS struct{ durable.FS }

func (f twiceFS) Remove(name string) error {
	if strings.HasPrefix(name, ledger.ReportDir) {
		if err := f.FS.Remove(name); err != nil {
			return err
		}
	}
	return f.FS.Remove(name)
}

// The queue and who moves the clock remove the same file where they come at once: that it is gone already is
// what both want.
func TestAReportThatAnotherHasRemovedIsRemoved(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		o.wrap = func(fsys durable.FS) durable.FS { return twiceFS{fsys} }
		if err := o.s.Close(); err != nil {
			t.Fatal(err)
		}
		o.reopen()
		o.steps(orderReport + `
POST /test/clock {"advance":"168h"}
    200
list reports
    $out == `)
		o.finish()
		if strings.Contains(o.logged.String(), "could not be") {
			t.Errorf("it is logged as a failure: %s", &o.logged)
		}
	})
}

// What somebody did to a report's file is not served as the report.
func TestAReportsFileIsServedAsItWasWrittenOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		o.steps(orderReport +
			"\nGET /v2/reports/company/orders/$report/download\n    200\n    url = data.url\n")
		file := filepath.Join(dir, ledger.ReportDir, o.Vars["report"]+ledger.ReportSuffix)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, damage := range []func() error{
			func() error { return os.WriteFile(file, whole[:100], 0o600) },
			func() error { return os.WriteFile(file, append(whole, '\n'), 0o600) },
			func() error {
				return os.WriteFile(file, bytes.Replace(whole, []byte("price"), []byte("prize"), 1), 0o600)
			},
			func() error { return errors.Join(os.Remove(file), os.Symlink("/etc/hostname", file)) },
			func() error { return os.Remove(file) },
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			o.steps("GET $url\n    500\n    errors[0].errorCode == \"INTERNAL\"\n")
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		o.steps("GET $url\n    200\n    header Waybill-Seq ~ .\nGET $url\n    200\n    header Waybill-Seq == \n")
		o.finish()
	})
}

// Contract §10: a link is good for ten minutes, and for no longer than the report.
func TestALinkEndsWithItsReport(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		o.steps(orderReport + `
wait 167h55m
admin idtoken email=olena@zorevia.example.com
    token = $out
POST /v2/auth/idp/login {"idToken":"$token"}
    200`)
		o.s.Config.SecureCookies = true
		o.steps(`
GET /v2/reports/company/orders/$report/download
    200
    data.url ~ ^"https://
    data.expiresAt == "2026-11-27T08:00:00.000Z"`)
		o.finish()
	})
}

// Contract §9: of two who refresh with one token one gets new ones, whole, and the other ends the session.
func TestRefreshRace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		var wg sync.WaitGroup
		answers := make([]*httptest.ResponseRecorder, 8)
		for i := range answers {
			r := httptest.NewRequest("POST", "/v2/auth/refresh", nil)
			o.sendCookies(r)
			answers[i] = httptest.NewRecorder()
			wg.Go(func() { o.s.ServeHTTP(answers[i], r) })
		}
		wg.Wait()
		good := 0
		for _, w := range answers {
			cookies := len(w.Result().Cookies())
			if w.Code == http.StatusOK && cookies == 2 {
				good++
			} else if w.Code != http.StatusUnauthorized || cookies != 0 {
				t.Errorf("%d with %d cookies", w.Code, cookies)
			}
		}
		if good != 1 {
			t.Errorf("%d refreshed", good)
		}
		o.steps("GET /v2/auth/session\n    401\n")
		o.finish()
	})
}
