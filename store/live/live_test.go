package live_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

// count is the value of these tests: how many events it has had.
type count struct{ n int }

// config counts events, which are texts, in a new directory.
func config(t *testing.T) live.Config[*count, string] {
	t.Helper()
	fsys := durable.Dir(t.TempDir())
	if err := durable.PublishText(fsys, ".", "FORMAT", journal.Format("x")); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Mkdir("journal"); err != nil {
		t.Fatal(err)
	}
	var cfg live.Config[*count, string]
	cfg.FS = fsys
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.Now = func(*count) time.Time { return time.UnixMilli(1) }
	cfg.Model = journal.Model[*count, string]{
		Apply: func(c *count, _ journal.Stamp, _ string) error {
			c.n++
			return nil
		},
		Encode: func(e string, data, personal []byte) (string, []byte, []byte) {
			return "said", fmt.Appendf(data, `{"text":%q}`, e), personal
		},
		Weigh: func(_ *count, e string) int64 { return int64(1000 + 2*len(e)) },
	}
	return cfg
}

// open opens a value whose journal has no line yet.
func open(t *testing.T, cfg live.Config[*count, string], own ...live.Own) *live.Value[*count, string] {
	t.Helper()
	file, err := cfg.FS.Create("journal/" + journal.Name(1))
	if err != nil {
		t.Fatal(err)
	}
	v, err := live.Open(cfg, new(count), live.End{File: file}, own...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// say returns a decision to journal texts.
func say(texts ...string) func(*count, time.Time) ([]string, error) {
	return func(*count, time.Time) ([]string, error) { return texts, nil }
}

// What is to be done with durable lines is done before those who wait for them are answered, line after line.
func TestDurableComesBeforeTheAnswer(t *testing.T) {
	cfg := config(t)
	var seqs []uint64 // the writer writes this, and an answer comes after it
	lines := 0
	cfg.Durable = func(w live.Written) {
		seqs = append(seqs, w.Head.Seq)
		lines += len(w.Chained)
	}
	v := open(t, cfg, live.Own{Type: journal.KindOpened, Data: []byte("{}")})
	seq, err := v.Update(say("a", "b"), nil)
	if err != nil || seq != 3 || !slices.Equal(seqs, []uint64{1, 3}) || lines != 3 {
		t.Errorf("line %d, %v; durable were %v, %d lines", seq, err, seqs, lines)
	}
	head, err := v.ViewAt(func(c *count) {
		if c.n != 2 {
			t.Errorf("%d events", c.n)
		}
	})
	if err != nil || head.Seq != 3 {
		t.Errorf("seen at line %d, %v", head.Seq, err)
	}
	var last journal.Head
	err = v.Close(func(_ *count, head journal.Head) { last = head })
	if err != nil || last != head {
		t.Errorf("closed after line %d, %v, want %d", last.Seq, err, head.Seq)
	}
	if _, err := v.Update(say("c"), nil); !errors.Is(err, live.ErrClosed) {
		t.Errorf("an update after that: %v", err)
	}
}

// A value that is only looked at takes no event, and is viewed as it is.
func TestALookTakesNoEvent(t *testing.T) {
	v := live.Look[*count, string](config(t).Now, &count{n: 7}, journal.Head{Stamp: journal.Stamp{Seq: 9}})
	if _, err := v.Update(say("a"), nil); !errors.Is(err, live.ErrLookedAt) {
		t.Errorf("an update: %v", err)
	}
	head, err := v.ViewAt(func(c *count) {
		if c.n != 7 {
			t.Errorf("%d events", c.n)
		}
	})
	if err := errors.Join(err, v.Close(nil)); err != nil || head.Seq != 9 {
		t.Errorf("line %d, %v", head.Seq, err)
	}
}
