package partner_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// Decision disk.full: a repetition under a key hears what is true on a full disk: an earlier attempt has
// paid.
func TestARepetitionOnAFullDiskSaysWhatIsDone(t *testing.T) {
	t.Parallel()
	disk := &rig.Crowded{FS: durable.Dir(t.TempDir())}
	s, key := rig.Demo(t, server.Config{Dir: string(disk.FS.(durable.Dir)), FS: disk})
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
	target := "/v2/bookings/" + b.ID + "/pay"
	sum := sha256.Sum256([]byte("POST " + target + "\n{}"))
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
	disk.Fill(t, s, key)
	w := rig.KeyedCall(s, key, "k", target, "")
	if w.Code != 503 || !strings.Contains(w.Body.String(), "stays in effect") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	disk.Full.Store(false)
	rig.Eventually(t, "there is room",
		func() bool { return rig.KeyedCall(s, key, "k", target, "").Code == 200 })
}
