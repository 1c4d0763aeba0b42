package store_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// TestMain collects garbage less often: the tests open thousands of stores, each with buffers that are large
// beside the heap.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	flag.Parse()
	stride = strideOf()
	m.Run()
}

// stride is the step of loops over every byte or bit.
var stride int

// strideOf is 1 in a long campaign. Otherwise it is odd, so that all eight bits have their turn, and larger
// where the race detector makes the loops ten times slower and has nothing to find in them.
func strideOf() int {
	info, _ := debug.ReadBuildInfo()
	if info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 101
	}
	if *crashes > 0 {
		return 1
	}
	return 31
}

// sum is a state small enough to check by eye: what was added, and its total.
type sum struct {
	items []item
	total int64
}

type item struct {
	Seq  uint64
	Time time.Time
	N    int64
	Text string
	Name string
}

// add is the only event. Text is part of its data, Name is personal.
type add struct {
	N    int64
	Text string
	Name string
}

type addData struct {
	N        int64  `json:"n"`
	Text     string `json:"text,omitempty"`
	Personal string `json:"personal,omitempty"`
}

type addPersonal struct {
	Salt   string `json:"salt,omitempty"`
	Name   string `json:"name,omitempty"`
	Erased string `json:"erased,omitempty"`
}

type (
	sumStore  = store.Store[*sum, add]
	sumConfig = store.Config[*sum, add]
)

// erasing is an event that names lines whose names are erased.
func erasing(lines ...uint64) add {
	return add{Text: erasePrefix + strings.Trim(fmt.Sprint(lines), "[]")}
}

const erasePrefix = "erase "

func (e add) erases() (lines []uint64) {
	if text, ok := strings.CutPrefix(e.Text, erasePrefix); ok {
		for n := range strings.FieldsSeq(text) {
			seq, _ := strconv.ParseUint(n, 10, 64)
			lines = append(lines, seq)
		}
	}
	return lines
}

func apply(s *sum, stamp journal.Stamp, e add) error {
	if lines := e.erases(); lines != nil {
		s.items = slices.Clone(s.items)
		for i := range s.items {
			if slices.Contains(lines, s.items[i].Seq) {
				s.items[i].Name = ""
			}
		}
	}
	s.items = append(s.items, item{stamp.Seq, stamp.Time, e.N, e.Text, e.Name})
	s.total += e.N
	return nil
}

func encode(e add, data, personal []byte) (string, []byte, []byte) {
	if lines := e.erases(); lines != nil {
		d, err := json.Marshal(map[string]any{"lines": lines})
		if err != nil {
			panic(err)
		}
		return journal.KindErased, append(data, d...), personal
	}
	d, err := json.Marshal(addData{N: e.N, Text: e.Text})
	if err == nil && e.Name != "" {
		var p []byte
		p, err = json.Marshal(addPersonal{Salt: "c0ffee", Name: e.Name})
		personal = append(personal, p...)
	}
	if err != nil {
		panic(err)
	}
	return "added", append(data, d...), personal
}

func decode(kind string, data, personal []byte) (add, error) {
	if kind == journal.KindErased {
		var d struct{ Lines []uint64 }
		err := json.Unmarshal(data, &d)
		return erasing(d.Lines...), err
	}
	if kind != "added" {
		return add{}, journal.ErrNewer
	}
	var d addData
	var p addPersonal
	err := json.Unmarshal(data, &d)
	if err == nil && personal != nil {
		err = json.Unmarshal(personal, &p)
	}
	return add{d.N, d.Text, p.Name}, err
}

// freeze is cheap because items are only ever appended.
func freeze(s *sum) func(io.Writer) error {
	items := s.items
	total := s.total
	return func(w io.Writer) error {
		enc := json.NewEncoder(w)
		for _, it := range items {
			if err := enc.Encode(it); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "[%d]\n", total)
		return err
	}
}

func thaw(r io.Reader) (*sum, error) {
	s := new(sum)
	dec := json.NewDecoder(r)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		if raw[0] == '[' {
			_, err := fmt.Sscanf(string(raw), "[%d]", &s.total)
			return s, err
		}
		var it item
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, err
		}
		s.items = append(s.items, it)
	}
}

// clock is a clock that stands still unless it is moved.
type clock struct{ ms atomic.Int64 }

var epoch = time.Date(2026, 11, 20, 16, 39, 0, 123e6, time.UTC)

func newClock() *clock {
	c := new(clock)
	c.ms.Store(epoch.UnixMilli())
	return c
}

func (c *clock) add(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func (c *clock) now(*sum) time.Time { return time.UnixMilli(c.ms.Load()) }

// logBook is a log that can be read while it is written.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func config(fsys durable.FS) sumConfig {
	cfg := sumConfig{
		Model: journal.Model[*sum, add]{
			New: func() *sum { return new(sum) }, Apply: apply, Decode: decode, Freeze: freeze, Thaw: thaw,
			Encode: encode,
			Weigh:  func(_ *sum, e add) int64 { return int64(1<<10 + 2*len(e.Text) + 2*len(e.Name)) },
		},
	}
	cfg.FS = fsys
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.Now = newClock().now
	return cfg
}

func open(t testing.TB, cfg sumConfig) *sumStore {
	t.Helper()
	st, _, err := store.Open(cfg)
	if err != nil {
		t.Fatal("Open: ", err)
	}
	return st
}

func closeStore(t testing.TB, st *sumStore) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatal("Close: ", err)
	}
}

// put journals events with one Update.
func put(t testing.TB, st *sumStore, events ...add) uint64 {
	t.Helper()
	seq, err := st.Update(func(*sum, time.Time) ([]add, error) { return events, nil }, nil)
	if err != nil {
		t.Fatal("Update: ", err)
	}
	return seq
}

// look returns the present state.
func look(t testing.TB, st *sumStore) (now sum) {
	t.Helper()
	if err := st.View(func(s *sum, _ time.Time) { now = sum{slices.Clone(s.items), s.total} }); err != nil {
		t.Fatal("View: ", err)
	}
	return now
}

func (s sum) equal(other sum) bool {
	return s.total == other.total && slices.Equal(s.items, other.items)
}

// verifyWith verifies the directory of a configuration.
func verifyWith(cfg sumConfig, live bool, expected inspect.Expected, check chain.Check[*sum, add],
	seen func(*sum, journal.Stamp) error) (inspect.Report, error) {
	rules := inspect.Rules[*sum, add]{Check: check}
	if seen != nil {
		rules.End = func(s *sum, end journal.Stamp, _ bool) error { return seen(s, end) }
	}
	return inspect.Verify(cfg.FS, live, &cfg.Model, expected, rules)
}

// repair repairs the directory of a configuration.
func repair(cfg sumConfig, to durable.FS, cut inspect.Cut) (inspect.Loss, error) {
	return inspect.Repair(cfg.FS, to, &cfg.Model, cfg.Now, cut)
}

// check verifies a directory with nothing to check but the state itself.
func check(cfg sumConfig, live bool) (rep inspect.Report, end sum, err error) {
	rep, err = verifyWith(cfg, live, inspect.Expected{},
		func(*sum, journal.Stamp, add) error { return nil },
		func(s *sum, _ journal.Stamp) error { end = *s; return nil })
	return rep, end, err
}

// files returns the content of every file of a directory but LOCK, by slash-separated name. Where a store has
// it open, a file that it was about to publish may have its own name by now, and is left out.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, durable.TempSuffix) {
			return nil
		}
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// writeFiles makes a directory of these files: what a crash would have left.
func writeFiles(t testing.TB, dir string, all map[string]string) {
	t.Helper()
	for _, sub := range []string{"journal", "snapshots"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range all {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// crashed returns a copy of a directory as it is now, while a store has it open.
func crashed(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	writeFiles(t, to, files(t, dir))
	return to
}

// named returns the names in all that start with prefix, sorted.
func named(all map[string]string, prefix string) []string {
	var names []string
	for name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// journalLines returns every line of the journal with its newline.
func journalLines(all map[string]string) []string {
	var lines []string
	for _, name := range named(all, "journal/") {
		lines = slices.AppendSeq(lines, strings.Lines(all[name]))
	}
	return lines
}

// keptNote is what an auditor expects who has kept one checkpoint.
func keptNote(note []byte, key ed25519.PublicKey) inspect.Expected {
	return inspect.Expected{Kept: []inspect.Kept{{Note: note, Key: key}}}
}
