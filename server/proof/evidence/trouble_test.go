package evidence_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/store/durable"
)

// An erasure that stands in the journal and is not carried out yet: there is no evidence with the name in it.
func TestNoEvidenceBesideAnErasure(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	files, err := filepath.Glob(filepath.Join(p.Dir, "journal/*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	before := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(text)
	}
	p.Forget(t, "booking", p.Booking)
	for name, was := range before { // as a crash before the erasing leaves it
		now, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(now), "\n")
		copy(lines, strings.SplitAfter(strings.TrimSuffix(was, "\n"), "\n"))
		n := strings.Count(was, "\n")
		lines[n-1] = strings.TrimSuffix(lines[n-1], "\n") + "\n"
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out.zip")
	_, err = evidence.File(durable.Dir(p.Dir), false, history.Filter{Booking: p.Booking}, out)
	if err == nil || !strings.Contains(err.Error(), "an erasure was interrupted") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a file all the same")
	}
}
