package rig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/operate/admin"
)

// Logged is a log that a test reads.
type Logged struct {
	mu sync.Mutex
	B  bytes.Buffer
}

func (l *Logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.B.Write(b)
}

// Has reports whether a line has all the texts.
func (l *Logged) Has(texts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(strings.Split(l.B.String(), "\n"), func(line string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
	})
}

// Witnessed is a server with witnesses, whose log a test reads.
type Witnessed struct {
	*server.Server
	T   *testing.T
	Dir string
	Log *Logged
}

// Knows has witnesses know the directory's name and key.
func (s *Witnessed) Knows(witnesses ...*Cosigner) {
	key := s.Store.Key()
	for _, w := range witnesses {
		w.Mu.Lock()
		w.logs[key.Name] = key.String()
		w.Mu.Unlock()
	}
}

// Write writes a line.
func (s *Witnessed) Write() {
	s.T.Helper()
	if _, err := s.Admin.AddPartner(fmt.Sprint("partner ", time.Now().UnixNano()), nil); err != nil {
		s.T.Fatal(err)
	}
}

// Ask has the witnesses asked now.
func (s *Witnessed) Ask() {
	s.T.Helper()
	if err := s.Admin.Do("sign", new(admin.Act)); err != nil {
		s.T.Fatal(err)
	}
}

// Get returns the answer of GET /checkpoint.
func (s *Witnessed) Get(query string) (int, string) {
	w := Ask(s, "", "GET", "/checkpoint"+query, "")
	return w.Code, w.Body.String()
}

// Refusals returns how often a witness has refused, as /metrics has it.
func (s *Witnessed) Refusals(name string) string { return s.Metric("refused_total", name) }

// Metric returns one of what /metrics has of a witness: waybill_witness_ and what.
func (s *Witnessed) Metric(what, name string) string {
	w := Ask(s, "", "GET", "/metrics", "")
	_, rest, _ := strings.Cut(w.Body.String(), `waybill_witness_`+what+`{witness="`+name+`"} `)
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
