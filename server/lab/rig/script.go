package rig

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/lab/seed"
	"waybill/server/lab/transcript"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/backup"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Player plays one transcript against a server on a directory, in a bubble. Beside the steps of package
// transcript it knows these:
//
//	partner NAME [SLUGS]      makes a partner; $NAME is its key, and it calls from here on
//	wait DURATION
//	restart | crash           with, or without, closing the server
//	provider ok|fails|fails-once|hangs  closes the server and opens it with such a provider
//	provider-after …          the same for the next start
//	messenger URL             closes the server and opens it with a messenger there
//	fork                      goes on in a copy of the directory, a world of a test bench
//	repair                    goes on in what a repair writes that cuts the last line off
//	timetable FILE OLD => NEW the demo feed, with a text of one of its files replaced, comes into force
//	meanwhile METHOD PATH [BODY]  a request whose answer is not waited for
//	browser NAME [like NAME]  who calls from here on, with cookies, at first those of another; or nobody
//	rest                      lets the background come to rest
//	list DIR                  $out is the names of its files
//	holds TEXT [NAME…]        the files that have the text; a name with / at its end is any there
//	admin OP [key=value]…     an admin operation; $out is what it prints; admin! expects an error
//	user [key=value]…         as admin user-add, for a new user, whose password takes no time to check
//
// A request needs a check of its status. Finish ends each by comparing the live state with a replay of the
// journal.
type Player struct {
	transcript.Player
	t        *testing.T
	file     string
	Line     int
	dir      string
	S        *server.Server
	browser  string
	Cookies  map[string][]*http.Cookie // by browser, in the order they were set
	resp     *httptest.ResponseRecorder
	asked    bool // the answer's status was checked
	provider string
	message  string // the messenger's URL
	forked   *ledger.WorldForked
	asking   sync.Mutex
	opened   int
	logged   bytes.Buffer
	log      *slog.Logger
	secrets  map[string]bool // what no line of the log may show
}

// NewPlayer opens a server on the demo network. If the file is called "clock…", its clock can be set; if
// "seed…", its clock stands still, and what would be random comes from a seed.
func NewPlayer(t *testing.T, dir, file string) *Player {
	p := &Player{
		t:       t,
		file:    file,
		dir:     dir,
		secrets: map[string]bool{},
		Cookies: map[string][]*http.Cookie{},
	}
	p.Player = transcript.Player{
		Vars:     map[string]string{},
		Verbs:    p.verbs(),
		Ask:      p.ask,
		Now:      now,
		Patience: time.Minute,
	}
	t.Cleanup(func() { p.S.Close() })
	p.log = slog.New(slog.NewJSONHandler(&p.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.open()
	ImportDemo(t, p.S)
	return p
}

// now is the instant in a bubble, where time begins at Start.
func now() time.Time {
	return time.Now().Add(Start.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
}

func (p *Player) open() {
	cfg := server.Config{
		Dir: p.dir, FS: Unsynced(p.dir), Log: p.log, MaxTransfers: 1, Lab: NoClock(),
		Now: now,
	}
	switch {
	case strings.HasPrefix(p.file, "clock"), p.opened > 0 && strings.HasPrefix(p.file, "seed"):
		cfg.Lab = TestClock() // a directory that was made from a seed goes on from it
	case strings.HasPrefix(p.file, "seed"):
		cfg.Lab = StillFromStart(seed.New(1))
	}
	cfg.MessengerURL = p.message
	cfg.Forked = p.forked
	p.forked = nil
	if p.provider != "" && p.provider != "none" {
		cfg.Confirm = p.confirm
	}
	s, err := server.Open(cfg)
	if err != nil {
		p.fatal("open: %v", err)
	}
	p.S = s
	p.opened++
}

// reopen closes the server, and opens one on the player's directory.
func (p *Player) reopen() {
	if err := p.S.Close(); err != nil {
		p.fatal("close: %v", err)
	}
	p.open()
}

func (p *Player) confirm(ctx context.Context, _ provider.Confirmation) error {
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

func (p *Player) fatal(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s:%d: %s", p.file, p.Line, fmt.Sprintf(format, args...))
}

// Play plays a line.
func (p *Player) Play(line string) {
	step := strings.TrimSpace(line)
	if step == "" || step[0] == '#' {
		return
	}
	isCheck := strings.HasPrefix(line, " ")
	if !isCheck && p.resp != nil && !p.asked {
		p.fatal("the request before has no status checked")
	}
	if _, err := strconv.Atoi(step); err == nil && isCheck {
		p.asked = true
	}
	err := p.Player.Play(line)
	if wrong := new(transcript.Mismatch); errors.As(err, &wrong) {
		p.fatal("%v\n(%s)", err, p.resp.Body)
	}
	if err != nil {
		p.fatal("%v", err)
	}
}

// verbs are the steps that only this player knows.
func (p *Player) verbs() map[string]func(string) error {
	did := func(do func()) func(string) error {
		return func(string) error {
			do()
			return nil
		}
	}
	return map[string]func(string) error{
		"partner": func(rest string) error {
			name, slugs, _ := strings.Cut(rest, " ")
			p.Vars[name] = p.admin("partner-add", url.Values{"name": {name}, "company": {slugs}}, false)
			p.Caller = name
			return nil
		},
		"browser": func(rest string) error {
			name, other, _ := strings.Cut(rest, " like ")
			p.browser, p.Cookies[name] = name, append(slices.Clip(p.Cookies[name]), p.Cookies[other]...)
			return nil
		},
		"wait": func(rest string) error {
			d, err := time.ParseDuration(rest)
			time.Sleep(d)
			return err
		},
		"list": func(rest string) error {
			names, err := durable.Dir(p.dir).List(rest)
			p.Vars["out"] = strings.Join(names, " ")
			return err
		},
		"holds":  p.holds,
		"admin":  func(rest string) error { return p.operate(rest, false) },
		"admin!": func(rest string) error { return p.operate(rest, true) },
		"rest":   did(synctest.Wait),
		"crash":  did(p.crash),
		"fork":   did(p.fork),
		"repair": did(p.repair),
		"restart": did(func() {
			p.compare()
			p.reopen()
		}),
		"provider": func(rest string) error {
			p.provider = rest
			p.reopen()
			return nil
		},
		"provider-after": func(rest string) error {
			p.provider = rest
			return nil
		},
		"messenger": func(rest string) error {
			p.message = rest
			p.reopen()
			return nil
		},
		"user": p.user,
		"timetable": func(rest string) error {
			file, change, _ := strings.Cut(rest, " ")
			old, instead, _ := strings.Cut(change, " => ")
			Import(p.t, p.S, FeedWith(p.t, map[string][][2]string{file: {{old, instead}}}))
			return nil
		},
		"meanwhile": p.meanwhile,
	}
}

// formOf returns what a step gives an operation: key=value.
func formOf(args string) url.Values {
	form := url.Values{}
	for arg := range strings.FieldsSeq(args) {
		k, v, _ := strings.Cut(arg, "=")
		form.Set(k, v)
	}
	return form
}

// operator is who does what the steps do.
var operator = ledger.By{UID: 1000, User: "olena"}

// user makes one.
func (p *Player) user(rest string) error {
	rest, err := p.Expand(rest)
	form := formOf(rest)
	person := auth.Person{
		Email:     form.Get("email"),
		FirstName: form.Get("first-name"),
		LastName:  form.Get("last-name"),
	}
	role := auth.Role(form.Get("role"))
	AddUser(p.t, p.S, operator, person, form.Get("password"), form.Get("company"), role)
	return err
}

// meanwhile asks, and waits for no answer.
func (p *Player) meanwhile(rest string) error {
	rest, err := p.Expand(rest)
	method, target, body := transcript.Split(rest)
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("x-api-key", p.Vars[p.Caller])
	go p.S.ServeHTTP(httptest.NewRecorder(), r)
	synctest.Wait()
	return err
}

// holds finds a text in these files of the directory, and in no other.
func (p *Player) holds(rest string) error {
	rest, err := p.Expand(rest)
	words := strings.Fields(rest)
	if err != nil || len(words) == 0 {
		return cmp.Or(err, errors.New("holds what?"))
	}
	text := words[0]
	var got []string
	err = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
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
	if got = slices.Compact(got); err == nil && !slices.Equal(got, words[1:]) {
		err = fmt.Errorf("%s stands in %q, want %q", text, got, words[1:])
	}
	return err
}

// operate does an operation as its step says.
func (p *Player) operate(rest string, fails bool) error {
	rest, err := p.Expand(rest)
	op, args, _ := strings.Cut(rest, " ")
	p.admin(op, formOf(args), fails)
	return err
}

// admin does an operation; $out, and what it returns, is what it prints, or why it failed.
func (p *Player) admin(op string, form url.Values, fails bool) string {
	var out bytes.Buffer
	err := p.S.Admin.Do(op, &admin.Act{By: operator, Form: form, Out: &out})
	if (err != nil) != fails {
		p.fatal("admin %s: %v\n%s", op, err, &out)
	}
	p.Vars["out"] = strings.TrimSpace(out.String())
	if fails {
		p.Vars["out"] = err.Error()
	}
	return p.Vars["out"]
}

// ask sends a request, and checks of its answer what holds for every one.
func (p *Player) ask(asked transcript.Request) (transcript.Answer, error) {
	var body io.Reader
	if asked.Body != "" {
		body = strings.NewReader(asked.Body)
	}
	r := httptest.NewRequest(asked.Method, asked.Target, body)
	maps.Copy(r.Header, asked.Header)
	if p.Caller != "" && p.Caller != "nobody" {
		r.Header.Add("x-api-key", p.Vars[p.Caller])
	}
	p.SendCookies(r)
	p.rememberSecrets(r, asked.Body)
	p.asked = false
	p.resp = send(p.S.Handler(), r)
	p.Cookies[p.browser] = append(p.Cookies[p.browser], p.resp.Result().Cookies()...)
	p.wellFormed()
	for _, problem := range Undocumented(r, p.resp) {
		p.fatal("not as the document says: %s", problem)
	}
	return transcript.Answer{
		Status: p.resp.Code,
		Header: p.resp.Header(),
		Body:   p.resp.Body.Bytes(),
	}, nil
}

// wellFormed checks what holds for every answer.
func (p *Player) wellFormed() {
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
	for _, c := range p.Cookies[p.browser] {
		if c.Value != "" && strings.Contains(p.resp.Body.String(), c.Value) {
			p.fatal("the answer shows a token")
		}
	}
	if key := p.Vars[p.Caller]; key != "" && strings.Contains(p.resp.Body.String()+fmt.Sprint(h), key) {
		p.fatal("the answer shows the key")
	}
}

// crash goes on with a copy of the directory, as a machine does that lost its server.
func (p *Player) crash() {
	copied := p.beside("c")
	if err := os.CopyFS(copied, os.DirFS(p.dir)); err != nil {
		p.fatal("%v", err)
	}
	p.dir = copied
	p.reopen()
}

// Dir returns the directory that the player is at.
func (p *Player) Dir() string { return p.dir }

// beside returns a directory beside the player's, which is not there yet.
func (p *Player) beside(suffix string) string {
	return filepath.Join(p.dir, "..", filepath.Base(p.dir)+suffix)
}

// fork goes on in a copy of the directory, as a world does.
func (p *Player) fork() {
	dir := p.beside("f")
	left, err := p.S.Store.Fork(Unsynced(dir), ledger.CopiedDirs...)
	if err != nil {
		p.fatal("fork: %v", err)
	}
	p.dir = dir
	p.forked = &ledger.WorldForked{
		World:  "copy",
		From:   "main",
		Origin: left.Origin,
		Seq:    left.Seq,
		Hash:   fmt.Sprintf("%x", left.Hash),
	}
	p.reopen()
}

// repair cuts off the last line, though it is good, and goes on.
func (p *Player) repair() {
	if err := p.S.Close(); err != nil {
		p.fatal("close: %v", err)
	}
	rep, err := verify.Directory(durable.Dir(p.dir), false, inspect.Expected{})
	if err != nil {
		p.fatal("repair: %v", err)
	}
	dir := p.beside("r")
	cut := inspect.Cut{
		At:     rep.Head.Seq,
		Reason: "as it was asked for",
		By:     operator,
		Force:  true,
	}
	if _, _, err := backup.Repair(durable.Dir(p.dir), durable.Dir(dir), cut); err != nil {
		p.fatal("repair: %v", err)
	}
	p.dir = dir
	p.open()
}

// Finish compares and closes.
func (p *Player) Finish() {
	p.Line = 0
	if p.resp != nil && !p.asked {
		p.fatal("the last request has no status checked")
	}
	p.compare()
	if err := p.S.Close(); err != nil {
		p.fatal("close: %v", err)
	}
	if _, err := verify.Directory(durable.Dir(p.dir), false, inspect.Expected{}); err != nil {
		p.fatal("verify: %v", err)
	}
	Keep(p.t, p.dir)
	p.checkLog()
}

// compare holds the live state against a replay of the journal, and against what a snapshot of it gives.
func (p *Player) compare() {
	synctest.Wait()
	CompareWithReplay(p.t, p.S, p.dir, p.opened > 1)
}

// SendCookies adds the browser's cookies to a request, as a browser would:
// where their path fits, but whatever their age: that the server must judge itself.
func (p *Player) SendCookies(r *http.Request) {
	jar, _ := cookiejar.New(nil)
	site := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
	if p.browser != "nobody" {
		jar.SetCookies(&site, p.Cookies[p.browser])
	}
	for _, c := range jar.Cookies(&site) {
		r.AddCookie(c)
	}
}

var (
	personal = regexp.MustCompile(`"(?:firstName|lastName|email|phone|password|idToken|offerId)":\s*"([^"\\]{4,})"`)
	secretIn = regexp.MustCompile(`/v2/reports/files/([^/?\s]+)`)
)

// rememberSecrets remembers the secret and personal parts of a request: key, cookies, the token in a link,
// names, addresses.
func (p *Player) rememberSecrets(r *http.Request, body string) {
	for _, c := range r.Cookies() {
		p.secrets[c.Value] = true
	}
	p.secrets[r.Header.Get("x-api-key")] = true
	for _, m := range append(personal.FindAllStringSubmatch(body, -1),
		secretIn.FindAllStringSubmatch(r.URL.Path, -1)...) {
		p.secrets[m[1]] = true
	}
}

// checkLog sees that the log has a line for each request, and shows no secret and nobody's name.
func (p *Player) checkLog() {
	for secret := range p.secrets {
		if len(secret) >= 4 && strings.Contains(p.logged.String(), secret) {
			p.fatal("the log shows %q", secret)
		}
	}
	if strings.Contains(p.logged.String(), "larger than they were weighed") {
		p.fatal("a line is larger than its weight: %s", &p.logged)
	}
	if strings.HasSuffix(p.file, ".txt") && p.resp != nil &&
		!strings.Contains(p.logged.String(), `"msg":"request"`) {
		p.fatal("the log has no request")
	}
}
