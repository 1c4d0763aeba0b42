package witness_test

import (
	"fmt"
	"net/http"
	"testing"

	"waybill/server/lab/rig"
)

// What /metrics says of a witness is how far it has come: nothing before its first signature, and after a
// restart what is known from the notes, also while it refuses.
func TestMetricsSayHowFarAWitnessHasCome(t *testing.T) {
	w := rig.NewCosigner(t, "w.example")
	s := openWitnessed(t, t.TempDir(), w)
	s.Write()
	if at, lines := s.Metric("signed_timestamp_seconds", "w.example"),
		s.Metric("unsigned_lines", "w.example"); at != "0" || lines != fmt.Sprint(seq(s)) {
		t.Errorf("before the first: signed at %q, %q lines of %d are not", at, lines, seq(s))
	}
	s.Knows(w)
	s.Ask()
	signed := s.Metric("signed_timestamp_seconds", "w.example")
	if lines := s.Metric("unsigned_lines", "w.example"); len(signed) < 10 || lines != "0" {
		t.Errorf("signed at %q, %q lines are not", signed, lines)
	}
	s.Write()
	s.Write()
	if lines := s.Metric("unsigned_lines", "w.example"); lines != "2" {
		t.Errorf("%q lines are not signed, and two were written", lines)
	}
	s.Close()
	w.Mu.Lock()
	w.Spoil = func(rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, "no", http.StatusForbidden)
		return true
	}
	last := w.Sizes[s.Store.Key().Name]
	w.Mu.Unlock()
	s = openWitnessed(t, s.Dir, w)
	s.Ask()
	if got, lines := s.Metric("signed_timestamp_seconds", "w.example"),
		s.Metric("unsigned_lines", "w.example"); got < signed || lines != fmt.Sprint(seq(s)-last) {
		t.Errorf("after a restart: signed at %q, %q lines are not; it signed %d at %s, of %d", got, lines, last,
			signed, seq(s))
	}
}

// seq returns how many lines the journal has.
func seq(s *rig.Witnessed) uint64 {
	s.T.Helper()
	head, err := s.Store.LastLine()
	if err != nil {
		s.T.Fatal(err)
	}
	return head.Seq
}

// A start writes lines, and has the witnesses sign them at once: no pause, and nothing that asks.
func TestAStartAsksItsWitnessesAtOnce(t *testing.T) {
	w, s := newWitnessed(t)
	s.Close()
	s = openWitnessed(t, s.Dir, w)
	lines := seq(s)
	rig.Eventually(t, "the witness has signed the lines of the start", func() bool {
		w.Mu.Lock()
		defer w.Mu.Unlock()
		return w.Sizes[s.Store.Key().Name] >= lines
	})
}
