package company_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
)

// reportsOf is a company's user who orders reports.
type reportsOf struct{ *rig.Visitor }

func (v reportsOf) order() *httptest.ResponseRecorder {
	return v.Ask("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`)
}

// write writes what is queued, as far as it has room, and returns how many reports are still queued.
func (v reportsOf) write() (queued int) {
	v.T.Helper()
	v.S.RunDue()
	return rig.QueuedReports(v.T, v.S)
}

// refused checks that no more may be ordered until the oldest report has expired.
func (v reportsOf) refused() {
	v.T.Helper()
	w := v.order()
	seconds, _ := strconv.Atoi(w.Header().Get("Retry-After"))
	if w.Code != 429 || seconds < 6*24*3600 || seconds > 7*24*3600 {
		v.T.Errorf("one more: %d, Retry-After %d s: %s", w.Code, seconds, w.Body)
	}
}

// pass moves the clock so that all reports expire.
func (v reportsOf) pass() {
	v.T.Helper()
	if w := v.Ask("POST", "/test/clock", `{"advance":"168h"}`); w.Code != 200 {
		v.T.Fatal(w.Code, w.Body)
	}
	v.Names["TOKEN"] = v.Admin("idtoken", "email", "demo@example.com")
	v.SignIn()
}

// fileBytes returns how many bytes the files of reports have.
func (v reportsOf) fileBytes() (bytes int64) {
	files, err := filepath.Glob(filepath.Join(v.Dir, ledger.ReportDir, "*"))
	if err != nil {
		v.T.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			v.T.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// restart opens the directory again, where the files of a company's reports may have so many bytes.
func (v reportsOf) restart(bytes int64) {
	v.T.Helper()
	if err := v.S.Close(); err != nil {
		v.T.Fatal(err)
	}
	v.S, _ = rig.Demo(v.T, server.Config{Dir: v.Dir, Lab: rig.TestClock(), ReportBytes: bytes})
	v.SignIn()
}
