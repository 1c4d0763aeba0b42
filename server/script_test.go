package server_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"waybill/server/lab/rig"
)

// untold is what no transcript can show, by how its place begins, and why.
var untold = map[string]string{
	"components/schemas/Permission":                   "a partner is shown none",
	"components/schemas/Phone/properties/messengers/": "none are known",
	"components/schemas/Departure/":                   "the interface allows nulls that no timetable brings forth",
	"components/schemas/Document/":                    "it is the document itself",
	"components/x-errors/BodyTooLargeError":           "TestDocumentHasRareAnswers",
	"components/x-errors/RequestConflictError":        "TestDocumentHasRareAnswers",
	"components/x-errors/UnavailableError":            "TestDocumentHasRareAnswers",
}

// unshown returns which answers, members, nulls and values of the document no transcript has shown.
func unshown() (missing []string) {
	want := map[string]bool{}
	for pattern, op := range rig.Operations {
		for status, answer := range rig.Object(op, "responses") {
			at := "paths/" + pattern + "/responses/" + status
			if status < "300" {
				want[at] = true
				for _, content := range rig.Object(answer, "content") {
					wanted(want, at, rig.Object(content)["schema"])
				}
			}
		}
	}
	wanted(want, "components/schemas/Errors",
		rig.Object(rig.Specification, "components", "schemas", "Errors"))
	for name, kind := range rig.ErrorKinds {
		wanted(want, "components/x-errors/"+name, kind)
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		why := func(begin string) bool { return strings.HasPrefix(at, begin) }
		if !rig.Told.Places[at] && !slices.ContainsFunc(slices.Collect(maps.Keys(untold)), why) {
			missing = append(missing, at)
		}
	}
	return missing
}

// wanted collects what an answer can show of a schema.
func wanted(want map[string]bool, at string, schema any) {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		if at, s = strings.TrimPrefix(ref, "#/"), rig.Resolve(s); want[at] {
			return
		}
	}
	want[at] = true
	if slices.Contains(rig.Elements(s["type"]), any("null")) || s["type"] == "null" {
		want[at+"=<nil>"] = true
	}
	for _, v := range rig.Elements(s["enum"]) {
		want[fmt.Sprint(at, "=", v)] = true
	}
	for name, p := range rig.Object(s, "properties") {
		wanted(want, at+"/properties/"+name, p)
	}
	for i, x := range rig.Elements(s["oneOf"]) {
		wanted(want, fmt.Sprint(at, "/oneOf/", i), x)
	}
	if s["items"] != nil {
		wanted(want, at+"/items", s["items"])
	}
}

// TestScript plays the transcripts in testdata/script against the real server on a real directory, each in a
// bubble where waiting costs no time. [rig.Player] says what their lines are.
func TestScript(t *testing.T) {
	files, err := filepath.Glob("../testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	var played atomic.Int32
	t.Cleanup(func() {
		if int(played.Load()) < len(files) {
			return // not all were asked for, or one has failed
		}
		for _, place := range unshown() {
			t.Errorf("no transcript shows %s of the document", place)
		}
	})
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := rig.NewPlayer(t, dir, filepath.Base(file))
				for n, line := range strings.Split(string(text), "\n") {
					p.Line = n + 1
					p.Play(line)
				}
				p.Finish()
			})
			played.Add(1)
		})
	}
}
