package admin_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"waybill/auth"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/export"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Erasure beside `user add`: a user who is added while the journal is looked through is not meant, and stays.
func TestAUserWhoIsAddedBesideAForgetStays(t *testing.T) {
	dir := t.TempDir()
	disk := &stopping{FS: durable.Dir(dir)}
	s, key := rig.Demo(t, server.Config{Dir: dir, FS: disk})
	offer := rig.Offer(t, s, key, rig.Bukovel)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", fmt.Sprintf(named, offer)); a.Status != 201 {
		t.Fatal(a)
	}
	var once sync.Once
	disk.opening = func(name string) {
		if name != "journal" { // the first look begins
			return
		}
		once.Do(func() {
			p := auth.Person{Email: "xenia@example.com", FirstName: "Xenia", LastName: "User"}
			if _, err := s.Admin.AddUser(p, "correct horse", "zorevia-lines", "ADMIN"); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := rig.Forget(s, "email", "xenia@example.com"); err != nil {
		t.Fatal(err)
	}
	if files := rig.FilesWith(t, dir, "Quill"); len(files) > 0 {
		t.Errorf("the passenger's name stands in %q", files)
	}
	rig.CompareWithReplay(t, s, dir, false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}

// Erasure beside `export`: an export that has read a name which a line in it says is erased is not whole.
func TestAnExportBesideAForgetHasNoName(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(t.TempDir(), "out")
	held := &stopping{FS: durable.Dir(dir)}
	s, key := rig.Demo(t, server.Config{Dir: dir, FS: held})
	a := rig.Call(t, s, key, "POST", "/v2/bookings", fmt.Sprintf(named, rig.Offer(t, s, key, rig.Bukovel)))
	if a.Status != 201 {
		t.Fatal(a)
	}
	// The forget names its lines, and erases none until the export has read them.
	exported := make(chan bool)
	named := make(chan bool)
	var once sync.Once
	held.opening = func(name string) {
		if name == "snapshots" { // of Erase, after the line
			once.Do(func() {
				close(named)
				<-exported
			})
		}
	}
	forgotten := make(chan error)
	looks := 0
	reader := &stopping{FS: durable.Dir(dir), opening: func(name string) {
		if name != "journal" {
			return
		}
		if looks++; looks == 2 { // the first is for what an earlier forget has left
			go func() {
				_, err := rig.Forget(s, "email", "xenia@example.com")
				forgotten <- err
			}()
			<-named
		}
	}}
	_, err := export.Write(reader, true, durable.Dir(out))
	close(exported)
	if failed := <-forgotten; failed != nil {
		t.Fatal(failed)
	}
	if err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("the export says %v", err)
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("there is an export with the name")
	}
}

// Decision limits.table: what a path holds is not kept, however long it is: a refusal's line is as short as
// any.
func TestALongPathMakesNoLongLine(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	junk := strings.Repeat("%3C", 5000)
	r := httptest.NewRequest("POST", "/v2/bookings/"+junk+"/cancel", nil)
	r.Header.Set("x-api-key", key)
	r.Header.Set("Idempotency-Key", "junk")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 404 {
		t.Fatal(w.Code, w.Body)
	}
	for line := range strings.Lines(rig.JournalText(t, dir)) {
		if strings.Contains(line, "request.answered") && len(line) > 1<<10 {
			t.Errorf("the line has %d bytes", len(line))
		}
	}
}

// Erasure: a file among the reports that is of no report, as one that a copy has kept of lines which a repair
// has cut off, or half of one that a crash has left, does not end the directory, and does not keep the name.
func TestErasureOfReportsThatAreNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := rig.NewVisitorOn(t, dir)
	w := v.Ask("POST", "/v2/bookings", strings.Replace(named, "%q", `"$OFFER"`, 1))
	booking := strings.Split(w.Body.String(), `"`)[7]
	v.Ask("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-01T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}`)
	rig.WriteReports(t, v.S)
	reports, _ := filepath.Glob(filepath.Join(dir, ledger.ReportDir, "*"))
	if len(reports) == 0 {
		t.Fatal("no report")
	}
	text, err := os.ReadFile(reports[0])
	if err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(dir, ledger.ReportDir, ids.ID{1}.String()+ledger.ReportSuffix)
	for _, name := range []string{stray, stray + durable.TempSuffix} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := rig.Forget(v.S, "booking", booking); err != nil {
		t.Fatal(said, err)
	}
	if files := rig.FilesWith(t, dir, "Quill"); len(files) > 0 {
		t.Errorf("the name stands in %q", files)
	}
	if err := v.S.Err(); err != nil {
		t.Error(err)
	}
}
