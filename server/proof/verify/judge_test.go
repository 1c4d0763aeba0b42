package verify_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/note"
)

// signed returns the newest note of a directory, what it says, and the key that has signed it.
func signed(t *testing.T, dir string) ([]byte, checkpoint.Checkpoint, ed25519.PrivateKey) {
	t.Helper()
	fsys := durable.Dir(dir)
	key, err := checkpoint.PrivateKey(fsys)
	if err != nil {
		t.Fatal(err)
	}
	text, err := checkpoint.Newest(fsys)
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Parse(text, public(key))
	if err != nil {
		t.Fatal(err)
	}
	return text, c, key
}

// public returns the public half of a key.
func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// spoiltCopy returns a copy of a directory, with which something was done.
func spoiltCopy(t *testing.T, of string, spoil ...func(dir string) error) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(of)); err != nil {
		t.Fatal(err)
	}
	for _, s := range spoil {
		if err := s(dir); err != nil {
			t.Fatal(err)
		}
	}
	rig.Keep(t, dir)
	return dir
}

// unsign takes away what a directory has signed.
func unsign(dir string) error {
	if err := os.Remove(filepath.Join(dir, checkpoint.File)); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, checkpoint.LogFile))
}

// tear appends a part of a line.
func tear(dir string) error {
	name := filepath.Join(dir, rig.JournalFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, `{"hash":"12`...), 0o600)
}

// flip flips a bit of the journal's last line.
func flip(dir string) error {
	name := filepath.Join(dir, rig.JournalFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	last := bytes.LastIndexByte(text[:len(text)-1], '\n')
	text[last+100] ^= 1
	return os.WriteFile(name, text, 0o600)
}

// judged judges a directory, and sees that the object of its verdict has all members and no null, and that
// the verdict, the error and the problems agree.
func judged(t *testing.T, dir string, expected inspect.Expected) (verify.Verdict, error) {
	t.Helper()
	v, err := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, expected, "NOTES")
	text, failed := json.Marshal(v)
	if failed != nil {
		t.Fatal(failed)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(object))
	want := []string{"books", "checkpoints", "files", "key", "lines", "origin", "problems", "remarks",
		"snapshots", "verdict", "witnesses"}
	if !slices.Equal(names, want) || bytes.Contains(text, []byte("null")) {
		t.Errorf("an object with other members, or with null: %s", text)
	}
	first := "sound"
	if len(v.Problems) > 0 {
		first = v.Problems[0].Kind
	}
	if v.Verdict != first || v.Sound() != (err == nil) {
		t.Errorf("%s, and the error %v, with %+v", v.Verdict, err, v.Problems)
	}
	return v, err
}

// kinds returns the kinds of a verdict's problems, each once.
func kinds(v verify.Verdict) string {
	var list []string
	for _, p := range v.Problems {
		list = append(list, p.Kind)
	}
	return strings.Join(slices.Compact(list), " ")
}

// Decision verify.verdict: each verdict, and that the first that holds is the verdict. All say whose journal
// it is.
func TestEachVerdict(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	own, said, key := signed(t, b.dir)
	stranger := inspect.Expected{Witnesses: []note.Key{rig.NewCosigner(t, "w.example").VKey()}}
	kept := func(notes ...[]byte) (e inspect.Expected) {
		for _, text := range notes {
			e.Kept = append(e.Kept, inspect.Kept{Note: text})
		}
		return e
	}
	other := said
	other.Hash[0]++
	twoHistories := other.Sign(key)
	sale := b.line(t, "booking.created", 2)
	unpaid := b.rewrite(t, sale, `"amount":\d+`, `"amount":0`)
	for what, c := range map[string]struct {
		dir      string
		expected inspect.Expected
		want     string // the kinds of the problems
	}{
		"as it was":             {b.dir, kept(own), ""},
		"what was kept is none": {b.dir, kept([]byte("hello\n")), "failed"},
		"a type not known":      {b.rewrite(t, sale, `booking\.created`, "booking.dreamt"), kept(), "newer"},
		"a bit":                 {spoiltCopy(t, b.dir, flip), kept(), "damaged"},
		"another history":       {b.dir, kept(own, twoHistories, twoHistories), "forked"},
		"a price":               {unpaid, kept(), "books"},
		"a price, and no note":  {spoiltCopy(t, unpaid, unsign), kept(), "books unsigned"},
		"a price, and a note":   {unpaid, kept(own), "forked books"},
		"an end":                {spoiltCopy(t, b.dir, tear), kept(), "torn"},
		"an end, and no note":   {spoiltCopy(t, b.dir, tear, unsign), kept(), "torn unsigned"},
		"no note":               {spoiltCopy(t, b.dir, unsign), kept(), "unsigned"},
		"no note but a kept":    {spoiltCopy(t, b.dir, unsign), kept(own), ""},
		"no witness":            {b.dir, stranger, "unwitnessed"},
	} {
		v, err := judged(t, c.dir, c.expected)
		if got := kinds(v); got != c.want {
			t.Errorf("%s: %q, want %q: %v", what, got, c.want, err)
		}
		if v.Origin != said.Origin || v.Key != note.NewKey(said.Origin, public(key)).String() {
			t.Errorf("%s: it is of %q, %q", what, v.Origin, v.Key)
		}
		if only := c.want == "torn"; v.OnlyTorn() != only {
			t.Errorf("%s: only torn: %t", what, v.OnlyTorn())
		}
		const more = "; other notes that do not fit: 1"
		if what == "another history" && !strings.HasSuffix(v.Problems[0].Text, more) {
			t.Errorf("%s: %s", what, v.Problems[0].Text)
		}
	}
}

// Decision verify.forked: damage after a line that a note does not fit is found as well, and counts more.
func TestDamageAfterANoteThatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	_, said, key := signed(t, b.dir)
	said.Seq = 1 // the first line has another hash
	expected := inspect.Expected{Kept: []inspect.Kept{{Note: said.Sign(key)}}}
	if v, err := judged(t, spoiltCopy(t, b.dir, flip), expected); kinds(v) != "damaged forked" {
		t.Errorf("%s: %v", kinds(v), err)
	}
}

// Decision verify.forked: a note that does not fit is no damage. It is named with its name, key and root, and
// nothing is to be cut.
func TestANoteThatDoesNotFitIsNamed(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	own, said, key := signed(t, b.dir)
	stranger, err := checkpoint.NewKey(bytes.NewReader(make([]byte, 256)))
	if err != nil {
		t.Fatal(err)
	}
	strangers := public(stranger)
	otherRoot := said
	otherRoot.Root[0]++
	beyond := said
	beyond.Seq += 5
	foreign := said
	foreign.Origin = "waybill/ANOTHER"
	root := func(c checkpoint.Checkpoint) string { return base64.StdEncoding.EncodeToString(c.Root[:]) }
	histories := "two histories: this journal and the note are both signed by " +
		note.NewKey(said.Origin, public(key)).String()
	const another = "another journal: "
	for what, c := range map[string]struct {
		note []byte
		key  ed25519.PublicKey
		want []string
	}{
		"another root": {otherRoot.Sign(key), nil,
			[]string{histories, "the note is of " + said.Origin, root(otherRoot)}},
		"beyond": {beyond.Sign(key), nil, []string{histories, "are missing", root(beyond)}},
		"another name": {foreign.Sign(stranger), strangers, []string{another, "the note is of waybill/ANOTHER, ",
			root(foreign), "signed by " + note.NewKey(foreign.Origin, strangers).String()}},
		"another key of this name": {said.Sign(stranger), strangers, []string{another,
			"is not signed with the key of " + said.Origin + " that line 1 names", root(said)}},
		"another than -key": {own, strangers, []string{another, "is signed with another key", root(said),
			"and not by " + note.NewKey(said.Origin, strangers).String()}},
	} {
		v, err := judged(t, b.dir, inspect.Expected{Kept: []inspect.Kept{{Note: c.note, Key: c.key}}})
		if kinds(v) != "forked" {
			t.Errorf("%s: %s: %v", what, kinds(v), err)
			continue
		}
		said := err.Error()
		if strings.Contains(said, "damaged") || strings.Contains(said, "waybill repair") {
			t.Errorf("%s: %v", what, err)
		}
		for _, want := range c.want {
			if !strings.Contains(v.Problems[0].Text, want) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s\nand %v\nlacks %s", what, v.Problems[0].Text, err, want)
			}
		}
	}
}

// Decision verify.forked: who has the disk and puts notes of another key beside the journal does not change
// whose it is: a line says that.
func TestNotesOfAnotherKeyBesideTheJournal(t *testing.T) {
	b := newBookkeeping(t, nil)
	_, said, key := signed(t, b.dir)
	stranger, err := checkpoint.NewKey(bytes.NewReader(make([]byte, 256)))
	if err != nil {
		t.Fatal(err)
	}
	dir := spoiltCopy(t, b.dir, func(dir string) error {
		if err := os.Remove(filepath.Join(dir, checkpoint.PrivateKeyFile)); err != nil {
			return err
		}
		text := said.Sign(stranger)
		if err := os.WriteFile(filepath.Join(dir, checkpoint.File), text, 0o600); err != nil {
			return err
		}
		err := os.WriteFile(filepath.Join(dir, checkpoint.LogFile), append(text, '\n'), 0o600)
		if err != nil {
			return err
		}
		return checkpoint.PublishPublicKey(durable.Dir(dir), stranger)
	})
	v, err := judged(t, dir, inspect.Expected{})
	want := note.NewKey(said.Origin, public(key)).String()
	if !strings.Contains(kinds(v), "forked") || v.Key != want {
		t.Errorf("%s, %s, want forked, %s: %v", kinds(v), v.Key, want, err)
	}
}

// What cannot be read to its end is named all the same, as far as its files say whose it is.
func TestWhoseJournalItIsIsSaidEarly(t *testing.T) {
	b := newBookkeeping(t, nil)
	_, said, _ := signed(t, b.dir)
	dir := spoiltCopy(t, b.dir, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "journal", "notes.txt"), nil, 0o600)
	})
	v, err := judged(t, dir, inspect.Expected{})
	if v.Verdict != "damaged" || v.Origin != said.Origin || v.Key == "" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := os.Remove(filepath.Join(dir, "FORMAT")); err != nil {
		t.Fatal(err)
	}
	if v, err := judged(t, dir, inspect.Expected{}); v.Verdict != "damaged" || v.Origin != said.Origin {
		t.Errorf("without FORMAT: %+v, %v", v, err)
	}
	none := durable.Dir(t.TempDir())
	if v := verify.Failed(none, os.ErrNotExist); v.Verdict != "failed" || v.Origin+v.Key != "" {
		t.Errorf("%+v", v)
	}
}
