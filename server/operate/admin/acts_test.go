package admin_test

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/history"
	"waybill/store/durable"
)

// Decision acts.by: each line that an administrative act writes says who did it, and no other line does.
func TestLinesOfAdministrativeActsSayWhoDidThem(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 2)).Data.Booking
	feed, _ := filepath.Abs("../../../testdata/demo")
	acts := []struct {
		op   string
		form url.Values
		kind string
	}{
		{"import", url.Values{"feed": {feed}}, "timetable.imported"},
		{"partner-add", url.Values{"name": {"new"}}, "partner.key_added"},
		{"partner-revoke", url.Values{"name": {"new"}}, "partner.revoked"},
		{"ticket-move", url.Values{"ticket": {b.Tickets[0].ID}, "booking": {"new"}}, "ticket.moved"},
		{"ticket-status", url.Values{"ticket": {b.Tickets[0].ID}, "status": {"Prepaid"}}, "ticket.carrier"},
		{"rotate-keys", nil, "keys.rotated"},
		{"user-add", url.Values{
			"email":      {"a@example.com"},
			"first-name": {"A"},
			"last-name":  {"B"},
			"password":   {"secret"},
			"company":    {"zorevia-lines"},
			"role":       {"ADMIN"},
		}, "user.added"},
		{"user-add", url.Values{"email": {"a@example.com"}, "company": {"wislovia-coach"}, "role": {"ADMIN"}}, "user.access_given"},
		{"user-remove", url.Values{"email": {"a@example.com"}}, "user.removed"},
		{"forget", url.Values{"booking": {b.ID}, "reason": {"asked"}}, "personal.erased"},
	}
	const by = `"by":{"uid":1000,"user":"olena","login":"root"}`
	olena := ledger.By{UID: 1000, User: "olena", Login: "root"}
	for _, a := range acts {
		before := strings.Count(rig.JournalText(t, dir), by)
		err := s.Admin.Do(a.op, &admin.Act{
			By:   olena,
			Form: a.form,
			Out:  new(strings.Builder),
		})
		if err != nil {
			t.Fatalf("%s: %v", a.op, err)
		}
		text := rig.JournalText(t, dir)
		if !regexp.MustCompile(`"type":"`+regexp.QuoteMeta(a.kind)+`","data":{[^\n]*`+
			regexp.QuoteMeta(by)).MatchString(text) || strings.Count(text, by) != before+1 {
			t.Errorf("%s writes no line of the type %s with %s", a.op, a.kind, by)
		}
	}
	var out strings.Builder
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := history.Log(durable.Dir(dir), false, history.Filter{}, history.Style{}, &out)
	if err != nil || strings.Count(out.String(), "; by olena (1000), logged in as root\n") != len(acts) {
		t.Errorf("%v\n%s", err, &out)
	}
	byItself := []string{"opened", "booking.created", "tickets.uncompleted"}
	for line := range strings.Lines(rig.JournalText(t, dir)) {
		kind := strings.Split(strings.Split(line, `"type":"`)[1], `"`)[0]
		if strings.Contains(line,
			`"by":`) == slices.Contains(byItself, kind) {
			t.Errorf("%s: %s", kind, line)
		}
	}
}
