package verify_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/server/lab/rig"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// forge returns a copy of a closed directory, of one file of journal, whose lines somebody has changed who
// has the disk, the key and all the time in the world: lines that come, go or move are numbered anew, and so
// is each before; the chain and the tree follow, and one note is signed anew. Snapshots are gone.
func forge(t *testing.T, of string, change func(lines []string) []string) (dir string) {
	t.Helper()
	dir = rehashed(t, of, change)
	resign(t, dir)
	rig.Keep(t, dir)
	return dir
}

// rehashed returns such a copy by somebody who has no key: the lines are numbered and hashed anew, and
// nothing else is.
func rehashed(t *testing.T, of string, change func(lines []string) []string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "forged")
	if err := os.CopyFS(dir, os.DirFS(of)); err != nil {
		t.Fatal(err)
	}
	rehash(t, dir, change)
	return dir
}

// forgeIn does what forge does to a directory itself.
func forgeIn(t *testing.T, dir string, change func(lines []string) []string) {
	t.Helper()
	rehash(t, dir, change)
	resign(t, dir)
}

// rehash numbers and hashes the lines of a directory anew.
func rehash(t *testing.T, dir string, change func(lines []string) []string) {
	t.Helper()
	format := read(t, dir, "FORMAT")
	var lines []string
	for line := range strings.Lines(read(t, dir, rig.JournalFile)) {
		lines = append(lines, line)
	}
	old := slices.Clone(lines)
	text := rig.Rechained(format, renumbered(old, change(lines)))
	if err := os.WriteFile(filepath.Join(dir, rig.JournalFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	framed = regexp.MustCompile(`"seq":(\d+),"synced":\d+,`)
	before = regexp.MustCompile(`"before":(\{[^}]*\}|\d+)`)
	timed  = regexp.MustCompile(`"time":"([^"]*)"`)
	number = regexp.MustCompile(`(:|^)(\d+)`)
)

// renumbered gives each line its place as its number, and has what names lines follow: what named one that is
// gone names the one before that. A line whose number was 0 is new.
func renumbered(old, lines []string) []string {
	now := map[string]string{"0": "0"}
	for i, line := range lines {
		if was := framed.FindStringSubmatch(line)[1]; was != "0" {
			now[was] = strconv.Itoa(i + 1)
		}
	}
	for _, line := range old {
		was := framed.FindStringSubmatch(line)[1]
		if now[was] == "" {
			now[was] = now[number.FindString(strings.TrimPrefix(before.FindString(line), `"before":`))]
		}
	}
	for i, line := range lines {
		line = framed.ReplaceAllString(line, fmt.Sprintf(`"seq":%d,"synced":%d,`, i+1, i))
		lines[i] = before.ReplaceAllStringFunc(line, func(member string) string {
			name, value, _ := strings.Cut(member, `":`)
			return name + `":` + number.ReplaceAllStringFunc(value, func(of string) string {
				was := strings.TrimPrefix(of, ":")
				return strings.TrimSuffix(of, was) + now[was]
			})
		})
	}
	return lines
}

// resign signs a note of a directory's last line with the directory's key, and removes what was signed
// before, the tree and the snapshots.
func resign(t *testing.T, dir string) {
	t.Helper()
	origin, _, _ := strings.Cut(read(t, dir, checkpoint.File), "\n")
	for _, name := range []string{
		checkpoint.File, checkpoint.LogFile, checkpoint.WitnessedFile, tree.Dir, "snapshots",
	} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	key, err := checkpoint.PrivateKey(durable.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	signed := noteOf(t, dir, origin, key)
	files := map[string][]byte{checkpoint.File: signed, checkpoint.LogFile: append(signed, '\n')}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// noteOf returns a note of a directory's last line, under a name and by a key.
func noteOf(t *testing.T, dir, origin string, key ed25519.PrivateKey) []byte {
	t.Helper()
	note := checkpoint.Checkpoint{Origin: origin}
	var edge tree.Edge
	last := ""
	for line := range strings.Lines(read(t, dir, rig.JournalFile)) {
		hashed, _, _ := strings.Cut(strings.TrimSuffix(line[75:], "\n"), `,"personal":{`)
		edge.Add(tree.Leaf([]byte(hashed)))
		last = line
	}
	note.Seq = edge.Size()
	note.Root = edge.Root()
	_, noHash := hex.Decode(note.Hash[:], []byte(last[9:73]))
	at, noTime := time.Parse(journal.TimeLayout, timed.FindStringSubmatch(last)[1])
	if err := errors.Join(noHash, noTime); err != nil {
		t.Fatal(err)
	}
	note.Time = at
	return note.Sign(key)
}

// read returns a file of a directory.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
