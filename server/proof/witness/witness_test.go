package witness_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/server/proof/witness"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/note"
)

func openWitnessed(t *testing.T, dir string, witnesses ...*rig.Cosigner) *rig.Witnessed {
	t.Helper()
	log := new(rig.Logged)
	cfg := server.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(log, nil))}
	for _, w := range witnesses {
		cfg.Witnesses = append(cfg.Witnesses, w.Peer())
	}
	s, err := server.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &rig.Witnessed{Server: s, T: t, Dir: dir, Log: log}
}

// newWitnessed returns a server with a witness, which has signed some lines.
func newWitnessed(t *testing.T) (*rig.Cosigner, *rig.Witnessed) {
	t.Helper()
	w := rig.NewCosigner(t, "w.example")
	s := openWitnessed(t, t.TempDir(), w)
	s.Knows(w)
	s.Write()
	s.Ask()
	return w, s
}

// signedUpTo returns the line that a note is of.
func signedUpTo(note string) string { return strings.Split(note+"\n\n", "\n")[1] }

// Who audits has the newest line signed first, by the directory and by its witnesses.
func TestAnAuditorHasAllSignFirst(t *testing.T) {
	_, s := newWitnessed(t)
	s.Write()
	act := &admin.Act{By: admin.Self(), Out: io.Discard}
	if err := s.Admin.Do("sign", act); err != nil {
		t.Fatal(err)
	}
	_, witnessed := s.Get("?witnessed")
	_, newest := s.Get("")
	last, err := s.Store.Sign()
	if err != nil || witnessed != newest || newest != string(last) {
		t.Errorf("%v\n%s\n%s\n%s", err, witnessed, newest, last)
	}
}

// A line that is on its way to the disk stands in the journal already, where an auditor reads it beside the
// server: it is signed first, too.
func TestALineOnItsWayToTheDiskIsSignedFirst(t *testing.T) {
	dir := t.TempDir()
	disk := &rig.SlowSync{FS: durable.Dir(dir), Release: make(chan bool)}
	s, err := server.Open(server.Config{Dir: dir, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before, err := s.Store.Sign()
	if err != nil {
		t.Fatal(err)
	}
	disk.Slow.Store(true)
	written := make(chan error)
	go func() {
		_, err := s.Admin.AddPartner("slow", nil)
		written <- err
	}()
	<-disk.Reached()
	signed := make(chan error, 1)
	go func() {
		signed <- s.Admin.Do("sign", &admin.Act{By: admin.Self(), Out: io.Discard})
	}()
	select {
	case err := <-signed:
		t.Errorf("it is signed before it is on the disk: %v", err)
		signed <- err
	case <-time.After(50 * time.Millisecond):
	}
	disk.Slow.Store(false)
	close(disk.Release)
	if err := errors.Join(<-written, <-signed); err != nil {
		t.Fatal(err)
	}
	after, err := checkpoint.Newest(durable.Dir(dir))
	if err != nil || bytes.Equal(before, after) {
		t.Errorf("the line is not signed: %v", err)
	}
}

// Decision witnesses.asked: witnesses sign the newest lines, what they sign stands in the note, GET
// /checkpoint?witnessed is the newest that all have signed, and verify asks for it.
func TestWitnessesSign(t *testing.T) {
	one := rig.NewCosigner(t, "one.example")
	other := rig.NewCosigner(t, "the.other.example")
	s := openWitnessed(t, t.TempDir(), one, other)
	if code, body := s.Get("?witnessed"); code != 404 || !strings.Contains(body, `"NOT_FOUND"`) {
		t.Errorf("before all have signed: %d %s", code, body)
	}
	s.Knows(one, other)
	s.Ask()
	// A start asks as well, perhaps before the witness knows the directory.
	refused := s.Refusals("the.other.example")
	for range 3 {
		s.Write()
		s.Ask()
		code, body := s.Get("?witnessed")
		_, newest := s.Get("")
		if code != 200 || body != newest || strings.Count(body, "\n— ") != 3 {
			t.Errorf("%d %s; the newest is %s", code, body, newest)
		}
	}
	asked := one.Requests
	s.Ask()
	if one.Requests != asked {
		t.Error("a witness is asked where there are no new lines")
	}
	// One is down: what the other signs stands in the note, and the witnessed one stays what it was.
	_, before := s.Get("?witnessed")
	other.Spoil = func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(502)
		return true
	}
	s.Write()
	s.Ask()
	_, newest := s.Get("")
	if _, witnessed := s.Get("?witnessed"); witnessed != before ||
		!strings.Contains(newest, "— one.example ") ||
		strings.Contains(newest, "— the.other.example ") {
		t.Errorf("one is down: %s, newest %s", witnessed, newest)
	}
	if !s.Log.Has("level=WARN", "the.other.example", "502") || s.Refusals("the.other.example") != refused {
		t.Error("that a witness is down is no warning, or counts as a refusal")
	}
	other.Spoil = nil
	if err := s.Close(); err != nil { // a stop asks once more
		t.Fatal(err)
	}
	rep, err := verify.Directory(durable.Dir(s.Dir), false, inspect.Expected{Witnesses: []note.Key{one.VKey(),
		other.VKey(), note.NewWitnessKey("nobody.example", one.VKey().Public())}})
	if err != nil || len(rep.Witnessed) != 3 || rep.Witnessed[0].Seq != rep.Head.Seq ||
		rep.Witnessed[1].Seq != rep.Head.Seq || rep.Witnessed[2].Seq != 0 {
		t.Errorf("%+v, %v", rep.Witnessed, err)
	}
	signed, err := checkpoint.Newest(durable.Dir(s.Dir))
	if err != nil || strings.Count(string(signed), "\n— ") != 3 {
		t.Errorf("at a stop the last lines are signed by %s, %v", signed, err)
	}
}

// A refusal is an error in the log, with why, and counted; serving goes on.
func TestAWitnessRefuses(t *testing.T) {
	t.Parallel()
	other := rig.NewCosigner(t, "somebody.else")
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
		"another key signs":       {answers(200, other.Cosign("x")), "is not signed by that name"},
		"it is moved away":        {answers(307, ""), "307"},
		"its signature is not of": {answers(200, rig.NewCosigner(t, "w.example").Cosign("x\n")), "not over these lines"},
	} {
		w := rig.NewCosigner(t, "w.example")
		w.Spoil = c.spoil
		s := openWitnessed(t, t.TempDir(), w)
		s.Ask()
		s.Write()
		s.Ask()
		if !s.Log.Has("level=ERROR", "w.example", c.why) || s.Refusals("w.example") < "1" {
			t.Errorf("%s: counted %s, log %s", name, s.Refusals("w.example"), &s.Log.B)
		}
		if code, body := s.Get("?witnessed"); code != 404 {
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
	dir := s.Dir
	origin := s.Store.Key().Name
	size, root := w.Sizes[origin], w.Roots[origin]
	s.Write()
	s.Ask()
	w.Sizes[origin], w.Roots[origin] = size, root
	s.Write()
	s.Ask()
	if _, body := s.Get("?witnessed"); signedUpTo(body) != fmt.Sprint(w.Sizes[origin]) ||
		w.Sizes[origin] <= size {
		t.Errorf("put back: %s", body)
	}
	s.Close()
	s = openWitnessed(t, dir, w)
	s.Write()
	s.Ask()
	if _, body := s.Get("?witnessed"); signedUpTo(body) != fmt.Sprint(w.Sizes[origin]) ||
		s.Refusals("w.example") != "0" {
		t.Errorf("after a restart: %s, refused %s times", body, s.Refusals("w.example"))
	}
}

// After a restart witnesses are asked from what they have signed, and not from line 0: what they refuse would
// have to be asked again, with all hashes from the first line on.
func TestARestartGoesOnFromWhatWitnessesHaveSigned(t *testing.T) {
	w, s := newWitnessed(t)
	signed := w.Sizes[s.Store.Key().Name]
	s.Close()
	asked := len(w.Olds)
	s = openWitnessed(t, s.Dir, w)
	s.Write()
	s.Ask()
	w.Mu.Lock()
	defer w.Mu.Unlock()
	for _, old := range w.Olds[asked:] {
		if old < signed {
			t.Errorf("a witness that has signed %d lines was asked from line %d on", signed, old)
		}
	}
	if w.Sizes[s.Store.Key().Name] <= signed {
		t.Error("the witness has signed nothing since")
	}
}

// Whoever has the disk and the key writes another history and signs it: the witness does not.
func TestAWitnessRefusesAHistoryThatIsRewritten(t *testing.T) {
	w, s := newWitnessed(t)
	dir := s.Dir
	early := filepath.Join(t.TempDir(), "early")
	err := inspect.Backup(durable.Dir(dir), durable.Dir(early), true, ledger.SideDirs...)
	if err != nil {
		t.Fatal(err)
	}
	s.Write()
	s.Ask()
	s.Close()
	// The backup is a former state; with the key it passes for the directory, and goes on in another way.
	text, err := durable.ReadFile(durable.Dir(dir), "checkpoint.key")
	if err != nil || durable.PublishText(durable.Dir(early), ".", "checkpoint.key", text) != nil {
		t.Fatal(err)
	}
	cheat := openWitnessed(t, early, w)
	for range 20 {
		cheat.Write()
	}
	cheat.Ask()
	if !cheat.Log.Has("level=ERROR", "422") || cheat.Refusals("w.example") == "0" {
		t.Errorf("it is not refused: %s", &cheat.Log.B)
	}
}

// A witness with another key is another one: what was signed before is no more what all have signed.
func TestAWitnessWithAnotherKey(t *testing.T) {
	w := rig.NewCosigner(t, "w.example")
	dir := t.TempDir()
	s := openWitnessed(t, dir, w)
	s.Knows(w)
	s.Ask()
	s.Close()
	changed := rig.NewCosigner(t, "w.example")
	changed.Key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{77}, 32))
	again := openWitnessed(t, dir, changed)
	if code, _ := again.Get("?witnessed"); code != 404 {
		t.Errorf("what another key has signed is witnessed: %d", code)
	}
	again.Knows(changed)
	again.Write()
	again.Ask()
	if code, body := again.Get("?witnessed"); code != 200 || !strings.Contains(body, "— w.example ") {
		t.Errorf("%d %s", code, body)
	}
	// The witness changes its key, and nobody tells the server.
	changed.Mu.Lock()
	changed.Key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{78}, 32))
	changed.Mu.Unlock()
	again.Write()
	again.Ask()
	if !again.Log.Has("level=ERROR", "is signed with another key") {
		t.Error("a signature with another key is not refused")
	}
}

// A witness that is silent delays nothing but itself.
func TestAWitnessIsSilent(t *testing.T) {
	w := rig.NewCosigner(t, "w.example")
	release := make(chan struct{})
	asked := make(chan struct{}, 9)
	w.Spoil = func(rw http.ResponseWriter, _ *http.Request) bool {
		asked <- struct{}{}
		<-release
		rw.WriteHeader(http.StatusGatewayTimeout)
		return true
	}
	s := openWitnessed(t, t.TempDir(), w)
	<-asked // a start asks
	s.Write()
	if code, _ := s.Get(""); code != 200 {
		t.Errorf("GET /checkpoint: %d", code)
	}
	close(release)
	if s.Refusals("w.example") != "0" {
		t.Error("silence counts as a refusal")
	}
}

// A witness whose clock is far ahead is not believed: what it says of when would be shown as proof.
func TestAWitnessFromTheFuture(t *testing.T) {
	for _, at := range []uint64{0, 1 << 62, uint64(time.Now().Add(48 * time.Hour).Unix())} {
		w := rig.NewCosigner(t, "w.example")
		w.Spoil = func(rw http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			_, signed, _ := strings.Cut(string(body), "\n\n")
			text, _, _ := strings.Cut(signed, "\n\n")
			io.WriteString(rw, w.CosignAt(text+"\n", at))
			return true
		}
		s := openWitnessed(t, t.TempDir(), w)
		s.Ask()
		if code, _ := s.Get("?witnessed"); code != 404 ||
			!s.Log.Has("level=ERROR", "its signature has an impossible time") {
			t.Errorf("time %d: %d, %s", at, code, &s.Log.B)
		}
		s.Close()
	}
}

// What -witness says is checked before anything is opened.
func TestWitnessFlag(t *testing.T) {
	w := rig.NewCosigner(t, "w.example")
	good := w.URL + " " + w.VKey().String()
	if peers, err := witness.ParseAll([]string{good}); err != nil || peers[0].URL != w.URL {
		t.Errorf("%v, %v", peers, err)
	}
	// An ML-DSA key, with the id that is its own.
	other := append([]byte{6}, bytes.Repeat([]byte{7}, 1312)...)
	id := sha256.Sum256(append([]byte("w.example\n"), other...))
	long := fmt.Sprintf("w.example+%x+%s", id[:4], base64.StdEncoding.EncodeToString(other))
	_, err := witness.ParseAll([]string{w.URL + " " + long})
	if err == nil || len(err.Error()) > 200 ||
		!strings.Contains(err.Error(), "is of type 6, which this program cannot check") {
		t.Errorf("%v", err)
	}
	author := note.NewKey("w.example", w.VKey().Public()).String()
	for _, bad := range [][]string{
		{""}, {w.URL}, {"w.example " + w.VKey().String()}, {"ftp://x " + w.VKey().String()},
		{"http://u:secret@x " + w.VKey().String()}, {"http://u:secret@x"}, {w.URL + " " + author}, {w.URL + "?a " + w.VKey().String()},
		{good + "x"}, {good, good}, slices.Repeat([]string{good}, witness.Most+1),
		{w.URL + " " + strings.Repeat("w", 1000) + w.VKey().String()},
	} {
		if _, err := witness.ParseAll(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is taken, or shown: %v", bad, err)
		}
	}
}
