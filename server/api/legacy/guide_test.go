package legacy_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
)

// Decision legacy.sunset: -legacy-since, another day of deprecation than the directory's creation.
func TestLegacySince(t *testing.T) {
	since := time.Date(2026, 6, 1, 15, 0, 0, 500e6, time.FixedZone("", 3*60*60))
	s, key := rig.Demo(t, server.Config{LegacySince: since})
	w := rig.Ask(s, key, "GET", "/rest/orders", "")
	if w.Code != 200 { // the partner is younger
		t.Fatal(w.Code, w.Body)
	}
	d, u := w.Header().Get("Deprecation"), w.Header().Get("Sunset")
	if d != "@1780315200" || u != "Sun, 30 Aug 2026 12:00:00 GMT" {
		t.Error(d, u)
	}
}

// The guide's examples do what it says.
func TestMigrationGuideExamples(t *testing.T) {
	t.Parallel()
	day := rig.Start.AddDate(0, 0, 2).Format(time.DateOnly)
	for _, m := range rig.Migrations(t) {
		for _, x := range []rig.Example{m.Before, m.After} {
			s, key := rig.Demo(t, server.Config{})
			offers := rig.Ask(s, key, "GET",
				"/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate="+day, "").Body.String()
			vars := []string{"$DATE", day, "$OFFER",
				regexp.MustCompile(`"offers":\[{"id":"([^"]+)`).FindStringSubmatch(offers)[1]}
			if x.Method+x.Path != "POST/rest/orders" && x.Method+x.Path != "POST/v2/bookings" {
				body := strings.NewReplacer(vars...).Replace(`{"offerId":"$OFFER","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`)
				ids := regexp.MustCompile(`"booking":{"id":"([^"]+)".*"tickets":\[{"id":"([^"]+)"`).FindStringSubmatch(rig.Ask(s, key, "POST", "/v2/bookings", body).Body.String())
				vars = append(vars, "$BOOKING", ids[1], "$TICKET", ids[2])
			}
			fill := strings.NewReplacer(vars...)
			w := rig.Ask(s, key, x.Method, fill.Replace(x.Path), fill.Replace(x.Body))
			if missing := without(t, x.Answer, w.Body.Bytes()); w.Code != x.Status || missing != "" {
				t.Errorf("%s %s: %d, want %d; not as shown: %s\n%s", x.Method, x.Path, w.Code, x.Status,
					missing, w.Body)
			}
		}
	}
}

// without returns what an example shows that an answer has not. Numbers, and strings that start with …, only
// have to be there.
func without(t *testing.T, shown string, answer []byte) string {
	var want, got any
	if err := json.Unmarshal([]byte(shown), &want); err != nil {
		t.Fatal(shown, err)
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, want, got any) string
	walk = func(path string, want, got any) string {
		switch want := want.(type) {
		case map[string]any:
			have, _ := got.(map[string]any)
			for name, v := range want {
				if bad := walk(path+"."+name, v, have[name]); bad != "" {
					return bad
				}
			}
		case []any:
			have, _ := got.([]any)
			for i, v := range want {
				if i >= len(have) {
					return path
				}
				if bad := walk(fmt.Sprintf("%s[%d]", path, i), v, have[i]); bad != "" {
					return bad
				}
			}
		case float64:
			if _, ok := got.(float64); !ok {
				return path
			}
		case string:
			if have, ok := got.(string); !ok || want != "…" && have != want {
				return path
			}
		}
		return ""
	}
	return walk("", want, got)
}

// The page needs nothing but itself: no script, no outside address, and a policy that allows its own style
// only.
func TestMigrationGuidePage(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{LegacySince: time.Date(2026, 6, 1, 15, 0, 0, 0,
		time.FixedZone("", 3*60*60))})
	w := rig.Ask(s, "", "GET", "/docs/migration", "")
	page := w.Body.String()
	policy := w.Header().Get("Content-Security-Policy")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatal(w.Code, w.Header())
	}
	for _, foreign := range []string{"<script", "http://", "https://", "//", " on", "@import", "url(",
		"style="} {
		tag := regexp.MustCompile(`<[^>]*` + regexp.QuoteMeta(foreign) + `[^>]*>`).FindString(page)
		if tag != "" {
			t.Errorf("the page has %s", tag)
		}
	}
	styled := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)
	if styled == nil {
		t.Fatal("the page has no style")
	}
	sum := sha256.Sum256([]byte(styled[1]))
	if !strings.Contains(policy, "default-src 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("policy %s", policy)
	}
	text := html.UnescapeString(page)
	for _, m := range rig.Migrations(t) {
		for _, want := range []string{m.Old, m.New, m.What, m.Change, m.Before.Path, m.Before.Answer,
			m.After.Path, m.After.Answer} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not have %s", want)
			}
		}
	}
	shown := regexp.MustCompile(`(?m) -d (.*?)(</code>|$)`).FindAllStringSubmatch(page, -1)
	if len(shown) != 8 {
		t.Errorf("%d examples have bodies", len(shown))
	}
	for _, x := range shown {
		sh := exec.Command("sh", "-c", "printf %s "+html.UnescapeString(x[1]))
		sh.Env = []string{"OFFER=o-1", "TICKET=t-1"}
		if out, err := sh.Output(); err != nil || strings.ContainsAny(string(out), "$'") || !json.Valid(out) {
			t.Errorf("a shell makes of %s: %s, %v", x[1], out, err)
		}
	}
	for _, want := range []string{"since <strong>Mon, 01 Jun 2026 12:00:00 UTC",
		"not before <strong>Sun, 30 Aug 2026 12:00:00 UTC", "<code>price</code>, <code>seats</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
}
