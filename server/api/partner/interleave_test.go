package partner_test

import (
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/store/durable"
)

// Decision offers.changed: a sale goes by the timetable in force, also when that is imported between looking
// the offer up and selling it.
func TestATimetableImportedWhileAnOfferIsSold(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string][][2]string
		status int
	}{
		"the route is called otherwise": {map[string][][2]string{"routes.txt": {{"Carpathian Shuttle", "Mountain Express"}}}, 201},
		"a stop is gone":                {map[string][][2]string{"stop_times.txt": {{"fb-0900,10:25:00,10:30:00,3,yaremche-bus,,\n", ""}}}, 409},
		"the bus is too small":          {map[string][][2]string{"waybill_buses.txt": {{"bus-zor-25,zorevia,3,", "bus-zor-25,zorevia,1,"}}}, 409},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, w := rig.SoldWhile(t, dir, rig.Bukovel, func(s *server.Server) {
				rig.Import(t, s, rig.FeedWith(t, test.change))
			})
			if w.Code != test.status {
				t.Errorf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
			if w.Code == 201 && !strings.Contains(w.Body.String(), "Mountain Express") {
				t.Errorf("what was sold is not of the timetable in force: %s", w.Body)
			}
			rig.CompareWithReplay(t, s, dir, false)
		})
	}
}

// held is a file system whose files wait to be synced while there is a gate.
type held struct {
	durable.FS
	gate atomic.Pointer[chan error] // gives what a sync fails with
}

type heldFile struct {
	durable.File
	fs *held
}

func (f *held) Append(name string) (durable.File, error) {
	file, err := f.FS.Append(name)
	return heldFile{file, f}, err
}

func (f *held) Create(name string) (durable.File, error) {
	file, err := f.FS.Create(name)
	return heldFile{file, f}, err
}

func (f heldFile) Sync() error {
	if gate := f.fs.gate.Load(); gate != nil {
		if err := <-*gate; err != nil {
			return err
		}
	}
	return f.File.Sync()
}

// Decision journal.durable: no reply shows what a crash could still undo; a refusal waits until what it saw
// is on disk.
func TestARefusalWaitsUntilWhatItSawIsDurable(t *testing.T) {
	for name, w := range map[string]struct {
		change func(t *testing.T, s *server.Server, key, id string)
		status int // of the pay that comes after it
	}{
		"a key revoked": {func(_ *testing.T, s *server.Server, _, _ string) {
			s.Admin.Do("partner-revoke", &admin.Act{
				Form: url.Values{"name": {"anna"}},
				Out:  new(strings.Builder),
			})
		}, 401},
		"a ticket paid": {func(t *testing.T, s *server.Server, key, id string) {
			rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
		}, 409},
		"a ticket moved away": {func(t *testing.T, s *server.Server, key, id string) {
			ticket := rig.Call(t, s, key, "GET", "/v2/bookings/"+id, "").Data.Booking.Tickets[0].ID
			s.Admin.Do("ticket-move", &admin.Act{
				Form: url.Values{"ticket": {ticket}, "booking": {"new"}},
				Out:  new(strings.Builder),
			})
		}, 404},
	} {
		for _, failure := range []error{nil, errors.New("the disk does not answer")} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				fsys := &held{FS: durable.Dir(dir)}
				s, key := rig.Demo(t, server.Config{FS: fsys, Now: rig.BubbleClock()})
				id := rig.Call(t, s, key, "POST", "/v2/bookings",
					rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking.ID
				gate := make(chan error)
				fsys.gate.Store(&gate)
				go w.change(t, s, key, id)
				synctest.Wait()
				var answered atomic.Int32
				go func() {
					a := rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
					answered.Store(int32(a.Status))
				}()
				synctest.Wait()
				if n := answered.Load(); n != 0 {
					t.Errorf("%s: %d before it was durable", name, n)
				}
				fsys.gate.Store(nil)
				gate <- failure
				synctest.Wait()
				want := w.status
				if failure != nil {
					want = 500
				}
				if n := int(answered.Load()); n != want {
					t.Errorf("%s, sync: %v: status %d, want %d", name, failure, n, want)
				}
				s.Close()
			})
		}
	}
}
