package company_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/store/durable"
)

// Decision reports.kept: a company has 20 reports that are not written; the 21st is 429, until one is.
func TestReportsThatAreNotWrittenAreLimited(t *testing.T) {
	v := rig.NewVisitor(t)
	v.S.Reporting.Lock() // none is written
	order := func() int {
		return v.Ask("POST", "/v2/reports/company/orders",
			`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`).Code
	}
	for n := range web.MaxQueuedReports {
		if status := order(); status != 202 {
			t.Errorf("report %d: %d", n+1, status)
		}
	}
	w := v.Ask("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`)
	if w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	v.S.Reporting.Unlock()
	rig.WriteReports(t, v.S)
	if status := order(); status != 202 {
		t.Errorf("when they are written: %d", status)
	}
}

// Decision sessions.limit: a user's 51st sign-in ends the first session, and the others go on.
func TestTheFirstOfManySessionsEnds(t *testing.T) {
	v := rig.NewVisitor(t)
	first := v.Cookies
	session := func() int { return v.Ask("GET", "/v2/auth/session", "").Code }
	for range web.MaxSessions - 1 {
		v.SignIn()
	}
	second := v.Cookies
	v.Cookies = first
	if status := session(); status != 200 {
		t.Fatalf("with 50 sessions the first is %d", status)
	}
	v.SignIn()
	last := v.Cookies
	v.Cookies = first
	if status := session(); status != 401 {
		t.Errorf("with one more the first is %d", status)
	}
	v.Cookies = second
	if status := session(); status != 200 {
		t.Errorf("and another is %d", status)
	}
	v.Cookies = last
	if status := session(); status != 200 {
		t.Errorf("and the last is %d", status)
	}
}

// Decision reports.dates: of two first downloads at a time the first is the one that counts.
func TestAReportIsDownloadedForTheFirstTimeOnce(t *testing.T) {
	dir := t.TempDir()
	v := rig.NewVisitorOn(t, dir)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { rig.Ask(v.S, "", "GET", v.Names["LINK"], "") })
	}
	wg.Wait()
	v.S.Close()
	if n := strings.Count(rig.JournalText(t, dir), `"type":"report.downloaded"`); n != 1 {
		t.Errorf("the journal says %d times that the report was downloaded for the first time", n)
	}
}

// Decision journal.durable: GET session shows nothing that a crash could undo: it waits until the session is
// on disk.
func TestASessionIsShownOnceItIsOnDisk(t *testing.T) {
	dir := t.TempDir()
	v := rig.NewVisitorOn(t, dir)
	// The snapshot lock of the store is no part of this: a slow sync is made by a file system that waits.
	disk := &rig.SlowSync{FS: durable.Dir(dir), Release: make(chan bool)}
	v.S.Close()
	s, err := server.Open(server.Config{Dir: dir, FS: disk, Lab: rig.TestClock(),
		Now: func() time.Time { return rig.Start }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v.S = s
	v.SignIn()
	disk.Slow.Store(true)
	signedIn := make(chan bool)
	go func() {
		if _, err := s.Admin.AddPartner("slow", nil); err != nil {
			t.Error(err)
		}
		close(signedIn)
	}()
	<-disk.Reached()
	shown := make(chan int)
	go func() { shown <- v.Ask("GET", "/v2/auth/session", "").Code }()
	select {
	case status := <-shown:
		t.Errorf("it is shown (%d) before what was written before it is on disk", status)
	case <-time.After(50 * time.Millisecond):
	}
	disk.Slow.Store(false)
	close(disk.Release)
	<-signedIn
	if status := <-shown; status != 200 {
		t.Errorf("status %d", status)
	}
}

// A company has 200 reports that are kept; the next is 429 until the oldest has expired, also after a
// restart.
func TestReportsThatAreKeptAreLimited(t *testing.T) {
	v := reportsOf{rig.NewVisitor(t)}
	for kept := 1; kept < web.MaxKeptReports; kept++ { // the visitor has one
		if w := v.order(); w.Code != 202 {
			t.Fatalf("report %d: %d %s", kept+1, w.Code, w.Body)
		}
		if kept%web.MaxQueuedReports == 0 {
			v.write()
		}
	}
	v.refused()
	v.write()
	v.restart(0)
	v.refused()
	v.pass()
	if w := v.order(); w.Code != 202 {
		t.Errorf("once the others have expired: %d %s", w.Code, w.Body)
	}
}

// The files of a company's reports have so many bytes at most. A report that was ordered and does not fit
// stays queued until others have expired, and no more may be ordered where there is no room at all. One that
// is larger by itself is written once it is alone.
func TestFilesOfReportsAreLimited(t *testing.T) {
	v := reportsOf{rig.NewVisitor(t)}
	one := v.fileBytes()
	if one == 0 {
		t.Fatal("the visitor's report has no file")
	}
	v.restart(2*one + one/2)
	for n := range 3 {
		if w := v.order(); w.Code != 202 {
			t.Fatalf("report %d: %d %s", n+2, w.Code, w.Body)
		}
	}
	for range 2 { // neither the first time nor later
		if queued := v.write(); queued != 2 || v.fileBytes() != 2*one {
			t.Errorf("%d are queued, and files have %d bytes; want 2 and %d", queued, v.fileBytes(), 2*one)
		}
	}
	v.restart(2 * one)
	v.refused()
	v.pass()
	if queued := v.write(); queued != 0 || v.fileBytes() != 2*one {
		t.Errorf("%d are queued, and files have %d bytes, once the others have expired", queued,
			v.fileBytes())
	}
	v.pass()
	v.restart(one / 2)
	if w := v.order(); w.Code != 202 {
		t.Fatal(w.Code, w.Body)
	}
	if queued := v.write(); queued != 0 || v.fileBytes() != one {
		t.Errorf("%d are queued, and files have %d bytes, though it is alone", queued, v.fileBytes())
	}
}
