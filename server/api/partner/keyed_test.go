package partner_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// A sale under an Idempotency-Key takes little more in the journal than one without: its answer is made again
// from its line.
func TestAKeyTakesLittleInTheJournal(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "journal/000000000001.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	sell := func(under string) int64 {
		before := size()
		w := rig.KeyedCall(
			s,
			key,
			under,
			"/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"), 2),
		)
		if w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
		return size() - before
	}
	sell("first") // with the run and its form
	keyed := sell("second")
	before := size()
	rig.Call(
		t,
		s,
		key,
		"POST",
		"/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"), 2),
	)
	plain := size() - before
	if keyed <= plain || keyed > plain*3/2 {
		t.Errorf("%d bytes under a key, %d without", keyed, plain)
	}
}

// A refusal for what there is not takes no line, under a key either.
func TestWhatThereIsNotIsNotKept(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	before := rig.JournalText(t, dir)
	if w := rig.KeyedCall(s, key, "lost", "/v2/bookings/nowhere/pay", ""); w.Code != 404 {
		t.Fatal(w.Code, w.Body)
	}
	if after := rig.JournalText(t, dir); after != before {
		t.Errorf("it is in the journal: %s", after[len(before):])
	}
}

// Decision idempotency.key: the answer to a sale comes again byte for byte, whatever became of the booking
// and its run since, and after a start.
func TestASaleIsAnsweredAgainAsItWas(t *testing.T) {
	dir := t.TempDir()
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, key := rig.Demo(t, server.Config{Dir: dir, Log: log})
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	sell := func(s *server.Server) *httptest.ResponseRecorder {
		return rig.KeyedCall(s, key, "again", "/v2/bookings", rig.BookingBody(offer, 2))
	}
	first := sell(s)
	var sold struct {
		Data struct{ Booking struct{ ID string } }
	}
	if err := json.Unmarshal(first.Body.Bytes(), &sold); first.Code != 201 || err != nil {
		t.Fatal(first.Code, first.Body, err)
	}
	id := sold.Data.Booking.ID
	same := func(s *server.Server, after string) {
		t.Helper()
		w := sell(s)
		if w.Code != 201 || w.Header().Get("Idempotent-Replayed") != "true" ||
			w.Body.String() != first.Body.String() {
			t.Errorf("after %s: %d %s, want %s", after, w.Code, w.Body, first.Body)
		}
	}
	same(s, "nothing")
	rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
	same(s, "it was paid")
	rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/cancel", "")
	same(s, "it was cancelled")
	if said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", "40", "reason", "fog"); err != nil {
		t.Fatal(said, err)
	}
	same(s, "its run was moved")
	if said, err := rig.ChangeRun(s, "cancel", "kl-0530", "reason", "snow"); err != nil {
		t.Fatal(said, err)
	}
	same(s, "its run was cancelled")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := rig.Demo(t, server.Config{Dir: dir, Log: log})
	same(again, "a start")
	if said, err := rig.Forget(again, "booking", id); err != nil {
		t.Fatal(said, err)
	}
	if w := sell(again); w.Code != 404 {
		t.Errorf("after its passengers were forgotten: %d %s", w.Code, w.Body)
	}
	if logged.Len() > 0 {
		t.Errorf("the log has %s", &logged)
	}
}
