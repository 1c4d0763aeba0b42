package rig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Kept is the variable that names a folder where tests leave a copy of each directory that they have closed.
// The second auditor is held against verify over these.
const Kept = "WAYBILL_TEST_DIRECTORIES"

// Keep copies a closed directory to the folder that [Kept] names, if it is set, under the test's name.
func Keep(t testing.TB, dir string) {
	t.Helper()
	folder := os.Getenv(Kept)
	if folder == "" {
		return
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()) + "-"
	to, err := os.MkdirTemp(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, "data"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
}
