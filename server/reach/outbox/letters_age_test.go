package outbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/backup"
	"waybill/server/reach/outbound"
	"waybill/server/reach/outbox"
	"waybill/store/durable"
)

// paysOne sells a ticket, whose passenger gets an e-mail.
func paysOne(t *testing.T, s *server.Server, key string) {
	t.Helper()
	b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", ""); a.Status != 200 {
		t.Fatalf("%+v", a)
	}
	time.Sleep(time.Second) // until the letter is written
}

// roomBeside returns a room on the directory of a server, beside the server's own.
func roomBeside(s *server.Server) *outbox.Relay {
	return outbox.New(&web.Core{Config: s.Config, Log: s.Log, Store: s.Store, Base: s.Base})
}

// letterFiles returns the names of the e-mails that became files.
func letterFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ledger.OutboxDir, "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// An e-mail that became a file goes as many days later as the server is told to keep it, and not a moment
// earlier; 30 days unless it is told.
func TestLettersGoAfterTheirDays(t *testing.T) {
	for days, told := range map[int]int{30: 0, 1: 1, 3: 3} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), LettersDays: told})
			defer func() { s.Close() }()
			paysOne(t, s, key)
			room := roomBeside(s)
			time.Sleep(time.Duration(days)*24*time.Hour - 2*time.Second)
			if err := room.RemoveOldLetters(); err != nil {
				t.Fatal(err)
			}
			if n := len(letterFiles(t, dir)); n != 1 {
				t.Fatalf("%d letters are there a second before %d days have passed", n, days)
			}
			time.Sleep(time.Second)
			if err := room.RemoveOldLetters(); err != nil {
				t.Fatal(err)
			}
			if n := len(letterFiles(t, dir)); n != 0 {
				t.Errorf("%d letters are there after %d days", n, days)
			}
		})
	}
}

// Letters go by themselves while a server runs.
func TestLettersGoByThemselves(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), LettersDays: 2})
		defer func() { s.Close() }()
		paysOne(t, s, key)
		time.Sleep(24 * time.Hour)
		paysOne(t, s, key)
		if n := len(letterFiles(t, dir)); n != 2 {
			t.Fatalf("%d letters are there after a day", n)
		}
		time.Sleep(25 * time.Hour)
		if n := len(letterFiles(t, dir)); n != 1 {
			t.Errorf("%d letters are there, one of which is two days old and the other one", n)
		}
		time.Sleep(24 * time.Hour)
		if n := len(letterFiles(t, dir)); n != 0 {
			t.Errorf("%d letters are there after three days", n)
		}
	})
}

// What is due by an instant has happened when the clock was moved there: letters are gone too.
func TestMovingTheClockRemovesOldLetters(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), Lab: rig.StillClock()})
		defer func() { s.Close() }()
		paysOne(t, s, key)
		s.RunDue()
		for _, c := range []struct {
			advance string
			left    int
		}{{"719h59m59s", 1}, {"1s", 0}} {
			w := rig.Ask(s, key, "POST", "/test/clock", `{"advance":"`+c.advance+`"}`)
			if n := len(letterFiles(t, dir)); w.Code != 200 || n != c.left {
				t.Errorf("%d: %d letters are there, want %d", w.Code, n, c.left)
			}
		}
	})
}

// The days of a letter count from when it became a file: one that waited until then is read as long as any
// other.
func TestALetterThatWasWrittenLateStaysItsDays(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), LettersDays: 1})
		defer func() { s.Close() }()
		box := filepath.Join(dir, ledger.OutboxDir)
		if err := errors.Join(os.Remove(box), os.WriteFile(box, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		paysOne(t, s, key)
		time.Sleep(2 * 24 * time.Hour)
		if err := errors.Join(os.Remove(box), os.Mkdir(box, 0o700)); err != nil {
			t.Fatal(err)
		}
		for len(letterFiles(t, dir)) == 0 {
			time.Sleep(time.Minute)
		}
		time.Sleep(23 * time.Hour)
		if n := len(letterFiles(t, dir)); n != 1 {
			t.Errorf("%d letters are there, 23 hours after one was written that should be kept a day", n)
		}
		time.Sleep(2 * time.Hour)
		if n := len(letterFiles(t, dir)); n != 0 {
			t.Errorf("%d letters are there after the day", n)
		}
	})
}

// However many letters there are, all that are old go, and no other. By default there are 2,400, as more than
// a thousand young ones end a search; with -long there are 5,500.
func TestManyOldLettersGo(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	_, ticket := rig.BookForLesia(t, s, key, rig.Bukovel)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	put := func(line int, age time.Duration) {
		at := rig.Start.Add(-age)
		letter := outbound.Message("a@example.com", "b@example.com", "x", "x", "x", at)
		letter = outbound.Delivered(letter, at)
		name := filepath.Join(dir, ledger.OutboxDir, fmt.Sprintf("%s.%d-1.eml", ticket, line))
		if err := os.WriteFile(name, letter, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := 1100
	young := 1300
	if *rig.Long {
		old = 3000
		young = 2500
	}
	const day = 24 * time.Hour
	for n := range old {
		put(n+1, 40*day)
	}
	for n := range young {
		put(old+n+1, 20*day)
	}
	s, _ = rig.Demo(t, server.Config{Dir: dir})
	room := roomBeside(s)
	if err := room.RemoveOldLetters(); err != nil {
		t.Fatal(err)
	}
	if n := len(letterFiles(t, dir)); n != young {
		t.Errorf("%d letters are there, of which %d are young", n, young)
	}
}

// letterDisk is a directory that counts how letters are made durable, and can fail to.
type letterDisk struct {
	durable.FS
	mu    sync.Mutex
	syncs int  // of the directory of letters
	fails bool // the next one does
}

// count returns how often the directory of letters was synced.
func (d *letterDisk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

func (d *letterDisk) SyncDir(dir string) error {
	if dir == ledger.OutboxDir {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.syncs++
		if d.fails {
			d.fails = false
			return syscall.EIO
		}
	}
	return d.FS.SyncDir(dir)
}

// Letters are made durable together, before the journal says that they were sent; where that fails they are
// written again.
func TestLettersAreMadeDurableTogether(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		disk := &letterDisk{FS: durable.Dir(dir), fails: true}
		s, key := rig.Demo(t, server.Config{Dir: dir, FS: disk, Now: rig.BubbleClock()})
		defer func() { s.Close() }()
		b := newGroup(t, s, key, 5)
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", ""); a.Status != 200 {
			t.Fatalf("%+v", a)
		}
		time.Sleep(time.Second)
		list := outboxList(t, s)
		if disk.count() != 1 || strings.Count(list, "1 attempt failed") != 5 ||
			strings.Contains(rig.JournalText(t, dir), "outbox.sent") {
			t.Errorf("after %d syncs, the first of which failed: %s", disk.count(), list)
		}
		for _, name := range letterFiles(t, dir) {
			if err := os.Truncate(name, 0); err != nil { // as a power cut may
				t.Fatal(err)
			}
		}
		time.Sleep(2 * outbox.FirstRetry)
		if list := outboxList(t, s); !strings.HasPrefix(list, "0 messages") || disk.count() > 6 ||
			!strings.Contains(rig.JournalText(t, dir), "outbox.sent") {
			t.Errorf("after %d syncs: %s", disk.count(), list)
		}
		for _, name := range letterFiles(t, dir) {
			if info, err := os.Stat(name); err != nil || info.Size() == 0 {
				t.Errorf("%s was not written again: %v", name, err)
			}
		}
	})
}

// newGroup books seats for so many passengers with an e-mail each.
func newGroup(t *testing.T, s *server.Server, key string, n int) string {
	t.Helper()
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv&passengers="+fmt.Sprint(n))
	var passengers []string
	for i := range n {
		passengers = append(passengers,
			fmt.Sprintf(`{"firstName":"A","lastName":"B","email":"p%d@example.com"}`, i))
	}
	return rig.Call(t, s, key, "POST", "/v2/bookings",
		`{"offerId":"`+offer+`","currency":"UAH","passengers":[`+
			strings.Join(passengers, ",")+`]}`).Data.Booking.ID
}

// Letters are in no copy: there may be many times as much of them as of the journal.
func TestNoCopyHasLetters(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock()})
		defer func() { s.Close() }()
		paysOne(t, s, key)
		copied := filepath.Join(dir, "copied")
		if _, err := backup.Backup(durable.Dir(dir), true, durable.Dir(copied)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(copied, ledger.OutboxDir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the backup has letters: %v", err)
		}
		if n := len(letterFiles(t, dir)); n != 1 {
			t.Errorf("%d letters are in the directory that was copied", n)
		}
		again, err := server.Open(server.Config{Dir: copied, Now: rig.BubbleClock()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { again.Close() }()
		paysOne(t, again, key)
		if n := len(letterFiles(t, copied)); n != 1 {
			t.Errorf("%d letters are where the copy is served", n)
		}
	})
}

// Decision messages.as: what is sent is counted by what it is sent as: an e-mail that became a file is no
// e-mail, and does not become one when the directory is served with a mail server.
func TestFilesAreCountedAsFiles(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock()})
		defer func() { s.Close() }()
		paysOne(t, s, key)
		if text := rig.JournalText(t, dir); !strings.Contains(text, `"],"as":"file"}`) {
			t.Errorf("the line does not say that the letter became a file: %s", text)
		}
		s.Close()
		var err error
		s, err = server.Open(server.Config{
			Dir:  dir,
			Now:  rig.BubbleClock(),
			Mail: outbound.MailConfig{Addr: "127.0.0.1:1", From: "tickets@example.com"},
		})
		if err != nil {
			t.Fatal(err)
		}
		said := metricsOf(t, s)
		for _, want := range []string{`{as="mail"} 0`, `{as="text"} 0`, `{as="file"} 1`, `{as="none"} 0`} {
			if !strings.Contains(said, "waybill_outbox_sent_total"+want+"\n") {
				t.Errorf("/metrics lacks %s", want)
			}
		}
		if list := outboxList(t, s); !strings.HasPrefix(list, "0 messages are not sent; 1 sent as file; ") {
			t.Errorf("outbox list says %q", list)
		}
	})
}
