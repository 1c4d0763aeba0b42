package verify_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server/lab/rig"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/note"
)

// committed is a fraud that was committed, by a forger, and what verify says to an auditor who has
//   - the directory
//   - a copy without keys
//   - the directory, and a note from before the fraud
//   - a copy without keys, and a note made after it, with its key
//   - the directory, an hour later, and the key of a witness
type committed struct {
	name string // of the row: the forger, and the fraud
	dirs [5]string
	said [5]opinion
}

// commit commits a fraud, and asks verify.
func (h *honest) commit(t *testing.T, name string, fraud seen, after func(later string) string) committed {
	t.Helper()
	dir := fraud(t, h)
	later := h.servedOn(t, dir)
	bare := keyless(t, dir)
	c := committed{name: name, dirs: [5]string{dir, bare, dir, bare, later}}
	for i, expected := range []inspect.Expected{
		{},
		{},
		{Kept: h.kept},
		{Kept: []inspect.Kept{keptOf(t, after(later))}},
		{Witnesses: []note.Key{h.witness.VKey()}, Within: 5 * time.Minute},
	} {
		c.said[i] = expecting(t, c.dirs[i], expected)
	}
	return c
}

// keyless returns what an auditor takes home: a copy without keys.
func keyless(t *testing.T, dir string) string {
	t.Helper()
	return spoiltCopy(t, dir, func(dir string) error {
		if err := os.RemoveAll(filepath.Join(dir, "keys")); err != nil {
			return err
		}
		return os.RemoveAll(filepath.Join(dir, checkpoint.PrivateKeyFile))
	})
}

// keptOf returns the newest note of a directory, and its key.
func keptOf(t *testing.T, dir string) inspect.Kept {
	t.Helper()
	text, err := checkpoint.Newest(durable.Dir(dir))
	key, noKey := checkpoint.PublicKey(durable.Dir(dir))
	if err != nil || noKey != nil {
		t.Fatal(err, noKey)
	}
	return inspect.Kept{Note: text, Key: key}
}

// flagsOf are the flags that give those.
func flagsOf(dir string) []string {
	return []string{"-against", filepath.Join(dir, checkpoint.File), "-key",
		filepath.Join(dir, checkpoint.PublicKeyFile)}
}

// fraudRow is a row of the page's tables: a fraud, and five verdicts.
var fraudRow = regexp.MustCompile("^\\| ([^|`]+?) ((?:\\| `[a-z]+` ){5})\\|")

// fraudRows returns the names and the verdicts of the rows of a page's tables, of which the first is of the
// careless forger.
func fraudRows(t *testing.T, page string) (names []string, verdicts [][]string) {
	t.Helper()
	text, err := os.ReadFile(rig.File("server/docs/" + page))
	if err != nil {
		t.Fatal(err)
	}
	forger, before := "careless: ", false
	for line := range strings.Lines(string(text)) {
		row := fraudRow.FindStringSubmatch(line)
		if row != nil {
			names = append(names, forger+row[1])
			verdicts = append(verdicts, regexp.MustCompile("[a-z]+").FindAllString(row[2], -1))
		} else if before {
			forger = "careful: "
		}
		before = row != nil
	}
	return names, verdicts
}

// What auditing.md says of who sees which fraud is what both auditors say of each. The Ukrainian page says
// the same.
func TestFraudsAreSeenAsThePageSays(t *testing.T) {
	t.Parallel()
	names, verdicts := fraudRows(t, "auditing.md")
	_, translated := fraudRows(t, "uk/auditing.md")
	if !slices.EqualFunc(verdicts, translated, slices.Equal) {
		t.Errorf("the Ukrainian page has other verdicts: %q, want %q", translated, verdicts)
	}
	told := map[string][]string{}
	for i, name := range names {
		told[name] = verdicts[i]
	}
	h := newHonest(t)
	sizes, roots := maps.Clone(h.witness.Sizes), maps.Clone(h.witness.Roots)
	servedOn := h.servedOn(t, h.dir)
	var all []committed
	commit := func(forger string, frauds map[string]seen, after func(later string) string) {
		for name, fraud := range frauds {
			// It has seen no other fraud.
			h.witness.Sizes, h.witness.Roots = maps.Clone(sizes), maps.Clone(roots)
			all = append(all, h.commit(t, forger+": "+name, fraud, after))
		}
	}
	// The careless forger's server goes on with what it has; the careful one's with what he has made.
	commit("careless", careless, func(string) string { return servedOn })
	commit("careful", careful, func(later string) string { return later })
	for _, c := range all {
		var said []string
		for _, o := range c.said {
			said = append(said, o.Verdict)
		}
		if !slices.Equal(said, told[c.name]) {
			t.Errorf("%s is `%s`, and the page says %q", c.name, strings.Join(said, "` | `"), told[c.name])
		}
		if strings.HasPrefix(c.name, "careful") && said[0]+said[1] != "soundsound" {
			t.Errorf("%s is seen with nothing kept, and the page says that it is not", c.name)
		}
		delete(told, c.name)
	}
	if len(told) > 0 {
		t.Errorf("nobody tries %v", told)
	}
	h.compare(t, all, servedOn)
}

// compare has audit.py judge what verify has judged: all that it is told the same of in one go.
func (h *honest) compare(t *testing.T, all []committed, servedOn string) {
	t.Helper()
	if !rig.Has(t, "python3") {
		return
	}
	agree := func(column int, of []committed, flags ...string) {
		var dirs []string
		for _, c := range of {
			dirs = append(dirs, c.dirs[column])
		}
		for i, they := range theirs(t, dirs, flags...) {
			if we := of[i].said[column]; we.Verdict == "sound" {
				compareOpinions(t, of[i].name+" "+dirs[i], we, they)
			} else if we.Verdict != they.Verdict { // which of several problems is told first, no rule says
				t.Errorf("%s, column %d: verify says %+v, audit.py %+v", of[i].name, column+1, we, they)
			}
		}
	}
	agree(0, all)
	agree(1, all)
	agree(2, all, flagsOf(h.dir)...)
	agree(4, all, "-witness-key", h.witness.VKey().String())
	var rest []committed
	for _, c := range all {
		if strings.HasPrefix(c.name, "careless") {
			rest = append(rest, c)
			continue
		}
		agree(3, []committed{c}, flagsOf(c.dirs[4])...)
	}
	agree(3, rest, flagsOf(servedOn)...)
}

// A note that was made after the copy says nothing of what was before it: with a line written since, an
// honest copy is forked, too; with none, a forged one is sound. A second copy, made after the note, is held
// against both notes.
func TestANoteMadeAfterTheCopy(t *testing.T) {
	t.Parallel()
	h := newHonest(t)
	first := keyless(t, h.dir)
	later := h.servedOn(t, h.dir)
	after := keptOf(t, later)
	o := expecting(t, first, inspect.Expected{Kept: []inspect.Kept{after}})
	if o.Verdict != "forked" || !strings.Contains(o.Problems[0].Text, "are missing") {
		t.Errorf("an honest copy, and a note of a later line: %+v", o)
	}
	both := inspect.Expected{Kept: append([]inspect.Kept{after}, h.kept...)}
	if o := expecting(t, keyless(t, later), both); o.Verdict != "sound" {
		t.Errorf("a second copy, and both notes: %+v", o)
	}
	forged := careful["a deleted booking"](t, h)
	own := inspect.Expected{Kept: []inspect.Kept{keptOf(t, forged)}}
	if o := expecting(t, keyless(t, forged), own); o.Verdict != "sound" {
		t.Errorf("a forged copy, and a note of the same line: %+v", o)
	}
}

// Who cuts a copy back to an older note of its own leaves nothing wrong in it. But the copy says that it is
// one, and of when, and what lies beyond its end is named: by both auditors.
func TestWhatIsLeftOfACutIsNamed(t *testing.T) {
	t.Parallel()
	h := newHonest(t)
	cut := func(spoil ...func(dir string) error) string {
		dir := keyless(t, h.dir)
		for _, name := range []string{rig.JournalFile, checkpoint.File, checkpoint.LogFile} {
			replace(t, dir, name, h.yesterday)
		}
		return spoiltCopy(t, dir, spoil...)
	}
	add := func(name string) func(string) error {
		return func(dir string) error {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)
		}
	}
	bare := func(dir string) error { return os.RemoveAll(filepath.Join(dir, "snapshots")) }
	newest := keptOf(t, h.yesterday).Note
	at := regexp.MustCompile(` time (\S+)`).FindSubmatch(newest)[1]
	want := "no key is here: this is a copy; its newest note is of " + string(at)
	dirs := map[string]string{
		"nothing":     cut(bare),
		"a snapshot":  cut(),
		"a letter":    cut(bare, add("outbox/A.1000-1.eml")),
		"a report":    cut(bare, add("reports/AAAAAAAAAAAAAAAAAAAAAA.csv")),
		"a timetable": cut(bare, add("timetables/"+strings.Repeat("0", 64)+".jsonl")),
	}
	for what, dir := range dirs {
		v, err := judged(t, dir, inspect.Expected{})
		if err != nil || len(v.Remarks) == 0 || v.Remarks[0].Kind != "copy" || v.Remarks[0].Text != want {
			t.Errorf("beyond its end is %s: %v, %+v, want %s", what, err, v.Remarks, want)
		}
		last := v.Remarks[len(v.Remarks)-1]
		if beyond := last.Kind == "beyond" && last.Seq == v.Lines; beyond != (what != "nothing") {
			t.Errorf("beyond its end is %s, and the remarks are %+v", what, v.Remarks)
		}
	}
	if rig.Has(t, "python3") {
		list := slices.Collect(maps.Values(dirs))
		for i, they := range theirs(t, list) {
			compareOpinions(t, list[i], ours(t, list[i]), they)
		}
	}
	withKey := cut(func(dir string) error { replace(t, dir, checkpoint.PrivateKeyFile, h.dir); return nil })
	if o := ours(t, withKey); o.Verdict != "damaged" {
		t.Errorf("with its key, and a snapshot of a later line: %+v", o)
	}
}
