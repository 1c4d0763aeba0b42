package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"waybill/store/inspect"
	"waybill/store/journal"
)

// aheadLines is how many events the journals have here: enough for many batches that are read, decoded and
// applied beside each other.
const aheadLines = 2_000

// manyLines is a journal of so many events, the first of line 2. A later write says that they were durable.
func manyLines(t *testing.T) map[string]string {
	t.Helper()
	d := newDisk()
	st := open(t, config(d))
	events := make([]add, aheadLines)
	for i := range events {
		events[i] = add{N: int64(i + 2), Text: strings.Repeat("x", i%200)}
	}
	put(t, st, events...)
	put(t, st, add{N: -1})
	all := d.files()
	closeStore(t, st)
	maps.DeleteFunc(all, func(name, _ string) bool {
		return !strings.HasPrefix(name, "journal/") && name != "FORMAT"
	})
	return all
}

// wrongs are what can be wrong with the line of an event, by the goroutine that finds it, and what is then
// said.
var wrongs = []struct {
	name string
	spot func(all map[string]string, cfg *sumConfig, check map[int64]error, n int64)
	says string
}{
	{"the bytes", func(all map[string]string, _ *sumConfig, _ map[int64]error, n int64) {
		member := fmt.Sprintf(`"data":{"n":%d`, n)
		for name, text := range all {
			all[name] = strings.Replace(text, member, strings.Replace(member, "n", "m", 1), 1)
		}
	}, "has a hash that does not follow"},
	{"the event", func(_ map[string]string, cfg *sumConfig, _ map[int64]error, n int64) {
		whole := cfg.Decode
		cfg.Decode = func(kind string, data, personal []byte) (add, error) {
			e, err := whole(kind, data, personal)
			if err == nil && e.N == n {
				err = errors.New("no such event")
			}
			return e, err
		}
	}, "no such event"},
	{"how it is decoded", func(_ map[string]string, cfg *sumConfig, _ map[int64]error, n int64) {
		whole := cfg.Decode
		cfg.Decode = func(kind string, data, personal []byte) (add, error) {
			e, err := whole(kind, data, personal)
			if err == nil && e.N == n {
				panic("bad form")
			}
			return e, err
		}
	}, "does not fit the lines before it: bad form"},
	{"what it says", func(_ map[string]string, _ *sumConfig, check map[int64]error, n int64) {
		check[n] = errors.New("sold twice")
	}, "sold twice"},
	{"how it is applied", func(_ map[string]string, cfg *sumConfig, _ map[int64]error, n int64) {
		whole := cfg.Apply
		cfg.Apply = func(s *sum, at journal.Stamp, e add) error {
			if e.N == n {
				panic("no such ticket")
			}
			return whole(s, at, e)
		}
	}, "does not fit the lines before it: no such ticket"},
	{"what it names", func(_ map[string]string, cfg *sumConfig, _ map[int64]error, n int64) {
		whole := cfg.Apply
		cfg.Apply = func(s *sum, at journal.Stamp, e add) error {
			if e.N == n {
				return errors.New("ticket 12 is not there")
			}
			return whole(s, at, e)
		}
	}, "ticket 12 is not there"},
}

// TestFirstErrorIsOfTheFirstLine: of two lines that are wrong, the first is reported, whichever goroutine
// finds them, and however far apart they are. Without -crashes each pair is at one distance of two.
func TestFirstErrorIsOfTheFirstLine(t *testing.T) {
	t.Parallel()
	whole := manyLines(t)
	distances := [][2]int64{{2, 3}, {2, aheadLines}, {500, 501}, {500, 800}, {500, aheadLines + 1}}
	for d, at := range distances {
		for i, first := range wrongs {
			for j, second := range wrongs {
				if *crashes == 0 && (d+i+j)%4 > 0 {
					continue
				}
				all := maps.Clone(whole)
				cfg := config(nil)
				check := map[int64]error{}
				first.spot(all, &cfg, check, at[0])
				second.spot(all, &cfg, check, at[1])
				cfg.FS = diskOf(all)
				rep, err := verifyWith(cfg, false, inspect.Expected{},
					func(_ *sum, _ journal.Stamp, e add) error { return check[e.N] },
					func(*sum, journal.Stamp) error { return nil })
				if list := rep.Misfits.List; len(list) > 0 { // the reading goes on after it
					err = list[0]
				}
				want := fmt.Sprintf("line %d of journal/000000000001.jsonl (seq %d, byte %d): %s", at[0], at[0],
					offsetOf(all["journal/000000000001.jsonl"], int(at[0])), first.says)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s of line %d, then %s of line %d: %v, want %s", first.name, at[0], second.name,
						at[1], err, want)
				}
			}
		}
	}
}

// TestDecodedInOrder: events are decoded in the order of their lines, each once, and applied so.
func TestDecodedInOrder(t *testing.T) {
	t.Parallel()
	all := manyLines(t)
	cfg := config(diskOf(all))
	var decoded, applied, want []int64
	cfg.Decode = func(kind string, data, personal []byte) (add, error) {
		e, err := decode(kind, data, personal)
		decoded = append(decoded, e.N)
		return e, err
	}
	cfg.Apply = func(s *sum, at journal.Stamp, e add) error {
		applied = append(applied, e.N)
		return apply(s, at, e)
	}
	if _, _, err := check(cfg, false); err != nil {
		t.Fatal(err)
	}
	for n := range int64(aheadLines) {
		want = append(want, n+2)
	}
	want = append(want, -1)
	if !slices.Equal(decoded, want) || !slices.Equal(applied, want) {
		t.Errorf("%d decoded and %d applied, want %d, in order", len(decoded), len(applied), len(want))
	}
}
