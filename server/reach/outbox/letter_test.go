package outbox_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/frame/words"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/reach/outbox"
	"waybill/server/reach/ticket"
)

// Decision messages.papers: the e-mail of a paid ticket carries the ticket to print and an entry for a
// calendar; that of any other does not.
func TestTheLetterOfAPaidTicketCarriesIt(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), MaxTransfers: 1})
		defer s.Close()
		b, id := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
		for _, action := range []string{"book", "pay", "cancel"} {
			if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/"+action, ""); a.Status != 200 {
				t.Fatal(a)
			}
			time.Sleep(time.Second)
		}
		public := s.TicketKey.Public().(ed25519.PublicKey)
		names, err := filepath.Glob(filepath.Join(dir, "outbox/*.eml"))
		if err != nil || len(names) != 3 {
			t.Fatal(names, err)
		}
		with := 0
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := mail.ReadMessage(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			_, files := rig.Parts(t, m)
			if files == nil {
				continue
			}
			with++
			codes := regexp.MustCompile(`WB1\.[A-Za-z0-9_-]+`).FindAllString(files["ticket.html"], -1)
			if len(codes) != 2 {
				t.Fatalf("%d codes for two rides", len(codes))
			}
			for _, code := range codes {
				if c, err := ticket.Check(public, code); err != nil || c.Ticket.String() != id {
					t.Errorf("%s: %v, %v", code, c, err)
				}
			}
			if strings.Contains(files["ticket.html"], "TEST CLOCK") { // decision pages.clock
				t.Errorf("%s", files["ticket.html"])
			}
			if !strings.Contains(files["ticket.ics"], "BEGIN:VEVENT\r\nUID:"+id+".1@waybill\r\n") {
				t.Errorf("%s", files["ticket.ics"])
			}
		}
		if with != 1 {
			t.Errorf("%d letters carry something", with)
		}
	})
}

// TestLetters: the passenger is told of each leg's carrier, route, boarding and alighting with place and
// local times, change and seat, in Ukrainian by the names that the feed translates; of a refund, what comes
// back.
func TestLetters(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), MaxTransfers: 1})
		defer s.Close()
		b, ticket := rig.BookForLesia(t, s, key, "departureCitySlug=berlin&arrivalCitySlug=lviv")
		for _, action := range []string{"book", "pay", "cancel"} {
			if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/"+action, ""); a.Status != 200 {
				t.Fatalf("%s: %+v", action, a)
			}
		}
		b2, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
		rig.Call(t, s, key, "POST", "/v2/bookings/"+b2+"/cancel", "")
		time.Sleep(time.Second)
		list := rig.Letters(t, dir)
		if len(list) != 4 {
			t.Fatalf("%d letters, want 4: %q", len(list), list)
		}
		const journey = `
Carrier: Zorevia Lines
Route: Kharkiv – Kyiv – Warsaw – Berlin
Departure: 2026-11-25 11:00, Berlin Central Bus Station, platform 17
Arrival: 2026-11-25 18:10, Warsaw West Bus Station, platform 5
Seat: 1

Change: Warsaw, 0:50

Carrier: Wislovia Coach
Route: Warsaw – Lviv – Kyiv
Departure: 2026-11-25 19:00, Warsaw West Bus Station, platform 9
Arrival: 2026-11-26 03:55, Lviv Stryiskyi Bus Station, platform 8
Seat: 1
`
		paid := list["Your ticket is paid"]
		for _, want := range []string{
			"Your ticket is paid / Ваш квиток оплачено: Berlin – Lviv, 2026-11-25 11:00\n\nLesia Ukrainka, your ticket is paid.\n",
			journey, "Lesia Ukrainka, ваш квиток оплачено.", "Маршрут: Харків – Київ – Варшава – Берлін",
			"Прибуття: 2026-11-26 03:55, Львів, Стрийський автовокзал, платформа 8\n", "Пересадка: Варшава, 0:50",
			"Відправлення: 2026-11-25 11:00, Берлін, Berlin Central Bus Station, платформа 17\n", "Ticket: " + ticket, "Booking: " + b,
		} {
			if !strings.Contains(paid, want) {
				t.Errorf("the letter lacks %q", want)
			}
		}
		refunded := list["Your ticket is refunded"]
		for _, want := range []string{
			journey, "Lesia Ukrainka, your ticket is refunded.", "\nRefunded 54.00 EUR\n",
			"\nПовернено 54.00 EUR\n",
		} {
			if !strings.Contains(refunded, want) {
				t.Errorf("the letter about a refund lacks %q", want)
			}
		}
		canceled := list["Your ticket is canceled"]
		if canceled == "" || strings.Contains(canceled, "Refunded") || list["Your ticket is booked"] == "" {
			t.Errorf("the letter about a cancellation is %q", canceled)
		}
		if t.Failed() {
			t.Logf("%s\n%s", paid, refunded)
		}
		rig.CompareWithReplay(t, s, dir, false)
	})
}

// TestTidyNames: what a passenger is called cannot turn the words of a letter around.
func TestTidyNames(t *testing.T) {
	for name, want := range map[string]string{
		"Леся ":       "Леся",
		"\u202eaiseL": "aiseL",
		" a\u200bb":   "ab",
		"O’Neil-Šmíd": "O’Neil-Šmíd",
	} {
		if got := words.Tidy(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// TestOvertakenLetters: who pays and refunds while letters cannot be sent is told of the refund alone.
func TestOvertakenLetters(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock()})
		defer func() { s.Close() }()
		// A file where the directory of letters should be.
		box := filepath.Join(dir, ledger.OutboxDir)
		if err := os.Remove(box); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.WriteFile(box, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
		for _, action := range []string{"book", "pay"} {
			if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/"+action, ""); a.Status != 200 {
				t.Fatalf("%s: %+v", action, a)
			}
		}
		if said, err := rig.ChangeRun(s, "move", "fb-0900", "minutes", "10"); err != nil {
			t.Fatal(said, err)
		}
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/cancel", ""); a.Status != 200 {
			t.Fatal(a)
		}
		time.Sleep(time.Second)
		if list := outboxList(t, s); strings.Count(list, "waiting") != 4 {
			t.Fatalf("want 4 messages waiting: %s", list)
		}
		if err := errors.Join(os.Remove(box), os.Mkdir(box, 0o700)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * outbox.FirstRetry)
		if list := rig.Letters(t, dir); len(list) != 1 || list["Your ticket is refunded"] == "" {
			t.Errorf("the letters are %q", list)
		}
		if list := outboxList(t, s); !strings.Contains(list, "0 messages") {
			t.Error(list)
		}
		rig.CompareWithReplay(t, s, dir, false)
	})
}

// TestOvertakenWhileParked: trying again what was parked sends nothing that is no longer so.
func TestOvertakenWhileParked(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock()})
		defer func() { s.Close() }()
		box := filepath.Join(dir, ledger.OutboxDir)
		if err := errors.Join(os.Remove(box), os.WriteFile(box, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
		rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", "")
		time.Sleep(2 * outbox.OutboxLife)
		rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/cancel", "")
		time.Sleep(2 * outbox.OutboxLife)
		if list := outboxList(t, s); strings.Count(list, "parked") != 2 {
			t.Fatalf("want 2 messages parked: %s", list)
		}
		if err := errors.Join(os.Remove(box), os.Mkdir(box, 0o700)); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := s.Admin.Do("outbox-retry", &admin.Act{
			By:   admin.Self(),
			Form: url.Values{"message": {"all"}},
			Out:  &out,
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if list := rig.Letters(t, dir); len(list) != 1 || list["Your ticket is paid"] != "" {
			t.Errorf("the letters are %q", list)
		}
	})
}

// TestTexts: a phone is told in a line of each language.
func TestTexts(t *testing.T) {
	p := rig.NewPeer(t, rig.Always(200))
	s, key := rig.Demo(t, server.Config{MessengerURL: p.URL})
	b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
	for i, action := range []string{"pay", "cancel"} {
		rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/"+action, "")
		rig.Eventually(t, "the text", func() bool { return len(p.Sent()) == i+1 })
	}
	for i, want := range []string{
		"Ticket paid: Ivano-Frankivsk – Bukovel, 2026-11-25 09:00, seat 1. Квиток оплачено: " +
			"Івано-Франківськ – Буковель, 2026-11-25 09:00, місце 1.",
		"Ticket refunded: Ivano-Frankivsk – Bukovel, 2026-11-25 09:00. Refunded 4.00 EUR. ",
	} {
		var sent struct{ Text string }
		err := json.Unmarshal([]byte(p.Sent()[i].Body), &sent)
		if err != nil || !strings.HasPrefix(sent.Text, want) {
			t.Errorf("%q, %v, want %q", sent.Text, err, want)
		}
	}
}

// Who was to travel with a run that its carrier cancels is told first, in each language, that it does not
// run, and then what is refunded: in the subject of the e-mail, in the e-mail, and in the text.
func TestACancelledRunIsToldFirst(t *testing.T) {
	for action, c := range map[string]struct{ subject, letter, english, ukrainian string }{
		"pay": {
			"Your departure does not run / Ваш рейс не відбудеться: Ivano-Frankivsk – Bukovel, 2026-11-25 09:00. " +
				"Refunded 4.00 EUR / Повернено 4.00 EUR",
			"Lesia Ukrainka, your departure does not run; your ticket is refunded.",
			"Your departure does not run: Ivano-Frankivsk – Bukovel, 2026-11-25 09:00. " +
				"Refunded 4.00 EUR. Reason: snow.",
			"Ваш рейс не відбудеться: Івано-Франківськ – Буковель, 2026-11-25 09:00. " +
				"Повернено 4.00 EUR. Причина: snow.",
		},
		"book": {
			"Your departure does not run / Ваш рейс не відбудеться: Ivano-Frankivsk – Bukovel, 2026-11-25 09:00",
			"Lesia Ukrainka, your departure does not run; your ticket is canceled.",
			"Your departure does not run: Ivano-Frankivsk – Bukovel, 2026-11-25 09:00. Reason: snow.",
			"Ваш рейс не відбудеться: Івано-Франківськ – Буковель, 2026-11-25 09:00. Причина: snow.",
		},
	} {
		dir := t.TempDir()
		p := rig.NewPeer(t, rig.Always(200))
		s, key := rig.Demo(t, server.Config{Dir: dir, MessengerURL: p.URL})
		b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/"+action, ""); a.Status != 200 {
			t.Fatal(a)
		}
		rig.Eventually(t, "the first text", func() bool { return len(p.Sent()) == 1 })
		if said, err := rig.ChangeRun(s, "cancel", "fb-0900"); err != nil {
			t.Fatal(said, err)
		}
		rig.Eventually(t, "both messages", func() bool {
			return len(p.Sent()) == 2 && strings.Contains(outboxList(t, s), "0 messages")
		})
		var sent struct{ Text string }
		err := json.Unmarshal([]byte(p.Sent()[1].Body), &sent)
		if want := c.english + " " + c.ukrainian; err != nil || sent.Text != want {
			t.Errorf("%s: the text is %q, %v, want %q", action, sent.Text, err, want)
		}
		letter := rig.Letters(t, dir)["Your departure does not run"]
		if subject, _, _ := strings.Cut(letter, "\n"); subject != c.subject {
			t.Errorf("%s: the subject is %q, want %q", action, subject, c.subject)
		}
		for _, want := range []string{c.letter, "\nThe carrier has cancelled this departure. Reason: snow.\n",
			"ваш рейс не відбудеться; ваш квиток "} {
			if !strings.Contains(letter, want) {
				t.Errorf("%s: the letter has no %q: %s", action, want, letter)
			}
		}
	}
}

// TestTheListSaysWhyAMessageWaits names what is missing.
func TestTheListSaysWhyAMessageWaits(t *testing.T) {
	dir := t.TempDir()
	p := rig.NewPeer(t, rig.Always(503))
	s, key := rig.Demo(t, server.Config{Dir: dir, MessengerURL: p.URL})
	b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
	rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", "")
	rig.Eventually(t, "a failed attempt", func() bool {
		return strings.Contains(outboxList(t, s), "1 attempt failed, the last with ")
	})
	s.Close()
	s, _ = rig.Demo(t, server.Config{Dir: dir})
	rig.Eventually(t, "the list", func() bool {
		return strings.Contains(outboxList(t, s), "there is no -messenger-url")
	})
	s.Close()
	s, err := server.Open(server.Config{Dir: dir, Verb: true, Now: func() time.Time { return rig.Start }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list := outboxList(t, s); !strings.Contains(list,
		"waiting: no server is running; the next start sends it") {
		t.Error(list)
	}
}

// metricsOf returns what GET /metrics answers.
func metricsOf(t *testing.T, s *server.Server) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}
