package store_test

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/journal"
)

// benchConfig has events as large as a booking's line, and an encoding and
// state that cost next to nothing, so that what is measured is the store.
func benchConfig(fsys durable.FS) sumConfig {
	cfg := config(fsys)
	text := strings.Repeat("x", 900)
	cfg.Encode = func(e add, data, personal []byte) (string, []byte, []byte) {
		data = strconv.AppendInt(append(data, `{"n":`...), e.N, 10)
		data = append(append(append(data, `,"text":"`...), text...), `"}`...)
		return "added", data, append(personal, `{"salt":"c0ffee","name":"Quentin"}`...)
	}
	cfg.Apply = func(s *sum, _ journal.Stamp, e add) error {
		s.total += e.N
		return nil
	}
	cfg.Decode = func(string, []byte, []byte) (add, error) { return add{N: 1}, nil }
	cfg.Freeze = func(s *sum) func(io.Writer) error { return freeze(&sum{total: s.total}) }
	return cfg
}

func BenchmarkUpdate(b *testing.B) {
	for _, workers := range []int{1, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			fsys := tap(b.TempDir())
			st := open(b, benchConfig(fsys))
			events := []add{{N: 1}}
			decide := func(*sum, time.Time) ([]add, error) { return events, nil }
			tickets := make(chan struct{}, workers)
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for range tickets {
						if _, err := st.Update(decide, nil); err != nil {
							b.Error(err)
						}
					}
				})
			}
			before := fsys.count("sync", "journal/")
			b.ReportAllocs()
			for b.Loop() {
				tickets <- struct{}{}
			}
			close(tickets)
			wg.Wait()
			b.ReportMetric(float64(b.N)/float64(fsys.count("sync", "journal/")-before), "lines/sync")
			closeStore(b, st)
		})
	}
}

// BenchmarkView is of a read when nothing is being written.
func BenchmarkView(b *testing.B) {
	st := open(b, benchConfig(durable.Dir(b.TempDir())))
	read := func(*sum, time.Time) {}
	b.ReportAllocs()
	for b.Loop() {
		if err := st.View(read); err != nil {
			b.Error(err)
		}
	}
	closeStore(b, st)
}

// BenchmarkLine is of a line as large as a booking's, written and hashed.
func BenchmarkLine(b *testing.B) {
	l := journal.Line{
		Head:   journal.Head{Stamp: journal.Stamp{Seq: 1_000_001, Time: time.Now()}},
		Synced: 1_000_000,
		Type:   "booking.created",
	}
	l.Data = []byte(`{"text":"` + strings.Repeat("x", 600) + `"}`)
	l.Personal = []byte(`{"salt":"c0ffee","text":"` + strings.Repeat("x", 250) + `"}`)
	line := l.AppendTo(nil, l.Hash)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		line = l.AppendTo(line[:0], l.Hash)
	}
}

// BenchmarkRecovery is per line of a journal without snapshots: Open reads,
// checks and applies it; Verify checks all of it, and the JSON.
func BenchmarkRecovery(b *testing.B) {
	const lines = 10_000
	d := newDisk()
	cfg := benchConfig(d)
	st := open(b, cfg)
	put(b, st, make([]add, lines)...)
	all := d.files()
	closeStore(b, st)
	size := int64(len(all["journal/000000000001.jsonl"]))
	perLine := func(b *testing.B) {
		b.SetBytes(size)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
	}
	b.Run("Open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			cfg.FS = diskOf(all)
			b.StartTimer()
			st, _, err := store.Open(cfg)
			b.StopTimer()
			if err != nil {
				b.Fatal(err)
			}
			closeStore(b, st)
			b.StartTimer()
		}
		perLine(b)
	})
	b.Run("Verify", func(b *testing.B) {
		cfg.FS = diskOf(all)
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := check(cfg, false); err != nil {
				b.Fatal(err)
			}
		}
		perLine(b)
	})
}
