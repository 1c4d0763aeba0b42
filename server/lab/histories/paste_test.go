package histories

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
)

// line is a request as a shell makes it, with variables for what the servers name differently.
type line struct {
	step         *step
	target, body string
}

// lines returns what was asked, as a shell asks it.
func (p *play) lines() (list []line) {
	values := maps.Clone(p.sides[0].values)
	for name := range values {
		if name[0] == 'o' || name[0] == 'b' {
			values[name] = "$" + strings.ToUpper(name)
		}
	}
	for _, a := range p.sent {
		if _, target, body, err := p.request(a.step, values, a.now); err == nil {
			list = append(list, line{a.step, target, body})
		}
	}
	return list
}

// howToStart says how either server is brought to where the lines begin.
const howToStart = `# Paste this into a shell that has jq. URL is the address of either server; each prints KEY, mini also KEY2:
#   (cd testdata/mini && go run . -feed ../../server/lab/histories/testdata/feed -test-clock %s -frozen)
#   ./waybill serve -data d -test-clock %s -frozen   # a new directory
#   ./waybill import -data d server/lab/histories/testdata/feed; KEY2=$(./waybill partner add -data d second)
`

// paste returns the history as lines for a shell, and how the servers differ at its end.
func (e *ending) paste() string {
	var text strings.Builder
	fmt.Fprintf(&text, howToStart, start.Format(time.RFC3339), start.Format(time.RFC3339))
	for i, l := range e.sent {
		var later strings.Builder
		for _, next := range e.sent[i+1:] {
			later.WriteString(next.target + next.body + "\n")
		}
		l.write(&text, later.String())
	}
	fmt.Fprintf(&text, "# %s\n", e.words)
	return text.String()
}

// variable matches a variable of a shell.
var variable = regexp.MustCompile(`\$[OB][0-9T]+`)

// write writes a request, and what of its answer the later ones name.
func (l *line) write(text *strings.Builder, later string) {
	call := "curl -sS"
	switch l.step.who {
	case 1:
		call += ` -H "x-api-key: $KEY"`
	case 2:
		call += ` -H "x-api-key: $KEY2"`
	case strangerAsks:
		call += ` -H "x-api-key: no-such-key"`
	}
	if l.step.method != "GET" {
		call += " -X " + l.step.method
	}
	call += ` "$URL` + l.target + `"`
	if l.body != "" {
		body := strings.ReplaceAll(l.body, "'", `'\''`)
		call += " -d '" + variable.ReplaceAllString(body, `'"$0"'`) + "'"
		call += ` -H "Content-Type: application/json"`
	}
	var kept strings.Builder
	for _, k := range l.keeps() {
		if regexp.MustCompile(`\$` + k.name + `\b`).MatchString(later) {
			fmt.Fprintf(&kept, "; %s=$(echo \"$A\" | jq -r '%s')", k.name, k.path)
		}
	}
	if kept.Len() == 0 {
		fmt.Fprintf(text, "%s; echo\n", call)
		return
	}
	fmt.Fprintf(text, "A=$(%s); echo \"$A\"%s\n", call, kept.String())
}

// kept is a variable, and where its value is in an answer.
type kept struct{ name, path string }

// keeps returns what may be kept of the answer to a request.
func (l *line) keeps() (list []kept) {
	n := l.step.number
	path, _, _ := strings.Cut(l.step.target, "?")
	booked, tickets := ".data.booking.id", ".data.booking.tickets"
	switch path {
	case "/v2/offers":
		return []kept{l.found("offers")}
	case "/v2/offers/schedule":
		return []kept{l.found("departures")}
	case "/rest/offers":
		return []kept{l.found("results")}
	case "/rest/orders":
		booked, tickets = ".data[0].bookingId", ".data"
	case "/v2/bookings":
	default:
		return nil
	}
	if l.step.method != "POST" {
		return nil
	}
	list = []kept{{fmt.Sprintf("B%d", n), booked}}
	for i := range strings.Count(l.body, `"firstName"`) {
		list = append(list, kept{fmt.Sprintf("B%dT%d", n, i+1), fmt.Sprintf("%s[%d].id", tickets, i)})
	}
	return list
}

// found is the offer that is kept of a list of journeys.
func (l *line) found(list string) kept {
	path := ".data." + list + "[0].id"
	if l.step.choice > 0 {
		path = fmt.Sprintf(".data.%s | .[%d %% length].id", list, l.step.choice)
	}
	return kept{fmt.Sprintf("O%d", l.step.number), path}
}
