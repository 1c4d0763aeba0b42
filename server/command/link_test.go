package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planted moves what a name in a directory stands for aside, within the directory, and puts a link to it in
// its place.
func planted(t *testing.T, dir, name string) (aside string) {
	t.Helper()
	aside = filepath.Join(dir, "aside")
	at := filepath.Join(dir, name)
	if err := os.Rename(at, aside); err != nil {
		t.Fatal(err)
	}
	to, err := filepath.Rel(filepath.Dir(at), aside)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return aside
}

// only returns the one name that matches in a directory.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatal(pattern, found, err)
	}
	return strings.TrimPrefix(found[0], dir+"/")
}

// Nothing in the data directory is opened through a link that somebody has planted there, be it to a file of
// the directory itself: what it leads to stays as it is, to the byte and the time, whatever is done with the
// directory; and where it cannot do without, a start or a verb says which file is a link.
func TestNothingInTheDirectoryIsOpenedThroughALink(t *testing.T) {
	t.Parallel()
	sound := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", sound)
	s.book(t)
	s.stop()
	for _, file := range []string{"reports/a.csv", "outbox/a.eml"} {
		if err := os.WriteFile(filepath.Join(sound, file), []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := "is a symbolic link"
	for _, c := range []struct {
		pattern             string
		serves, adds, lists string // what they say; "": anything, as they need not open it
		verifies            string
	}{
		{"journal/*.jsonl", link, link, link, link},
		{"journal", link, link, link, link},
		{"checkpoints.log", link, link, "", link},
		{"checkpoint", "", "", "", ""},
		{"checkpoint.pub", "", "", "", link},
		{"checkpoint.key", link, link, "", link},
		{"tree/00", "", "", "", link},
		{"tree", "", "", "", link},
		{"snapshots/*", "", "", "", link},
		{"snapshots", link, link, link, link},
		{"timetables/*", link, link, link, ""},
		{"timetables", link, link, link, ""},
		{"keys/offer-tokens", link, link, "", ""},
		{"keys/tickets", link, link, "", ""},
		{"keys", link, link, link, ""},
		{"outbox/*", "", "", "", ""},
		{"outbox", link, link, "", ""},
		{"reports/*", "", "", "", ""},
		{"reports", link, link, "", ""},
		{"LOCK", link, link, "", ""},
		{"FORMAT", link, link, link, link},
	} {
		dir := cloned(t, sound)
		aside := planted(t, dir, only(t, dir, c.pattern))
		before := tree(t, aside)
		// What only reads comes first: a start may put a file in a link's place.
		for _, verb := range [][2]string{
			{"verify", c.verifies}, {"partner list", c.lists}, {"partner add", c.adds}, {"serve", c.serves},
		} {
			what := verb[0]
			said := verb[1]
			args := append(strings.Fields(what), "-data", dir)
			switch what {
			case "serve":
				args = append(args, "-addr", "127.0.0.1:0")
			case "partner add":
				args = append(args, "anna")
			}
			code, stdout, stderr := run(t, nil, args...)
			refuses := code != 0 && strings.Contains(stdout+stderr, link)
			if said != "" && !refuses {
				t.Errorf("%s with %s as a link: exit %d, %s%s", what, c.pattern, code, stdout, stderr)
			}
			if tree(t, aside) != before {
				t.Errorf("%s with %s as a link has changed what it leads to", what, c.pattern)
				before = tree(t, aside)
			}
		}
	}
}

// A link in the place of the socket is not followed to another directory's server; a start takes it away.
func TestTheSocketIsNoLink(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other")
	serve(t, "-data", other)
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	if err := os.Symlink(filepath.Join(other, "admin.sock"), filepath.Join(dir, "admin.sock")); err != nil {
		t.Fatal(err)
	}
	want(t, 1, "admin.sock is a symbolic link", "partner", "add", "-data", dir, "anna")
	want(t, 1, "admin.sock is a symbolic link", "desk", "-data", dir, "-addr", "127.0.0.1:0")
	if list := want(t, 0, "", "partner", "list", "-data", other); strings.Contains(list, "anna") {
		t.Errorf("the other directory has changed: %s", list)
	}
	serve(t, "-data", dir)
	want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna")
}
