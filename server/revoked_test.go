package server_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"waybill/server/lab/rig"
)

// late is a body of which only a part has come when something happens.
type late struct {
	io.Reader
	happens func()
}

func (b *late) Read(p []byte) (int, error) {
	if b.happens != nil {
		b.happens()
		b.happens = nil
	}
	return b.Reader.Read(p)
}

// Decision partners.keys: an act is refused if the key was revoked, the session ended, or the role taken
// away, while its body was on its way.
func TestNobodyActsWithWhatWasRevokedMeanwhile(t *testing.T) {
	const revoked = "admin partner-revoke name=anna"
	const removed = "admin user-remove email=olena@zorevia.example.com"
	const demoted = "admin user-add email=olena@zorevia.example.com company=zorevia-lines role=VIEWER"
	for _, c := range []struct {
		name, request, key, step string
		want                     int
	}{
		{"create", `POST /v2/bookings {"offerId":"$offer","currency":"UAH",` +
			`"passengers":[{"firstName":"A","lastName":"B"}]}`, "", revoked, 401},
		{"create with a key", `POST /v2/bookings {"offerId":"$offer","currency":"UAH",` +
			`"passengers":[{"firstName":"A","lastName":"B"}]}`, "k", revoked, 401},
		{"create, legacy", `POST /rest/orders {"offerId":"$offer","currency":"UAH",` +
			`"passengers":[{"firstName":"A","lastName":"B"}]}`, "", revoked, 403},
		{"a replay", `POST /v2/bookings {"offerId":"$offer","currency":"UAH",` +
			`"passengers":[{"firstName":"A","lastName":"B"}]}`, "sold", revoked, 401},
		{"another request under its key", `POST /v2/bookings {}`, "sold", revoked, 401},
		{"pay", `POST /v2/bookings/$b/pay {}`, "", revoked, 401},
		{"book", `POST /v2/bookings/$b/book {}`, "k", revoked, 401},
		{"cancel", `POST /v2/bookings/$b/cancel {}`, "k", revoked, 401},
		{"a refusal", `POST /v2/bookings/$canceled/cancel {}`, "k", revoked, 401},
		{"a preview", `POST /v2/bookings/$b/cancel/preview {}`, "", revoked, 401},
		{"pay, legacy", `PATCH /rest/orders {"ordersIds":["$t"],"paymentStatus":"Paid"}`, "", revoked, 403},
		{"geolocation", `PATCH /v2/geolocation/fms-objects/fms-zor-02 {"isGeolocation":true}`, "", removed, 401},
		{"geolocation, of a VIEWER now",
			`PATCH /v2/geolocation/fms-objects/fms-zor-02 {"isGeolocation":true}`, "", demoted, 403},
		{"a report", `POST /v2/reports/company/orders ` +
			`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}`, "", removed, 401},
		{"a report, of a VIEWER now", `POST /v2/reports/company/orders ` +
			`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}`, "", demoted, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				o := rig.NewOffice(t, dir)
				o.Steps(`
partner anna
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25
    200
    offer = data.offers[0].id
with Idempotency-Key: sold
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"A","lastName":"B"}]}
    201
    canceled = data.booking.id
POST /v2/bookings/$canceled/cancel {}
    200
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"A","lastName":"B"}]}
    201
    b = data.booking.id
    t = data.booking.tickets[0].id
GET /rest/orders
    200
rest`)
				lines := strings.Count(rig.JournalText(t, dir), "\n")
				request, err := o.Expand(c.request)
				if err != nil {
					t.Fatal(err)
				}
				words := strings.SplitN(request, " ", 3)
				r := httptest.NewRequest(words[0], words[1], &late{strings.NewReader(words[2]), func() {
					o.Play(c.step)
				}})
				r.Header.Set("x-api-key", o.Vars["anna"])
				if c.key != "" {
					r.Header.Set("Idempotency-Key", c.key)
				}
				o.SendCookies(r)
				w := httptest.NewRecorder()
				o.S.ServeHTTP(w, r)
				if w.Code != c.want {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				synctest.Wait()
				if n := strings.Count(rig.JournalText(t, dir), "\n") - lines; n != 1 {
					t.Errorf("%d lines were written, want that of the revocation alone", n)
				}
				o.Finish()
			})
		})
	}
}

// Who waits for events with a key that is revoked meanwhile hears of none that came after.
func TestNobodyHearsWithAKeyThatWasRevokedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Steps(`
partner anna
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"A","lastName":"B"}]}
    201
    b = data.booking.id
rest`)
		r := httptest.NewRequest("GET", "/v2/events?after=1&wait=30", nil)
		r.Header.Set("x-api-key", o.Vars["anna"])
		w := httptest.NewRecorder()
		answered := make(chan bool)
		go func() {
			o.S.ServeHTTP(w, r)
			close(answered)
		}()
		synctest.Wait()
		o.Steps(`
admin partner-revoke name=anna
admin forget booking=$b reason=asked`)
		<-answered
		if w.Code != 401 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		o.Finish()
	})
}
