package partner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/api/partner"
	"waybill/server/lab/rig"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
)

// GET /v2/events: who waits is answered with the next event of its own, when the wait is over, or when the
// server drains.
func TestWhoWaitsForEventsIsAnsweredWithTheNext(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock()})
		stranger, err := s.Admin.AddPartner("stranger", nil)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(key string) <-chan time.Duration {
			answered := make(chan time.Duration, 1)
			began := time.Now()
			go func() {
				rig.Call(t, s, key, "GET", "/v2/events?wait=30", "")
				answered <- time.Since(began)
			}()
			return answered
		}
		mine := ask(key)
		mine2 := ask(key)
		theirs := ask(stranger)
		time.Sleep(7 * time.Second)
		rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1))
		if a, b, c := <-mine, <-mine2, <-theirs; a != 7*time.Second || b != a || c != 30*time.Second {
			t.Errorf("answered after %v, %v and, to another partner, %v", a, b, c)
		}
		left := ask(stranger)
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan bool)
		go func() {
			r := httptest.NewRequestWithContext(ctx, "GET", "/v2/events?wait=30", nil)
			r.Header.Set("x-api-key", stranger)
			s.ServeHTTP(httptest.NewRecorder(), r)
			close(gone)
		}()
		synctest.Wait()
		leave()
		<-gone
		time.Sleep(time.Second)
		s.Drain()
		if d := <-left; d != time.Second {
			t.Errorf("a server that drains answers after %v", d)
		}
		rig.CompareWithReplay(t, s, dir, false)
		s.Close()
	})
}

// keyed sends a POST under an Idempotency-Key.
func keyed(s *server.Server, w http.ResponseWriter, key, retry, path, body string) {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("x-api-key", key)
	r.Header.Set("Idempotency-Key", retry)
	s.ServeHTTP(w, r)
}

// Decision idempotency.key: of requests that come at the same time under one key one runs; the others are
// told so, and may come again.
func TestOfConcurrentRequestsUnderOneKeyOneRuns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				return <-answer
			}})
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
		pay := func(action string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			keyed(s, w, key, "k", "/v2/bookings/"+b.ID+action, "")
			return w
		}
		first := make(chan *httptest.ResponseRecorder, 1)
		go func() { first <- pay("/pay") }()
		synctest.Wait()
		if w := pay("/pay"); w.Code != 409 {
			t.Errorf("while the first is running: %d %s", w.Code, w.Body)
		}
		if w := pay("/book"); w.Code != 422 {
			t.Errorf("another request while the first is running: %d %s", w.Code, w.Body)
		}
		answer <- nil
		w := <-first
		again := pay("/pay")
		if w.Code != 200 || again.Code != 200 ||
			again.Body.String() != w.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d %s, then %d %s", w.Code, w.Body, again.Code, again.Body)
		}
		rig.CompareWithReplay(t, s, dir, false)
		s.Close()
	})
}

// Decision provider.unanswered: a request that a crash cut short while the provider was asked is still
// running until the answer; then its key gets the answer, and no ticket is asked about twice.
func TestARequestThatACrashCutShortGoesOnUnderItsKey(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		asked := 0
		cfg := server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				asked++
				return <-answer
			}}
		s, key := rig.Demo(t, cfg)
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
		pay := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			keyed(s, w, key, "k", "/v2/bookings/"+b.ID+"/pay", "")
			return w
		}
		go pay()
		synctest.Wait()
		copied := filepath.Join(t.TempDir(), "crashed")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		answer <- nil
		synctest.Wait()
		s.Close()
		cfg.Dir = copied
		s, err := server.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w := pay(); w.Code != 409 || asked != 2 {
			t.Errorf("asked %d times; while it is asked again: %d %s", asked, w.Code, w.Body)
		}
		answer <- nil
		synctest.Wait()
		if w := pay(); w.Code != 200 || asked != 2 || w.Header().Get("Idempotent-Replayed") != "" {
			t.Errorf("asked %d times; after the answer: %d %s", asked, w.Code, w.Body)
		}
		if w := pay(); w.Code != 200 || asked != 2 || w.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("asked %d times; once more: %d %s", asked, w.Code, w.Body)
		}
		rig.CompareWithReplay(t, s, copied, true)
		s.Close()
	})
}

// Decision idempotency.key: a key has 1 to 255 visible characters, in double quotes, as RFC 9651 has strings,
// or without.
func TestKeysOfRequests(t *testing.T) {
	documented := rig.Object(rig.Specification, "components", "parameters", "IdempotencyKey", "schema")
	long := strings.Repeat("k", 255)
	for given, want := range map[string]string{
		"a":               "a",
		`"a"`:             "a",
		" ":               " ",
		long:              long,
		`"` + long + `"`:  long,
		`"a\"b\\"`:        `a"b\`,
		`a\b`:             `a\b`,
		"":                "",
		`""`:              "",
		long + "k":        "",
		`"` + long + `k"`: "",
		`"a`:              "",
		`"a"b"`:           "",
		`"a\b"`:           "",
		`"`:               "",
		"a\x7f":           "",
		"ключ":            "",
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header["Idempotency-Key"] = []string{given}
		if key, err := partner.IdempotencyKeyOf(r); key != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", given, key, err)
		}
		if refused := len(rig.Valid(documented, "", given).Problems) > 0; refused != (want == "") {
			t.Errorf("%q: refused by the document: %t", given, refused)
		}
	}
}

// A ticket that the provider was asked about is not Uncompleted before the answer; a refusal after its window
// is noted.
func TestARefusalAfterTheWindowIsNoted(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				return <-answer
			}})
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
		time.Sleep(21 * time.Minute)
		if n := eventTypes(t, s, key); !slices.Equal(n, []string{"booking.created"}) {
			t.Errorf("while it is asked: %q", n)
		}
		answer <- errors.New("no")
		synctest.Wait()
		if n := eventTypes(t, s, key); !slices.Equal(n, []string{"booking.created", "ticket.uncompleted"}) {
			t.Errorf("after the refusal: %q", n)
		}
		rig.CompareWithReplay(t, s, dir, false)
		s.Close()
	})
}

func eventTypes(t *testing.T, s *server.Server, key string) (types []string) {
	r := httptest.NewRequest("GET", "/v2/events?take=100", nil)
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var doc struct {
		Data struct{ Events []struct{ Type string } }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range doc.Data.Events {
		types = append(types, e.Type)
	}
	return types
}

// A server that closes while it asks again leaves the question open: the next start asks it, under the same
// id.
func TestAServerThatClosesWhileItAsksAgainLeavesTheQuestionOpen(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		silent := func(ctx context.Context, c provider.Confirmation) error {
			keys = append(keys, c.Key)
			<-ctx.Done()
			return ctx.Err()
		}
		cfg := server.Config{Dir: dir, Now: rig.BubbleClock(), Confirm: silent}
		s, key := rig.Demo(t, cfg)
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
		synctest.Wait()
		cfg.Dir = filepath.Join(t.TempDir(), "crashed")
		if err := os.CopyFS(cfg.Dir, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(provider.ConfirmTime)
		s.Close()
		for range 2 {
			s, err := server.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			s.Close()
		}
		cfg.Confirm = func(_ context.Context, c provider.Confirmation) error {
			keys = append(keys, c.Key)
			return nil
		}
		s, err := server.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n := eventTypes(t, s, key)
		if len(slices.Compact(keys)) != 1 || len(n) != 2 || n[1] != "ticket.paid" {
			t.Errorf("asked under %q; %q", keys, n)
		}
		s.Close()
	})
}

// What got no answer that decides is asked again under the same id, across a restart too; after a refusal, or
// for another action, under a new one.
func TestAQuestionWithoutAnAnswerKeepsItsID(t *testing.T) {
	dir := t.TempDir()
	var keys []string
	says := error(nil)
	cfg := server.Config{Dir: dir, Confirm: func(_ context.Context, c provider.Confirmation) error {
		keys = append(keys, c.Key)
		return says
	}}
	s, key := rig.Demo(t, cfg)
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
	silence := errors.New("timeout")
	no := fmt.Errorf("no: %w", outbound.ErrRefused)
	for _, step := range []struct {
		action string
		says   error
		status int
	}{{"pay", silence, 500}, {"pay", silence, 500}, {"pay", no, 500}, {"pay", silence, 500},
		{"book", silence, 500}, {"book", nil, 200}, {"pay", nil, 200}} {
		says = step.says
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/"+step.action,
			""); a.Status != step.status {
			t.Errorf("%s: %+v", step.action, a)
		}
		rig.CompareWithReplay(t, s, dir, true)
		s.Close()
		s, _ = rig.Demo(t, cfg)
	}
	s.Close()
	k := keys
	if len(k) != 7 || k[0] != k[1] || k[1] != k[2] || k[2] == k[3] || k[3] == k[4] ||
		k[4] != k[5] || k[5] == k[6] {
		t.Errorf("asked under %q", keys)
	}
}

// again is a client that repeats its request as soon as it sees the answer.
type again struct {
	*httptest.ResponseRecorder
	repeat func()
}

func (w again) WriteHeader(status int) { w.ResponseRecorder.WriteHeader(status); w.repeat() }

// Decision idempotency.key: who has the answer may send the request again, and gets the answer again.
func TestARequestMayComeAgainAsSoonAsItIsAnswered(t *testing.T) {
	s, key := rig.Demo(t, server.Config{Dir: t.TempDir()})
	defer s.Close()
	send := func(w http.ResponseWriter, path, body string) {
		keyed(s, w, key, path+body[:min(2, len(body))], path, body)
	}
	twice := func(path, body string) (id string) {
		first := httptest.NewRecorder()
		second := httptest.NewRecorder()
		send(again{first, func() { send(second, path, body) }}, path, body)
		if second.Header().Get("Idempotent-Replayed") != "true" || second.Code != first.Code ||
			second.Body.String() != first.Body.String() {
			t.Errorf("%s: %d, then %d %s", path, first.Code, second.Code, second.Body)
		}
		var a rig.Answer
		json.Unmarshal(first.Body.Bytes(), &a)
		return a.Data.Booking.ID
	}
	id := twice("/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1))
	twice("/v2/bookings/"+id+"/pay", "")
	twice("/v2/bookings/"+id+"/pay", "{}") // a conflict
	twice("/v2/bookings/"+id+"/cancel", "")
	var wg sync.WaitGroup
	for range 50 { // also several at once
		wg.Go(func() {
			w := httptest.NewRecorder()
			if send(w, "/v2/bookings/"+id+"/cancel", ""); w.Code != 200 ||
				w.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	wg.Wait()
}

// Decision idempotency.key: a 409 that only says that the provider has yet to answer is not kept.
func TestAConflictThatPassesIsNotKept(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				return <-answer
			}})
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
		synctest.Wait()
		cancel := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			keyed(s, w, key, "c", "/v2/bookings/"+b.ID+"/cancel", "")
			return w
		}
		if w := cancel(); w.Code != 409 {
			t.Errorf("while it is asked: %d %s", w.Code, w.Body)
		}
		answer <- nil
		synctest.Wait()
		if w := cancel(); w.Code != 200 {
			t.Errorf("after the answer: %d %s", w.Code, w.Body)
		}
		s.Close()
	})
}
