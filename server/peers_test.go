package server

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/operate/admin"
	"waybill/server/reach/outbound"
)

// peerCall is what a peer was sent.
type peerCall struct {
	id, signature, body string
	header              http.Header
}

// peer is a real HTTP server that answers with what status gives, and keeps what it was sent.
type peer struct {
	*httptest.Server
	mu    sync.Mutex
	calls []peerCall
}

func newPeer(t *testing.T, status func(n int, body string) int) *peer {
	p := new(peer)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		h := r.Header
		p.calls = append(p.calls, peerCall{h.Get("Idempotency-Key"), h.Get("Waybill-Signature"), string(body),
			h})
		n := len(p.calls)
		p.mu.Unlock()
		code := status(n, string(body))
		if code == 0 {
			panic(http.ErrAbortHandler) // hangs up after reading
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *peer) sent() []peerCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func always(code int) func(int, string) int { return func(int, string) int { return code } }

// signed checks a call's signature with the secret of the directory.
func (c peerCall) signed(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "keys/outbound"))
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := hex.DecodeString(strings.TrimSpace(string(text)))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(c.body))
	if want := fmt.Sprintf("sha256=%x", mac.Sum(nil)); c.signature != want || len(secret) != 32 {
		t.Errorf("signature %s, want %s", c.signature, want)
	}
}

// The provider is asked about each ticket with a signed call: what it says decides, what may pass is asked
// again, and one that fails leaves its siblings paid.
func TestTheProviderIsAskedAboutEachTicket(t *testing.T) {
	for _, c := range []struct {
		what   string
		status func(n int, body string) int
		calls  int
		undone int
	}{
		{"confirms", always(204), 2, 0},
		{"refuses", always(422), 2, 2},
		{"fails twice, then confirms", func(n int, _ string) int { return []int{500, 503, 200}[min((n-1)/2, 2)] }, 6, 0},
		{"fails", always(500), 6, 2},
		{"hangs up after reading", always(0), 6, 2},
		{"redirects", always(307), 6, 2},
		{"refuses one", func(_ int, body string) int {
			return map[bool]int{true: 200, false: 409}[strings.Contains(body, `"label":"1"`)]
		}, 2, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, c.status)
			dir := t.TempDir()
			s, key := demoServer(t, Config{Dir: dir, ProviderURL: p.URL})
			defer s.Close()
			b := call(t, s, key, "POST", "/v2/bookings",
				bookingBody(anOffer(t, s, key, bukovel), 2)).Data.Booking
			a := call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
			if c.undone == 0 && a.status != 200 || c.undone > 0 &&
				(a.status != 500 || a.Errors[0].ErrorCode != "PROVIDER_FAILED" ||
					len(a.Errors[0].Details.OrdersIDs) != c.undone) {
				t.Errorf("%+v", a)
			}
			calls := p.sent()
			ids := map[string]int{}
			for _, x := range calls {
				ids[x.id]++
				x.signed(t, dir)
				x.documented(t, "confirmTicket")
				var doc struct {
					ID, Action string
					Ticket     struct {
						ID, Status string
						Slices     []struct{ Seat struct{ Label string } }
					}
				}
				err := json.Unmarshal([]byte(x.body), &doc)
				if err != nil || `"`+doc.ID+`"` != x.id ||
					doc.Action != "pay" || doc.Ticket.Slices[0].Seat.Label == "" {
					t.Errorf("%v: %s %s", err, x.id, x.body)
				}
			}
			if len(calls) != c.calls || len(ids) != 2 {
				t.Errorf("%d calls with the ids %v, want %d with 2", len(calls), ids, c.calls)
			}
			paid := 0
			for _, ticket := range call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking.Tickets {
				if ticket.PaymentStatus == "Paid" {
					paid++
				}
			}
			if paid != 2-c.undone {
				t.Errorf("%d tickets are paid", paid)
			}
			compareWithReplay(t, s, dir, false)
		})
	}
}

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
func payForOne(t *testing.T, s *Server, key string) (ticket string) {
	t.Helper()
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`, anOffer(t, s, key, bukovel),
		passenger)
	b := call(t, s, key, "POST", "/v2/bookings", body).Data.Booking
	if a := call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", ""); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	return b.Tickets[0].ID
}

func outboxList(t *testing.T, s *Server) string {
	t.Helper()
	var out strings.Builder
	if err := s.Admin.Do("outbox-list", &admin.Act{Form: nil, Out: &out}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// eventually waits for what other processes and the network do.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass: ", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// A slow mail server is not felt by who pays; the mail says what was paid, in English and Ukrainian, and is
// sent once.
func TestASlowMailServerIsNotFelt(t *testing.T) {
	release := make(chan bool)
	addr, mails := smtpPeer(t, func(int) string { <-release; return "250 taken" })
	phones := newPeer(t, always(200))
	dir := t.TempDir()
	s, key := demoServer(t, Config{
		Dir:          dir,
		MessengerURL: phones.URL,
		Mail:         outbound.MailConfig{Addr: addr, From: "tickets@example.com"},
	})
	var tickets []string
	for range 3 {
		tickets = append(tickets, payForOne(t, s, key)) // while the mail server says nothing
	}
	eventually(t, "three mails are at the server", func() bool { return len(mails()) == 3 })
	if list := outboxList(t, s); !strings.Contains(list, "email of ticket "+tickets[0]) {
		t.Error(list)
	}
	close(release)
	eventually(t, "all is sent", func() bool { return outboxList(t, s) == "0 messages are not sent" })
	text := strings.Join(mails(), "")
	for _, part := range []string{"To: lesia@example.com", "From: tickets@example.com", "Message-ID: <",
		tickets[0], tickets[2], "Seat: 3"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is in none of the mails:\n%s", part, text)
		}
	}
	texts := map[string]int{}
	for _, c := range phones.sent() {
		c.signed(t, dir)
		c.documented(t, "sendText")
		var doc struct{ ID, Phone, Text, BookingID, TicketID string }
		err := json.Unmarshal([]byte(c.body), &doc)
		if err != nil || c.id != `"`+doc.ID+`"` ||
			!strings.Contains(doc.Text, "Квиток оплачено") || !slices.Contains(tickets, doc.TicketID) {
			t.Errorf("%v: %s %s", err, c.id, c.body)
		}
		texts[doc.TicketID+doc.Phone]++
	}
	if len(texts) != 6 || len(phones.sent()) != 6 {
		t.Errorf("texts: %v", texts)
	}
	compareWithReplay(t, s, dir, false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = demoServer(t, Config{Dir: dir, Mail: outbound.MailConfig{Addr: addr, From: "tickets@example.com"}})
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
	cfg := Config{Dir: dir, Mail: outbound.MailConfig{Addr: ln.Addr().String(), From: "tickets@example.com"}}
	ln.Close() // nobody answers there
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg.Now, cfg.Log = bubbleClock(), slog.New(slog.NewTextHandler(&log, nil))
		s, key := demoServer(t, cfg)
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
		n := strings.Count(log.String(), "it is tried again")
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
		compareWithReplay(t, s, dir, false)
		s.Close()
	})
}

// What a mail server does not take now (4yz) is tried again, what it refuses (5yz) is parked.
func TestWhatAMailServerAnswersDecides(t *testing.T) {
	replies := []string{"451 later", "451 later", "550 never", "250 taken"}
	addr, mails := smtpPeer(t, func(n int) string { return replies[n-1] })
	s, key := demoServer(t, Config{
		Dir:       t.TempDir(),
		TestClock: true,
		StartAt:   scriptStart,
		Mail:      outbound.MailConfig{Addr: addr, From: "tickets@example.com"},
	})
	defer s.Close()
	payForOne(t, s, key)
	for n, advance := range []string{"1m", "1h", ""} {
		eventually(t, "another attempt", func() bool { return len(mails()) == n+1 })
		if advance != "" {
			eventually(t, "it was told that it was not taken", func() bool {
				call(t, s, "", "POST", "/test/clock", `{"advance":"`+advance+`"}`)
				return len(mails()) > n+1
			})
		}
	}
	eventually(t, "it is parked", func() bool {
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
	eventually(t, "it is sent", func() bool { return outboxList(t, s) == "0 messages are not sent" })
	if sent := mails(); len(sent) != 4 || sent[2] != sent[0] {
		t.Errorf("%d attempts, want 4 of the same mail:\n%s", len(sent), strings.Join(sent, "\n"))
	}
}

// Contract §12: each peer has places of its own. A mail server that hangs does not hold up the texts to
// phones.
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
	s, key := demoServer(t, Config{
		MessengerURL: phone.URL,
		Mail:         outbound.MailConfig{Addr: silent.Addr().String(), From: "a@example.com"},
	})
	one := `{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}`
	for range texts / 15 {
		body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`,
			anOffer(t, s, key, "passengers=15&departureCitySlug=kyiv&arrivalCitySlug=lviv"),
			strings.Repeat(one+",", 14)+one)
		b := call(t, s, key, "POST", "/v2/bookings", body).Data.Booking
		if a := call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", ""); a.status != 200 {
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
