package server

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/server/proof/witness"
	"waybill/store"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/note"
)

// logged is a log that a test reads.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) has(texts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(strings.Split(l.b.String(), "\n"), func(line string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
	})
}

// witnessed is a server with witnesses, whose log a test reads.
type witnessed struct {
	*Server
	t   *testing.T
	dir string
	log *logged
}

func openWitnessed(t *testing.T, dir string, witnesses ...*testWitness) *witnessed {
	t.Helper()
	log := new(logged)
	cfg := Config{Dir: dir, Log: slog.New(slog.NewTextHandler(log, nil))}
	for _, w := range witnesses {
		cfg.Witnesses = append(cfg.Witnesses, w.peer())
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &witnessed{s, t, dir, log}
}

// newWitnessed returns a server with a witness, which has signed some lines.
func newWitnessed(t *testing.T) (*testWitness, *witnessed) {
	t.Helper()
	w := newWitness(t, "w.example")
	s := openWitnessed(t, t.TempDir(), w)
	s.knows(w)
	s.write()
	s.ask()
	return w, s
}

// knows has witnesses know the directory's name and key.
func (s *witnessed) knows(witnesses ...*testWitness) {
	key := s.Store.Key()
	for _, w := range witnesses {
		w.mu.Lock()
		w.logs[key.Name] = key.String()
		w.mu.Unlock()
	}
}

// write writes a line.
func (s *witnessed) write() {
	s.t.Helper()
	if _, err := s.Admin.AddPartner(fmt.Sprint("partner ", time.Now().UnixNano()), nil); err != nil {
		s.t.Fatal(err)
	}
}

// ask has the witnesses asked now.
func (s *witnessed) ask() {
	s.t.Helper()
	if err := s.Admin.Do("sign", new(admin.Act)); err != nil {
		s.t.Fatal(err)
	}
}

// get returns the answer of GET /checkpoint.
func (s *witnessed) get(query string) (int, string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/checkpoint"+query, nil))
	return w.Code, w.Body.String()
}

// signedUpTo returns the line that a note is of.
func signedUpTo(note string) string { return strings.Split(note+"\n\n", "\n")[1] }

// metric returns how often a witness has refused, as /metrics has it.
func (s *witnessed) metric(name string) string {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	_, rest, _ := strings.Cut(w.Body.String(), `waybill_witness_refused_total{witness="`+name+`"} `)
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// Who audits has the newest line signed first, by the directory and by its witnesses.
func TestAnAuditorHasAllSignFirst(t *testing.T) {
	_, s := newWitnessed(t)
	s.write()
	act := &admin.Act{By: admin.Self(), Out: io.Discard}
	if err := s.Admin.Do("sign", act); err != nil {
		t.Fatal(err)
	}
	_, witnessed := s.get("?witnessed")
	_, newest := s.get("")
	last, err := s.Store.Sign()
	if err != nil || witnessed != newest || newest != string(last) {
		t.Errorf("%v\n%s\n%s\n%s", err, witnessed, newest, last)
	}
}

// Contract §14: witnesses sign the newest lines, what they sign stands in the note, GET /checkpoint?witnessed
// is the newest that all have signed, and verify asks for it.
func TestWitnessesSign(t *testing.T) {
	one := newWitness(t, "one.example")
	other := newWitness(t, "the.other.example")
	s := openWitnessed(t, t.TempDir(), one, other)
	if code, body := s.get("?witnessed"); code != 404 || !strings.Contains(body, `"NOT_FOUND"`) {
		t.Errorf("before all have signed: %d %s", code, body)
	}
	s.knows(one, other)
	s.ask()
	// A start asks as well, perhaps before the witness knows the directory.
	refused := s.metric("the.other.example")
	for range 3 {
		s.write()
		s.ask()
		code, body := s.get("?witnessed")
		_, newest := s.get("")
		if code != 200 || body != newest || strings.Count(body, "\n— ") != 3 {
			t.Errorf("%d %s; the newest is %s", code, body, newest)
		}
	}
	asked := one.asked
	s.ask()
	if one.asked != asked {
		t.Error("a witness is asked where there are no new lines")
	}
	// One is down: what the other signs stands in the note, and the witnessed one stays what it was.
	_, before := s.get("?witnessed")
	other.spoil = func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(502)
		return true
	}
	s.write()
	s.ask()
	_, newest := s.get("")
	if _, witnessed := s.get("?witnessed"); witnessed != before ||
		!strings.Contains(newest, "— one.example ") ||
		strings.Contains(newest, "— the.other.example ") {
		t.Errorf("one is down: %s, newest %s", witnessed, newest)
	}
	if !s.log.has("level=WARN", "the.other.example", "502") || s.metric("the.other.example") != refused {
		t.Error("that a witness is down is no warning, or counts as a refusal")
	}
	other.spoil = nil
	if err := s.Close(); err != nil { // a stop asks once more
		t.Fatal(err)
	}
	rep, err := verify.Directory(durable.Dir(s.dir), false, store.Expected{Witnesses: []note.Key{one.vkey(),
		other.vkey(), note.NewWitnessKey("nobody.example", one.vkey().Public())}})
	if err != nil || len(rep.Witnessed) != 3 || rep.Witnessed[0].Seq != rep.Head.Seq ||
		rep.Witnessed[1].Seq != rep.Head.Seq || rep.Witnessed[2].Seq != 0 {
		t.Errorf("%+v, %v", rep.Witnessed, err)
	}
	signed, err := checkpoint.Newest(durable.Dir(s.dir))
	if err != nil || strings.Count(string(signed), "\n— ") != 3 {
		t.Errorf("at a stop the last lines are signed by %s, %v", signed, err)
	}
}

// A refusal is an error in the log, with why, and counted; serving goes on.
func TestAWitnessRefuses(t *testing.T) {
	t.Parallel()
	other := newWitness(t, "somebody.else")
	for name, c := range map[string]struct {
		spoil func(w http.ResponseWriter, r *http.Request) bool
		why   string
	}{
		"it knows no such log":    {nil, "404"},
		"it does not want to":     {answers(403, "go away\n"), "go away"},
		"the proof is not good":   {answers(422, "bad proof"), "422"},
		"it is ahead":             {answers(409, "1000000\n"), "it has signed 1000000 lines"},
		"it is at no number":      {answers(409, "many"), "does not say how many"},
		"it is never content":     {answers(409, "0\n"), "somebody else asks it"},
		"it says nothing":         {answers(200, ""), "is no signature"},
		"it says too much":        {answers(200, strings.Repeat("x", 1<<20)), "is no signature"},
		"another key signs":       {answers(200, other.cosign("x")), "is not signed by that name"},
		"it is moved away":        {answers(307, ""), "307"},
		"its signature is not of": {answers(200, newWitness(t, "w.example").cosign("x\n")), "not of these lines"},
	} {
		w := newWitness(t, "w.example")
		w.spoil = c.spoil
		s := openWitnessed(t, t.TempDir(), w)
		s.ask()
		s.write()
		s.ask()
		if !s.log.has("level=ERROR", "w.example", c.why) || s.metric("w.example") < "1" {
			t.Errorf("%s: counted %s, log %s", name, s.metric("w.example"), &s.log.b)
		}
		if code, body := s.get("?witnessed"); code != 404 {
			t.Errorf("%s: %d %s", name, code, body)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// answers is a witness that always answers the same.
func answers(status int, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		io.WriteString(w, text)
		return true
	}
}

// A witness that has signed more or less than the server knows says so, and is asked again with the proof
// that it needs: after a restart, and after it was put back.
func TestAWitnessThatIsBehind(t *testing.T) {
	w, s := newWitnessed(t)
	dir := s.dir
	origin := s.Store.Key().Name
	size, root := w.sizes[origin], w.roots[origin]
	s.write()
	s.ask()
	w.sizes[origin], w.roots[origin] = size, root
	s.write()
	s.ask()
	if _, body := s.get("?witnessed"); signedUpTo(body) != fmt.Sprint(w.sizes[origin]) ||
		w.sizes[origin] <= size {
		t.Errorf("put back: %s", body)
	}
	s.Close()
	s = openWitnessed(t, dir, w)
	s.write()
	s.ask()
	if _, body := s.get("?witnessed"); signedUpTo(body) != fmt.Sprint(w.sizes[origin]) ||
		s.metric("w.example") != "0" {
		t.Errorf("after a restart: %s, refused %s times", body, s.metric("w.example"))
	}
}

// After a restart witnesses are asked from what they have signed, and not from line 0: what they refuse would
// have to be asked again, with all hashes from the first line on.
func TestARestartGoesOnFromWhatWitnessesHaveSigned(t *testing.T) {
	w, s := newWitnessed(t)
	signed := w.sizes[s.Store.Key().Name]
	s.Close()
	asked := len(w.olds)
	s = openWitnessed(t, s.dir, w)
	s.write()
	s.ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, old := range w.olds[asked:] {
		if old < signed {
			t.Errorf("a witness that has signed %d lines was asked from line %d on", signed, old)
		}
	}
	if w.sizes[s.Store.Key().Name] <= signed {
		t.Error("the witness has signed nothing since")
	}
}

// Whoever has the disk and the key writes another history and signs it: the witness does not.
func TestAWitnessRefusesAHistoryThatIsRewritten(t *testing.T) {
	w, s := newWitnessed(t)
	dir := s.dir
	early := filepath.Join(t.TempDir(), "early")
	err := store.Backup(durable.Dir(dir), durable.Dir(early), true, ledger.SideDirs...)
	if err != nil {
		t.Fatal(err)
	}
	s.write()
	s.ask()
	s.Close()
	// The backup is a former state; with the key it passes for the directory, and goes on in another way.
	text, err := durable.ReadFile(durable.Dir(dir), "checkpoint.key")
	if err != nil || durable.PublishText(durable.Dir(early), ".", "checkpoint.key", text) != nil {
		t.Fatal(err)
	}
	cheat := openWitnessed(t, early, w)
	for range 20 {
		cheat.write()
	}
	cheat.ask()
	if !cheat.log.has("level=ERROR", "422") || cheat.metric("w.example") == "0" {
		t.Errorf("it is not refused: %s", &cheat.log.b)
	}
}

// A witness with another key is another one: what was signed before is no more what all have signed.
func TestAWitnessWithAnotherKey(t *testing.T) {
	w := newWitness(t, "w.example")
	dir := t.TempDir()
	s := openWitnessed(t, dir, w)
	s.knows(w)
	s.ask()
	s.Close()
	changed := newWitness(t, "w.example")
	changed.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{77}, 32))
	again := openWitnessed(t, dir, changed)
	if code, _ := again.get("?witnessed"); code != 404 {
		t.Errorf("what another key has signed is witnessed: %d", code)
	}
	again.knows(changed)
	again.write()
	again.ask()
	if code, body := again.get("?witnessed"); code != 200 || !strings.Contains(body, "— w.example ") {
		t.Errorf("%d %s", code, body)
	}
	// The witness changes its key, and nobody tells the server.
	changed.mu.Lock()
	changed.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{78}, 32))
	changed.mu.Unlock()
	again.write()
	again.ask()
	if !again.log.has("level=ERROR", "is signed with another key") {
		t.Error("a signature with another key is not refused")
	}
}

// A witness that is silent delays nothing but itself.
func TestAWitnessIsSilent(t *testing.T) {
	w := newWitness(t, "w.example")
	release := make(chan struct{})
	asked := make(chan struct{}, 9)
	w.spoil = func(rw http.ResponseWriter, _ *http.Request) bool {
		asked <- struct{}{}
		<-release
		rw.WriteHeader(http.StatusGatewayTimeout)
		return true
	}
	s := openWitnessed(t, t.TempDir(), w)
	<-asked // a start asks
	s.write()
	if code, _ := s.get(""); code != 200 {
		t.Errorf("GET /checkpoint: %d", code)
	}
	close(release)
	if s.metric("w.example") != "0" {
		t.Error("silence counts as a refusal")
	}
}

// A witness whose clock is far ahead is not believed: what it says of when would be shown as proof.
func TestAWitnessFromTheFuture(t *testing.T) {
	for _, at := range []uint64{0, 1 << 62, uint64(time.Now().Add(48 * time.Hour).Unix())} {
		w := newWitness(t, "w.example")
		w.spoil = func(rw http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			_, signed, _ := strings.Cut(string(body), "\n\n")
			text, _, _ := strings.Cut(signed, "\n\n")
			io.WriteString(rw, w.cosignAt(text+"\n", at))
			return true
		}
		s := openWitnessed(t, t.TempDir(), w)
		s.ask()
		if code, _ := s.get("?witnessed"); code != 404 || !s.log.has("level=ERROR", "its signature says") {
			t.Errorf("time %d: %d, %s", at, code, &s.log.b)
		}
		s.Close()
	}
}

// What -witness says is checked before anything is opened.
func TestWitnessFlag(t *testing.T) {
	w := newWitness(t, "w.example")
	good := w.URL + " " + w.vkey().String()
	if peers, err := witness.ParseAll([]string{good}); err != nil || peers[0].URL != w.URL {
		t.Errorf("%v, %v", peers, err)
	}
	author := note.NewKey("w.example", w.vkey().Public()).String()
	for _, bad := range [][]string{
		{""}, {w.URL}, {"w.example " + w.vkey().String()}, {"ftp://x " + w.vkey().String()},
		{"http://u:secret@x " + w.vkey().String()}, {"http://u:secret@x"}, {w.URL + " " + author}, {w.URL + "?a " + w.vkey().String()},
		{good + "x"}, {good, good}, slices.Repeat([]string{good}, witness.Most+1),
		{w.URL + " " + strings.Repeat("w", 1000) + w.vkey().String()},
	} {
		if _, err := witness.ParseAll(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is taken, or shown: %v", bad, err)
		}
	}
}
