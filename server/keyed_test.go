package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"waybill/server/ledger"
	"waybill/store"
)

// A sale under an Idempotency-Key takes little more in the journal than one without: its answer is made again
// from its line.
func TestAKeyTakesLittleInTheJournal(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "journal/000000000001.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	sell := func(under string) int64 {
		before := size()
		w := keyedCall(
			s,
			key,
			under,
			"/v2/bookings",
			bookingBody(anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"), 2),
		)
		if w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
		return size() - before
	}
	sell("first") // with the run and its form
	keyed := sell("second")
	before := size()
	call(
		t,
		s,
		key,
		"POST",
		"/v2/bookings",
		bookingBody(anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"), 2),
	)
	plain := size() - before
	if keyed <= plain || keyed > plain*3/2 {
		t.Errorf("%d bytes under a key, %d without", keyed, plain)
	}
}

// Contract §8: the answer to a sale comes again byte for byte, whatever became of the booking and its run
// since, and after a start.
func TestASaleIsAnsweredAgainAsItWas(t *testing.T) {
	dir := t.TempDir()
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, key := demoServer(t, Config{Dir: dir, Log: log})
	offer := anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	sell := func(s *Server) *httptest.ResponseRecorder {
		return keyedCall(s, key, "again", "/v2/bookings", bookingBody(offer, 2))
	}
	first := sell(s)
	var sold struct {
		Data struct{ Booking struct{ ID string } }
	}
	if err := json.Unmarshal(first.Body.Bytes(), &sold); first.Code != 201 || err != nil {
		t.Fatal(first.Code, first.Body, err)
	}
	id := sold.Data.Booking.ID
	same := func(s *Server, after string) {
		t.Helper()
		w := sell(s)
		if w.Code != 201 || w.Header().Get("Idempotent-Replayed") != "true" ||
			w.Body.String() != first.Body.String() {
			t.Errorf("after %s: %d %s, want %s", after, w.Code, w.Body, first.Body)
		}
	}
	same(s, "nothing")
	call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
	same(s, "it was paid")
	call(t, s, key, "POST", "/v2/bookings/"+id+"/cancel", "")
	same(s, "it was cancelled")
	if said, err := doWithRun(s, "move", "kl-0530", "minutes", "40", "reason", "fog"); err != nil {
		t.Fatal(said, err)
	}
	same(s, "its run was moved")
	if said, err := doWithRun(s, "cancel", "kl-0530", "reason", "snow"); err != nil {
		t.Fatal(said, err)
	}
	same(s, "its run was cancelled")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := demoServer(t, Config{Dir: dir, Log: log})
	same(again, "a start")
	if said, err := forget(again, "booking", id); err != nil {
		t.Fatal(said, err)
	}
	if w := sell(again); w.Code != 404 {
		t.Errorf("after its passengers were forgotten: %d %s", w.Code, w.Body)
	}
	if logged.Len() > 0 {
		t.Errorf("the log has %s", &logged)
	}
}

// Earlier versions kept the answer itself in the line; it is given as it stands.
func TestAnAnswerThatWasKeptIsGivenAsItWas(t *testing.T) {
	answer, err := ledger.ReadAnswer(&store.Line{
		Data:     []byte(`{"booking":"09uF45HiArKSY6XyytxEug"}`),
		Personal: []byte(`{"salt":"x","passengers":[{"firstName":"Lesia"}],"reply":"{\"data\":{}}\n"}`),
	})
	if err != nil || answer.Sold != nil || answer.Text != "{\"data\":{}}\n" {
		t.Errorf("%+v, %v", answer, err)
	}
	erased := &store.Line{Personal: []byte(`{"erased":"2026-11-20T08:00:00.000Z"}`)}
	if answer, err := ledger.ReadAnswer(erased); err != nil || answer.Sold != nil || answer.Text != "" {
		t.Errorf("%+v, %v", answer, err)
	}
}
