package verify_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// allFiles returns what is in a directory.
func allFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A line of a type, with a member, or in a form that this program does not know, and whose hash follows, was
// written by a newer version. A start says so, and writes nothing; verify says so; a standby does not take
// it, and keeps what came before it. Damage is another thing.
func TestWhatANewerVersionWroteIsNoDamage(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	for what, c := range map[string]struct {
		line       int
		from, with string
	}{
		"a type":                        {b.line(t, "ticket.paid", 1), `ticket\.paid`, "ticket.upgraded"},
		"a member of the data":          {b.line(t, "ticket.paid", 1), `"data":{`, `$0"tip":100,`},
		"a member deep in the data":     {b.line(t, "booking.created", 1), `"city":{`, `$0"mayor":"Sadovyi",`},
		"a member of a rare line":       {b.line(t, "timetable.imported", 1), `"data":{`, `$0"source":"mail",`},
		"a member of who did it":        {b.line(t, "timetable.imported", 1), `"by":{`, `$0"from":"home",`},
		"a member of the line":          {b.line(t, "ticket.paid", 1), `"type":`, `"site":2,"type":`},
		"a member at the line's end":    {b.line(t, "ticket.paid", 1), `}\n$`, `,"site":2}` + "\n"},
		"another form of a member":      {b.line(t, "ticket.paid", 1), `"ticket":("[^"]+")`, `"ticket":[$1]`},
		"a state that it does not know": {b.line(t, "booking.created", 1), `"discount":-1`, `"discount":"none"`},
	} {
		dir := b.rewrite(t, c.line, c.from, c.with)
		before := allFiles(t, dir)
		s, err := server.Open(server.Config{Dir: dir})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, journal.ErrNewer) || errors.As(err, new(*journal.Damage)) {
			t.Errorf("%s: a start says %v, want %v", what, err, journal.ErrNewer)
		}
		after := allFiles(t, dir)
		if !maps.Equal(before, after) {
			t.Errorf("%s: a start that is refused has written: %q, before %q", what,
				slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
		}
		_, err = verify.Directory(durable.Dir(dir), false, inspect.Expected{})
		if !errors.Is(err, journal.ErrNewer) || errors.As(err, new(*journal.Damage)) {
			t.Errorf("%s: verify says %v, want %v", what, err, journal.ErrNewer)
		}
		standby := filepath.Join(t.TempDir(), "standby")
		format := base64.StdEncoding.EncodeToString([]byte(b.format))
		_, err = rig.Received(standby, `{"file":"FORMAT","data":"`+format+`"}`+"\n"+before[rig.JournalFile])
		if !errors.Is(err, journal.ErrNewer) {
			t.Errorf("%s: a standby says %v, want %v", what, err, journal.ErrNewer)
		}
		if n := strings.Count(allFiles(t, standby)[rig.JournalFile], "\n"); n != c.line-1 {
			t.Errorf("%s: a standby has %d lines, want %d", what, n, c.line-1)
		}
	}
}

// Members of the store's own lines that are not known are passed over.
func TestMembersOfTheStoresOwnLinesArePassedOver(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	dir := b.rewrite(t, b.line(t, "opened", 1), `"data":{`, `$0"program":{"version":"9"},`)
	s, err := server.Open(server.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}
