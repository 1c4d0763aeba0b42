package command

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"waybill/server/front"
	"waybill/store/durable"
)

// What reads or copies all of a directory steps back where a server has it open, and only there.
func TestLongVerbsStepBackBesideAServer(t *testing.T) {
	t.Parallel()
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

// A server signs its lines up to a second after they were written: verify has it sign first, and accuses
// nobody. Where a process has the directory open that cannot be asked, as a server that is just starting,
// verify says that lines are not signed yet. Where nobody has it open, nothing explains them.
func TestLinesThatAreBeingSignedAccuseNobody(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir)
	for range 5 {
		want(t, 0, "^wb_", "partner", "add", "-data", dir, "one more")
		want(t, 0, `^sound: [^\n]*\nthe journal is [^\n]*\nthe books at [^\n]*\n$`, "verify", "-data", dir)
	}
	// Nor do those that are written while it reads.
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				want(t, 0, "^wb_", "partner", "add", "-data", dir, "one more")
			}
		}
	})
	for range 10 {
		want(t, 0, `^sound: [^\n]*\nthe journal is [^\n]*\nthe books at [^\n]*\n$`, "verify", "-data", dir)
	}
	close(stop)
	writing.Wait()
	s.stop()
	notes, err := os.ReadFile(filepath.Join(dir, "checkpoints.log"))
	if err != nil {
		t.Fatal(err)
	}
	earlier, _, _ := bytes.Cut(notes, []byte("\n\nwaybill/")) // the first note alone
	for name, text := range map[string]string{"checkpoint": "\n", "checkpoints.log": "\n\n"} {
		text = strings.TrimSuffix(string(earlier), "\n") + text
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want(t, 0, `(?m)^no checkpoint covers the last \d+ lines, after line \d+: `, "verify", "-data", dir)
	if front.IsLocked(dir) || runtime.GOOS != "linux" {
		t.Log("this system does not tell who holds a lock")
		return
	}
	lock, err := durable.Dir(dir).Lock("LOCK")
	if err != nil {
		t.Fatal(err)
	}
	want(t, 0, `(?m)^not signed yet: the server is running; the newest checkpoint covers line \d+, \d+ lines ago; `+
		`it is not known yet whether what came after that line counts$`,
		"verify", "-data", dir)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, 0, `(?m)^no checkpoint covers the last \d+ lines, after line \d+: `, "verify", "-data", dir)
}
