package ledger_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"waybill/booking"
	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// Decision disk.full: a group as large as may be, with an Idempotency-Key, is one line that fits or is
// refused.
func TestTheLargestGroupFitsItsWeight(t *testing.T) {
	disk := &rig.Crowded{FS: durable.Dir(t.TempDir())}
	s, logged := loggedOn(t, disk)
	key, err := s.Admin.AddPartner("groups", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := largestGroup(rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"))
	if w := rig.KeyedCall(s, key, "group", "/v2/bookings", body); w.Code != 201 {
		t.Errorf("where there is room: %d %.300s", w.Code, w.Body)
	}
	disk.Fill(t, s, key)
	body = rig.BookingBody(rig.Offer(t, s, key, "passengers=100&departureCitySlug=kyiv&arrivalCitySlug=lviv"),
		100)
	if w := rig.KeyedCall(s, key, "another", "/v2/bookings", body); w.Code != 503 {
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
	if strings.Contains(logged.String(), "larger than was reserved") {
		t.Error(logged)
	}
}

// largestGroup books as many as a bus of the demo has, each with names and phones as long as they may be,
// and with characters that take most room.
func largestGroup(offer string) string {
	return rig.GroupOf(offer, 15)
}

// Decision disk.full: what a feed brings is weighed too, however long its ids are.
func TestLongIDsOfAFeedAreWeighed(t *testing.T) {
	e := &booking.TicketsCanceled{Request: strings.Repeat("r", web.MaxRequestID)}
	for range web.MaxPassengersBooked {
		term := booking.Term{Rule: strings.Repeat("<", 300)}
		e.Tickets = append(e.Tickets, booking.CanceledTicket{Terms: []booking.Term{term, term}})
	}
	_, data, personal := ledger.NewCodec().Encode(ledger.Entry{Event: e}, nil, nil)
	weight := ledger.Weigh(model.New(), ledger.Entry{Event: e})
	if weight < int64(len(data)+len(personal)) {
		t.Errorf("it is weighed %d, and takes %d", weight, len(data)+len(personal))
	}
}

// loggedOn is a server of the demo network on a file system, that logs warnings into a buffer.
func loggedOn(t *testing.T, fsys *rig.Crowded) (s *server.Server, logged *bytes.Buffer) {
	logged = new(bytes.Buffer)
	log := slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, _ = rig.Demo(t, server.Config{Dir: string(fsys.FS.(durable.Dir)), FS: fsys, Log: log})
	return s, logged
}
