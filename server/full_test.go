package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/backup"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
	"waybill/store"
	"waybill/store/durable"
)

// crowded is a directory on a disk that somebody else can fill.
type crowded struct {
	durable.FS
	full atomic.Bool
}

type crowdedFile struct {
	durable.File
	disk *crowded
}

func (d *crowded) Create(name string) (durable.File, error) {
	f, err := d.FS.Create(name)
	return crowdedFile{f, d}, err
}

func (d *crowded) Append(name string) (durable.File, error) {
	f, err := d.FS.Append(name)
	return crowdedFile{f, d}, err
}

func (f crowdedFile) Reserve(size int64) error {
	if f.disk.full.Load() {
		return syscall.ENOSPC
	}
	return f.File.Reserve(size)
}

// fill sells ever smaller groups until the disk is full.
func (d *crowded) fill(t *testing.T, s *Server, key string) {
	t.Helper()
	importFeed(t, s, feedWith(t, map[string][][2]string{
		"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,1000,"}}}))
	d.full.Store(true)
	day := 1
	for _, size := range []int{100, 10, 1} {
		for full := false; !full; {
			query := fmt.Sprintf(
				"/v2/offers?passengers=%d&departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=%s",
				size,
				scriptStart.AddDate(0, 0, 60-day).Format(time.DateOnly),
			) // the last days first: tests use the others
			offers := call(t, s, key, "GET", query, "").Data.Offers
			if len(offers) == 0 {
				if day++; day > 60 {
					t.Fatal("the disk does not get full")
				}
				continue
			}
			w := keyedCall(s, key, s.NewID().String(), "/v2/bookings", groupOf(offers[0].ID, size))
			full = w.Code == 503
		}
	}
	// What is left may do for a line that is shorter than a booking's.
	for n := 0; ; n++ {
		if _, err := s.Admin.AddPartner(fmt.Sprint("p", n), nil); err != nil {
			return
		}
	}
}

// Decision disk.full: the provider's answer waits for room. It is neither lost nor told to be nothing, and
// what the client hears is true: first that it waits, then what it was.
func TestTheProvidersAnswerWaitsForRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		answer          error
		status, payment string
	}{
		{"confirmed", nil, "Confirmed", "Paid"},
		{"refused", outbound.ErrRefused, "Processing", "Unpaid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := &crowded{FS: durable.Dir(t.TempDir())}
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan bool)
				answer := make(chan error)
				s, key := demoServer(t, Config{Dir: string(disk.FS.(durable.Dir)), FS: disk,
					Now: bubbleClock(),
					Confirm: func(context.Context, provider.Confirmation) error {
						asked <- true
						return <-answer
					}})
				b := call(t, s, key, "POST", "/v2/bookings",
					bookingBody(anOffer(t, s, key, bukovel), 1)).Data.Booking
				paid := make(chan *httptest.ResponseRecorder)
				go func() {
					r := httptest.NewRequest("POST", "/v2/bookings/"+b.ID+"/pay", nil)
					r.Header.Set("x-api-key", key)
					r.Header.Set("Idempotency-Key", "once")
					w := httptest.NewRecorder()
					s.ServeHTTP(w, r)
					paid <- w
				}()
				<-asked
				disk.fill(t, s, key)
				answer <- c.answer
				if w := <-paid; w.Code != 503 || strings.Contains(w.Body.String(), "nothing was changed") {
					t.Errorf("the client hears %d %s", w.Code, w.Body)
				}
				a := call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
				if a.status != 503 && a.status != 409 {
					t.Errorf("pay while the answer waits: %+v", a)
				}
				disk.full.Store(false)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				got := call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking.Tickets[0]
				if got.Status != c.status || got.PaymentStatus != c.payment {
					t.Errorf("when there is room: %+v, want %s/%s", got, c.status, c.payment)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			if _, err := verify.Directory(disk.FS, false, store.Expected{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Decision disk.full: a group as large as may be, with an Idempotency-Key, is one line that fits or is
// refused.
func TestTheLargestGroupFitsItsWeight(t *testing.T) {
	disk := &crowded{FS: durable.Dir(t.TempDir())}
	s, logged := loggedOn(t, disk)
	key, err := s.Admin.AddPartner("groups", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := largestGroup(anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"))
	if w := keyedCall(s, key, "group", "/v2/bookings", body); w.Code != 201 {
		t.Errorf("where there is room: %d %.300s", w.Code, w.Body)
	}
	disk.fill(t, s, key)
	body = bookingBody(anOffer(t, s, key, "passengers=100&departureCitySlug=kyiv&arrivalCitySlug=lviv"), 100)
	if w := keyedCall(s, key, "another", "/v2/bookings", body); w.Code != 503 {
		t.Errorf("where there is none: %d %.300s", w.Code, w.Body)
	}
	select {
	case <-s.Failed():
		t.Error("the server has failed")
	default:
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(logged.String(), "larger than they were weighed") {
		t.Error(logged)
	}
}

// largestGroup books as many as a bus of the demo has, each with names and phones as long as they may be,
// and with characters that take most room.
func largestGroup(offer string) string {
	return groupOf(offer, 15)
}

// groupOf asks for seats for passengers whose names take as much room as may be.
func groupOf(offer string, passengers int) string {
	name := strings.Repeat(`\"`, 50) + strings.Repeat(`\\`, 50)
	phone := `{"phone":"+380 44 123 45 67"}`
	one := `{"firstName":"` + name + `x","lastName":"` + name + `","phones":[` + strings.Repeat(phone+",",
		9) + phone + `]}`
	one = strings.Replace(one, name+"x", name[2:]+"x", 1)
	return `{"offerId":"` + offer + `","currency":"UAH","passengers":[` + strings.Repeat(one+",",
		passengers-1) + one + `]}`
}

// Decision disk.full: a repetition under a key hears what is true on a full disk: an earlier attempt has
// paid.
func TestARepetitionOnAFullDiskSaysWhatIsDone(t *testing.T) {
	t.Parallel()
	disk := &crowded{FS: durable.Dir(t.TempDir())}
	s, key := demoServer(t, Config{Dir: string(disk.FS.(durable.Dir)), FS: disk})
	b := call(t, s, key, "POST", "/v2/bookings", bookingBody(anOffer(t, s, key, bukovel), 1)).Data.Booking
	target := "/v2/bookings/" + b.ID + "/pay"
	sum := sha256.Sum256([]byte("POST " + target + "\n"))
	paid := &booking.TicketPaid{Settled: booking.Settled{
		Booking: ids.Of(b.ID), Ticket: ids.Of(b.Tickets[0].ID), Request: "cut short",
	}}
	under := &ledger.Idempotency{Key: "k", Hash: hex.EncodeToString(sum[:])}
	_, err := s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return []ledger.Entry{{Event: paid, Idempotency: under}}, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	disk.fill(t, s, key)
	w := keyedCall(s, key, "k", target, "")
	if w.Code != 503 || !strings.Contains(w.Body.String(), "stays done") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	disk.full.Store(false)
	eventually(t, "there is room", func() bool { return keyedCall(s, key, "k", target, "").Code == 200 })
}

// Decision disk.full: what a feed brings is weighed too, however long its ids are.
func TestLongIDsOfAFeedAreWeighed(t *testing.T) {
	e := &booking.TicketsCanceled{Request: strings.Repeat("r", web.MaxRequestID)}
	for range web.MaxPassengersBooked {
		term := booking.Term{Rule: strings.Repeat("<", 300)}
		e.Tickets = append(e.Tickets, booking.CanceledTicket{Terms: []booking.Term{term, term}})
	}
	_, data, personal := ledger.NewCodec().Encode(ledger.Entry{Event: e}, nil, nil)
	weight := ledger.Weigh(ledger.NewKeeper(), ledger.Entry{Event: e})
	if weight < int64(len(data)+len(personal)) {
		t.Errorf("it is weighed %d, and takes %d", weight, len(data)+len(personal))
	}
}

// noRoom is a directory in which only so many files can be made.
type noRoom struct {
	durable.FS
	left int
}

func (d *noRoom) Create(name string) (durable.File, error) {
	if d.left--; d.left < 0 {
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name)
}

// noKeys is a directory that has no room for keys.
type noKeys struct {
	durable.FS
	full atomic.Bool
}

func (d *noKeys) Create(name string) (durable.File, error) {
	if d.full.Load() && strings.HasPrefix(name, "keys/") {
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name)
}

// A key that cannot be written is not rotated, and the journal does not say that it was.
func TestAKeyWithoutRoomIsNotRotated(t *testing.T) {
	dir := t.TempDir()
	disk := &noKeys{FS: durable.Dir(dir)}
	s, _ := demoServer(t, Config{
		Dir: dir,
		FS:  disk,
	})
	said := func() int {
		n := 0
		_, err := store.Read(durable.Dir(dir), true, func(_ store.Place, l *store.Line) error {
			if l.Type == "keys.rotated" {
				n++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	rotate := func() error {
		return s.Admin.Do("rotate-keys", &admin.Act{
			By:   admin.Self(),
			Form: url.Values{},
			Out:  io.Discard,
		})
	}
	disk.full.Store(true)
	before := s.Ring.Load()
	if err := rotate(); err == nil || said() != 0 || s.Ring.Load() != before {
		t.Errorf("%v; the journal has %d lines of it", err, said())
	}
	disk.full.Store(false)
	if err := rotate(); err != nil || said() != 1 || s.Ring.Load() == before {
		t.Errorf("%v; the journal has %d lines of it", err, said())
	}
}

// A backup that fails, wherever it does, leaves nothing: neither keys, nor a directory that the next one
// refuses.
func TestABackupThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	newBookingID(t, s, key)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for left := 0; ; left++ {
		_, err := backup.Backup(durable.Dir(dir), false, &noRoom{durable.Dir(out), left})
		if err == nil {
			if left < 5 {
				t.Errorf("a backup makes only %d files", left)
			}
			break
		}
		if names, _ := os.ReadDir(out); len(names) > 0 {
			t.Fatalf("with room for %d files it leaves %v", left, names)
		}
	}
	if _, err := verify.Directory(durable.Dir(out), false, store.Expected{}); err != nil {
		t.Error(err)
	}
}
