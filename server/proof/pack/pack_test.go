package pack_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/pack"
	"waybill/server/proof/statement"
	"waybill/server/proof/witness"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/tree"
	"waybill/store/tree/stored"
)

// audited is a directory in which something happened on each of three days, from the 20th on, and its
// witness.
type audited struct {
	dir     string
	witness *rig.Cosigner
}

// newAudited makes one; only those that are witnessed have a witness.
func newAudited(t *testing.T, isWitnessed bool) *audited {
	t.Helper()
	a := &audited{dir: t.TempDir(), witness: rig.NewCosigner(t, "w.example")}
	for day := range 3 {
		at := rig.Start.AddDate(0, 0, day)
		cfg := server.Config{Dir: a.dir, Now: func() time.Time { return at }}
		if isWitnessed {
			cfg.Witnesses = []witness.Peer{a.witness.Peer()}
		}
		s, key := rig.Demo(t, cfg)
		(&rig.Witnessed{Server: s}).Knows(a.witness)
		booked := rig.NewBookingID(t, s, key)
		if x := rig.Call(t, s, key, "POST", "/v2/bookings/"+booked+"/pay", ""); x.Status != 200 {
			t.Fatal(x)
		}
		operator := ledger.By{UID: 1000, User: "olena"}
		do := func(op string, form url.Values) {
			err := s.Admin.Do(op, &admin.Act{
				By:   operator,
				Form: form,
				Out:  io.Discard,
			})
			if err != nil {
				t.Fatal(op, err)
			}
		}
		do("manifest", url.Values{"trip": {"kw-0800"}, "date": {rig.RunDay}})
		ivan := auth.Person{Email: fmt.Sprintf("u%d@example.com", day), FirstName: "Ivan", LastName: "Franko"}
		rig.AddUser(t, s, operator, ivan, "correct-horse", "zorevia-lines", "VIEWER")
		do("forget", url.Values{"booking": {booked}, "reason": {"asked"}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// packed returns the files of a pack of some days, by their names without the folder.
func (a *audited) packed(t *testing.T, from, to string) (files map[string]string, made pack.Made) {
	t.Helper()
	period, err := statement.ParsePeriod(from, to, "")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "out.zip")
	made, err = pack.File(durable.Dir(a.dir), false, pack.Options{
		Period:  period,
		Verdict: func() any { return map[string]string{"verdict": "sound"} },
	}, name)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files = map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		base, found := strings.CutPrefix(f.Name, "audit-"+from+"-"+to+"/")
		if !found {
			t.Errorf("%s is in another folder", f.Name)
		}
		files[base] = string(text)
	}
	return files, made
}

// note reads one of the notes.
func (a *audited) note(t *testing.T, text string) (c checkpoint.Checkpoint) {
	t.Helper()
	key, err := checkpoint.PublicKey(durable.Dir(a.dir))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = checkpoint.Parse([]byte(text), key); err != nil {
		t.Fatal(err, text)
	}
	return c
}

// shows reports whether the proof in a pack leads from its one note to the other.
func (a *audited) shows(t *testing.T, files map[string]string) bool {
	t.Helper()
	var proof []tree.Hash
	for line := range strings.Lines(files["consistency.txt"]) {
		hash, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(line, "\n"))
		if err != nil || len(hash) != tree.HashSize {
			t.Fatal(err, line)
		}
		proof = append(proof, tree.Hash(hash))
	}
	old := a.note(t, files["note-before.txt"])
	newer := a.note(t, files["note-after.txt"])
	return stored.Extends(proof, old.Seq, newer.Seq, old.Root, newer.Root)
}

// Decision audit.pack: a day has its statement, its acts, readings and erasures; what is said of the whole
// journal; the notes around it, which a witness has signed, and the proof between them.
func TestAPackOfADay(t *testing.T) {
	a := newAudited(t, true)
	files, made := a.packed(t, "2026-11-21", "2026-11-21")
	for name, rows := range map[string]int{
		"acts.csv":      4, // those of the verbs, and the partner's key
		"readings.csv":  1,
		"erasures.csv":  1,
		"access.csv":    4, // from the first line on
		"repairs.csv":   0,
		"forks.csv":     0,
		"clocks.csv":    0,
		"unsigned.csv":  0,
		"statement.csv": 4,
	} {
		table, err := csv.NewReader(strings.NewReader(files[name])).ReadAll()
		if err != nil || len(table)-1 != rows {
			t.Errorf("%s: %d rows, want %d: %v\n%s", name, len(table)-1, rows, err, files[name])
		}
	}
	for name, want := range map[string]string{
		"readings.csv":  `manifest\.read,olena \(1000\),`,
		"erasures.csv":  `,olena \(1000\),.*asked`,
		"statement.csv": `(?m)^sale,\d+,2026-11-21T`,
		"verify.json":   `"verdict": "sound"`,
		"keys.txt":      `(?s)^waybill/.*\nw\.example\+`,
		"README.txt":    `(?s)readings\.csv\n      Who read.*signed by waybill/\w+ and w\.example`,
	} {
		if !regexp.MustCompile(want).MatchString(files[name]) {
			t.Errorf("%s has no %s:\n%s", name, want, files[name])
		}
	}
	for name, text := range files {
		if name != "README.txt" && !strings.Contains(files["README.txt"], "\n  "+name+"\n") {
			t.Errorf("README.txt does not say what %s is for", name)
		}
		if strings.Contains(text, "Franko") || strings.Contains(text, "example.com,") {
			t.Errorf("%s has personal data", name)
		}
	}
	before := a.note(t, files["note-before.txt"])
	after := a.note(t, files["note-after.txt"])
	if before.Seq >= made.First || after.Seq < made.Last || after.Seq >= made.Until || before.Seq == 0 {
		t.Errorf("%+v, between the notes of %d and %d", made, before.Seq, after.Seq)
	}
	for _, name := range []string{"note-before.txt", "note-after.txt"} {
		if !strings.Contains(files[name], "\n— w.example ") {
			t.Errorf("%s is not witnessed:\n%s", name, files[name])
		}
	}
	if !a.shows(t, files) {
		t.Error("the proof does not lead from one note to the other")
	}
}

// Where the period is the first one there is no note before it; where it goes on, the newest stands for the
// one after it. Without a witness the notes are the owner's. Hashes that are gone are made again.
func TestThePackOfWhateverDays(t *testing.T) {
	a := newAudited(t, false)
	for _, c := range []struct {
		from, to           string
		hasBefore, isEmpty bool
	}{
		{"2026-11-01", "2026-11-20", false, false},
		{"2026-11-01", "2026-11-30", false, false},
		{"2026-11-22", "2026-11-30", true, false},
		{"2026-11-25", "2026-11-30", true, true},
	} {
		files, made := a.packed(t, c.from, c.to)
		if _, has := files["note-before.txt"]; has != c.hasBefore || (made.Last < made.First) != c.isEmpty {
			t.Errorf("%+v: %+v, a note before it: %v", c, made, has)
		}
		if after := a.note(t, files["note-after.txt"]); after.Seq < made.Last {
			t.Errorf("%+v: %+v, and a note of %d", c, made, after.Seq)
		}
		if c.hasBefore && !a.shows(t, files) {
			t.Errorf("%+v: the proof does not lead from one note to the other", c)
		}
		if !strings.Contains(files["README.txt"], " alone, and nobody else") {
			t.Errorf("it does not say that nobody else has signed:\n%s", files["README.txt"])
		}
	}
	want, _ := a.packed(t, "2026-11-21", "2026-11-21")
	for _, spoil := range []func() error{
		func() error { return os.Truncate(filepath.Join(a.dir, "tree/00"), 32*5) },
		func() error { return os.WriteFile(filepath.Join(a.dir, "tree/00"), make([]byte, 32*100), 0o600) },
		func() error { return os.RemoveAll(filepath.Join(a.dir, "tree")) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		got, _ := a.packed(t, "2026-11-21", "2026-11-21")
		if got["consistency.txt"] != want["consistency.txt"] || got["consistency.txt"] == "" {
			t.Errorf("the proof is %q, want %q", got["consistency.txt"], want["consistency.txt"])
		}
	}
}

// A directory without a note has a pack too, which says so.
func TestAPackWithoutNotes(t *testing.T) {
	a := newAudited(t, false)
	for _, name := range []string{"checkpoint", "checkpoints.log"} {
		if err := os.Remove(filepath.Join(a.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := a.packed(t, "2026-11-21", "2026-11-21")
	if _, has := files["note-after.txt"]; has || files["consistency.txt"] != "" ||
		!strings.Contains(files["README.txt"], "There is no note at all") {
		t.Errorf("%s", files["README.txt"])
	}
}

// A stretch that a start took over is told, whatever else the line has.
func TestAnUnsignedStretchIsTold(t *testing.T) {
	a := newAudited(t, false)
	text := rig.JournalText(t, a.dir)
	format, err := os.ReadFile(filepath.Join(a.dir, "FORMAT"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	opened := func(l string) bool { return strings.Contains(l, `"type":"opened"`) }
	at := slices.IndexFunc(lines[1:], opened) + 1
	if !strings.HasSuffix(lines[at], "}}\n") {
		t.Fatal(lines[at])
	}
	lines[at] = strings.TrimSuffix(lines[at], "}}\n") + `,"unsigned":{"from":4,"lines":2}}}` + "\n"
	forged := &audited{dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(forged.dir, "FORMAT"), format, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(forged.dir, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	chained := rig.Rechained(string(format), lines)
	// The journal may stand in several files; here it stands in one.
	if err := os.WriteFile(filepath.Join(forged.dir, rig.JournalFile), []byte(chained), 0o600); err != nil {
		t.Fatal(err)
	}
	files, _ := forged.packed(t, "2026-11-25", "2026-11-25")
	want := fmt.Sprintf("\n%d,", at+1)
	got := files["unsigned.csv"]
	if !strings.Contains(got, want) || !strings.Contains(got, "2 lines, from line 4 on") {
		t.Errorf("%s", got)
	}
}

// An OUT that is there is left alone, and a pack that fails leaves nothing.
func TestAPackIsThereWholeOrNot(t *testing.T) {
	a := newAudited(t, false)
	dir := t.TempDir()
	period, err := statement.ParsePeriod("2026-11-20", "2026-11-20", "")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.zip")
	if err := os.WriteFile(out, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := pack.Options{Period: period, Verdict: func() any { return nil }}
	_, err = pack.File(durable.Dir(a.dir), false, o, out)
	if err == nil || err.Error() != out+" is there already" {
		t.Error(err)
	}
	if text, _ := os.ReadFile(out); string(text) != "mine" {
		t.Errorf("it is %s now", text)
	}
	o.Verdict = func() any { return func() {} } // no JSON can be made of it
	other := filepath.Join(dir, "other.zip")
	if _, err := pack.File(durable.Dir(a.dir), false, o, other); err == nil {
		t.Error("it does not fail")
	}
	o.Verdict = func() any { return 1 }
	if _, err := pack.Write(durable.Dir(a.dir), false, o, full{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("on a full disk: %v", err)
	}
	name := filepath.Join(a.dir, rig.JournalFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"seq":3`), []byte(`"seq":4`), 1)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pack.File(durable.Dir(a.dir), false, o, other); err == nil {
		t.Error("it does not fail where the journal is damaged")
	}
	if names, _ := durable.Dir(dir).List("."); len(names) != 1 {
		t.Errorf("it leaves %s", names)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
