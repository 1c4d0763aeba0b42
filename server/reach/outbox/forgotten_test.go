package outbox_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"waybill/booking"
	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/reach/outbox"
)

// Erasure: a letter that was made before its passenger was forgotten, and was about to become a file, does
// not: once forget has said that all is erased no file has the name, not even for a moment.
func TestALetterOfTheForgottenBecomesNoFile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var s *server.Server
		sent := 0
		lab := rig.NoClock()
		furnish := lab.Furnish
		lab.Furnish = func(core *web.Core, letters *outbox.Relay) {
			furnish(core, letters)
			letters.Observe(outbox.Observer{
				Before: func(m *ledger.Message, b *booking.Booking) error {
					_, err := rig.Forget(s, "booking", b.ID.String())
					return err
				},
				After: func(outbox.Letter) {
					sent++
					names, err := filepath.Glob(filepath.Join(dir, "outbox/*"))
					if err != nil || len(names) > 0 {
						t.Error(names, err)
					}
				},
			})
		}
		var key string
		s, key = rig.Demo(t, server.Config{Dir: dir, Lab: lab, Now: rig.BubbleClock(), MaxTransfers: 1})
		defer s.Close()
		b, _ := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", ""); a.Status != 200 {
			t.Fatal(a)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if sent == 0 {
			t.Error("no letter was made")
		}
	})
}
