package admin_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/backup"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

const named = `{"offerId":%q,"currency":"UAH","passengers":[{"firstName":"Xenia","lastName":"Quill","email":"xenia@example.com"},{"firstName":"Yarema","lastName":"Xenia"}]}`

// stopping is a directory whose changes fail from one of them on.
type stopping struct {
	durable.FS
	mu      sync.Mutex
	armed   bool
	left    int
	opening func(name string) // unless nil, called before a file is opened or listed
}

func (d *stopping) change() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return nil
	}
	if d.left--; d.left < 0 {
		return syscall.EIO
	}
	return nil
}

func (d *stopping) Create(name string) (durable.File, error) {
	if err := d.change(); err != nil {
		return nil, err
	}
	return d.FS.Create(name)
}

func (d *stopping) Rename(from, to string) error {
	if err := d.change(); err != nil {
		return err
	}
	return d.FS.Rename(from, to)
}

func (d *stopping) Remove(name string) error {
	if err := d.change(); err != nil {
		return err
	}
	return d.FS.Remove(name)
}

func (d *stopping) SyncDir(dir string) error {
	if err := d.change(); err != nil {
		return err
	}
	return d.FS.SyncDir(dir)
}

func (d *stopping) List(dir string) ([]string, error) {
	d.mu.Lock()
	opening := d.opening
	d.mu.Unlock()
	if opening != nil {
		opening(dir)
	}
	return d.FS.List(dir)
}

// Erasure: wherever a forget is cut short, saying it again does the rest, and then says that there is
// nothing left. It makes no difference whether it is said of the same passenger.
func TestAForgetThatWasCutShortIsCompleted(t *testing.T) {
	t.Parallel()
	places := 0
	for whole := false; !whole; places++ {
		dir := t.TempDir()
		disk := &stopping{FS: durable.Dir(dir)}
		s, key := rig.Demo(t, server.Config{Dir: dir, FS: disk})
		offer := rig.Offer(t, s, key, rig.Bukovel)
		b := rig.Call(t, s, key, "POST", "/v2/bookings", fmt.Sprintf(named, offer)).Data.Booking
		if w := rig.KeyedCall(s, key, "pay", "/v2/bookings/"+b.ID+"/pay", ""); w.Code != 200 {
			t.Fatal(w.Body)
		}
		other := rig.NewBookingID(t, s, key)
		disk.mu.Lock()
		disk.armed = true
		disk.left = places
		disk.mu.Unlock()
		_, err := rig.Forget(s, "email", "xenia@example.com")
		whole = err == nil
		disk.mu.Lock()
		disk.armed = false
		disk.mu.Unlock()
		s.Close() // what was cut short leaves no clean end
		s, _ = rig.Demo(t, server.Config{Dir: dir})
		field := "email"
		value := "xenia@example.com"
		if places%2 == 1 {
			field = "booking"
			value = other
		}
		for _, again := range [][2]string{{field, value}, {"email", "xenia@example.com"}} {
			if _, err := rig.Forget(s, again[0], again[1]); err != nil {
				t.Fatalf("place %d: %v", places, err)
			}
			rep, err := inspect.Follow(durable.Dir(dir), journal.Head{}, func(*journal.Line) error {
				return nil
			})
			if err != nil || len(rep.Unerased) > 0 {
				t.Errorf("place %d: after a forget for %s lines are left that one before has named: %v, %v",
					places,
					again[1], rep.Unerased, err)
			}
		}
		for _, name := range []string{"Xenia", "Quill", "Yarema", "xenia@example.com"} {
			if files := rig.FilesWith(t, dir, name); len(files) > 0 {
				t.Errorf("place %d: %s stands in %q", places, name, files)
			}
		}
		if said, err := rig.Forget(s, "email", "xenia@example.com"); err != nil ||
			!strings.HasPrefix(said, "nothing to erase") {
			t.Errorf("place %d: said again: %q, %v", places, said, err)
		}
		if said, err := rig.Forget(s, "booking", b.ID); err != nil ||
			!strings.HasPrefix(said, "nothing to erase") {
			t.Errorf("place %d: said of the booking: %q, %v", places, said, err)
		}
		rig.CompareWithReplay(t, s, dir, true)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil ||
			len(rep.Unerased) > 0 {
			t.Errorf("place %d: %v, %v", places, rep.Unerased, err)
		}
	}
	// How many there are depends on what the server writes beside it.
	if places < 6 {
		t.Errorf("only %d places", places)
	}
}

// Decision erasure.whole: a server completes what a forget has left, also after a start. Where it cannot, it
// says so in its log and its metrics, and tries again after a minute.
func TestAServerCompletesAnErasure(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		disk := &rig.Troubled{FS: durable.Dir(dir), OnRename: func(to string) error {
			if fails.Load() && strings.HasPrefix(to, "journal/") {
				return syscall.EIO
			}
			return nil
		}}
		log := new(rig.Logged)
		cfg := server.Config{Dir: dir, FS: disk, Now: rig.BubbleClock()}
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		s, key := rig.Demo(t, cfg)
		open := func() string {
			metrics := rig.Ask(s, "", "GET", "/metrics", "").Body.String()
			return regexp.MustCompile(`waybill_erasures_open \d+`).FindString(metrics)
		}
		rig.BookForLesia(t, s, key, rig.Bukovel)
		fails.Store(true)
		if _, err := rig.Forget(s, "email", "lesia@example.com"); err == nil {
			t.Error("nothing is wrong with a forget that could not write")
		}
		if got := open(); got != "waybill_erasures_open 1" {
			t.Errorf("after a forget that was cut short: %q", got)
		}
		s.Close()
		s, err := server.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		time.Sleep(time.Minute)
		if got := open(); got != "waybill_erasures_open 1" || !log.Has("WARN", "an erasure is not complete") {
			t.Errorf("where a start cannot complete it: %q", got)
		}
		fails.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if files := rig.FilesWith(t, dir, "lesia@"); len(files) > 0 || open() != "waybill_erasures_open 0" {
			t.Errorf("a minute later it stands in %q: %s", files, open())
		}
		rig.CompareWithReplay(t, s, dir, true)
	})
}

// Erasure beside paid retries: an answer that is kept while the journal is looked through, and a booking
// that is made with the address meanwhile, are found as well.
func TestWhatIsWrittenWhileAForgetLooksIsErasedToo(t *testing.T) {
	dir := t.TempDir()
	disk := &stopping{FS: durable.Dir(dir)}
	s, key := rig.Demo(t, server.Config{Dir: dir, FS: disk})
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	b := rig.Call(t, s, key, "POST", "/v2/bookings", fmt.Sprintf(named, offer)).Data.Booking
	times := 0
	disk.opening = func(name string) { // between the look and the line that names what was found
		if name != ledger.ReportDir || times > 1 {
			return
		}
		times++
		w := rig.KeyedCall(s, key, fmt.Sprint("pay", times), "/v2/bookings/"+b.ID+"/pay",
			fmt.Sprintf(`{"ticketIds":[%q]}`, b.Tickets[times-1].ID))
		if w.Code != 200 {
			t.Error(w.Body)
		}
		w = rig.KeyedCall(s, key, fmt.Sprint("book", times), "/v2/bookings", fmt.Sprintf(named, offer))
		if times == 1 && w.Code != 201 {
			t.Error(w.Body)
		}
	}
	if said, err := rig.Forget(s, "email", "XENIA@example.com"); err != nil || times != 2 {
		t.Fatal(times, said, err)
	}
	left := rig.FilesWith(t, dir, "Yarema")
	// The second booking of the hook came when the forget had begun: it is another matter.
	if said, err := rig.Forget(s, "email", "xenia@example.com"); err != nil {
		t.Fatal(said, err)
	}
	if now := rig.FilesWith(t, dir, "Yarema"); len(now) > 0 {
		t.Errorf("the name stands in %q, before in %q", now, left)
	}
	s.Close()
	if _, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}

// Erasure beside a report, a keyed pay and a backup, however they come to lie: none of them keeps the name.
func TestErasureBesideReportsRetriesAndBackups(t *testing.T) {
	t.Parallel()
	for range 4 {
		dir := t.TempDir()
		out := filepath.Join(t.TempDir(), "out")
		v := rig.NewVisitorOn(t, dir)
		w := v.Ask("POST", "/v2/bookings", strings.Replace(named, "%q", `"$OFFER"`, 1))
		id := strings.Split(w.Body.String(), `"`)[7]
		var wg sync.WaitGroup
		wg.Go(v.S.RunDue)
		for range 4 {
			v.Ask("POST", "/v2/reports/company/orders",
				`{"startDate":"2026-11-01T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}`)
		}
		wg.Go(func() { rig.KeyedCall(v.S, v.Key, "pay", "/v2/bookings/"+id+"/pay", "") })
		wg.Go(func() {
			if _, err := backup.Backup(durable.Dir(dir), true, durable.Dir(out)); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := rig.Forget(v.S, "email", "xenia@example.com"); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		rig.WriteReports(t, v.S)
		if files := rig.FilesWith(t, dir, "Quill"); len(files) > 0 {
			t.Errorf("the name stands in %q", files)
		}
		// The backup is of before or of after: it has the name, and no line that says it was erased, or
		// neither.
		erased := len(rig.FilesWith(t, out, `"type":"personal.erased"`)) > 0
		if files := rig.FilesWith(t, out, "Quill"); erased && len(files) > 0 {
			t.Errorf("the backup has the erasure, and the name in %q", files)
		}
		v.S.Close()
	}
}

// Erasure: an address with many bookings costs in proportion to them, also under the lock, and a group once.
func TestForgettingManyBookingsIsLinear(t *testing.T) {
	cost := func(bookings int) float64 {
		s, key := rig.Demo(t, server.Config{})
		offers := []string{rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")}
		for n := range bookings {
			if n%10 == 9 {
				day := time.Date(2026, 11, 25+n/10, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
				search := "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=" + day
				offers = append(offers, rig.Call(t, s, key, "GET", search, "").Data.Offers[0].ID)
			}
			a := rig.Call(t, s, key, "POST", "/v2/bookings",
				strings.Replace(rig.BookingBody(offers[len(offers)-1], 1), `"Ukrainka"`,
					`"Ukrainka","email":"many@example.com"`, 1))
			if a.Status != 201 {
				t.Fatal(a)
			}
		}
		allocs := testing.AllocsPerRun(1, func() {
			if _, err := rig.Forget(s, "email", "many@example.com"); err != nil {
				t.Fatal(err)
			}
		})
		return allocs
	}
	if few, many := cost(40), cost(160); many > 8*few {
		t.Errorf("40 bookings take %v allocations, 160 take %v", few, many)
	}
}

// Where there are many passengers others do not wait for all of them at once: a line forgets a thousand.
func TestManyPassengersAreForgottenAThousandAtATime(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,1000,"}}}))
	one := `{"firstName":"Xenia","lastName":"Quill","email":"xenia@example.com"}`
	for day := range 3 {
		query := fmt.Sprintf(
			"/v2/offers?passengers=100&departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-2%d",
			5+day,
		)
		for range 9 {
			offer := rig.Call(t, s, key, "GET", query, "").Data.Offers[0].ID
			body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`, offer,
				strings.Repeat(one+",", 99)+one)
			if a := rig.Call(t, s, key, "POST", "/v2/bookings", body); a.Status != 201 {
				t.Fatal(a)
			}
		}
	}
	said, err := rig.Forget(s, "email", "xenia@example.com")
	if err != nil || strings.Count(said, " has that address\n") != 2700 ||
		!strings.Contains(said, "\nerased: the personal data of 2700 tickets, in 27 lines") {
		t.Errorf("%.1000q, %v", said, err)
	}
	if files := rig.FilesWith(t, dir, "Quill"); len(files) > 0 {
		t.Errorf("the name stands in %q", files)
	}
	text := rig.JournalText(t, dir)
	some := strings.Count(text, `"type":"passengers.forgotten"`)
	last := strings.Count(text, `"type":"personal.erased"`)
	if some != 2 || last != 1 {
		t.Errorf("%d lines forget some, %d name the lines", some, last)
	}
	body := rig.Ask(s, key, "GET", "/v2/events?after=27&take=1", "").Body.String()
	if !strings.Contains(body, "passenger.erased") || !strings.Contains(body, `"total":2727`) {
		t.Error(body)
	}
	s.Close()
	if _, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil {
		// that the snapshot is what a replay gives, too
		t.Error(err)
	}
}

// The events of an erasure are each partner's own, in the order of its tickets.
func TestEachPartnerIsToldOfItsErasedPassengers(t *testing.T) {
	s, anna := rig.Demo(t, server.Config{})
	olena, err := s.Admin.AddPartner("olena", nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string][]string{}
	for _, key := range []string{anna, olena, anna} {
		offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
		b := rig.Call(t, s, key, "POST", "/v2/bookings", fmt.Sprintf(named, offer)).Data.Booking
		ids[key] = append(ids[key], b.Tickets[0].ID, b.Tickets[1].ID)
	}
	if _, err := rig.Forget(s, "email", "xenia@example.com"); err != nil {
		t.Fatal(err)
	}
	for key, want := range ids {
		var got []string
		body := rig.Ask(s, key, "GET", "/v2/events?take=100", "").Body.String()
		for _, event := range strings.Split(body, `{"seq":`)[1:] {
			if strings.Contains(event, `"type":"passenger.erased"`) {
				got = append(got, strings.Split(event, `"ticketId":"`)[1][:22])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("told of %q, want %q: %s", got, want, body)
		}
	}
}
