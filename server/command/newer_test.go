package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line with a member more, whose hash follows, is of a newer version, and no damage: 78 of what would
// write, 1 of verify.
func TestALineOfANewerVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	feed := filepath.Join("..", "..", "testdata", "demo")
	want(t, 0, "is in force", "import", "-data", dir, feed)
	name := filepath.Join(dir, "journal/000000000001.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	member := strings.Replace(lines[2][75:], `"data":{`, `"data":{"source":"mail",`, 1)
	hash := sha256.Sum256([]byte(lines[1][9:73] + strings.TrimSuffix(member, "\n")))
	lines[2] = fmt.Sprintf(`{"hash":"%x",%s`, hash, member)
	for _, other := range []string{"snapshots", "checkpoint", "checkpoints.log"} { // of the line as it was
		os.RemoveAll(filepath.Join(dir, other))
	}
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := `line 3 of journal/000000000001.jsonl: written by a newer version: timetable.imported: .*"source"`
	want(t, 78, newer, "serve", "-data", dir, "-addr", "127.0.0.1:0")
	want(t, 78, newer, "partner", "add", "-data", dir, "anna")
	want(t, 1, newer, "verify", "-data", dir)
	format, err := os.ReadFile(filepath.Join(dir, "FORMAT"))
	if err != nil {
		t.Fatal(err)
	}
	stream := fmt.Sprintf(`{"file":"FORMAT","data":%q}`, base64.StdEncoding.EncodeToString(format)) + "\n" +
		strings.Join(lines, "")
	var out, errs bytes.Buffer
	code := Main(&Process{
		Args:   []string{"receive", filepath.Join(t.TempDir(), "standby")},
		Stdin:  strings.NewReader(stream),
		Stdout: &out,
		Stderr: &errs,
		Env:    func(string) (string, bool) { return "", false },
	})
	said := errs.String()
	if code != 78 || out.String() != "0 -\n2\n" ||
		!strings.Contains(said, "line 3: written by a newer version") {
		t.Errorf("receive ends with %d, %q, %q", code, &out, said)
	}
}
