package evidence_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/lab/webdriver"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/store/durable"
)

// The page that goes along proves it in a browser, by the archive and by its files, and says what is wrong
// with another.
func TestEvidenceIsProvenInABrowser(t *testing.T) {
	t.Parallel()
	b, err := webdriver.Start()
	if errors.Is(err, webdriver.ErrNoBrowser) {
		t.Log("left out: ", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := rig.NewProven(t)
	dir := t.TempDir()
	archive := filepath.Join(dir, "out.zip")
	of := history.Filter{Booking: p.Booking}
	if _, err := evidence.File(durable.Dir(p.Dir), false, of, archive); err != nil {
		t.Fatal(err)
	}
	unpacked := unpack(t, p.Write(t, of))
	var files []string
	found, err := os.ReadDir(unpacked)
	for _, f := range found {
		files = append(files, filepath.Join(unpacked, f.Name()))
	}
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, chosen := range [][]string{{archive}, files} {
		err := errors.Join(
			b.Go("file://"+filepath.Join(unpacked, "verify.html")),
			b.Choose("#files", chosen...),
		)
		if seen, good := b.Await("output.good", "as they were written"); err != nil || !good {
			t.Errorf("%d files: %v: %s", len(chosen), err, seen)
		}
	}
	line := files[slices.IndexFunc(files, func(name string) bool {
		return strings.HasSuffix(name, ".json")
	})]
	text, err := os.ReadFile(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(line, bytes.Replace(text, []byte("seq"), []byte("sea"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(b.Go("file://"+filepath.Join(unpacked, "verify.html")), b.Choose("#files", files...))
	if seen, bad := b.Await("output.bad"); err != nil || !bad {
		t.Errorf("a changed line: %v: %s", err, seen)
	}
	complaints, err := b.Complaints()
	if err != nil || len(complaints) > 0 {
		t.Errorf("the console says %v, %v", complaints, err)
	}
}
