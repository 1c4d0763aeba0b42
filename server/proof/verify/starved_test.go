package verify_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/command"
	"waybill/server/lab/rig"
	"waybill/store/checkpoint"
)

// starving is a row: what is done to a copy of a directory, what is given besides, and the verdict that both
// programs must come to. Where that is sound, a remark says what was not checked.
type starving struct {
	what    string
	do      func(d starved)
	given   []string // flags, for both; a file is found in the copy
	verdict string   // "usage" is a wrong command line
	remark  string   // its kind
}

// unsound is the verdict where both must refuse, be it with different verdicts.
const unsound = "any but sound"

// starved is a copy of a directory.
type starved struct {
	*testing.T
	dir string
}

func (d starved) read(name string) []byte {
	d.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return text
}

func (d starved) write(name string, text []byte) {
	d.Helper()
	path := filepath.Join(d.dir, name)
	os.Chmod(path, 0o600)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		d.Fatal(err)
	}
}

// take takes files away, and folders.
func (d starved) take(names ...string) {
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(d.dir, name)); err != nil {
			d.Fatal(err)
		}
	}
}

// alter replaces what matches in a file: the last time that it does.
func (d starved) alter(name, old string, with func(string) string) {
	d.Helper()
	text := d.read(name)
	all := regexp.MustCompile(old).FindAllIndex(text, -1)
	if all == nil {
		d.Fatalf("%s has no %s", name, old)
	}
	at := all[len(all)-1]
	d.write(name, slices.Concat(text[:at[0]], []byte(with(string(text[at[0]:at[1]]))), text[at[1]:]))
}

// alterNote replaces what matches in the newest note, in both files.
func (d starved) alterNote(old string, with func(string) string) {
	d.alter(checkpoint.LogFile, old, with)
	d.alter(checkpoint.File, old, with)
}

// is returns what puts a text in place of another.
func is(text string) func(string) string { return func(string) string { return text } }

// padded sets a bit of base64 that no byte comes from, at the end of a line.
func padded(line string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	text := strings.TrimRight(line, "=\n")
	last := strings.IndexByte(digits, text[len(text)-1])
	return text[:len(text)-1] + digits[last^1:][:1] + line[len(text):]
}

const (
	ownSignature     = `— waybill/.*\n`
	witnessSignature = `— w\.example .*\n`
)

// said is what a program says of a row's directory.
func (r *starving) said(o *opinion) string {
	remarked := slices.ContainsFunc(o.Remarks, func(x remark) bool { return x.Kind == r.remark })
	if r.remark != "" && !remarked {
		return o.Verdict + ", without a remark of kind " + r.remark
	}
	if r.verdict == unsound && o.Verdict != "sound" {
		return unsound
	}
	return o.Verdict
}

// verifies runs waybill verify.
func verifies(t *testing.T, dir string, given []string) (o opinion) {
	t.Helper()
	var out, said bytes.Buffer
	code := command.Main(&command.Process{
		Args:     slices.Concat([]string{"verify", "-data", dir, "-json"}, given),
		Stdin:    new(bytes.Buffer),
		Stdout:   &out,
		Stderr:   &said,
		Env:      func(string) (string, bool) { return "", false },
		StepBack: func() {},
	})
	if code == 2 {
		return opinion{Verdict: "usage"}
	}
	if err := json.Unmarshal(out.Bytes(), &o); err != nil || (code == 0) != (o.Verdict == "sound") {
		t.Fatal(code, err, out.String(), said.String())
	}
	return o
}

// Nothing is sound that was not checked: who takes away what a check needs, or spoils it in a way that
// decodes to the same, sees verify and audit.py refuse, or remark what was not checked.
func TestNothingIsSoundThatWasNotChecked(t *testing.T) {
	t.Parallel()
	h := newHonest(t)
	ofHonest := slices.Concat(starvedNotes(), starvedKeys(h), starvedFiles(), starvedGiven(h),
		starvedForms(h))
	bases := map[string][]starving{
		h.dir:                           ofHonest,
		rig.File("testdata/journal/v3"): append(starvedNames(), starvedFormerForms()...),
		withTables(t):                   append(starvedTables(), starvedAgain()...),
	}
	for of, rows := range bases {
		for some := range slices.Chunk(rows, 12) {
			t.Run(some[0].what, func(t *testing.T) {
				t.Parallel()
				starve(t, of, some)
			})
		}
	}
}

// starve does what rows say to copies of a directory, and sees that both programs say of each what they must.
func starve(t *testing.T, of string, rows []starving) {
	t.Helper()
	said := map[string]opinion{} // of audit.py, by directory
	var plain []string           // for which nothing is given: it judges all of them in one go
	dirs := make([]string, len(rows))
	python := rig.Has(t, "python3")
	for i, r := range rows {
		dir := copied(t, of)
		dirs[i] = dir
		r.do(starved{t, dir})
		switch {
		case r.given == nil:
			plain = append(plain, dir)
		case python:
			said[dir] = theirs(t, []string{dir}, inside(dir, r.given)...)[0]
		}
	}
	if python && plain != nil {
		for i, o := range theirs(t, plain) {
			said[plain[i]] = o
		}
	}
	for i, r := range rows {
		we := verifies(t, dirs[i], inside(dirs[i], r.given))
		they := we
		if python {
			they = said[dirs[i]]
		}
		if ours, theirs := r.said(&we), r.said(&they); ours != r.verdict || theirs != r.verdict {
			t.Errorf("%s: verify says %s, audit.py %s, want %s\n%+v\n%+v", r.what, ours, theirs, r.verdict,
				we, they)
		}
	}
}

// inside returns flags whose files are in a directory.
func inside(dir string, given []string) (flags []string) {
	for _, word := range given {
		flags = append(flags, strings.Replace(word, "DIR/", dir+"/", 1))
	}
	return flags
}
