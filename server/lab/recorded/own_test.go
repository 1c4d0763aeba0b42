package recorded

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
)

// pair is an exchange as it goes over the wire.
type pair struct {
	name, request, response string
}

// player asks a server what a file of steps says, and records it.
type player struct {
	t       *testing.T
	s       *server.Server
	since   time.Duration // of the clock, since rig.Start
	names   map[string]string
	cookies []*http.Cookie
	pairs   []pair
}

func (p *player) now() time.Time { return rig.Start.Add(p.since) }

// fill replaces $NAME.
func (p *player) fill(text string) string {
	return regexp.MustCompile(`\$[A-Z]+`).ReplaceAllStringFunc(text, func(name string) string {
		return p.names[name[1:]]
	})
}

// step is a line of the file, and the lines below it.
type step struct {
	line  string
	below []string
}

// steps reads the file.
func steps(t *testing.T) (list []step) {
	text, err := os.ReadFile("testdata/own.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			list[len(list)-1].below = append(list[len(list)-1].below, strings.TrimSpace(line))
		default:
			list = append(list, step{line: line})
		}
	}
	return list
}

// play carries a step out.
func (p *player) play(s step) {
	name, rest, _ := strings.Cut(s.line, " ")
	switch name {
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		p.since += d
		w := rig.Ask(p.s, "", "POST", "/test/clock", `{"advance":"`+rest+`"}`)
		if w.Code != http.StatusOK {
			p.t.Fatalf("%s: %d %s", s.line, w.Code, w.Body)
		}
		return
	case "hold":
		p.s.Reporting.Lock() // the report that is ordered next waits
		return
	case "write":
		p.s.Reporting.Unlock()
		rig.WriteReports(p.t, p.s)
		return
	}
	method, rest, _ := strings.Cut(p.fill(rest), " ")
	target, body, _ := strings.Cut(rest, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("x-api-key", p.names["KEY"])
	keep := map[string]string{}
	for _, line := range s.below {
		header, value, isHeader := strings.Cut(line, ": ")
		switch kept, expression, isKept := strings.Cut(strings.TrimPrefix(line, "keep "), " "); {
		case line == "nobody":
			r.Header.Del("x-api-key")
		case line == "other":
			r.Header.Set("x-api-key", p.names["OTHER"])
		case isKept && strings.HasPrefix(line, "keep "):
			keep[kept] = expression
		case isHeader:
			r.Header.Add(header, value)
		}
	}
	for _, c := range p.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	p.s.ServeHTTP(w, r)
	for kept, expression := range keep {
		found := regexp.MustCompile(expression).FindStringSubmatch(w.Body.String())
		if found == nil {
			p.t.Fatalf("%s: %d %s", s.line, w.Code, w.Body)
		}
		p.names[kept] = found[1]
	}
	if name == "login" {
		p.cookies = w.Result().Cookies()
	}
	p.record(name, r, body, w)
}

// record keeps an exchange as it goes over the wire.
func (p *player) record(name string, r *http.Request, body string, w *httptest.ResponseRecorder) {
	var request, response bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.1\r\n", r.Method, r.URL.RequestURI())
	r.Header.Write(&request)
	fmt.Fprintf(&request, "\r\n%s", body)
	w.Header().Set("Date", p.now().UTC().Format(http.TimeFormat))
	fmt.Fprintf(&response, "HTTP/1.1 %d %s\r\n", w.Code, http.StatusText(w.Code))
	w.Header().Write(&response)
	fmt.Fprintf(&response, "\r\n%s", w.Body)
	name = fmt.Sprintf("%02d-%s", len(p.pairs)+1, name)
	p.pairs = append(p.pairs, pair{name, request.String(), response.String()})
}

// ownPairs returns what this program answers to the steps of the file.
func ownPairs(t *testing.T) []pair {
	t.Helper()
	p := &player{t: t, names: map[string]string{}}
	p.s, p.names["KEY"] = rig.Demo(t, server.Config{MaxTransfers: 1, Lab: rig.TestClock()})
	other, err := p.s.Admin.AddPartner("bohdan", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.names["OTHER"] = other
	v := &rig.Visitor{T: t, S: p.s}
	v.Admin("user-add", "email", "demo@example.com", "first-name", "Demo", "last-name", "User", "password",
		"correct-horse", "company", "zorevia-lines", "role", "ADMIN")
	steps := steps(t)
	for _, s := range steps {
		if strings.HasPrefix(s.line, "login ") {
			p.names["TOKEN"] = v.Admin("idtoken", "email", "demo@example.com")
		}
		p.play(s)
	}
	return p.pairs
}

// writePairs writes a directory of pairs.
func writePairs(t *testing.T, pairs []pair) string {
	t.Helper()
	dir := t.TempDir()
	for _, x := range pairs {
		for end, text := range map[string]string{requestEnd: x.request, responseEnd: x.response} {
			if err := os.WriteFile(filepath.Join(dir, x.name+end), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// said returns what is said of a recording.
func said(t *testing.T, r *Recording) (lines []string) {
	t.Helper()
	var out bytes.Buffer
	if _, err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// saidOf reads a recording, and returns what is said of it.
func saidOf(t *testing.T, file string) []string {
	t.Helper()
	r, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return said(t, r)
}

// recordingOf returns a recording of pairs, without a directory.
func recordingOf(t *testing.T, pairs []pair) *Recording {
	t.Helper()
	r := new(Recording)
	for _, p := range pairs {
		x, err := readPair(p.name, []byte(p.request), []byte(p.response))
		if err != nil || x == nil {
			t.Fatal(p.name, x, err)
		}
		r.exchanges = append(r.exchanges, x)
	}
	return r
}

// alter returns an exchange of a recording as another one: in its answer, what an expression matches is
// replaced. That has to change something.
func alter(t *testing.T, pairs []pair, name, expression, by string) (i int, x *exchange) {
	t.Helper()
	i = slices.IndexFunc(pairs, func(p pair) bool { return strings.HasSuffix(p.name, "-"+name) })
	if i < 0 {
		t.Fatal("no pair ", name)
	}
	text := regexp.MustCompile(expression).ReplaceAllString(pairs[i].response, by)
	if text == pairs[i].response {
		t.Fatalf("%s has no %s:\n%s", name, expression, text)
	}
	text = contentLength.ReplaceAllString(text, "")
	x, err := readPair(pairs[i].name, []byte(pairs[i].request), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return i, x
}

var contentLength = regexp.MustCompile("(?m)^Content-Length: .*\r\n")
