package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server/inspect"
	"waybill/server/ledger"
	"waybill/server/witness"
	"waybill/store"
	"waybill/store/durable"
	"waybill/store/note"
)

// testWitness is a witness of ours (C2SP tlog-witness), written from the specification, apart from the code
// that it checks. It keeps, for each log, what it has signed last.
type testWitness struct {
	*httptest.Server
	name string
	key  ed25519.PrivateKey

	mu    sync.Mutex
	logs  map[string]string // the vkeys of the logs that it knows, by origin
	sizes map[string]uint64
	roots map[string][]byte
	asked int
	// spoil, unless it is nil, answers instead, and reports that it has.
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func newWitness(t *testing.T, name string) *testWitness {
	w := &testWitness{
		name:  name,
		key:   ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(len(name))}, 32)),
		logs:  map[string]string{},
		sizes: map[string]uint64{},
		roots: map[string][]byte{},
	}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *testWitness) vkey() note.Key {
	return note.NewWitnessKey(w.name, w.key.Public().(ed25519.PublicKey))
}

func (w *testWitness) peer() witness.Peer { return witness.Peer{URL: w.URL, Key: w.vkey()} }

func (w *testWitness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.spoil != nil && w.spoil(rw, r) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	head, signed, found := strings.Cut(string(body), "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseUint(strings.TrimPrefix(lines[0], "old "), 10, 64)
	text, _, ended := strings.Cut(signed, "\n\n")
	fields := strings.Split(text, "\n")
	if r.Method != "POST" || r.URL.Path != "/add-checkpoint" || !found || err != nil || !ended ||
		len(fields) < 3 ||
		len(lines) > 64 {
		http.Error(rw, "bad request", http.StatusBadRequest)
		return
	}
	vkey, known := w.logs[fields[0]]
	if !known {
		http.Error(rw, "unknown log", http.StatusNotFound)
		return
	}
	key, _ := note.ParseKey(vkey)
	n, err := note.Parse([]byte(signed))
	if err == nil {
		_, err = n.Verify(key)
	}
	if err != nil {
		http.Error(rw, "bad signature", http.StatusForbidden)
		return
	}
	size, _ := strconv.ParseUint(fields[1], 10, 64)
	root, _ := base64.StdEncoding.DecodeString(fields[2])
	switch {
	case old > size:
		http.Error(rw, "bad request", http.StatusBadRequest)
		return
	case old != w.sizes[fields[0]]:
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", w.sizes[fields[0]])
		return
	}
	var proof [][]byte
	for _, line := range lines[1:] {
		hash, _ := base64.StdEncoding.DecodeString(line)
		proof = append(proof, hash)
	}
	if !consistent(proof, old, size, w.roots[fields[0]], root) {
		http.Error(rw, "bad consistency proof", http.StatusUnprocessableEntity)
		return
	}
	w.sizes[fields[0]], w.roots[fields[0]] = size, root
	fmt.Fprint(rw, w.cosign(text+"\n"))
}

// cosign returns the line of tlog-cosignature.
func (w *testWitness) cosign(text string) string {
	const at = 1_795_000_000
	public := w.key.Public().(ed25519.PublicKey)
	id := sha256.Sum256(slices.Concat([]byte(w.name), []byte("\n\x04"), public))
	signature := ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text))
	raw := slices.Concat(id[:4], binary.BigEndian.AppendUint64(nil, at), signature)
	return "— " + w.name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// consistent checks a proof as RFC 9162, 2.1.4.2, says it.
func consistent(proof [][]byte, first, second uint64, firstRoot, secondRoot []byte) bool {
	node := func(left, right []byte) []byte {
		sum := sha256.Sum256(slices.Concat([]byte{1}, left, right))
		return sum[:]
	}
	switch {
	case first == 0:
		return len(proof) == 0
	case first == second:
		return len(proof) == 0 && bytes.Equal(firstRoot, secondRoot)
	}
	if first&(first-1) == 0 {
		proof = append([][]byte{firstRoot}, proof...)
	}
	if len(proof) == 0 {
		return false
	}
	fn, sn := first-1, second-1
	for fn&1 == 1 {
		fn >>= 1
		sn >>= 1
	}
	fr, sr := proof[0], proof[0]
	for _, c := range proof[1:] {
		if sn == 0 {
			return false
		}
		if fn&1 == 1 || fn == sn {
			fr, sr = node(c, fr), node(c, sr)
			for fn&1 == 0 && fn != 0 {
				fn >>= 1
				sn >>= 1
			}
		} else {
			sr = node(sr, c)
		}
		fn >>= 1
		sn >>= 1
	}
	return bytes.Equal(fr, firstRoot) && bytes.Equal(sr, secondRoot) && sn == 0
}

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
func (s *witnessed) ask() { s.witness.AskOnce(context.Background()) }

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

// Contract §14: witnesses sign the newest lines, what they sign stands in the note, GET /checkpoint?witnessed
// is the newest that all have signed, and verify asks for it.
func TestWitnessesSign(t *testing.T) {
	one := newWitness(t, "one.example")
	other := newWitness(t, "the.other.example")
	s := openWitnessed(t, t.TempDir(), one, other)
	s.knows(one, other)
	if code, body := s.get("?witnessed"); code != 404 || !strings.Contains(body, `"NOT_FOUND"`) {
		t.Errorf("before all have signed: %d %s", code, body)
	}
	s.ask()
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
	if !s.log.has("level=WARN", "the.other.example", "502") || s.metric("the.other.example") != "0" {
		t.Error("that a witness is down is no warning, or counts as a refusal")
	}
	other.spoil = nil
	if err := s.Close(); err != nil { // a stop asks once more
		t.Fatal(err)
	}
	rep, err := inspect.Verify(durable.Dir(s.dir), false, store.Expected{Witnesses: []note.Key{one.vkey(),
		other.vkey(), note.NewWitnessKey("nobody.example", one.vkey().Public())}})
	if err != nil || len(rep.Witnessed) != 3 || rep.Witnessed[0].Seq != rep.Head.Seq ||
		rep.Witnessed[1].Seq != rep.Head.Seq || rep.Witnessed[2].Seq != 0 {
		t.Errorf("%+v, %v", rep.Witnessed, err)
	}
	signed, err := store.NewestCheckpoint(durable.Dir(s.dir))
	if err != nil || strings.Count(string(signed), "\n— ") != 3 {
		t.Errorf("at a stop the last lines are signed by %s, %v", signed, err)
	}
}

// A refusal is an error in the log, with why, and counted; serving goes on.
func TestAWitnessRefuses(t *testing.T) {
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
	w := newWitness(t, "w.example")
	dir := t.TempDir()
	s := openWitnessed(t, dir, w)
	s.knows(w)
	s.write()
	s.ask()
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

// Whoever has the disk and the key writes another history and signs it: the witness does not.
func TestAWitnessRefusesAHistoryThatIsRewritten(t *testing.T) {
	w := newWitness(t, "w.example")
	dir := t.TempDir()
	s := openWitnessed(t, dir, w)
	s.knows(w)
	s.write()
	s.ask()
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
		{"http://u:p@x " + w.vkey().String()}, {w.URL + " " + author}, {w.URL + "?a " + w.vkey().String()},
		{good + "x"}, {good, good}, slices.Repeat([]string{good}, witness.Most+1),
		{w.URL + " " + strings.Repeat("w", 1000) + w.vkey().String()},
	} {
		if _, err := witness.ParseAll(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
