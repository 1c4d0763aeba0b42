package desk_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

// Decision desk.feedids: a trip is found and shown by the id that the feed has for it, wherever the desk
// names a trip; its form for addresses finds it too.
func TestATripIsFoundAndShownByTheFeedsId(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	const named = "Kyiv: 1/2"
	safe := "~" + base64.RawURLEncoding.EncodeToString([]byte(named))
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{named, "k", "Kyiv", "Lviv", "12:00:00", "15:00:00"},
		{"short", "k", "Kyiv", "Lviv", "13:00:00", "15:00:00"},
	})
	to := "/run?" + url.Values{"trip": {safe}, "date": {"2026-11-20"}}.Encode()
	for _, query := range []string{named, "kyiv: 1/2", safe} {
		if got := o.leads(query); got != to {
			t.Errorf("%s leads to %s, want %s", query, got, to)
		}
	}
	o.lists("/runs?date=2026-11-21&q="+url.QueryEscape("1/2"), named+" Sat 21 Nov 12:00")
	o.lacks(o.see("/runs"), safe+"</td>")
	o.see(to, "<h1>Trip Kyiv: 1/2 on 2026-11-20</h1>")
	form := url.Values{"trip": {safe}, "date": {"2026-11-20"}, "minutes": {"10"}, "reason": {"snow"}}
	o.post("/act/run-move", form.Encode(), "trip Kyiv: 1/2 on 2026-11-20 leaves 10 minutes later")
	o.see("/", "Trip Kyiv: 1/2 on 2026-11-20")
	if said, err := o.verb("manifest", url.Values{"trip": {named}, "date": {"2026-11-20"}}); err != nil ||
		!strings.Contains(said, "trip Kyiv: 1/2 on 2026-11-20: Kyiv Lines") {
		t.Error(said, err)
	}
}
