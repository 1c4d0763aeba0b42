package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/lab/transcript"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
	"waybill/store"
	"waybill/store/durable"
)

// TestScript plays the transcripts in testdata/script against the real server
// on a real directory, each in a bubble where waiting costs no time. A line is
// a step; indented lines below a request check its answer:
//
//	partner NAME [SLUGS]      makes a partner; $NAME is its key, and it calls from here on
//	as NAME                   the partner that calls from here on, or nobody
//	wait DURATION
//	restart | crash           with, or without, closing the server
//	provider ok|fails|fails-once|hangs  closes the server and opens it with such a provider
//	provider-after …          the same for the next start
//	timetable FILE OLD => NEW the demo feed, with a text of one of its files replaced, comes into force
//	meanwhile METHOD PATH [BODY]  a request whose answer is not waited for
//	browser NAME [like NAME]  who calls from here on, with cookies, at first those of another; or nobody
//	settle                    lets the background come to rest
//	list DIR                  $out is the names of its files
//	holds TEXT [NAME…]        the files that have the text; a name with / at its end is any there
//	admin OP [key=value]…     an admin operation; $out is what it prints; admin! expects an error
//	header NAME: VALUE        of the next request
//	METHOD PATH [BODY]
//	    CHECK                 as package transcript has them
//
// Every transcript ends by comparing the live state with a replay of the journal.
func TestScript(t *testing.T) {
	files, err := filepath.Glob("../testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	var played atomic.Int32
	t.Cleanup(func() {
		if int(played.Load()) < len(files) {
			return // not all were asked for, or one has failed
		}
		for _, place := range unshown() {
			t.Errorf("no transcript shows %s of the document", place)
		}
	})
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPlayer(t, dir, filepath.Base(file))
				for n, line := range strings.Split(string(text), "\n") {
					p.line = n + 1
					p.play(line)
				}
				p.finish()
			})
			played.Add(1)
		})
	}
}

// player plays one transcript.
type player struct {
	transcript.Player
	t        *testing.T
	file     string
	line     int
	dir      string
	s        *Server
	caller   string
	browser  string
	cookies  map[string][]*http.Cookie // by browser, in the order they were set
	header   [][2]string
	resp     *httptest.ResponseRecorder
	asked    bool // the answer's status was checked
	provider string
	asking   sync.Mutex
	opened   int
	logged   bytes.Buffer
	log      *slog.Logger
	secrets  map[string]bool // what no line of the log may show
}

// scriptStart is when transcripts start, by the server's clock.
var scriptStart = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func newPlayer(t *testing.T, dir, file string) *player {
	p := &player{
		t:       t,
		file:    file,
		dir:     dir,
		Player:  transcript.Player{Vars: map[string]string{}},
		secrets: map[string]bool{},
		cookies: map[string][]*http.Cookie{},
	}
	t.Cleanup(func() { p.s.Close() })
	p.log = slog.New(slog.NewJSONHandler(&p.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.open()
	err := p.s.Admin.Import(os.DirFS("../testdata/demo"), "demo", admin.ImportOptions{Strict: true},
		new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *player) open() {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when bubbles start
	cfg := Config{
		Dir: p.dir, Log: p.log, MaxTransfers: 1, TestClock: strings.HasPrefix(p.file, "clock"),
		Now: func() time.Time { return time.Now().Add(scriptStart.Sub(began)) },
	}
	if p.provider != "" && p.provider != "none" {
		cfg.Confirm = p.confirm
	}
	s, err := Open(cfg)
	if err != nil {
		p.fatal("open: %v", err)
	}
	p.s = s
	p.opened++
}

func (p *player) confirm(ctx context.Context, _ provider.Confirmation) error {
	if p.provider == "hangs" {
		<-ctx.Done()
		return ctx.Err()
	}
	p.asking.Lock() // tickets are asked about at the same time
	defer p.asking.Unlock()
	switch p.provider {
	case "fails":
		return fmt.Errorf("the provider says no: %w", outbound.ErrRefused)
	case "fails-once":
		p.provider = "ok"
		return errors.New("the provider says nothing, once")
	}
	return nil
}

func (p *player) fatal(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s:%d: %s", p.file, p.line, fmt.Sprintf(format, args...))
}

func (p *player) expand(s string) string {
	expanded, err := p.Expand(s)
	if err != nil {
		p.fatal("%v", err)
	}
	return expanded
}

func (p *player) play(line string) {
	check := strings.HasPrefix(line, " ")
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return
	}
	if check {
		p.check(line)
		return
	}
	if p.resp != nil && !p.asked {
		p.fatal("the request before has no status checked")
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "partner":
		name, slugs, _ := strings.Cut(rest, " ")
		p.admin("partner-add", url.Values{"name": {name}, "company": {slugs}}, false)
		p.Vars[name] = strings.TrimSpace(p.Vars["out"])
		p.caller = name
	case "as":
		p.caller = rest
	case "browser":
		name, other, _ := strings.Cut(rest, " like ")
		p.browser, p.cookies[name] = name, append(slices.Clip(p.cookies[name]), p.cookies[other]...)
	case "settle":
		synctest.Wait()
	case "list":
		names, err := durable.Dir(p.dir).List(rest)
		if err != nil {
			p.fatal("%v", err)
		}
		p.Vars["out"] = strings.Join(names, " ")
	case "holds":
		words := strings.Fields(p.expand(rest))
		p.holds(words[0], words[1:])
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.fatal("%v", err)
		}
		time.Sleep(d)
	case "admin", "admin!":
		op, args, _ := strings.Cut(p.expand(rest), " ")
		form := url.Values{}
		for arg := range strings.FieldsSeq(args) {
			k, v, _ := strings.Cut(arg, "=")
			form.Set(k, v)
		}
		p.admin(op, form, word == "admin!")
	case "header":
		k, v, _ := strings.Cut(p.expand(rest), ": ")
		p.header = append(p.header, [2]string{k, v})
	default:
		if !p.arrange(word, rest) {
			p.request(word, rest)
		}
	}
}

// arrange plays a step that is about the server and its surroundings; false: it is none.
func (p *player) arrange(word, rest string) bool {
	switch word {
	case "restart":
		p.compare()
		if err := p.s.Close(); err != nil {
			p.fatal("close: %v", err)
		}
		p.open()
	case "crash":
		p.crash()
	case "provider":
		p.provider = rest
		if err := p.s.Close(); err != nil {
			p.fatal("close: %v", err)
		}
		p.open()
	case "provider-after":
		p.provider = rest
	case "timetable":
		file, change, _ := strings.Cut(rest, " ")
		old, instead, _ := strings.Cut(change, " => ")
		importFeed(p.t, p.s, feedWith(p.t, map[string][][2]string{file: {{old, instead}}}))
	case "meanwhile":
		method, rest, _ := strings.Cut(rest, " ")
		target, body, _ := strings.Cut(p.expand(rest), " ")
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("x-api-key", p.Vars[p.caller])
		go p.s.ServeHTTP(httptest.NewRecorder(), r)
		synctest.Wait()
	default:
		return false
	}
	return true
}

// holds finds a text in these files of the directory, and in no other.
func (p *player) holds(text string, want []string) {
	var got []string
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			name, _ := filepath.Rel(p.dir, path)
			for _, dir := range []string{"snapshots/", "outbox/"} {
				if strings.HasPrefix(name, dir) {
					name = dir
				}
			}
			got = append(got, name)
		}
		return err
	})
	if got = slices.Compact(got); err != nil || !slices.Equal(got, want) {
		p.fatal("%s stands in %q, want %q (%v)", text, got, want, err)
	}
}

func (p *player) admin(op string, form url.Values, fails bool) {
	var out bytes.Buffer
	err := p.s.Admin.Do(op, &admin.Act{By: ledger.By{UID: 1000, User: "olena"}, Form: form, Out: &out})
	if (err != nil) != fails {
		p.fatal("admin %s: %v\n%s", op, err, &out)
	}
	if p.Vars["out"] = strings.TrimSpace(out.String()); fails {
		p.Vars["out"] = err.Error()
	}
}

func (p *player) request(method, rest string) {
	target, body, _ := strings.Cut(p.expand(rest), " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	}
	if p.caller != "" && p.caller != "nobody" {
		r.Header.Set("x-api-key", p.Vars[p.caller])
	}
	for _, h := range p.header {
		r.Header.Add(h[0], h[1])
	}
	p.sendCookies(r)
	p.noteSecrets(r, body)
	p.header = nil
	p.asked = false
	p.resp = httptest.NewRecorder()
	p.s.Handler().ServeHTTP(p.resp, r)
	p.Answer = transcript.Answer{
		Status: p.resp.Code,
		Header: p.resp.Header(),
		Body:   p.resp.Body.Bytes(),
	}
	p.cookies[p.browser] = append(p.cookies[p.browser], p.resp.Result().Cookies()...)
	p.wellFormed()
	for _, problem := range undocumented(r, p.resp) {
		p.fatal("not as the document says: %s", problem)
	}
}

// wellFormed checks what holds for every answer.
func (p *player) wellFormed() {
	h := p.resp.Header()
	if strings.HasPrefix(h.Get("Content-Type"), "text/") {
		return // a report, a page, the metrics
	}
	if h.Get("Content-Type") != "application/json" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("X-Request-Id") == "" {
		p.fatal("headers: %v", h)
	}
	if !json.Valid(p.resp.Body.Bytes()) {
		p.fatal("not JSON: %s", p.resp.Body)
	}
	for _, c := range p.cookies[p.browser] {
		if c.Value != "" && strings.Contains(p.resp.Body.String(), c.Value) {
			p.fatal("the answer shows a token")
		}
	}
	if key := p.Vars[p.caller]; key != "" && strings.Contains(p.resp.Body.String()+fmt.Sprint(h), key) {
		p.fatal("the answer shows the key")
	}
}

// crash goes on with a copy of the directory, as a machine does that lost its server.
func (p *player) crash() {
	copied := filepath.Join(p.dir, "..", filepath.Base(p.dir)+"c")
	if err := os.CopyFS(copied, os.DirFS(p.dir)); err != nil {
		p.fatal("%v", err)
	}
	if err := p.s.Close(); err != nil {
		p.fatal("close: %v", err)
	}
	p.dir = copied
	p.open()
}

// finish compares and closes.
func (p *player) finish() {
	p.line = 0
	if p.resp != nil && !p.asked {
		p.fatal("the last request has no status checked")
	}
	p.compare()
	if err := p.s.Close(); err != nil {
		p.fatal("close: %v", err)
	}
	if _, err := verify.Directory(durable.Dir(p.dir), false, store.Expected{}); err != nil {
		p.fatal("verify: %v", err)
	}
	p.checkLog()
}

// compare holds the live state against a replay of the journal, and against what a snapshot of it gives.
func (p *player) compare() {
	synctest.Wait()
	compareWithReplay(p.t, p.s, p.dir, p.opened > 1)
}
