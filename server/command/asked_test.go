package command

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// askedAndKilled returns a directory whose server was killed while it asked a provider that never answers
// about a ticket, and the ticket's booking and id.
func askedAndKilled(t *testing.T) (bin, dir, key, booked, ticket string) {
	t.Helper()
	bin, dir = build(t)
	asked := make(chan bool)
	over := make(chan bool)
	provider := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-over
	}))
	t.Cleanup(func() { close(over); provider.Close() })
	p := startProcess(t, bin, dir, "-provider-url", provider.URL)
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	_, body := p.call("POST", "/v2/bookings", offer(t, p))
	booked = regexp.MustCompile(`"booking":{"id":"([^"]+)"`).FindStringSubmatch(body)[1]
	ticket = regexp.MustCompile(`"tickets":\[{"id":"([^"]+)"`).FindStringSubmatch(body)[1]
	go p.call("POST", "/v2/bookings/"+booked+"/pay", "")
	<-asked
	p.cmd.Process.Kill()
	p.cmd.Wait()
	return bin, dir, p.key, booked, ticket
}

// Interface, pay: what the provider was asked is settled by its answer and by nothing else. A verb that opens
// the directory does not, nor does a server without a provider; the operator can answer in the provider's
// place.
func TestOnlyAnAnswerSettlesWhatTheProviderWasAsked(t *testing.T) {
	t.Parallel()
	bin, dir, key, booked, ticket := askedAndKilled(t)
	for _, verb := range [][]string{{"partner", "list"}, {"key", "rotate"}, {"outbox", "list"},
		{"partner", "add", "-company", "zorevia-lines", "x"}} {
		want(t, 0, "", append(append(verb[:2:2], "-data", dir), verb[2:]...)...)
		out := want(t, 0, "", "log", "-data", dir, "-booking", booked)
		if strings.Contains(out, "ticket.paid") || strings.Contains(out, "ticket.refused") {
			t.Fatalf("after %v:\n%s", verb, out)
		}
	}
	want(t, 0, ticket+".*asked to pay", "ticket", "asked", "-data", dir)

	p := startProcess(t, bin, dir) // without -provider-url
	p.key = key
	status, body := p.call("POST", "/v2/bookings/"+booked+"/pay", "")
	if status != 409 || !strings.Contains(body, `"reason":"IN_PROGRESS"`) {
		t.Errorf("pay of a ticket that the provider was asked about: %d %s", status, body)
	}
	status, body = p.call("GET", "/v2/tickets/"+ticket, "")
	if status != 200 || !strings.Contains(body, `"paymentStatus":"Unpaid"`) {
		t.Errorf("%d %s", status, body)
	}
	want(t, 2, "-reason must be given", "ticket", "answer", "-data", dir, ticket, "confirmed")
	want(t, 2, `"maybe" is not one of confirmed, refused`, "ticket", "answer", "-data", dir, "-reason", "x",
		ticket, "maybe")
	want(t, 0, ticket+" is Confirmed/Paid", "ticket", "answer", "-data", dir, "-reason", "their list has it",
		ticket, "confirmed")
	want(t, 1, "was not asked about", "ticket", "answer", "-data", dir, "-reason", "again", ticket,
		"confirmed")
	status, body = p.call("GET", "/v2/tickets/"+ticket, "")
	if status != 200 || !strings.Contains(body, `"paymentStatus":"Paid"`) {
		t.Errorf("%d %s", status, body)
	}
	want(t, 0, "0 tickets", "ticket", "asked", "-data", dir)
	want(t, 0, `their list has it.* by `, "log", "-data", dir, "-booking", booked)
	p.cmd.Process.Kill()
	p.cmd.Wait()
	want(t, 0, "^sound", "verify", "-data", dir)
}

// The operator may answer with no server running, and refuse; a server that has a provider leaves the answer
// to it.
func TestTheOperatorAnswersInTheProvidersPlace(t *testing.T) {
	t.Parallel()
	bin, dir, key, booked, ticket := askedAndKilled(t)
	want(t, 0, ticket+" is Processing/Unpaid", "ticket", "answer", "-data", dir, "-reason",
		"they never heard of it", ticket, "refused")
	p := startProcess(t, bin, dir)
	p.key = key
	if status, body := p.call("POST", "/v2/bookings/"+booked+"/pay", ""); status != 200 {
		t.Errorf("pay after a refusal: %d %s", status, body)
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()

	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer silent.Close()
	p = startProcess(t, bin, dir, "-provider-url", silent.URL)
	want(t, 1, "the configured provider answers", "ticket", "answer", "-data", dir, "-reason", "x", ticket,
		"refused")
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// The log of a server that cannot ask says so, and how to answer.
func TestAServerWithoutAProviderSaysWhatStaysAsked(t *testing.T) {
	t.Parallel()
	_, dir, _, _, _ := askedAndKilled(t)
	code, _, stderr := run(t, nil, "serve", "-addr", "127.0.0.1:0", "-data", dir) // which stops at once
	if code != 0 || !strings.Contains(stderr, "waybill ticket answer") {
		t.Errorf("%d: %s", code, stderr)
	}
}
