package store_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
)

// notes returns the checkpoints in a log, by an own reading of the format: six lines and a blank one each.
func notes(t testing.TB, log string) (list []string) {
	t.Helper()
	lines := strings.SplitAfter(log, "\n")
	for ; len(lines) > 7; lines = lines[7:] {
		list = append(list, strings.Join(lines[:6], ""))
		if lines[6] != "\n" {
			t.Fatalf("after a note stands %q", lines[6])
		}
	}
	if rest := strings.Join(lines, ""); len(lines) == 7 {
		list = append(list, strings.TrimSuffix(rest, "\n"))
	} else if rest != "" {
		t.Fatalf("at the end stands %q", rest)
	}
	return list
}

// TestCheckpointIsASignedNote: origin, number of lines, root, hash and time of the last, and a signature in
// the form of C2SP's signed-note (decisions.md, checkpoints).
func TestCheckpointIsASignedNote(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	put(t, st, add{N: 1}, add{N: 2, Name: "Di"})
	closeStore(t, st)
	all := files(t, dir)
	last := frames(t, journalLines(all))[2]
	origin := "waybill/" + strings.Fields(all["FORMAT"])[2]
	text, signature, _ := strings.Cut(all["checkpoint"], "\n\n")
	root := base64.StdEncoding.EncodeToString(rootOf(leavesOf(journalLines(all))))
	want := fmt.Sprintf("%s\n3\n%s\nhash %s time %s", origin, root, last.Hash,
		last.Time.Format("2006-01-02T15:04:05.000Z"))
	if text != want {
		t.Errorf("the note says %q, want %q", text, want)
	}
	key, err := checkpoint.ParsePublicKey([]byte(all["checkpoint.pub"]))
	if err != nil {
		t.Fatal(err)
	}
	encoded := strings.TrimPrefix(signature, "— "+origin+" ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "\n"))
	id := sha256.Sum256(append([]byte(origin+"\n\x01"), key...))
	if err != nil || len(raw) != 68 || string(raw[:4]) != string(id[:4]) ||
		!ed25519.Verify(key, []byte(text+"\n"), raw[4:]) {
		t.Errorf("signature %q, %v", signature, err)
	}
	if list := notes(t, all["checkpoints.log"]); len(list) != 2 || list[1] != all["checkpoint"] {
		t.Errorf("the log is %q", all["checkpoints.log"])
	}
	c, err := checkpoint.Parse([]byte(all["checkpoint"]), key)
	if err != nil || c.Seq != 3 || hex.EncodeToString(c.Hash[:]) != last.Hash || !c.Time.Equal(last.Time) ||
		c.Origin != origin {
		t.Errorf("%+v, %v", c, err)
	}
	for _, name := range []string{"checkpoint", "checkpoint.key", "checkpoint.pub", "checkpoints.log"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o600 {
			t.Error(name, info, err)
		}
	}
}

// TestCheckpointEveryBitFlip: no changed bit leaves a note that is taken for the same, or for another.
func TestCheckpointEveryBitFlip(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, open(t, config(durable.Dir(dir))))
	all := files(t, dir)
	key, err := checkpoint.ParsePublicKey([]byte(all["checkpoint.pub"]))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * len(all["checkpoint"]) {
		note := []byte(all["checkpoint"])
		note[i/8] ^= 1 << (i % 8)
		if _, err := checkpoint.Parse(note, key); err == nil {
			t.Errorf("bit %d of byte %d: taken", i%8, i/8)
		}
		all["checkpoints.log"] = string(note) + "\n"
		d := diskOf(all)
		if _, _, err := check(config(d), false); !errors.As(err, new(*journal.Damage)) {
			t.Errorf("bit %d of byte %d of the log's only note: verify gives %v", i%8, i/8, err)
		}
	}
}

// TestNewestCheckpointAlteredInBothFiles: a newest note with a changed bit is damage, also where the last of
// the log has the same bit changed, and so is equal to it.
func TestNewestCheckpointAlteredInBothFiles(t *testing.T) {
	d := newDisk()
	for range 2 {
		st := open(t, config(d))
		put(t, st, add{N: 1})
		closeStore(t, st)
	}
	all := d.files()
	earlier := strings.TrimSuffix(all["checkpoints.log"], all["checkpoint"]+"\n")
	whole := all["checkpoint"]
	for i := 0; i < len(whole); i += stride {
		note := []byte(whole)
		note[i] ^= 1 << (i % 8)
		all["checkpoint"], all["checkpoints.log"] = string(note), earlier+string(note)+"\n"
		for _, live := range []bool{false, true} {
			_, _, err := check(config(diskOf(all)), live)
			if !errors.As(err, new(*journal.Damage)) || !strings.Contains(err.Error(), "checkpoint") {
				t.Errorf("bit %d of byte %d, live %v: verify gives %v", i%8, i, live, err)
			}
		}
	}
}

// TestWhenCheckpointsAreMade: 200 ms after the last batch, at most one a second, and at least one while lines
// go on coming; one at the clean end, none where there is nothing new.
func TestWhenCheckpointsAreMade(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st := open(t, config(quick(dir)))
		newest := func() string {
			_, rest, _ := strings.Cut(files(t, dir)["checkpoint"], "\n")
			seq, _, _ := strings.Cut(rest, "\n")
			return seq
		}
		is := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := newest(); got != want {
				t.Errorf("the newest checkpoint is of line %q, want %q", got, want)
			}
		}
		is(0, "1") // the first is made by the start
		is(5*time.Second, "1")
		put(t, st, add{N: 1})
		is(100*time.Millisecond, "1")
		put(t, st, add{N: 1})
		is(199*time.Millisecond, "1")
		is(time.Millisecond, "3") // 300 ms after the first
		put(t, st, add{N: 1})
		is(999*time.Millisecond, "3") // not before a second has passed
		is(time.Millisecond, "4")
		for range 100 {
			put(t, st, add{N: 1})
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if n := len(notes(t, files(t, dir)["checkpoints.log"])); n < 12 || n > 13 {
			t.Errorf("%d checkpoints after 10 s of lines, and 3 before", n)
		}
		put(t, st, add{N: 1})
		closeStore(t, st)
		if got := newest(); got != "105" {
			t.Errorf("after the clean end the newest checkpoint is of line %q", got)
		}
	})
}

// TestCheckpointAtRotation: a file that is full has a checkpoint before the second is over.
func TestCheckpointAtRotation(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cfg := config(quick(dir))
		cfg.SegmentBytes = 900
		st := open(t, cfg)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		for len(named(files(t, dir), "journal/")) < 2 {
			put(t, st, add{N: 1})
			synctest.Wait() // so that no file comes or goes while they are read
		}
		all := files(t, dir)
		if !strings.Contains(all["checkpoint"], fmt.Sprintf("\n%d\n", len(journalLines(all)))) {
			t.Errorf("the newest checkpoint is %q", all["checkpoint"])
		}
		closeStore(t, st)
	})
}

// TestCheckpointFails: what keeps a checkpoint from being written is warned of, costs nothing, and it is
// tried again.
func TestCheckpointFails(t *testing.T) {
	for _, op := range []string{"write checkpoints.log", "sync checkpoints.log", "create checkpoint.tmp",
		"write checkpoint.tmp", "sync checkpoint.tmp", "rename checkpoint", "syncdir ."} {
		for _, how := range []act{fails, failsHalf} {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				log := new(logBook)
				failed := 0
				cfg := config(d)
				cfg.Log = slog.New(slog.NewTextHandler(log, nil))
				st := open(t, cfg)
				d.before = func(_ int, at string) act {
					if strings.HasPrefix(at, op) && failed < 2 {
						failed++
						return how
					}
					return works
				}
				put(t, st, add{N: 1})
				time.Sleep(5 * time.Second)
				synctest.Wait()
				put(t, st, add{N: 2})
				time.Sleep(2 * time.Second)
				synctest.Wait()
				all := d.files()
				list := notes(t, all["checkpoints.log"])
				if failed != 2 || len(list) < 2 ||
					list[len(list)-1] != all["checkpoint"] || !strings.Contains(all["checkpoint"], "\n3\n") {
					t.Errorf("%s: failed %d times; %q, newest %q", op, failed, list, all["checkpoint"])
				}
				if n := strings.Count(log.String(), "a checkpoint could not be written"); n != 2 {
					t.Errorf("%s: %d warnings", op, n)
				}
				closeStore(t, st)
				if _, end, err := check(cfg, false); err != nil || end.total != 3 {
					t.Errorf("%s: %v, %v", op, end, err)
				}
			})
		}
	}
}

// rewritten returns the directory as one would who owns it and does not own the checkpoints that were kept:
// with another history under the same origin. Its own checkpoints fit it.
func rewritten(t *testing.T, all map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"FORMAT":         all["FORMAT"],
		"checkpoint.key": all["checkpoint.key"],
		"checkpoint.pub": all["checkpoint.pub"],
	})
	st := open(t, config(durable.Dir(dir)))
	for range 6 {
		put(t, st, add{N: 7})
	}
	closeStore(t, st)
	return files(t, dir)
}

// TestJournalAgainstCheckpoints: a journal that was cut, or written anew, does not start beside a checkpoint
// of what it was, and verify names the line.
func TestJournalAgainstCheckpoints(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	put(t, st, add{N: 1})
	put(t, st, add{N: 2})
	closeStore(t, st)
	all := files(t, dir)
	key, _ := checkpoint.ParsePublicKey([]byte(all["checkpoint.pub"]))
	for name := range all {
		if strings.HasPrefix(name, "snapshots/") {
			delete(all, name)
		}
	}
	const file = "journal/000000000001.jsonl"
	whole := all[file]
	cut := strings.Join(strings.SplitAfter(whole, "\n")[:2], "")
	other := rewritten(t, all)[file]
	for want, text := range map[string]string{
		"a checkpoint in checkpoint": cut, "lines from seq 3 on are missing": cut + "{",
		"line 3 of": other, "": whole,
	} {
		all[file] = text
		_, _, opened := store.Open(config(diskOf(all)))
		_, _, verified := check(config(diskOf(all)), false)
		if want == "" {
			if opened != nil || verified != nil {
				t.Errorf("the whole journal: %v; %v", opened, verified)
			}
			continue
		}
		if want == "lines from seq 3 on are missing" {
			want = "has no newline at its end; a checkpoint in checkpoint"
		}
		for _, err := range []error{opened, verified} {
			if !errors.As(err, new(*journal.Damage)) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%q: %v", want, err)
			}
		}
	}
	// The same without the checkpoint in the directory: only one that was kept tells.
	all[file] = whole
	kept := all["checkpoint"]
	anew := rewritten(t, all)
	if _, _, err := check(config(diskOf(anew)), false); err != nil {
		t.Error("a rewritten directory is sound in itself:", err)
	}
	for want, c := range map[string]struct {
		files map[string]string
		note  string
	}{
		"":                                    {all, kept},
		"is not the line that the checkpoint": {anew, kept},
		"is signed with another key":          {all, anotherNote(t)},
		"is not a checkpoint":                 {all, "hello\n"},
	} {
		_, err := verifyWith(config(diskOf(c.files)), false, keptNote([]byte(c.note), key),
			func(*sum, journal.Stamp, add) error { return nil },
			func(*sum, journal.Stamp) error { return nil })
		if want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func anotherNote(t *testing.T) string {
	dir := t.TempDir()
	closeStore(t, open(t, config(durable.Dir(dir))))
	return files(t, dir)["checkpoint"]
}

// TestCheckpointKeys: a key that is spoiled is not replaced; the public half is made from the other.
func TestCheckpointKeys(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, open(t, config(durable.Dir(dir))))
	all := files(t, dir)
	for what, spoil := range map[string]func(map[string]string){
		"checkpoint.key: is not an Ed25519 private key":         func(all map[string]string) { all["checkpoint.key"] = "x" },
		"checkpoint.pub: is not the public half of the private": func(all map[string]string) { all["checkpoint.pub"] = "x" },
		"": func(all map[string]string) { delete(all, "checkpoint.pub") },
	} {
		spoilt := map[string]string{}
		maps.Copy(spoilt, all)
		spoil(spoilt)
		d := diskOf(spoilt)
		st, _, err := store.Open(config(d))
		if what == "" {
			if err != nil || d.files()["checkpoint.pub"] != all["checkpoint.pub"] {
				t.Errorf("without the public half: %v", err)
			}
			closeStore(t, st)
		} else if !strings.Contains(fmt.Sprint(err), what) || !errors.As(err, new(*journal.Damage)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
