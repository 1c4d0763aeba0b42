package store_test

import (
	"strings"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/durable"
)

// TestLargeLines: lines longer than the read buffer come back whole, in data and in the personal part.
func TestLargeLines(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	for _, size := range []int{1<<20 - 300, 1 << 20, 3 << 19} {
		put(t, st, add{N: 1, Text: strings.Repeat("d", size)}, add{N: 3})
	}
	put(t, st, add{N: 2, Name: strings.Repeat("p", 1<<20)}, add{N: 3})
	want := look(t, st)
	cfg.FS = durable.Dir(crashed(t, dir))
	closeStore(t, st)
	st = open(t, cfg)
	if !look(t, st).equal(want) {
		t.Error("the large lines did not come back as they were")
	}
	put(t, st, add{N: 1})
	closeStore(t, st)
}

// TestLineTooLong: a line that could not be read back must not be acknowledged.
func TestLineTooLong(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	text := strings.Repeat("d", 16<<20+(1<<20))
	cfg.Encode = func(e add, data, personal []byte) (string, []byte, []byte) {
		if e.N == 1 {
			return "added", append(append(append(data, `{"n":1,"text":"`...), text...), `"}`...), personal
		}
		return encode(e, data, personal)
	}
	cfg.Decode = func(kind string, data, personal []byte) (add, error) {
		if len(data) != len(text)+len(`{"n":1,"text":""}`) {
			return decode(kind, data, personal)
		}
		return add{N: 1}, nil
	}
	st := open(t, cfg)
	_, err := st.Update(func(*sum, time.Time) ([]add, error) { return []add{{N: 1}}, nil }, nil)
	acknowledged := err == nil
	crash := crashed(t, dir)
	st.Close()
	cfg.FS = durable.Dir(crash)
	st, _, err = store.Open(cfg)
	if err != nil {
		t.Fatalf("acknowledged %v, then: %v", acknowledged, err)
	}
	if n := len(look(t, st).items); acknowledged && n != 1 {
		t.Errorf("a line of %d bytes was acknowledged; after a restart there are %d events and the files %q",
			len(text), n, named(files(t, crash), "torn-"))
	}
	closeStore(t, st)
}

// TestLargeTornTail: all bytes of a torn tail are kept, also where they are no lines at all.
func TestLargeTornTail(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	all := files(t, dir)
	closeStore(t, st)
	const name = "journal/000000000001.jsonl"
	tail := strings.Repeat("\x00", 16<<20+(3<<20)+7) + "\n" + strings.Repeat("\xff", 100)
	all[name] += tail
	dir = t.TempDir()
	writeFiles(t, dir, all)
	cfg.FS = durable.Dir(dir)
	rep, _, err := check(cfg, false)
	if err != nil || rep.Torn == nil || rep.Torn.Bytes != int64(len(tail)) {
		t.Errorf("verify: torn %+v of %d bytes, %v", rep.Torn, len(tail), err)
	}
	st = open(t, cfg)
	if n := len(look(t, st).items); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	closeStore(t, st)
	if kept := files(t, dir)["torn-000000000003-1.bin"]; kept != tail {
		t.Errorf("%d of %d torn bytes were kept", len(kept), len(tail))
	}
}
