package worlds

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
)

// faulty makes a world with rules, and returns its address.
func (x *control) faulty(name, rules string) string {
	x.t.Helper()
	base := x.world(name, "main")
	x.call(200, "PUT", "/worlds/"+name+"/faults", rules)
	return base
}

// counts returns how often each rule of a world was met and applied, as "met/applied" each.
func (x *control) counts(name string) string {
	x.t.Helper()
	var all []string
	body := x.call(200, "GET", "/worlds/"+name+"/faults", "").body
	for i := range member(x.t, body, "data", "faults").([]any) {
		met := member(x.t, body, "data", "faults", i, "met")
		applied := member(x.t, body, "data", "faults", i, "applied")
		all = append(all, fmt.Sprintf("%v/%v", met, applied))
	}
	return strings.Join(all, " ")
}

// status returns the payment status of the n-th ticket of a booking.
func (x *control) status(base, booking string, n int) string {
	x.t.Helper()
	r := x.ask("GET", base+"/v2/bookings/"+booking, "")
	return member(x.t, r.body, "data", "booking", "tickets", n-1, "paymentStatus").(string)
}

// Decision bench.faults: the answer is lost, and what it said is done.
func TestHangUpAfter(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"hangup-after"}]`)
	id := x.book(a)
	if r := x.ask("POST", a+"/v2/bookings/"+id+"/pay", ""); r.err == nil {
		t.Errorf("there is an answer: %s", r.body)
	}
	if got := x.status(a, id, 1); got != "Paid" {
		t.Errorf("the ticket is %s", got)
	}
	if r := x.ask("POST", a+"/v2/bookings/"+id+"/pay", ""); r.err != nil || r.StatusCode != 409 {
		t.Errorf("the next: %v %s", r.err, r.body)
	}
	if got := x.counts("a"); got != "2/1" {
		t.Errorf("met and applied %s, want 2/1", got)
	}
}

// Decision bench.faults: nothing is done.
func TestHangUpBefore(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"hangup-before"}]`)
	id := x.book(a)
	if r := x.ask("POST", a+"/v2/bookings/"+id+"/pay", ""); r.err == nil {
		t.Errorf("there is an answer: %s", r.body)
	}
	if got := x.status(a, id, 1); got != "Unpaid" {
		t.Errorf("the ticket is %s", got)
	}
}

// Decision bench.faults: so many bytes of the body, then the connection ends.
func TestCut(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"GET /v2/cities","do":"cut","bytes":20}]`)
	r := x.ask("GET", a+"/v2/cities", "")
	if r.err == nil || len(r.body) != 20 || r.ContentLength <= 20 || r.Header.Get("Waybill-Fault") != "1" {
		t.Errorf("%v, %d bytes of %d, %v", r.err, len(r.body), r.ContentLength, r.Header)
	}
}

// Decision bench.faults: an answer that a rule made, with the form of the service's own.
func TestStatus(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"GET /v2/stops/{id}","do":"hangup-before"},
		{"on":"GET /v2/cities","skip":1,"times":2,"do":"status","status":503,"retryAfter":7}]`)
	var got []int
	for range 4 {
		r := x.ask("GET", a+"/v2/cities", "")
		got = append(got, r.StatusCode)
		if r.StatusCode != 503 {
			continue
		}
		h := r.Header
		code := member(t, r.body, "errors", 0, "errorCode")
		if h.Get("Retry-After") != "7" || h.Get("Waybill-Fault") != "2" || h.Get("X-Request-Id") == "" ||
			code != "UNAVAILABLE" {
			t.Errorf("%v %s", h, r.body)
		}
	}
	if fmt.Sprint(got) != "[200 503 503 200]" || x.counts("a") != "0/0 4/2" {
		t.Errorf("%v, %s", got, x.counts("a"))
	}
	// Whoever tests is not shut out.
	x.call(200, "PUT", "/worlds/a/faults", `[{"on":"*","do":"status","status":500}]`)
	for path, want := range map[string]int{
		"/readyz":      200,
		"/test/clock":  200,
		"/v2/cities":   500,
		"/rest/orders": 500,
	} {
		if r := x.ask("GET", a+path, ""); r.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, r.StatusCode, want)
		}
	}
}

// Decision bench.faults: what a rule does not say of an answer the service says with that status; a status
// that it never sends has errorCode FAULT.
func TestStatusSaysWhatTheServiceSays(t *testing.T) {
	x := newControl(t)
	a := x.world("a", "main")
	const own = `"errorCode":"OFFER_EXPIRED","message":"too late","details":{"field":"offerId","n":[1, null]}`
	for _, c := range []struct{ status, besides, want, header string }{
		{"400", "", `{"message":"body has the wrong form","errorCode":"VALIDATION_ERROR","details":{"field":"body"}}`, ""},
		{"401", "", `{"message":"AUTH_INVALID_CREDENTIALS","errorCode":"UNAUTHORIZED"}`, ""},
		{"403", "", `{"message":"AUTH_NO_ACCESS","errorCode":"FORBIDDEN"}`, ""},
		{"404", "", `{"message":"RESOURCE_NOT_FOUND","errorCode":"NOT_FOUND"}`, ""},
		{"405", "", `{"message":"the method is not allowed here","errorCode":"METHOD_NOT_ALLOWED"}`, ""},
		{"409", "", `{"message":"a request with this Idempotency-Key is still running; ` +
			`send it again to get its answer","errorCode":"CONFLICT","details":{"reason":"IN_PROGRESS"}}`, "1"},
		{"409", `"details":{"reason":"NO_SEATS"}`, `{"message":"a rule of the test bench made this answer",` +
			`"errorCode":"CONFLICT","details":{"reason":"NO_SEATS"}}`, ""},
		{"409", `"details":[1]`, `{"message":"a request with this Idempotency-Key is still running; ` +
			`send it again to get its answer","errorCode":"CONFLICT","details":[1]}`, "1"},
		{"410", "", `{"message":"the legacy interface has ended for this partner; see the migration guide",` +
			`"errorCode":"GONE","details":{"migrationGuide":"/docs/migration"}}`, ""},
		{"413", "", `{"message":"the body is larger than 256 KiB","errorCode":"BODY_TOO_LARGE"}`, ""},
		{"415", "", `{"message":"the body must be application/json","errorCode":"UNSUPPORTED_MEDIA_TYPE"}`, ""},
		{"422", "", `{"message":"this Idempotency-Key was used for another request; use a new key for each request; ` +
			`if this is a repetition, send what was sent first",` +
			`"errorCode":"IDEMPOTENCY_KEY_REUSED"}`, ""},
		{"429", "", `{"message":"too many attempts","errorCode":"TOO_MANY_REQUESTS"}`, "1"},
		{"429", `"retryAfter":9`, `{"message":"too many attempts","errorCode":"TOO_MANY_REQUESTS"}`, "9"},
		{"500", "", `{"message":"unexpected server error","errorCode":"INTERNAL"}`, ""},
		{"503", "", `{"message":"the server is starting or stopping; try again","errorCode":"UNAVAILABLE"}`, "1"},
		{"502", "", `{"message":"a rule of the test bench made this answer","errorCode":"FAULT"}`, ""},
		{"418", `"retryAfter":2`, `{"message":"a rule of the test bench made this answer","errorCode":"FAULT"}`, "2"},
		{"400", own, `{"message":"too late","errorCode":"OFFER_EXPIRED","details":{"field":"offerId","n":[1, null]}}`, ""},
		{"404", `"details":{}`, `{"message":"RESOURCE_NOT_FOUND","errorCode":"NOT_FOUND","details":{}}`, ""},
		{"400", `"details":["a",{"b":null}]`, `{"message":"body has the wrong form","errorCode":"VALIDATION_ERROR",` +
			`"details":["a",{"b":null}]}`, ""},
		{"504", `"errorCode":"a/../b"`, `{"message":"a rule of the test bench made this answer","errorCode":"a/../b"}`, ""},
	} {
		rule := `{"on":"GET /v2/cities","do":"status","status":` + c.status
		if c.besides != "" {
			rule += "," + c.besides
		}
		put := x.call(200, "PUT", "/worlds/a/faults", "["+rule+"}]")
		if want := rule[:len(rule)-len(c.besides)]; !strings.Contains(put.body, want) {
			t.Errorf("put %s, got %s", rule, put.body)
		}
		r := x.ask("GET", a+"/v2/cities", "")
		got := r.Header
		if fmt.Sprint(r.StatusCode) != c.status || r.body != `{"errors":[`+c.want+"]}\n" ||
			got.Get("Retry-After") != c.header || got.Get("Waybill-Fault") != "1" {
			t.Errorf("%s: %d %v %s", rule, r.StatusCode, got, r.body)
		}
		// An answer names the page of its code, if there is one.
		link := strings.TrimSuffix(got.Get("Link"), `>; rel="help"; type="text/html"`)
		_, page, linked := strings.Cut(link, "<")
		if linked == (strings.Contains(c.want, "FAULT") || strings.Contains(c.want, "a/../b")) {
			t.Errorf("%s: Link %q", rule, got.Get("Link"))
		}
		if linked {
			x.call(204, "DELETE", "/worlds/a/faults", "")
			if r := x.ask("GET", a+page, ""); r.StatusCode != 200 {
				t.Errorf("%s: %d", page, r.StatusCode)
			}
		}
	}
}

// Decision bench.faults: a 409 of pay is one that pay gives, with the tickets that are in the way.
func TestAConflictOfPayNamesTheTickets(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"status","status":409}]`)
	id := x.book(a)
	r := x.ask("POST", a+"/v2/bookings/"+id+"/pay", "")
	paid := x.ask("POST", a+"/v2/bookings/"+id+"/pay", "")
	ticket := member(t, paid.body, "data", "booking", "tickets", 0, "id")
	if r.StatusCode != 409 || member(t, r.body, "errors", 0, "details", "reason") != "IN_PROGRESS" ||
		member(t, r.body, "errors", 0, "details", "ordersIds", 0) != ticket {
		t.Errorf("%d %s, of the ticket %v", r.StatusCode, r.body, ticket)
	}
}

// Decision bench.faults: nothing is done, and a text is answered that need not be the service's.
func TestBody(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"body","status":502,
		"contentType":"text/html; charset=utf-8","text":"<h1>Bad gateway</h1>"},
		{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"body","text":"{"}]`)
	id := x.book(a)
	want := `[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"body","status":502,` +
		`"contentType":"text/html; charset=utf-8","text":"<h1>Bad gateway</h1>","met":0,"applied":0},` +
		`{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"body","text":"{","met":0,"applied":0}]`
	shown := x.call(200, "GET", "/worlds/a/faults", "").body
	if shown != `{"data":{"faults":`+want+"}}\n" {
		t.Error(shown)
	}
	x.call(200, "PUT", "/worlds/a/faults", want) // what is shown can be put back
	for _, c := range []struct {
		status           int
		kind, text, rule string
	}{
		{502, "text/html; charset=utf-8", "<h1>Bad gateway</h1>", "1"},
		{200, "application/json", "{", "2"},
	} {
		r := x.ask("POST", a+"/v2/bookings/"+id+"/pay", "")
		h := r.Header
		if r.StatusCode != c.status || h.Get("Content-Type") != c.kind || r.body != c.text ||
			h.Get("Waybill-Fault") != c.rule || h.Get("X-Request-Id") == "" {
			t.Errorf("%d %v %q", r.StatusCode, h, r.body)
		}
	}
	if got := x.status(a, id, 1); got != "Unpaid" {
		t.Errorf("the ticket is %s", got)
	}
	if got := x.counts("a"); got != "2/1 2/1" {
		t.Errorf("met and applied %s", got)
	}
}

// Decision bench.faults: it is done, and the answer leaves so many bytes at a time.
func TestDrip(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"POST /v2/bookings/{id}/pay","do":"drip","bytes":100,"every":"1ms"}]`)
	id := x.book(a)
	r, err := http.NewRequest("POST", "/v2/bookings/"+id+"/pay", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-api-key", x.key)
	w := newRecorded()
	x.c.find("a").Front.Server.Handler().ServeHTTP(w, r)
	for i, part := range w.parts {
		if len(part) != 100 && (i < len(w.parts)-1 || part == "") {
			t.Errorf("part %d of %d has %d bytes", i+1, len(w.parts), len(part))
		}
	}
	if w.status != 200 || len(w.parts) < 2 || w.header.Get("Waybill-Fault") != "1" ||
		member(t, w.body(), "data", "booking", "id") != id {
		t.Errorf("%d %v %s", w.status, w.header, w.body())
	}
	if got := x.status(a, id, 1); got != "Paid" {
		t.Errorf("the ticket is %s", got)
	}
	// Over a connection it arrives whole; a server that ends does not wait for the rest.
	x.call(200, "PUT", "/worlds/a/faults", `[{"on":"GET /v2/cities","do":"drip","bytes":1,"every":"5m"}]`)
	whole := make(chan reply)
	go func() { whole <- x.ask("GET", a+"/v2/cities", "") }()
	rig.Eventually(t, "the rule is applied", func() bool { return x.counts("a") == "1/1" })
	x.call(204, "DELETE", "/worlds/a", "")
	if r := <-whole; r.err != nil || r.StatusCode != 200 || int64(len(r.body)) != r.ContentLength {
		t.Errorf("%v %d, %d bytes of %d", r.err, r.StatusCode, len(r.body), r.ContentLength)
	}
}

// Decision bench.faults: of real time, and the answer is the service's.
func TestDelay(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"GET /v2/cities","do":"delay","for":"60ms"}]`)
	began := time.Now()
	r := x.ask("GET", a+"/v2/cities", "")
	took := time.Since(began)
	if r.StatusCode != 200 || r.Header.Get("Waybill-Fault") != "1" || took < 60*time.Millisecond {
		t.Errorf("%d %v after %v", r.StatusCode, r.Header, took)
	}
}

// Decision bench.faults: a rule is for one partner, or for all.
func TestRuleOfAPartner(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"*","partner":"anna","do":"status","status":429}]`)
	if r := x.ask("GET", a+"/v2/bookings", ""); r.StatusCode != 429 {
		t.Error(r.StatusCode)
	}
	if r := x.ask("GET", a+"/v2/bookings", "", "x-api-key", "another"); r.StatusCode != 401 {
		t.Error(r.StatusCode)
	}
}

// Decision bench.faults: the provider refuses, or says nothing, of the n-th ticket; there is no provider.
func TestProvider(t *testing.T) {
	for _, deed := range []string{"provider-refuses", "provider-silent"} {
		x := newControl(t)
		a := x.faulty("a", `[{"on":"*","times":1,"do":"`+deed+`","ticket":2}]`)
		id := x.book(a)
		// What asks nobody does not use the rule up.
		x.ask("POST", a+"/v2/bookings/nobody/pay", "")
		r := x.ask("POST", a+"/v2/bookings/"+id+"/pay", "")
		if r.StatusCode != 500 || member(t, r.body, "errors", 0, "errorCode") != "PROVIDER_FAILED" ||
			r.Header.Get("Waybill-Fault") != "1" {
			t.Errorf("%s: %d %v %s", deed, r.StatusCode, r.Header, r.body)
		}
		if x.status(a, id, 1) != "Paid" || x.status(a, id, 2) != "Unpaid" {
			t.Errorf("%s: %s, %s", deed, x.status(a, id, 1), x.status(a, id, 2))
		}
		now := x.ask("GET", a+"/v2/bookings/"+id, "").body
		second := member(t, now, "data", "booking", "tickets", 1, "id")
		r = x.ask("POST", a+"/v2/bookings/"+id+"/pay", fmt.Sprintf(`{"ticketIds":[%q]}`, second))
		if r.StatusCode != 200 || r.Header.Get("Waybill-Fault") != "" || x.counts("a") != "3/1" {
			t.Errorf("%s: then %d %s, %s", deed, r.StatusCode, r.body, x.counts("a"))
		}
	}
}

// Decision bench.kept: what was sent, what is parked and why, of each passenger.
func TestOutbox(t *testing.T) {
	x := newControl(t)
	a := x.faulty("a", `[{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"message-fails","ticket":2}]`)
	first := x.book(a)
	if r := x.ask("POST", a+"/v2/bookings/"+first+"/pay", ""); r.StatusCode != 200 ||
		r.Header.Get("Waybill-Fault") != "" {
		t.Fatal(r.body)
	}
	x.ask("POST", a+"/v2/bookings/"+x.book(a)+"/pay", "")
	body := x.call(200, "GET", "/worlds/a/outbox", "").body
	var got []string
	for i := range member(t, body, "data", "messages").([]any) {
		m := func(name string) any { return member(t, body, "data", "messages", i, name) }
		said := fmt.Sprint(m("kind"), " ", m("to"), " ", m("state"), " ", m("as"), " ", m("reason"))
		got = append(got, said)
		if m("text") == "" || m("ticketId") == "" || (m("kind") == "mail") != (m("subject") != "") {
			t.Errorf("message %d of %s", i, body)
		}
	}
	want := []string{
		"mail lesia@example.com sent file <nil>",
		"text +380441234567 sent text <nil>",
		"mail ivan@example.com parked <nil> a rule of the test bench: refused for good",
		"mail lesia@example.com sent file <nil>",
		"text +380441234567 sent text <nil>",
		"mail ivan@example.com sent file <nil>",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
	if got := x.counts("a"); got != "2/1" {
		t.Error(got)
	}
	// It fails once: who has it tried again is not refused.
	again := &admin.Act{By: admin.Self(), Form: url.Values{"message": {"all"}}, Out: io.Discard}
	if err := x.c.find("a").Front.Server.Admin.Do("outbox-retry", again); err != nil {
		t.Fatal(err)
	}
	if body := x.call(200, "GET", "/worlds/a/outbox", "").body; strings.Contains(body, `"parked"`) {
		t.Error(body)
	}
}

// Decision bench.kept: the last 200 requests, the oldest first.
func TestRequests(t *testing.T) {
	x := newControl(t)
	a := x.world("a", "main")
	for range 199 {
		x.ask("GET", a+"/v2/cities", "")
	}
	x.ask("GET", a+"/v2/bookings/nobody", "", "X-Request-Id", "mine")
	x.ask("GET", a+"/v2/bookings", "", "x-api-key", "another")
	body := x.call(200, "GET", "/worlds/a/requests", "").body
	list := member(t, body, "data", "requests").([]any)
	if len(list) != 200 {
		t.Fatalf("%d requests", len(list))
	}
	last := list[198].(map[string]any)
	want := map[string]any{
		"at": "2026-11-20T08:00:00.000Z", "method": "GET", "path": "/v2/bookings/nobody", "query": "",
		"headers": map[string]any{
			"Accept-Encoding": []any{"gzip"},
			"Connection":      []any{"close"},
			"User-Agent":      []any{"Go-http-client/1.1"},
			"X-Request-Id":    []any{"mine"},
		},
		"body": "", "status": 404.0, "errorCode": "NOT_FOUND", "requestId": "mine", "partner": "anna",
		"took": "0s",
	}
	if fmt.Sprint(last) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", last, want)
	}
	if next := list[199].(map[string]any); next["partner"] != nil || next["status"] != 401.0 {
		t.Error(next)
	}
}

// Decision bench.faults: bad rules are 400, each mistake is named, and the old rules stay.
func TestBadRules(t *testing.T) {
	x := newControl(t)
	x.faulty("a", `[{"on":"*","do":"hangup-after"}]`)
	for rule, field := range map[string]string{
		`{"on":"*"}`:            "[0].do",
		`{"do":"hangup-after"}`: "[0].on",
		`{"on":"POST /v2/booking","do":"hangup-after"}`:          "[0].on",
		`{"on":"POST /v2/bookings/abc/pay","do":"hangup-after"}`: "[0].on",
		`{"on":"*","do":"explode"}`:                              "[0].do",
		`{"on":"*","do":"status"}`:                               "[0].status",
		`{"on":"*","do":"status","status":200}`:                  "[0].status",
		`{"on":"*","status":399,"do":"status"}`:                  "[0].status",
		`{"on":"*","do":"status","status":409,"errorCode":""}`:   "[0].errorCode",
		`{"on":"*","do":"status","status":409,"message":7}`:      "[0].message",
		`{"on":"*","do":"status","status":409,"text":"x"}`:       "[0].text",
		`{"on":"*","do":"body"}`:                                 "[0].text",
		`{"on":"*","do":"body","text":"","status":199}`:          "[0].status",
		`{"on":"*","do":"body","text":"","contentType":"a\nb"}`:  "[0].contentType",
		`{"on":"*","do":"body","text":"","message":"x"}`:         "[0].message",
		`{"on":"*","do":"drip","bytes":1}`:                       "[0].every",
		`{"on":"*","do":"drip","every":"1s"}`:                    "[0].bytes",
		`{"on":"*","do":"drip","every":"1s","bytes":0}`:          "[0].bytes",
		`{"on":"*","do":"drip","every":"0s","bytes":1}`:          "[0].every",
		`{"on":"*","do":"delay","for":"1s","every":"1s"}`:        "[0].every",
		`{"on":"*","do":"status","status":503,"retryAfter":-1}`:  "[0].retryAfter",
		`{"on":"*","do":"delay"}`:                                "[0].for",
		`{"on":"*","do":"delay","for":"1y"}`:                     "[0].for",
		`{"on":"*","do":"delay","for":"11m"}`:                    "[0].for",
		`{"on":"*","do":"cut"}`:                                  "[0].bytes",
		`{"on":"*","do":"cut","bytes":-1}`:                       "[0].bytes",
		`{"on":"*","do":"hangup-after","bytes":1}`:               "[0].bytes",
		`{"on":"*","do":"hangup-after","times":0}`:               "[0].times",
		`{"on":"*","do":"hangup-after","skip":-1}`:               "[0].skip",
		`{"on":"*","do":"hangup-after","skip":"1"}`:              "[0].skip",
		`{"on":"*","do":"hangup-after","partner":"nobody"}`:      "[0].partner",
		`{"on":"*","do":"hangup-after","colour":"red"}`:          "[0].colour",
		`{"on":"GET /v2/cities","do":"provider-refuses"}`:        "[0].on",
		`{"on":"*","do":"message-fails","ticket":0}`:             "[0].ticket",
		`1`: "[0]",
		strings.Repeat(`{"on":"*","do":"cut","bytes":1},`, 100) + `{"on":"*","do":"cut","bytes":1}`: "body",
	} {
		r := x.call(400, "PUT", "/worlds/a/faults", "["+rule+"]")
		if got := member(t, r.body, "errors", 0, "details", "field"); got != field {
			t.Errorf("%.80s: %v, want %s: %s", rule, got, field, r.body)
		}
	}
	want := `{"data":{"faults":[{"on":"*","do":"hangup-after","met":0,"applied":0}]}}` + "\n"
	if body := x.call(200, "GET", "/worlds/a/faults", "").body; body != want {
		t.Error(body)
	}
	x.call(204, "DELETE", "/worlds/a/faults", "")
	if body := x.call(200, "GET", "/worlds/a/faults", "").body; body != `{"data":{"faults":[]}}`+"\n" {
		t.Error(body)
	}
}

// A client that tries again under an Idempotency-Key ends with one booking, paid once, however often the
// answer is lost.
func TestAClientThatTriesAgainEndsWithOneBooking(t *testing.T) {
	x := newControl(t)
	const lost = 100
	a := x.faulty("a", fmt.Sprintf(`[{"on":"POST /v2/bookings","times":%[1]d,"do":"hangup-after"},
		{"on":"POST /v2/bookings/{id}/pay","times":%[1]d,"do":"hangup-after"}]`, lost))
	try := func(path, body, key string) reply {
		for n := 1; ; n++ {
			r := x.ask("POST", a+path, body, "Idempotency-Key", key)
			if r.err == nil {
				if n != lost+1 {
					t.Errorf("%s is answered at the try %d", path, n)
				}
				return r
			}
		}
	}
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`, x.offer(a), passengers)
	r := try("/v2/bookings", body, "book")
	id := member(t, r.body, "data", "booking", "id").(string)
	if r = try("/v2/bookings/"+id+"/pay", "", "pay"); r.StatusCode != 200 {
		t.Error(r.body)
	}
	if got := x.bookings(a); got != 1 {
		t.Errorf("%d bookings", got)
	}
	outbox := x.call(200, "GET", "/worlds/a/outbox", "").body
	if got := len(member(t, outbox, "data", "messages").([]any)); got != 3 {
		t.Errorf("%d messages, want 3", got)
	}
}

// Eight worlds at once are as eight servers.
func TestEightWorldsAtOnce(t *testing.T) {
	x := newControl(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("w%d", i)
			base := x.world(name, "main")
			for n := range i + 1 {
				x.ask("POST", base+"/v2/bookings/"+x.book(base)+"/pay", "")
				if got := x.bookings(base); got != n+1 {
					t.Errorf("%s has %d bookings, want %d", name, got, n+1)
				}
			}
			x.call(200, "PUT", "/worlds/"+name, `{"from":"main"}`)
			if got := x.bookings(base); got != 0 {
				t.Errorf("%s has %d bookings after a reset", name, got)
			}
			x.call(204, "DELETE", "/worlds/"+name, "")
		})
	}
	wg.Wait()
}
