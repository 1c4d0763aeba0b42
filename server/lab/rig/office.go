package rig

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// Office is a server with a company user who is signed in, in a bubble.
type Office struct {
	*Player
	Logged bytes.Buffer
	Fail   atomic.Bool                 // new files of reports
	Wrap   func(durable.FS) durable.FS // what the next Reopen opens; nil: it as it is
}

type failingFS struct {
	durable.FS
	o *Office
}

func (f failingFS) Create(name string) (durable.File, error) {
	if f.o.Fail.Load() && strings.HasPrefix(name, ledger.ReportDir) {
		return nil, errors.New("no space left")
	}
	return f.FS.Create(name)
}

// NewOffice opens a directory whose new report files can be made to fail.
func NewOffice(t *testing.T, dir string) *Office {
	o := &Office{}
	p := NewPlayer(t, dir, "clock")
	if err := p.S.Close(); err != nil {
		t.Fatal(err)
	}
	o.Player = p
	o.Reopen()
	o.Steps(`
user email=olena@zorevia.example.com first-name=Olena last-name=Kovalenko password=correct-horse company=zorevia-lines role=ADMIN
admin idtoken email=olena@zorevia.example.com
    token = $out
browser office
POST /v2/auth/idp/login {"idToken":"$token"}
    200`)
	return o
}

// Reopen opens the directory once more.
func (o *Office) Reopen() {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var fsys durable.FS = failingFS{Unsynced(o.dir), o}
	if o.Wrap != nil {
		fsys = o.Wrap(fsys)
	}
	s, err := server.Open(server.Config{
		Dir: o.dir, FS: fsys, MaxTransfers: 1, Lab: TestClock(),
		Log: slog.New(slog.NewTextHandler(&o.Logged, nil)), Now: func() time.Time {
			return time.Now().Add(Start.Sub(began))
		},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.S = s
}

// Steps plays lines of a transcript.
func (o *Office) Steps(text string) {
	o.t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		o.Play(line)
	}
}

// A directory with an entity of each kind, names that are hostile to files and databases, and people who were
// erased.
const officeScript = `
partner anna
partner o'brien;--,"=1+1" zorevia-lines,vltavia-bus
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate=2026-11-25&currency=EUR
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"EUR","passengers":[{"firstName":"Robert'); drop table tickets;--","lastName":"\\.","phones":[{"phone":"+380501234567"},{"phone":"+380507654321"}]},{"firstName":"=cmd|' /C calc'!A0","lastName":"\"Lesia\", Ї","email":"l@example.com"},{"firstName":" Ivan ","lastName":"NULL"}]}
    201
    b = data.booking.id
    t1 = data.booking.tickets[0].id
    t2 = data.booking.tickets[1].id
    t3 = data.booking.tickets[2].id
POST /v2/bookings/$b/pay {"ticketIds":["$t1","$t2"]}
    200
admin ticket-move ticket=$t3 booking=new
    moved = $out
wait 48h
POST /v2/bookings/$b/cancel {"ticketIds":["$t1"]}
    200
    data.booking.tickets[0].refundAmount ~ .
as anna
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-28&passengers=2
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"To be","lastName":"Erased","email":"erased@example.com","phones":[{"phone":"+380509999999"}]}]}
    201
    c = data.booking.id
GET /rest/orders
    200
admin ticket-status ticket=$t2 status=Prepaid
POST /v2/bookings/$c/book
    200
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-29&passengers=2
    200
    offer = data.offers[0].id
POST /v2/bookings {"offerId":"$offer","currency":"UAH","passengers":[{"firstName":"The same trip","lastName":"on another day"}]}
    201
admin idtoken email=olena@zorevia.example.com
    token = $out
POST /v2/auth/idp/login {"idToken":"$token"}
    200
POST /v2/auth/refresh
    200
POST /v2/reports/company/orders {"startDate":"2026-11-20T00:00:00Z","endDate":"2026-12-20T00:00:00Z"}
    202
rest
admin run-move trip=kl-0700 date=2026-11-30 minutes=10 reason=snow
PATCH /v2/geolocation/fms-objects/fms-zor-02 {"isGeolocation":true}
    200
user email=gone@example.com first-name=Gone last-name=Soon password=correct-horse company=zorevia-lines role=VIEWER
user email=anna@example.com first-name=Anna last-name=Nowak password=correct-horse company=vltavia-bus role=VIEWER
admin user-remove email=gone@example.com
admin partner-revoke name=anna`

// PlayOffice plays the script of an office's day on a new directory, calls beside while the server runs, and
// closes it.
func PlayOffice(t *testing.T, dir string, beside func()) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOffice(t, dir)
		Import(t, o.S,
			FeedWith(t,
				map[string][][2]string{"routes.txt": {{",Kyiv – Warsaw,", `,"Kyiv ""=1+1"", Warsaw",`}}}))
		o.Steps(officeScript)
		beside()
		o.Finish()
	})
}
