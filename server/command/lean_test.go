//go:build lean

package command

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
)

// Decision lean.flags: the verbs and flags of testers and students are exit 2, also as variables, and no help
// has them.
func TestWhatIsNotInTheLeanBuild(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"tour", "tour -pace 1", "tour -h", "help tour",
		"conform", "conform -list", "serve -test-clock now", "serve -test-clock=now", "serve -frozen",
		"serve --frozen=false", "serve -seed 1", "serve -test-control 127.0.0.1:0", "serve -worlds 2",
		"serve -vary",
		"-test-clock now"} {
		want(t, 2, `^waybill: (\w+|serve: -[a-z-]+): not in this build(; "waybill help serve" says more)?\n$`,
			strings.Fields(line)...)
	}
	for _, name := range []string{"TEST_CLOCK", "FROZEN", "SEED", "TEST_CONTROL", "WORLDS", "VARY"} {
		env := map[string]string{"WAYBILL_" + name: "1"}
		code, _, stderr := run(t, env, "serve")
		if code != 2 || !strings.Contains(stderr, "WAYBILL_"+name+": not in this build") {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
		if code, _, stderr := run(t, env, "version"); code != 0 {
			t.Errorf("version with %s: exit %d, %s", name, code, stderr)
		}
	}
	want(t, 0, "(?m)^build lean$", "version")
	want(t, 0, `"build": "lean"`, "version", "-json")
	all := want(t, 0, "serve", "help")
	for _, name := range []string{"tour", "conform"} {
		if strings.Contains(all, "\n  "+name+" ") {
			t.Errorf("help has %s:\n%s", name, all)
		}
	}
	for _, line := range []string{"tou", "tour -", "serve -test-cl"} {
		want(t, 0, "^$", append([]string{"complete"}, strings.Fields(line)...)...)
	}
	if page := want(t, 0, "-addr", "help", "serve"); strings.Contains(page, "clock") {
		t.Errorf("serve has a clock:\n%s", page)
	}
}

// moved makes a directory whose clock was set, and given up if it says so.
func moved(t *testing.T, givenUp bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	starts := []bench.Settings{{TestClock: true}}
	if givenUp {
		starts = append(starts, bench.Settings{})
	}
	for _, set := range starts {
		s, err := server.Open(server.Config{
			Dir: dir,
			Lab: bench.New(set).Lab(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if s.Fresh() {
			rig.ImportDemo(t, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Decision lean.clock: on a directory whose journal has a clock.set whatever writes is exit 78, and leaves it
// as it was, also where the clock was given up since. What only reads works.
func TestADirectoryWithATestClockIsOnlyRead(t *testing.T) {
	t.Parallel()
	for _, givenUp := range []bool{false, true} {
		dir := moved(t, givenUp)
		backup := filepath.Join(t.TempDir(), "backup")
		before := files(t, dir)
		for _, line := range []string{"log DIR", "verify DIR", "partner list DIR", "company list DIR",
			"checkpoint DIR", "idtoken DIR -email x@example.com", "tail DIR", "outbox list DIR",
			"user list DIR"} {
			want(t, 0, "", strings.Fields(strings.Replace(line, "DIR", "-data "+dir, 1))...)
		}
		want(t, 0, "is sound", "backup", "-data", dir, backup)
		want(t, 0, "has all", "export", "-data", dir, filepath.Join(t.TempDir(), "export"))
		for _, args := range [][]string{
			{"serve", "-addr", "127.0.0.1:0", "-data", dir},
			{"import", "-data", dir, "../../testdata/demo"},
			{"partner", "add", "-data", dir, "anna"},
			{"key", "rotate", "-data", dir},
			{"outbox", "retry", "-data", dir, "all"},
			{"forget", "-data", dir, "-email", "a@example.com", "-reason", "x"},
			{"manifest", "-data", dir, "kl-0700", "2026-11-28"},
		} {
			want(t, 78, "a clock.set line, .*this lean binary can only read it", args...)
		}
		if files(t, dir) != before {
			t.Error("the directory was changed")
		}
	}
}

// Nor is such a directory taken as a standby, or gone on with as one.
func TestAStandbyTakesNoTestClock(t *testing.T) {
	t.Parallel()
	dir := moved(t, false)
	stream := want(t, 0, "clock.set", "tail", "-format", "copy", "-data", dir)
	receive := func(to string) {
		t.Helper()
		var out, complaint bytes.Buffer
		code := Main(&Process{
			Args:   []string{"receive", to},
			Stdin:  strings.NewReader(stream),
			Stdout: &out,
			Stderr: &complaint,
			Env:    func(string) (string, bool) { return "", false },
		})
		if code != 78 || !strings.Contains(complaint.String(), "this lean binary can only read it") {
			t.Errorf("exit %d, %s%s", code, &out, &complaint)
		}
	}
	fresh := filepath.Join(t.TempDir(), "standby")
	receive(fresh)
	if text := content(t, fresh, firstFile); strings.Contains(text, "clock.set") {
		t.Errorf("it has taken %s", text)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	want(t, 0, "is sound", "backup", "-data", dir, backup)
	before := files(t, filepath.Join(backup, "journal"))
	receive(backup)
	if files(t, filepath.Join(backup, "journal")) != before {
		t.Error("the backup was changed")
	}
}
