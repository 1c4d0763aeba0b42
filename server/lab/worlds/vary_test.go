package worlds

import (
	"fmt"
	"strings"
	"testing"

	"waybill/server/lab/bench"
	"waybill/server/lab/seed"
)

// varying is a control listener of a demo that varies what the interface leaves open.
func varying(t *testing.T) *control {
	return startControl(t, bench.Settings{
		TestClock: true,
		StartAt:   start,
		Frozen:    true,
		Seed:      seed.New(4),
		Watch:     true,
		Vary:      true,
	})
}

// Decision bench.vary: a world varies as its parent, also a copy of a copy.
func TestAWorldVariesAsItsParent(t *testing.T) {
	x := varying(t)
	main := member(t, x.call(200, "GET", "/worlds/main", "").body, "data", "world", "baseUrl").(string)
	booking := "/v2/bookings/" + x.book(main)
	want := x.ask("GET", main+booking, "").body
	a := x.world("a", "main")
	for _, base := range []string{a, x.world("b", "a")} {
		if got := x.ask("GET", base+booking, "").body; got != want {
			t.Errorf("%s, and of its parent %s", got, want)
		}
	}
	if strings.HasPrefix(want, `{"data":{"booking":{"id":`) {
		t.Errorf("nothing varies: %s", want)
	}
}

// Decision bench.vary: a rule of faults finds what varies as it does anything else. What is cut is what would
// have been sent, what a rule answers is as the rule has it, and a request is remembered as it was sent.
func TestFaultsOfAServerThatVaries(t *testing.T) {
	x := varying(t)
	a := x.faulty("a", `[{"on":"GET /v2/bookings/{id}","skip":1,"times":1,"do":"delay","for":"1ms"},`+
		`{"on":"GET /v2/bookings/{id}","skip":2,"times":1,"do":"cut","bytes":40},`+
		`{"on":"GET /v2/bookings/{id}","skip":3,"do":"status","status":503}]`)
	id := x.book(a)
	target := a + "/v2/bookings/" + id
	whole := x.ask("GET", target, "")
	late := x.ask("GET", target, "")
	if late.body != whole.body || late.Header.Get("Waybill-Fault") != "1" ||
		whole.Header.Get("Waybill-Fault") != "" {
		t.Errorf("late: %v %s", late.Header, late.body)
	}
	cut := x.ask("GET", target, "")
	if cut.err == nil || cut.body != whole.body[:40] || cut.Header.Get("Waybill-Fault") != "2" ||
		cut.ContentLength != int64(len(whole.body)) {
		t.Errorf("cut: %v %v %s", cut.err, cut.Response, cut.body)
	}
	made := x.ask("GET", target, "")
	const says = `{"errors":[{"message":"the server is starting or stopping; try again","errorCode":"UNAVAILABLE"}]}`
	if made.body != says+"\n" || made.Header.Get("Waybill-Fault") != "3" {
		t.Errorf("made: %v %s", made.Header, made.body)
	}
	list := x.call(200, "GET", "/worlds/a/requests", "").body
	if want := fmt.Sprintf(`"path":"/v2/bookings/%s"`, id); !strings.Contains(list, want) {
		t.Errorf("%s has no %s", list, want)
	}
}
