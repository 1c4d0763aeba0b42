package partner_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/stand"
)

// Decision ticket.document: what a ticket over a border must show comes from columns of the feed, and
// stays with the ticket when the timetable is replaced.
func TestATicketShowsWhatTheFeedSaysOfItsCarrier(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	feed := rig.FeedWith(t, nil).(fstest.MapFS)
	text := string(feed["agency.txt"].Data)
	header, rows, _ := strings.Cut(text, "\n")
	var out strings.Builder
	out.WriteString(
		header + ",waybill_registration,waybill_address,waybill_vat,waybill_insurer,waybill_policy\n",
	)
	for row := range strings.Lines(rows) {
		row = strings.TrimRight(row, "\r\n")
		out.WriteString(row + `,31245678,"1 Station Sq, <Kyiv>",UA312456789,Oranta,AB-123456` + "\n")
	}
	feed["agency.txt"].Data = []byte(out.String())
	rig.Import(t, s, feed)
	id := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 1)).Data.Booking
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+id.ID+"/pay", ""); a.Status != 200 {
		t.Fatal(a)
	}
	rig.Import(t, s, rig.FeedWith(t, nil)) // which has none of these columns
	r := httptest.NewRequest("GET", "/v2/tickets/"+id.Tickets[0].ID+"/document", nil)
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	for _, want := range []string{"31245678", "1 Station Sq, &lt;Kyiv&gt;", "UA312456789", "Oranta",
		"AB-123456"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the document has no %q", want)
		}
	}
	if w.Code != 200 || strings.Contains(w.Body.String(), "<Kyiv>") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A key that is gone is made anew, and that is said: the papers of before are not good any more.
func TestALostTicketKeyIsTold(t *testing.T) {
	dir := t.TempDir()
	for _, lost := range []bool{false, true} {
		s, _ := rig.Demo(t, server.Config{Dir: dir})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if lost {
			if err := os.Remove(filepath.Join(dir, ledger.KeyDir, ledger.TicketFile)); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		again, err := server.Open(server.Config{
			Dir: dir,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Now: func() time.Time { return rig.Start },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(log.String(), "inspectors need the new tickets.pub"); told != lost {
			t.Errorf("lost: %v, and told: %v: %s", lost, told, log.String())
		}
	}
}

// Decision pages.clock: a ticket of a test bench says so, frozen or ticking; one that is sold says nothing.
func TestATicketOfATestBenchSaysItsClock(t *testing.T) {
	for want, lab := range map[string]*stand.Lab{
		"<span>frozen</span></p>\n":  rig.StillFromStart(nil),
		"<span>ticking</span></p>\n": rig.ClockFrom(rig.Start),
		"":                           nil,
	} {
		s, key := rig.Demo(t, server.Config{Lab: lab})
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 1)).Data.Booking
		r := httptest.NewRequest("GET", "/v2/tickets/"+b.Tickets[0].ID+"/document", nil)
		r.Header.Set("x-api-key", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		page := w.Body.String()
		if has := strings.Contains(page, "TEST CLOCK"); has != (want != "") || !strings.Contains(page, want) {
			t.Errorf("%q: %d %s", want, w.Code, page)
		}
	}
}
