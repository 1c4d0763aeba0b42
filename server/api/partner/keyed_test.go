package partner_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/booking/ids"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
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

// A refusal for what there is not takes no line, under a key either. Of an earlier version, which kept it, it
// comes again.
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
	var partner ids.ID
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		partner = ids.ID(st.Partners.ByName("anna").ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	const refusal = `{"errors":[{"message":"RESOURCE_NOT_FOUND","errorCode":"NOT_FOUND"}]}`
	_, err = s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return []ledger.Entry{{
			Event: &ledger.Answered{Partner: partner},
			Idempotency: &ledger.Idempotency{
				Key:    "kept",
				Hash:   fmt.Sprintf("%x", sha256.Sum256([]byte("POST /v2/bookings/nowhere/pay\n"))),
				Status: 404,
				Reply:  func(w *wire.Writer) { w.B = append(w.B, refusal...) },
			},
		}}, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := server.Open(server.Config{Dir: dir, Now: func() time.Time { return rig.Start }})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	w := rig.KeyedCall(again, key, "kept", "/v2/bookings/nowhere/pay", "")
	if w.Code != 404 || strings.TrimSpace(w.Body.String()) != refusal ||
		w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
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
