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
	member := strings.Replace(lines[1][75:], `"data":{`, `"data":{"source":"mail",`, 1)
	hash := sha256.Sum256([]byte(lines[0][9:73] + strings.TrimSuffix(member, "\n")))
	lines[1] = fmt.Sprintf(`{"hash":"%x",%s`, hash, member)
	for _, other := range []string{"snapshots", "checkpoint", "checkpoints.log"} { // of the line as it was
		os.RemoveAll(filepath.Join(dir, other))
	}
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := `line 2 of journal/000000000001.jsonl: written by a newer version: timetable.imported: .*"source"`
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
	if code != 78 || out.String() != "0 -\n1\n" ||
		!strings.Contains(said, "line 2: written by a newer version") {
		t.Errorf("receive ends with %d, %q, %q", code, &out, said)
	}
}

// A directory whose FORMAT is of another version is refused by each verb in one line that says what it is,
// and stays as it is: 78, and of verify a verdict.
func TestADirectoryOfAnotherFormat(t *testing.T) {
	t.Parallel()
	for version, said := range map[string][2]string{
		"v1": {"made before the first release: FORMAT says version 1, and this program reads version 3", "failed"},
		"v2": {"made before the first release: FORMAT says version 2, and this program reads version 3", "failed"},
		"v4": {"written by a newer version: FORMAT says version 4, and this program reads version 3", "newer"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS("../../testdata/journal/v3")); err != nil {
			t.Fatal(err)
		}
		format := strings.Replace(content(t, dir, "FORMAT"), "v3", version, 1)
		if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte(format), 0o600); err != nil {
			t.Fatal(err)
		}
		before := files(t, dir)
		out := filepath.Join(t.TempDir(), "out")
		for _, verb := range []string{"serve @", "import @ ../../testdata/demo", "partner add @ x",
			"partner list @", "log @", "tail @", "checkpoint @", "export @ " + out, "desk @", "backup @ " + out,
			"statement @ -from 2026-11-01 -to 2026-11-30", "repair @ -cut-at 3 -reason x " + out,
			"forget @ -email x@example.com -reason x", "manifest @ kl-0530 2026-11-25",
			"evidence @ -booking AAAAAAAAAAAAAAAAAAAAAA " + out} {
			args := strings.Fields(strings.Replace(verb, "@", "-data "+dir, 1))
			want(t, 78, "^waybill: "+said[0]+"\n$", args...)
		}
		want(t, 78, "^waybill: "+said[0]+"\n$", "receive", dir)
		want(t, 78, "^waybill: "+said[0]+"\n$", "receive", "-next", dir)
		want(t, 78, "^waybill: "+said[0]+"\n$", "ticket", "check", "-data", dir, "WB1.x")
		want(t, 1, `(?s)"verdict": "`+said[1]+`".*`+said[0], "verify", "-data", dir, "-json")
		if after := files(t, dir); before != after {
			t.Errorf("%s: the directory has changed", version)
		}
	}
}
