package verify_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

var directories = flag.String("directories", "", "a `folder` of what tests have left, for both auditors to judge")

// opinion is what an auditor says of a directory, as far as both auditors say it.
type opinion struct {
	Verdict  string
	Problems []struct {
		Seq  uint64
		Text string
	}
	Books any
}

// lines returns the numbers of the lines that have problems, each once.
func (o *opinion) lines() []uint64 {
	list := []uint64{}
	for _, p := range o.Problems {
		list = append(list, p.Seq)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ours returns verify's opinion.
func ours(t *testing.T, dir string) (o opinion) {
	t.Helper()
	v, _ := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, inspect.Expected{}, "")
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// theirs returns the opinions of audit.py, which judges all directories in one go: a start of Python takes
// longer than a look at one. It needs no site-packages (-S).
func theirs(t *testing.T, dirs []string) (list []opinion) {
	t.Helper()
	args := append([]string{"-I", "-S", rig.File("server/docs/audit.py"), "-json"}, dirs...)
	out, err := exec.Command("python3", args...).Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	said := json.NewDecoder(bytes.NewReader(out))
	sound := true
	for _, dir := range dirs {
		var o opinion
		if err := said.Decode(&o); err != nil {
			t.Fatalf("%s: audit.py says %.300q: %v", dir, out[said.InputOffset():], err)
		}
		sound = sound && o.Verdict == "sound"
		list = append(list, o)
	}
	if sound == (failed != nil) {
		t.Errorf("all are sound: %v, and %v", sound, err)
	}
	return list
}

// oddities are values that readers of JSON take differently, by what they replace in a sale: a forger uses
// them to have an auditor see other numbers than the program does, or none, as it has ended.
var oddities = map[string]string{
	`"amount":\d+`:          `"amount":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	`"amount":(\d+)`:        `"amount":Infinity`,
	`"amount":\d{1,9}`:      `"amount":` + strings.Repeat("9", 5000),
	`"amount":\d{1,8}`:      `"amount":77000.0`,
	`"amount":[0-9]+`:       `"amount":null`,
	`"seats":\[\d+\]`:       `"seats":[70000]`,
	`"request":"[^"]*"`:     `"request":"\ud800"`,
	`"currency":"[A-Z]{3}"`: `"currency":"uah"`,
}

// Decision audit.script: the second auditor shares no line with this program. It comes to the same verdict as
// verify, names the same lines and has the same books: over what is honest, what is forged, and with
// -directories over what the server's tests have left.
func TestBothAuditorsAgree(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	h := newHonest(t)
	all := []string{h.dir, h.yesterday, rig.File("testdata/journal/v3")}
	theirs(t, all) // sound both: exit code 0
	for _, commit := range frauds {
		all = append(all, commit(t, h))
	}
	all = append(all, withoutJournal(t)...)
	for what, with := range oddities {
		all = append(all, rig.Forge(t, h.dir, func(lines []string) []string {
			for i, l := range lines {
				if strings.Contains(l, `"type":"booking.created"`) && strings.Contains(l, h.bookings[1]) {
					lines[i] = regexp.MustCompile(what).ReplaceAllLiteralString(l, with)
				}
			}
			return lines
		}))
	}
	if *directories != "" {
		left, err := filepath.Glob(filepath.Join(*directories, "*", "data"))
		if err != nil || len(left) == 0 {
			t.Fatalf("%s has %d directories, %v", *directories, len(left), err)
		}
		all = append(all, left...)
	}
	for some := range slices.Chunk(all, 20) {
		t.Run(filepath.Base(filepath.Dir(some[0])), func(t *testing.T) {
			t.Parallel()
			for i, they := range theirs(t, some) {
				compareOpinions(t, some[i], ours(t, some[i]), they)
			}
		})
	}
}

// withoutJournal returns an empty directory, and one that has only its name: neither has anything that could
// be sound.
func withoutJournal(t *testing.T) []string {
	t.Helper()
	empty, named := t.TempDir(), t.TempDir()
	text, err := os.ReadFile(rig.File("testdata/journal/v3/FORMAT"))
	if err == nil {
		err = os.WriteFile(filepath.Join(named, "FORMAT"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{empty, named} {
		if o := ours(t, dir); o.Verdict != "failed" || o.Problems[0].Text != "no journal is here" {
			t.Errorf("of what has no journal verify says %+v", o)
		}
	}
	return []string{empty, named}
}

// compareOpinions sees that both auditors say the same of a directory.
func compareOpinions(t *testing.T, dir string, we, they opinion) {
	t.Helper()
	if we.Verdict != they.Verdict || !slices.Equal(we.lines(), they.lines()) ||
		!reflect.DeepEqual(we.Books, they.Books) {
		t.Errorf("%s\nverify:   %+v\naudit.py: %+v", dir, we, they)
	}
}

// audit.py judges directories. An archive, be it of a sound directory, is none: it says so, and is not sound.
func TestTheSecondAuditorRefusesAnArchive(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "data.zip")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	err = archive.AddFS(os.DirFS(rig.File("testdata/journal/v3")))
	if err := errors.Join(err, archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("python3", "-I", "-S", rig.File("server/docs/audit.py"), name).Output()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Errorf("audit.py ends with %v", err)
	}
	want := "  failed: " + name + " is not a directory; unpack an archive first\n"
	if !strings.HasPrefix(string(out), name+": failed\n") || !strings.Contains(string(out), want) {
		t.Errorf("audit.py says\n%s\nwant\n%s", out, want)
	}
}
