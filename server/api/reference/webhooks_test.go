package reference_test

import (
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

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
	for status := range rig.Object(rig.Specification, "webhooks", "confirmTicket", "post", "responses") {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			c, listed := cases[status]
			if !listed {
				t.Fatal("there is no case for it")
			}
			p := rig.NewPeer(t, rig.Always(c.status))
			s, key := rig.Demo(t, server.Config{ProviderURL: p.URL})
			b := rig.Call(t, s, key, "POST", "/v2/bookings",
				rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
			a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/book", "")
			calls := p.Sent()
			if (a.Status == 200) != (status == "2XX") || len(calls) != c.calls {
				t.Errorf("%d calls, %+v", len(calls), a)
			}
			for _, x := range calls {
				x.Documented(t, "confirmTicket")
			}
		})
	}
}
