package command

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
)

// What reads or copies all of a directory steps back where a server has it open, and only there.
func TestLongVerbsStepBackBesideAServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	steps := func(verb string) int {
		t.Helper()
		stepped := 0
		args := []string{verb, "-data", dir}
		if slices.Contains([]string{"backup", "export"}, verb) {
			args = append(args, filepath.Join(t.TempDir(), "out"))
		}
		var stdout, stderr bytes.Buffer
		code := Main(&Process{
			Args:     args,
			Stdout:   &stdout,
			Stderr:   &stderr,
			Env:      func(string) (string, bool) { return "", false },
			StepBack: func() { stepped++ },
		})
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", verb, code, &stdout, &stderr)
		}
		return stepped
	}
	s := serve(t, "-data", dir)
	verbs := []string{"verify", "log", "backup", "export"}
	for _, verb := range verbs {
		if n := steps(verb); n != 1 {
			t.Errorf("%s beside a server stepped back %d times", verb, n)
		}
	}
	s.stop()
	for _, verb := range verbs {
		if n := steps(verb); n != 0 {
			t.Errorf("%s alone stepped back %d times", verb, n)
		}
	}
}
