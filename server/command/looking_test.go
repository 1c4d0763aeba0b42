package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree returns all that can be seen of a directory and what lies in it: names, modes, times and bytes.
func tree(t *testing.T, dir string) string {
	t.Helper()
	return listed(t, dir, func(info fs.FileInfo) any { return info.ModTime().UnixNano() })
}

// files returns the files in a directory, with their bytes, but for the empty one that is locked.
func files(t *testing.T, dir string) string {
	t.Helper()
	all := listed(t, dir, func(fs.FileInfo) any { return "" })
	return strings.Replace(all, filepath.Join(dir, "LOCK")+" -rw-------"+" \n\"\"\n", "", 1)
}

// listed returns the names, modes and bytes of what lies in a directory, and something more of each.
func listed(t *testing.T, dir string, more func(fs.FileInfo) any) string {
	t.Helper()
	var seen strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&seen, name, info.Mode(), more(info))
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(name)
			fmt.Fprintf(&seen, "%q\n", text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen.String()
}

// cloned returns a copy of a directory, to the byte, without its socket.
func cloned(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	copyInto(t, dir, to)
	return to
}

// copyInto copies a directory to one that is not there yet, to the byte, without its socket.
func copyInto(t *testing.T, dir, to string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(to, strings.TrimPrefix(name, dir))
		switch {
		case d.IsDir():
			return os.Mkdir(at, 0o700)
		case d.Type().IsRegular():
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(at, text, 0o600)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// looks are the verbs that only look: each list, each dry run, and the token.
func looks() [][]string {
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	return [][]string{
		{"partner", "list"}, {"partner", "list", "-json"},
		{"company", "list"}, {"company", "list", "-json"},
		{"user", "list"}, {"user", "list", "-json"},
		{"outbox", "list"}, {"outbox", "list", "-json"},
		{"ticket", "asked"}, {"ticket", "asked", "-json"},
		{"run", "cancel", "-dry-run", "-reason", "snow", "kl-0700", tomorrow},
		{"run", "move", "-dry-run", "-reason", "snow", "-minutes", "20", "kl-0700", tomorrow},
		{"run", "restore", "-dry-run", "-reason", "snow", "kl-0700", tomorrow},
		{"import", "-dry-run", "../../testdata/demo"},
		{"forget", "-dry-run", "-reason", "asked", "-email", "nobody@example.com"},
		{"idtoken", "-email", "demo@example.com"},
	}
}

// look runs a verb that only looks, on a directory.
func look(t *testing.T, dir string, line []string) (code int, output string) {
	t.Helper()
	verb, rest := find(line)
	args := append(strings.Fields(verb.name), "-data", dir)
	code, stdout, stderr := run(t, nil, append(args, rest...)...)
	return code, stdout + stderr
}

// A list, a dry run and idtoken change no byte of a directory, nor a time that a file shows, in whatever
// state it is; and say the same there as a running server says.
func TestWhatOnlyLooksChangesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir)
	said := map[string]string{}
	for _, verb := range looks() {
		code, output := look(t, dir, verb)
		if code != exitDone {
			t.Errorf("beside a server: %v: exit %d\n%s", verb, code, output)
		}
		said[strings.Join(verb, " ")] = output
	}
	killed := cloned(t, dir)
	torn := cloned(t, dir)
	s.stop()
	end, err := os.OpenFile(filepath.Join(torn, firstFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := end.WriteString(`{"hash":"00`); err != nil {
		t.Fatal(err)
	}
	end.Close()
	backup := filepath.Join(t.TempDir(), "backup")
	want(t, 0, "is sound", "backup", "-data", dir, backup)
	standby := filepath.Join(t.TempDir(), "standby")
	_, lines := with("", "tail", "-data", dir, "-format", "copy")
	if code, output := with(lines, "receive", standby); code != exitDone {
		t.Fatal(code, output)
	}
	for name, dir := range map[string]string{
		"stopped": dir, "killed": killed, "torn": torn, "standby": standby, "backup": backup,
	} {
		before := tree(t, dir)
		for _, verb := range looks() {
			code, output := look(t, dir, verb)
			// A token is of the instant at which it is made.
			same := output == said[strings.Join(verb, " ")] || verb[0] == "idtoken"
			if code != exitDone || !same {
				t.Errorf("%s: %v: exit %d\n%s\nwant\n%s", name, verb, code, output,
					said[strings.Join(verb, " ")])
			}
			if tree(t, dir) != before {
				t.Fatalf("%s: %v has changed the directory", name, verb)
			}
		}
	}
}

// No verb makes the key that signs ID tokens: in a directory that was never served idtoken fails, and changes
// nothing.
func TestIDTokenOfADirectoryThatWasNeverServed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	before := tree(t, dir)
	want(t, 1, "was never served", "idtoken", "-data", dir, "-email", "demo@example.com")
	if tree(t, dir) != before {
		t.Error("idtoken has changed the directory")
	}
}
