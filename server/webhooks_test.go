package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// documented checks a call that Waybill has made against what the document says of a webhook.
func (x peerCall) documented(t *testing.T, webhook string) {
	t.Helper()
	item := object(specification, "webhooks", webhook)
	c := &checker{ours: true}
	known := append(slices.Clone(plumbing), "User-Agent")
	for _, p := range elements(item["parameters"]) {
		p := resolve(p)
		name := http.CanonicalHeaderKey(p["name"].(string))
		c.check(p["schema"], webhook, x.header.Get(name), name)
		known = append(known, name)
	}
	for name, values := range x.header {
		if !slices.Contains(known, name) || len(values) != 1 {
			c.fail("header", "%s is %q", name, values)
		}
	}
	var body any
	if err := json.Unmarshal([]byte(x.body), &body); err != nil {
		c.fail("body", "is no JSON: %v", err)
	}
	media := x.header.Get("Content-Type")
	c.check(object(item, "post", "requestBody", "content", media)["schema"], webhook, body, "body")
	for _, problem := range c.problems {
		t.Errorf("%s: not as the document says: %s", webhook, problem)
	}
}

// The statuses of the document mean what they say: a provider that answers so is asked as often.
func TestStatusesOfWebhooksAreAsDocumented(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ status, calls int }{
		"2XX":     {202, 1},
		"4XX":     {404, 1},
		"408":     {408, 3},
		"425":     {425, 3},
		"429":     {429, 3},
		"default": {302, 3},
	}
	for status := range object(specification, "webhooks", "confirmTicket", "post", "responses") {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			c, listed := cases[status]
			if !listed {
				t.Fatal("there is no case for it")
			}
			p := newPeer(t, always(c.status))
			s, key := demoServer(t, Config{ProviderURL: p.URL})
			b := call(t, s, key, "POST", "/v2/bookings",
				bookingBody(anOffer(t, s, key, bukovel), 1)).Data.Booking
			a := call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/book", "")
			calls := p.sent()
			if (a.status == 200) != (status == "2XX") || len(calls) != c.calls {
				t.Errorf("%d calls, %+v", len(calls), a)
			}
			for _, x := range calls {
				x.documented(t, "confirmTicket")
			}
		})
	}
}
