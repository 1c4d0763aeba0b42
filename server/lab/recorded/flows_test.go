package recorded

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	shortTicket  = regexp.MustCompile(`<(\w+)(?:@(\w+))? (\w+) (\w+)(?: ([0-9-]+))?(?: (\d+|–))?(?: (\w+))?>`)
	shortBooking = regexp.MustCompile(`@(\w+) (\w+),`)
	clockOf      = regexp.MustCompile(`^([0-9:]{8})(?:\+(\S+))? (\S+) (\S+) ?(.*)$`)
)

// longTicket writes a ticket in full.
func longTicket(short string) string {
	m := shortTicket.FindStringSubmatch(short)
	orElse := func(i int, otherwise string) string {
		if m[i] == "" || m[i] == "-" {
			return otherwise
		}
		return m[i]
	}
	return fmt.Sprintf(`{"id":"%s","bookingId":"%s","status":"%s","paymentStatus":"%s","source":"%s",`+
		`"price":{"amount":100,"currency":"UAH"},"refundAmount":%s,"slices":[{"id":"s","seat":{"label":"%s"},`+
		`"bus":{"id":"v"},"departureDate":"2026-12-05T08:00:00.000Z","arrivalDate":"2026-12-05T18:00:00.000Z"}]}`,
		m[1], orElse(2, "b1"), m[3], m[4], orElse(7, "Service"), orElse(5, "null"), orElse(6, m[1]))
}

// longBooking writes the first members of a booking in full.
func longBooking(short string) string {
	m := shortBooking.FindStringSubmatch(short)
	created := map[string]string{"b1": "10:01", "b2": "10:22", "b9": "11:24"}[m[1]]
	return fmt.Sprintf(`"id":"%s","status":"%s","createdAt":"2026-11-20T%s:00.000Z",`+
		`"departureDate":"2026-12-05T08:00:00.000Z",`, m[1], m[2], created)
}

// exchangesOf reads a recording of flows.txt.
func exchangesOf(t *testing.T, text string) *Recording {
	t.Helper()
	r := new(Recording)
	var request message
	var asked []string
	answer := message{header: http.Header{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		m := clockOf.FindStringSubmatch(line)
		header, value, _ := strings.Cut(strings.Trim(line, "<> "), ": ")
		switch {
		case m != nil:
			asked = m
			request = message{header: http.Header{}, body: []byte(m[5])}
			answer = message{header: http.Header{}}
		case strings.HasPrefix(line, "> "):
			request.header.Set(header, value)
		case strings.HasPrefix(line, "< "):
			answer.header.Set(header, value)
		case line != "":
			var status int
			fmt.Sscan(line, &status)
			_, body, _ := strings.Cut(line, " ")
			answer.body = []byte(shortBooking.ReplaceAllStringFunc(
				shortTicket.ReplaceAllStringFunc(body, longTicket), longBooking))
			x := answered(t, len(r.exchanges)+1, asked, request, status, answer)
			r.exchanges = append(r.exchanges, x...)
		}
	}
	return r
}

// answered is an exchange of a recording, or none.
func answered(t *testing.T, n int, asked []string, request message, status int, answer message) []*exchange {
	t.Helper()
	at, err := time.Parse(time.DateTime, "2026-11-20 "+asked[1])
	if err != nil {
		t.Fatal(err)
	}
	x, err := newExchange(fmt.Sprint(n), asked[3], asked[4], request)
	if err != nil {
		t.Fatal(err)
	}
	if x == nil {
		return nil
	}
	if took, err := time.ParseDuration(asked[2]); err == nil {
		x.began, x.ended = at, at.Add(took)
		at = x.ended
	}
	if answer.header.Get("Date") == "" {
		answer.header.Set("Date", at.Format(http.TimeFormat))
	}
	if err := x.setAnswer(status, answer); err != nil {
		t.Fatal(err)
	}
	if !x.isAnswered() {
		return nil
	}
	return []*exchange{x}
}

// Decision conform.recorded: what one answer says is held against what others have said. Right recordings
// contradict nothing, odd ones neither; each lie is said in its place.
func TestFlows(t *testing.T) {
	text, err := os.ReadFile("testdata/flows.txt")
	if err != nil {
		t.Fatal(err)
	}
	base := ""
	for part := range strings.SplitSeq(string(text), "\n\n") {
		first, rest, _ := strings.Cut(part, "\n")
		kind, name, _ := strings.Cut(first, " ")
		var want []string
		altered := rest
		switch kind {
		case "recording":
			base = rest
		case "lie":
			altered, want = alteredBy(t, name, base, rest)
		default:
			continue
		}
		var lies findings
		exchangesOf(t, altered).judge(&lies)
		var got []string
		for _, line := range lies.list {
			got = append(got, line.place+": "+line.what)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "),
				strings.Join(want, "\n     "))
		}
	}
}

// alteredBy returns a recording in which lines are replaced, and what is to be said of it.
func alteredBy(t *testing.T, name, base, edits string) (altered string, want []string) {
	t.Helper()
	altered = base
	var old, by []string
	replace := func() {
		if len(by) == 0 {
			return
		}
		next := strings.ReplaceAll(altered, strings.Join(old, "\n"), strings.Join(by, "\n"))
		if next == altered {
			t.Fatalf("%s: %q is not there", name, old)
		}
		altered, old, by = next, nil, nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(edits), "\n") {
		switch {
		case strings.HasPrefix(line, "- "):
			replace()
			old = append(old, line[2:])
		case strings.HasPrefix(line, "+ "):
			by = append(by, line[2:])
		default:
			replace()
			want = append(want, line)
		}
	}
	return altered, want
}
