package outbox_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/reach/outbound"
)

// smtpPeer is a mail server that takes what it is sent, one mail after another, and answers the end of each
// with reply.
func smtpPeer(t *testing.T, reply func(n int) string) (addr string, mails func() []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	var mu sync.Mutex
	var list []string
	serve := func(c net.Conn) {
		defer c.Close()
		lines := bufio.NewScanner(c)
		fmt.Fprint(c, "220 peer\r\n")
		for lines.Scan() {
			switch verb, _, _ := strings.Cut(lines.Text(), " "); verb {
			case "DATA":
				fmt.Fprint(c, "354 go on\r\n")
				var text strings.Builder
				for lines.Scan() && lines.Text() != "." {
					text.WriteString(lines.Text() + "\n")
				}
				mu.Lock()
				list = append(list, text.String())
				n := len(list)
				mu.Unlock()
				fmt.Fprint(c, reply(n)+"\r\n")
			case "QUIT":
				fmt.Fprint(c, "221 bye\r\n")
				return
			default:
				fmt.Fprint(c, "250 ok\r\n")
			}
		}
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return ln.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

const passenger = `{"firstName":"Леся","lastName":"Українка","email":"lesia@example.com","phones":[{"phone":"+380441234567"},{"phone":"+380441234568"},{"phone":"+380441234567"}]}`

// payForOne books and pays a ticket whose passenger has an address and two phones.
func payForOne(t *testing.T, s *server.Server, key string) (ticket string) {
	t.Helper()
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`,
		rig.Offer(t, s, key, rig.Bukovel),
		passenger)
	b := rig.Call(t, s, key, "POST", "/v2/bookings", body).Data.Booking
	if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", ""); a.Status != 200 {
		t.Fatalf("%+v", a)
	}
	return b.Tickets[0].ID
}

func outboxList(t *testing.T, s *server.Server) string {
	t.Helper()
	var out strings.Builder
	if err := s.Admin.Do("outbox-list", &admin.Act{Form: nil, Out: &out}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// A slow mail server is not felt by who pays; the mail says what was paid, in English and Ukrainian, and is
// sent once.
func TestASlowMailServerIsNotFelt(t *testing.T) {
	release := make(chan bool)
	addr, mails := smtpPeer(t, func(int) string { <-release; return "250 taken" })
	phones := rig.NewPeer(t, rig.Always(200))
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{
		Dir:          dir,
		MessengerURL: phones.URL,
		Mail:         outbound.MailConfig{Addr: addr, From: "tickets@example.com"},
	})
	var tickets []string
	for range 3 {
		tickets = append(tickets, payForOne(t, s, key)) // while the mail server says nothing
	}
	rig.Eventually(t, "three mails are at the server", func() bool { return len(mails()) == 3 })
	if list := outboxList(t, s); !strings.Contains(list, "email of ticket "+tickets[0]) {
		t.Error(list)
	}
	close(release)
	rig.Eventually(t, "all is sent", func() bool {
		return outboxList(t, s) == "0 messages are not sent; 3 sent as mail, 6 sent as text"
	})
	text := strings.Join(mails(), "")
	for _, part := range []string{"To: lesia@example.com", "From: tickets@example.com", "Message-ID: <",
		tickets[0], tickets[2], "Seat: 3"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is in none of the mails:\n%s", part, text)
		}
	}
	texts := map[string]int{}
	for _, c := range phones.Sent() {
		c.Signed(t, dir)
		c.Documented(t, "sendText")
		var doc struct{ ID, Phone, Text, BookingID, TicketID string }
		err := json.Unmarshal([]byte(c.Body), &doc)
		if err != nil || c.ID != `"`+doc.ID+`"` ||
			!strings.Contains(doc.Text, "Квиток оплачено") || !slices.Contains(tickets, doc.TicketID) {
			t.Errorf("%v: %s %s", err, c.ID, c.Body)
		}
		texts[doc.TicketID+doc.Phone]++
	}
	if len(texts) != 6 || len(phones.Sent()) != 6 {
		t.Errorf("texts: %v", texts)
	}
	rig.CompareWithReplay(t, s, dir, false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = rig.Demo(t, server.Config{Dir: dir,
		Mail: outbound.MailConfig{Addr: addr, From: "tickets@example.com"}})
	s.Close()
	if n := len(mails()); n != 3 {
		t.Errorf("%d mails after a restart", n)
	}
}

// What cannot be sent is tried again for 72 hours, ever more rarely, and then parked, until somebody says
// otherwise.
func TestWhatCannotBeSentIsParkedAfterThreeDays(t *testing.T) {
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := server.Config{Dir: dir,
		Mail: outbound.MailConfig{Addr: ln.Addr().String(), From: "tickets@example.com"}}
	ln.Close() // nobody answers there
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg.Now, cfg.Log = rig.BubbleClock(), slog.New(slog.NewTextHandler(&log, nil))
		s, key := rig.Demo(t, cfg)
		ticket := payForOne(t, s, key)
		time.Sleep(71*time.Hour + 59*time.Minute)
		list := outboxList(t, s)
		if !strings.Contains(list, "email of ticket "+ticket+", pay  waiting: ") ||
			!strings.Contains(list, "attempts failed, the last with \"outbound: mail: connect: ") ||
			!strings.HasSuffix(list, "1 message is not sent") {
			t.Error(list)
		}
		page := metricsOf(t, s)
		for _, want := range []string{
			"waybill_outbox_oldest_message_age_seconds 259140\n", `waybill_outbox_failed_attempts_total{peer="mail"} 26`,
			"waybill_outbox_failed_attempts_total{peer=\"messenger\"} 0\n",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the metrics lack %q", want)
			}
		}
		time.Sleep(10 * time.Minute)
		if list := outboxList(t, s); !strings.Contains(list, "parked: outbound: ") ||
			strings.Contains(list, "lesia") {
			t.Error(list)
		}
		n := strings.Count(log.String(), "it will be tried again")
		if n < 20 || n > 60 || strings.Contains(log.String(), "lesia") {
			t.Errorf("%d attempts in three days:\n%s", n, &log)
		}
		err := s.Admin.Do("outbox-retry", &admin.Act{
			Form: map[string][]string{"message": {"all"}},
			Out:  io.Discard,
		})
		if err != nil {
			t.Error(err)
		}
		time.Sleep(71 * time.Hour)
		if list := outboxList(t, s); !strings.Contains(list, "waiting") {
			t.Error(list)
		}
		rig.CompareWithReplay(t, s, dir, false)
		s.Close()
	})
}

// What a mail server does not take now (4yz) is tried again, what it refuses (5yz) is parked.
func TestWhatAMailServerAnswersDecides(t *testing.T) {
	replies := []string{"451 later", "451 later", "550 never", "250 taken"}
	addr, mails := smtpPeer(t, func(n int) string { return replies[n-1] })
	s, key := rig.Demo(t, server.Config{
		Dir:  t.TempDir(),
		Lab:  rig.ClockFrom(rig.Start),
		Mail: outbound.MailConfig{Addr: addr, From: "tickets@example.com"},
	})
	defer s.Close()
	payForOne(t, s, key)
	for n, advance := range []string{"1m", "1h", ""} {
		// A clock that is moved twice may have brought about two.
		rig.Eventually(t, "another attempt", func() bool { return len(mails()) > n })
		if advance != "" {
			rig.Eventually(t, "it was told that it was not taken", func() bool {
				rig.Call(t, s, "", "POST", "/test/clock", `{"advance":"`+advance+`"}`)
				return len(mails()) > n+1
			})
		}
	}
	rig.Eventually(t, "it is parked", func() bool {
		return strings.Contains(outboxList(t, s), "parked: outbound: mail: data: 550")
	})
	id := regexp.MustCompile(`^\S+`).FindString(outboxList(t, s))
	err := s.Admin.Do("outbox-retry", &admin.Act{
		Form: map[string][]string{"message": {id}},
		Out:  io.Discard,
	})
	if err != nil {
		t.Error(err)
	}
	rig.Eventually(t, "it is sent", func() bool {
		return outboxList(t, s) == "0 messages are not sent; 1 sent as mail"
	})
	if sent := mails(); len(sent) != 4 || sent[2] != sent[0] {
		t.Errorf("%d attempts, want 4 of the same mail:\n%s", len(sent), strings.Join(sent, "\n"))
	}
}

// Decision peers.places: each peer has places of its own. A mail server that hangs does not hold up the texts
// to phones.
func TestAMailServerThatHangsDoesNotHoldUpTexts(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() { // it takes every connection and says nothing
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	const texts = 30
	arrived := make(chan string, 2*texts)
	phone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("Idempotency-Key")
	}))
	defer phone.Close()
	s, key := rig.Demo(t, server.Config{
		MessengerURL: phone.URL,
		Mail:         outbound.MailConfig{Addr: silent.Addr().String(), From: "a@example.com"},
	})
	one := `{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}`
	for range texts / 15 {
		body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`,
			rig.Offer(t, s, key, "passengers=15&departureCitySlug=kyiv&arrivalCitySlug=lviv"),
			strings.Repeat(one+",", 14)+one)
		b := rig.Call(t, s, key, "POST", "/v2/bookings", body).Data.Booking
		if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", ""); a.Status != 200 {
			t.Fatal(a)
		}
	}
	ids := map[string]bool{}
	timeout := time.After(20 * time.Second) // the mail server's silence takes 30 s a message, eight at a time
	for len(ids) < texts {
		select {
		case id := <-arrived:
			ids[id] = true
		case <-timeout:
			t.Fatalf("%d of %d texts arrived", len(ids), texts)
		}
	}
}

// Decision messages.sending: a messenger that asks to wait is not tried again before, but after an hour.
func TestAMessengerMayAskToWait(t *testing.T) {
	t.Parallel()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(busy.Close)
	s, key := rig.Demo(t, server.Config{Dir: t.TempDir(), MessengerURL: busy.URL})
	payForOne(t, s, key)
	rig.Eventually(t, "the messages wait for an hour", func() bool { // it is eight o'clock
		return strings.Contains(outboxList(t, s), `: 429"; the next is at 2026-11-20T09:00:00Z`)
	})
}
