package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// mustName checks that a directory is of kind books, by a line and for a reason, and that nobody is told to
// cut anything.
func mustName(t *testing.T, what, dir string, line int, reason string) {
	t.Helper()
	v, err := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, inspect.Expected{}, "")
	var d *journal.Damage
	if v.Verdict != "books" || !errors.As(err, &d) || d.Line != line || !strings.Contains(d.Reason, reason) ||
		strings.Contains(err.Error(), "repair") {
		t.Errorf("%s: %s, %v, want line %d: %s", what, v.Verdict, err, line, reason)
	}
}

// Decision verify.books: what is forged of an act is named with the line that says it, and not only where its
// sums no longer fit.
func TestVerifyDecidesActsAgain(t *testing.T) {
	t.Parallel()
	b := newDecided(t)
	revival := b.line(t, "ticket.paid", 5)
	grace := b.line(t, "tickets.canceled", 1)
	imported := b.line(t, "timetable.imported", 1)
	for what, c := range map[string]struct {
		line           int
		from, to, want string
	}{
		"a revival with a seat that no bus has": {revival, `"seats":\[\d+\]`, `"seats":[400]`, "seat 400"},
		"a revival with a seat 0":               {revival, `"seats":\[\d+\]`, `"seats":[0]`, "seat 0"},
		"a revival without a seat":              {revival, `"seats":\[\d+\],`, "", "gives it no new seat"},
		"a refund given twice": {grace, `"tickets":\[(\{[^]]*\})\],`, `"tickets":[$1,$1],`,
			"is named twice"},
	} {
		mustName(t, what, b.rewrite(t, c.line, c.from, c.to), c.line, c.want)
	}
	removed := b.rewrite(t, imported, `"type":"timetable.imported","data":\{.*\}`,
		`"type":"keys.rotated","data":{}}`)
	mustName(t, "a sale without a timetable", removed, b.line(t, "booking.created", 1),
		"was sold before a timetable was in force")
}

// Decision verify.books: nothing is refunded after the departure, whatever percentage a line says.
func TestARefundAfterTheDepartureIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &bookkeeping{dir: dir}
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now})
	id := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 1)).Data.Booking.ID
	rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/pay", "")
	clock.Move(7 * 24 * time.Hour)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+id+"/cancel", ""); a.Status != 200 {
		t.Fatal(a)
	}
	b.finish(t, s)
	line := b.line(t, "tickets.canceled", 1)
	mustName(t, "90 % after the departure", b.rewrite(t, line, `"refund":0,"grace":false,"terms":\[[^]]*\]`,
		`"refund":69300,"grace":false,"terms":[{"rule":"rr-zor-24h","percent":9000,"refund":69300}]`), line,
		"is refunded 693.00, rule \"rr-zor-24h\" 90.00 % 693.00; the rules give 0.00")
}

// Decision verify.books: a partner that is limited to companies sells no other's rides.
func TestASaleOfACompanyThatThePartnerMayNotSellIsNamed(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	partner := b.line(t, "partner.key_added", 1)
	mustName(t, "another company's", b.rewrite(t, partner, `"companies":null`, `"companies":["vltavia-bus"]`),
		b.line(t, "booking.created", 1), `partner "anna" may not sell what "zorevia-lines" runs`)
}

// Decision verify.forms: what a run refunds by, whose it is and when it leaves is of the timetable, too, and
// not what the line of its first sale says of it.
func TestARunThatTheTimetableDoesNotHaveSoIsNamed(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	sale := b.line(t, "booking.created", 2)
	for what, alter := range map[string]func(*schedule.Form, *int64){
		"other rules": func(f *schedule.Form, _ *int64) {
			f.Rules = []schedule.RefundRule{{ID: "rr-zor-72h", Percent: 10000}}
		},
		"another company": func(f *schedule.Form, _ *int64) { f.Company.Slug = "vltavia-bus" },
		"more seats":      func(f *schedule.Form, _ *int64) { f.Bus.Seats = 80 },
	} {
		whole := b.lines
		b.lines = reformed(t, b.lines, sale, alter)
		mustName(t, what, b.rewrite(t, 1, `creation`, "Creation"), sale,
			"is not the run in the timetable of line ")
		b.lines = whole
	}
}

// Where the service day of a run started is of the machine that sold it: that is a remark, and no problem.
func TestAServiceDayThatStartsElsewhereIsARemark(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	sale := b.line(t, "booking.created", 2)
	b.lines = reformed(t, b.lines, sale, func(_ *schedule.Form, start *int64) { *start += 3600 })
	dir := b.rewrite(t, 1, `creation`, "Creation")
	o := ours(t, dir)
	if o.Verdict != "sound" || !slices.Contains(o.Remarks, remark{"zone", uint64(sale)}) {
		t.Errorf("verify says %+v", o)
	}
	if rig.Has(t, "python3") {
		compareOpinions(t, dir, o, theirs(t, []string{dir})[0])
	}
}

// reformed returns lines in which the run that is first sold by one is another, with the ids that follow.
func reformed(t *testing.T, lines []string, sale int, alter func(*schedule.Form, *int64)) []string {
	t.Helper()
	m := regexp.MustCompile(`"forms":\[(.*?)\],"runs":\[\{"form":"([^"]+)","date":"([^"]+)","start":(\d+),` +
		`"offsets":\[([\d,]+)\]`).FindStringSubmatch(lines[sale-1])
	old, err := schedule.DecodeForm([]byte(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	day, err := schedule.ParseDay(m[3])
	if err != nil {
		t.Fatal(err)
	}
	var start int64
	fmt.Sscan(m[4], &start)
	var offsets []int32
	for text := range strings.SplitSeq(m[5], ",") {
		var ahead int32
		fmt.Sscan(text, &ahead)
		offsets = append(offsets, ahead)
	}
	was := booking.NewRun(old, day, start, offsets).ID.String()
	form := *old
	alter(&form, &start)
	fresh, err := schedule.DecodeForm(form.Encode())
	if err != nil {
		t.Fatal(err)
	}
	is := booking.NewRun(fresh, day, start, offsets).ID.String()
	swap := strings.NewReplacer(m[1], string(fresh.Encode()), old.Key(), fresh.Key(), was, is)
	var altered []string
	for _, l := range lines {
		altered = append(altered, swap.Replace(l))
	}
	altered[sale-1] = strings.Replace(altered[sale-1], `"start":`+m[4], fmt.Sprintf(`"start":%d`, start), 1)
	return altered
}

// Decision verify.forms: a price is the offer's, and the rest of a sale is of the timetable in force. So a
// discount may stand at another place there than in the timetable that was offered from.
func TestASaleByAnOfferOfAReplacedTimetableIsSound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var clock rig.HandClock
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: clock.Now})
	offer := rig.Offer(t, s, key, "departureCitySlug=lviv&arrivalCitySlug=prague")
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"waybill_discounts.txt": {{"d-prague-15,", "d-prague-0,r-lviv-prague,Once,,Percent,1,20200101,20200102\n" +
			"d-prague-15,"}},
		"fare_attributes.txt": {{"0.00,UAH,1,0,vltavia", "1.00,UAH,1,0,vltavia"}},
	}))
	clock.Move(19 * time.Minute)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)); a.Status != 201 {
		t.Fatal(a)
	}
	b := &bookkeeping{dir: dir}
	b.finish(t, s)
	sale := b.line(t, "booking.created", 1)
	if !strings.Contains(b.lines[sale-1], `"discount":1`) {
		t.Fatal("the discount is not at another place")
	}
	if _, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil {
		t.Error(err)
	}
	late := b.rewrite(t, sale, `"time":"2026-11-20T08:19`, `"time":"2026-11-20T08:20`)
	mustName(t, "an offer of a timetable that was replaced 20 minutes ago", late, sale, "has the price ")
}

// Decision verify.books: a directory in which all went by the rules is sound, also one whose timetable, runs
// and lapsed tickets have changed; a forged price in it is named also once a start has signed it anew.
func TestAnHonestDirectoryWithChangesIsSound(t *testing.T) {
	t.Parallel()
	b := newBookkeepingOf(t, func(b *bookkeeping, do asked) {
		do("pay", 0, `{"ticketIds":["`+b.tickets[1]+`"]}`) // it had lapsed
	}, func(s *server.Server) {
		changeRun(t, s, "move", "kl-0530", "minutes", "25")
		var out bytes.Buffer
		feed := rig.FeedWith(t, map[string][][2]string{
			"waybill_refund_rules.txt": {{"rr-zor-24h,,zorevia,24,90", "rr-zor-24h,,zorevia,24,80"}},
			"waybill_buses.txt":        {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,12,"}},
		})
		if err := s.Admin.Import(feed, "changed", admin.ImportOptions{}, &out); err != nil {
			t.Fatal(err, &out)
		}
		key, err := s.Admin.AddPartner("bohdan", nil)
		if err != nil {
			t.Fatal(err)
		}
		offer := rig.Offer(t, s, key, rig.KyivLviv)
		if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)); a.Status != 201 {
			t.Fatal(a)
		}
		changeRun(t, s, "cancel", "kl-0530")
	})
	v, err := verify.Judge(durable.Dir(b.dir), b.dir, verify.Beside{}, inspect.Expected{}, "")
	if err != nil || !v.Sound() || v.Books.Canceled != 1 {
		t.Errorf("%s, %v, %s", v.Verdict, err, v.Books)
	}
	sale := b.line(t, "booking.created", 1)
	forged := b.rewrite(t, sale, `"amount":\d+`, `"amount":0`)
	now := func() time.Time { return rig.Start.Add(time.Hour) }
	s, err := server.Open(server.Config{Dir: forged, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustName(t, "a price that a start has signed", forged, sale, "sold for 0.00 UAH")
}

// Decision verify.books: a sale by a partner that there is not is refused by a start, too: nobody could read
// the booking, and what it names is not there.
func TestASaleByNobodyIsNotServed(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	sale := b.line(t, "booking.created", 1)
	dir := b.rewrite(t, sale, `"partner":"[^"]+"`, `"partner":"AAAAAAAAAAAAAAAAAAAAAA"`)
	mustName(t, "a sale by nobody", dir, sale, "which does not exist")
	s, err := server.Open(server.Config{Dir: dir, Now: func() time.Time { return rig.Start.Add(time.Hour) }})
	if err == nil {
		s.Close()
	}
	var d *journal.Damage
	if !errors.As(err, &d) || d.Line != sale || !strings.Contains(d.Reason, "which does not exist") {
		t.Errorf("a start says %v", err)
	}
}
