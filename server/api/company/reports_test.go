package company_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

const orderReport = `
POST /v2/reports/company/orders {"startDate":"2026-11-20T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}
    202
    data.report.status == "Queued"
    report = data.report.id
rest`

// Decision reports.links: not Completed yet is 409. A report that cannot be written is a warning, and tried
// again.
func TestAReportThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Fail.Store(true)
		o.Steps(orderReport + `
GET /v2/reports/company/orders
    200
    data.reports[0].status == "Queued"
    data.reports[0].expiresAt == null
GET /v2/reports/company/orders/$report/download
    409
    errors[0].errorCode == "CONFLICT"`)
		if !strings.Contains(o.Logged.String(), "level=WARN") {
			t.Errorf("no warning: %s", &o.Logged)
		}
		o.Fail.Store(false)
		o.Steps(`
wait 1m
rest
GET /v2/reports/company/orders/$report/download
    200`)
		if n := completions(t, o); n != 1 {
			t.Errorf("%d completions", n)
		}
		o.Finish()
	})
}

// A machine that stops before, while, or after a report's file is written loses no report and makes none
// twice; what is half-written is never served.
func TestAReportSurvivesACrashAtEveryMoment(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before", "half-written", "whole, not told"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			o := rig.NewOffice(t, dir)
			o.Fail.Store(true)
			o.Steps(orderReport)
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
			o.Steps("GET /v2/reports/company/orders/$report/download\n    409\n")
			if err := o.S.Close(); err != nil {
				t.Fatal(err)
			}
			o.Fail.Store(false)
			o.Reopen()
			o.Steps("rest\n" + `
GET /v2/reports/company/orders/$report/download
    200
    url = data.url
GET $url
    200
    body ~ ^orderId,bookingId.*partner$
list reports
    $out == $report.csv`)
			if n := completions(t, o); n != 1 {
				t.Errorf("%s: %d completions", moment, n)
			}
			o.Finish()
		})
	}
}

// Decision reports.life: what is due happens before the clock's answer: the files of expired reports are
// gone.
func TestMovingTheClockRemovesExpiredReports(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Steps(orderReport + `
POST /test/clock {"advance":"167h59m59.999s"}
    200
list reports
    $out == $report.csv
POST /test/clock {"advance":"1ms"}
    200
list reports
    $out == `)
		o.Finish()
	})
}

// The file of a report goes when the report expires, and not up to an hour later: it counts as long as it is
// there.
func TestFilesGoWhenTheirReportsExpire(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Steps(orderReport + `
wait 10m` + strings.ReplaceAll(orderReport, "report = ", "second = ") + `
wait 167h50m
rest
list reports
    $out == $second.csv`)
		o.Finish()
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
		o := rig.NewOffice(t, dir)
		o.Wrap = func(fsys durable.FS) durable.FS { return twiceFS{fsys} }
		if err := o.S.Close(); err != nil {
			t.Fatal(err)
		}
		o.Reopen()
		o.Steps(orderReport + `
POST /test/clock {"advance":"168h"}
    200
list reports
    $out == `)
		o.Finish()
		if strings.Contains(o.Logged.String(), "could not be") {
			t.Errorf("it is logged as a failure: %s", &o.Logged)
		}
	})
}

// What somebody did to a report's file is not served as the report.
func TestAReportsFileIsServedAsItWasWrittenOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Steps(orderReport +
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
			o.Steps("GET $url\n    500\n    errors[0].errorCode == \"INTERNAL\"\n")
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		o.Steps("GET $url\n    200\n    header Waybill-Seq ~ .\nGET $url\n    200\n    header Waybill-Seq == \n")
		o.Finish()
	})
}

// Decision reports.links: a link is good for ten minutes, and for no longer than the report.
func TestALinkEndsWithItsReport(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Steps(orderReport + `
wait 167h55m
admin idtoken email=olena@zorevia.example.com
    token = $out
POST /v2/auth/idp/login {"idToken":"$token"}
    200`)
		o.S.Config.SecureCookies = true
		o.Steps(`
GET /v2/reports/company/orders/$report/download
    200
    data.url ~ ^"https://
    data.expiresAt == "2026-11-27T08:00:00.000Z"`)
		o.Finish()
	})
}

// Decision sessions.cookies: of two who refresh with one token one gets new ones, whole, and the other ends
// the session.
func TestRefreshRace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		var wg sync.WaitGroup
		answers := make([]*httptest.ResponseRecorder, 8)
		for i := range answers {
			r := httptest.NewRequest("POST", "/v2/auth/refresh", nil)
			o.SendCookies(r)
			answers[i] = httptest.NewRecorder()
			wg.Go(func() { o.S.ServeHTTP(answers[i], r) })
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
		o.Steps("GET /v2/auth/session\n    401\n")
		o.Finish()
	})
}

// completions returns how often the journal says that a report's file was written.
func completions(t *testing.T, o *rig.Office) (n int) {
	t.Helper()
	_, err := inspect.Read(durable.Dir(o.Dir()), true, func(_ journal.Place, l *journal.Line) error {
		if l.Type == "report.completed" {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
