package store_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"waybill/store"
	"waybill/store/checkpoint"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// isForked reports whether an error says that a note and the journal are of two histories, or two journals.
func isForked(err error) bool {
	wrong, ok := errors.AsType[*journal.Damage](err)
	return ok && wrong.Forked != ""
}

// history returns a directory with lines, closed, without snapshots.
func history(t *testing.T, events ...add) map[string]string {
	t.Helper()
	d := newDisk()
	st := open(t, config(d))
	put(t, st, events...)
	closeStore(t, st)
	return withoutSnapshots(d.files())
}

// withoutSnapshots returns the files without the snapshots, which a forger takes away.
func withoutSnapshots(all map[string]string) map[string]string {
	all = maps.Clone(all)
	for _, name := range named(all, "snapshots/") {
		delete(all, name)
	}
	return all
}

// withFreshKey returns the files with a key that nobody knows, for the name that the directory has.
func withFreshKey(t *testing.T, all map[string]string) map[string]string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d := diskOf(maps.Clone(all))
	if err := checkpoint.PublishPrivateKey(d, key); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.PublishPublicKey(d, key); err != nil {
		t.Fatal(err)
	}
	return d.files()
}

// against verifies a directory against what another has signed.
func against(t *testing.T, all, signer map[string]string) error {
	t.Helper()
	key, err := checkpoint.ParsePublicKey([]byte(signer["checkpoint.pub"]))
	if err != nil {
		t.Fatal(err)
	}
	kept := keptNote([]byte(signer["checkpoint"]), key)
	_, err = verifyWith(config(diskOf(all)), false, kept, unchecked, uninspected)
	return err
}

// Nobody signs a line of the type repaired, so it excuses no note: neither those beside the journal nor one
// that somebody has kept.
func TestARepairedLineExcusesNoNote(t *testing.T) {
	all := history(t, add{N: 18960}, add{N: 1}, add{N: 2})
	const name = "journal/000000000001.jsonl"
	forged := maps.Clone(all)
	lines := journalLines(all)
	for i, text := range []string{
		`"type":"repaired","data":{"reason":"a disk","checkpoint":{"seq":4,"hash":"` + lines[3][9:73] +
			`"},"notes":1000,"until":"2030-01-01T00:00:00.000Z"}}`,
		`"type":"added","data":{"n":793}}`,
	} {
		_, end, _ := strings.Cut(text, `"type"`)
		frame, _, _ := strings.Cut(lines[1+i], `"type"`)
		lines[1+i] = frame + `"type"` + end + "\n"
	}
	forged[name] = rechained(all["FORMAT"], strings.Join(lines[:3], ""))
	if _, _, err := check(config(diskOf(forged)), false); !errors.As(err, new(*journal.Damage)) {
		t.Errorf("beside the notes of what was cut: %v", err)
	}
	if err := against(t, forged, all); !errors.As(err, new(*journal.Damage)) {
		t.Errorf("against a note of what was cut: %v", err)
	}
	if _, _, err := store.Open(config(diskOf(forged))); !errors.As(err, new(*journal.Damage)) {
		t.Errorf("a start beside the notes of what was cut: %v", err)
	}
	// Without the notes beside it, one that somebody has kept still tells.
	for _, gone := range []string{"checkpoint", "checkpoints.log", "tree/00"} {
		delete(forged, gone)
	}
	if err := against(t, forged, all); !isForked(err) {
		t.Errorf("against a kept note: %v", err)
	}
}

// A copy that somebody gave a key of his own is not served under its parent's name, and what the parent has
// signed tells it from the parent.
func TestACopyWithAKeyOfItsOwnIsNotItsParent(t *testing.T) {
	all := history(t, add{N: 1}, add{N: 2})
	forged := withFreshKey(t, all)
	for name, c := range map[string]struct {
		files map[string]string
		notes bool // lie beside it
	}{
		"with the parent's notes": {forged, true},
		"without notes":           {forged, false},
	} {
		files := maps.Clone(c.files)
		if !c.notes {
			delete(files, "checkpoint")
			delete(files, "checkpoints.log")
		}
		if _, _, err := store.Open(config(diskOf(files))); !errors.As(err, new(*journal.Damage)) {
			t.Errorf("%s, a start: %v", name, err)
		}
		if _, _, err := check(config(diskOf(files)), false); !errors.As(err, new(*journal.Damage)) {
			t.Errorf("%s, verify: %v", name, err)
		}
	}
}

// Line 1 says the key of the directory's first name, and no later line opened says one.
func TestTheKeyOfANameIsSaidOnce(t *testing.T) {
	all := history(t, add{N: 1})
	other := history(t, add{N: 1})
	const name = "journal/000000000001.jsonl"
	own, _, _ := strings.Cut(all["checkpoint"], "\n")
	said := func(all map[string]string) string {
		_, rest, _ := strings.Cut(all[name], `,"key":"`)
		key, _, _ := strings.Cut(rest, `"`)
		return key
	}
	fresh := withFreshKey(t, all)
	public, err := checkpoint.PublicKey(diskOf(fresh))
	if err != nil {
		t.Fatal(err)
	}
	anotherKey := vkeyOf(own, public)
	for what, key := range map[string]string{
		"another key":  anotherKey,
		"another name": said(other),
		"the same key": said(all),
	} {
		lines := journalLines(all)
		again := strings.Replace(lines[0], said(all), key, 1)
		text := all[name] + strings.Replace(again, `"seq":1,"synced":0`,
			fmt.Sprintf(`"seq":%d,"synced":%d`, len(lines)+1, len(lines)), 1)
		forged := maps.Clone(all)
		forged[name] = rechained(all["FORMAT"], text)
		if _, _, err := check(config(diskOf(forged)), false); err == nil {
			t.Errorf("a later line says %s: sound", what)
		}
	}
	for what, first := range map[string][2]string{
		"no key":            {`,"key":"` + said(all) + `"`, ""},
		"the key of others": {said(all), said(other)},
		"no opening":        {`"type":"opened"`, `"type":"repaired"`},
	} {
		forged := maps.Clone(all)
		forged[name] = rechained(all["FORMAT"], strings.Replace(all[name], first[0], first[1], 1))
		for _, gone := range []string{"checkpoint", "checkpoints.log", "tree/00"} {
			delete(forged, gone)
		}
		forged = withoutSnapshots(forged)
		if _, _, err := check(config(diskOf(forged)), false); !errors.As(err, new(*journal.Damage)) {
			t.Errorf("line 1 with %s, verify: %v", what, err)
		}
		if _, _, err := store.Open(config(diskOf(forged))); !errors.As(err, new(*journal.Damage)) {
			t.Errorf("line 1 with %s, a start: %v", what, err)
		}
	}
}

// vkeyOf returns a verifier key as the C2SP document says, apart from package note.
func vkeyOf(name string, public ed25519.PublicKey) string {
	material := append([]byte{1}, public...)
	id := sha256.Sum256(append([]byte(name+"\n"), material...))
	return fmt.Sprintf("%s+%x+%s", name, id[:4], base64.StdEncoding.EncodeToString(material))
}

// A repair of a journal in which no line is damaged is refused, and says how many lines it would lose; where
// it is forced, its line says that number.
func TestARepairThatWouldLoseGoodLinesIsRefused(t *testing.T) {
	all := history(t, add{N: 1}, add{N: 2}, add{N: 3})
	lines := uint64(len(journalLines(all)))
	to := newDisk()
	cut := inspect.Cut{At: 3, Reason: "x"}
	_, err := repair(config(diskOf(all)), within{to, "b"}, cut)
	refused, ok := errors.AsType[*inspect.UndamagedError](err)
	if !ok || refused.At != 3 || refused.Lines != lines-2 || len(to.files()) > 0 {
		t.Fatalf("%v; made %v", err, to.files())
	}
	cut.Force = true
	loss, err := repair(config(diskOf(all)), within{to, "b"}, cut)
	if err != nil || loss.Lines != lines-2 {
		t.Fatalf("forced: %d lines lost, %v", loss.Lines, err)
	}
	want := fmt.Sprintf(`"type":"repaired","data":{"reason":"x","forced":%d}}`, lines-2)
	if text := strings.Join(journalLines(under(to, "b/")), ""); !strings.Contains(text, want) {
		t.Errorf("%s\nlacks %s", text, want)
	}
	// What is damaged or missing anywhere from there on needs no force: in the next line or a later one, in
	// its bytes or by the end of the journal, which a note shows.
	for what, spoilt := range map[string]map[string]string{
		"a later line": edit(t, all, int(lines), `"type"`, `"tipe"`),
		"the end":      withoutLastLine(all),
	} {
		to := newDisk()
		if _, err := repair(config(diskOf(spoilt)), to, inspect.Cut{At: 3, Reason: "x"}); err != nil {
			t.Errorf("%s is damaged: %v", what, err)
		}
	}
}

// withoutLastLine returns the files with the journal's last line cut off.
func withoutLastLine(all map[string]string) map[string]string {
	all = maps.Clone(all)
	lines := journalLines(all)
	names := named(all, "journal/")
	name := names[len(names)-1]
	all[name] = strings.TrimSuffix(all[name], lines[len(lines)-1])
	return all
}

// What a repair makes is a copy: it has no key, and only the notes of lines that it has.
func TestWhatARepairMakesIsACopy(t *testing.T) {
	d := newDisk()
	for n := range int64(3) {
		st := open(t, config(d))
		put(t, st, add{N: n})
		closeStore(t, st)
	}
	all := d.files()
	to := newDisk()
	_, err := repair(config(diskOf(all)), to, inspect.Cut{At: 5, Reason: "x", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	made := to.files()
	if made["checkpoint.key"] != "" {
		t.Error("it has the key of what it was made of")
	}
	if !strings.HasPrefix(all["checkpoints.log"], made["checkpoints.log"]) {
		t.Errorf("it has the notes\n%s\nof\n%s", made["checkpoints.log"], all["checkpoints.log"])
	}
	var seq uint64
	parent := strings.Split(all["checkpoint"], "\n")[0]
	if _, err := fmt.Sscanf(made["checkpoint"], parent+"\n%d\n", &seq); err != nil || seq >= 5 || seq == 0 {
		t.Errorf("its newest note is of line %d, %v", seq, err)
	}
	st := open(t, config(to))
	put(t, st, add{N: 9})
	closeStore(t, st)
	if now := strings.Split(to.files()["checkpoint"], "\n")[0]; now == parent {
		t.Errorf("it signs as %s, like what it was made of", now)
	}
	if _, _, err := check(config(to), false); err != nil {
		t.Error(err)
	}
	if err := against(t, withoutSnapshots(to.files()), all); !isForked(err) {
		t.Errorf("against a note of what was cut: %v", err)
	}
}

// A repair does not call a personal part erased that somebody has taken away. Where all lines that are cut
// can be read, none of them has said so: that is damage, at which the journal can be cut. Where they cannot,
// the repair says that the part is missing.
func TestARepairExcusesNoNameThatWasTakenAway(t *testing.T) {
	const part = `"erased":"2026-11-20T09:00:00.000Z"}}` + "\n"
	all := history(t, add{N: 1, Name: "Ida"}, add{N: 2}, add{N: 3, Name: "Ivo"})
	last := len(journalLines(all))
	take := func(from map[string]string, line int) map[string]string {
		_, personal, _ := strings.Cut(journalLines(from)[line-1], `,"personal":{`)
		return edit(t, from, line, personal, part)
	}
	taken := take(all, 2)
	for what, files := range map[string]map[string]string{"a name": taken, "another too": take(taken, 4)} {
		to := newDisk()
		_, err := repair(config(diskOf(files)), to, inspect.Cut{At: 3, Reason: "x", Force: true})
		wrong, ok := errors.AsType[*journal.Damage](err)
		if !ok || wrong.Seq != 2 || len(to.files()) > 0 {
			t.Errorf("%s was taken away: %v", what, err)
		}
	}
	to := newDisk()
	spoilt := edit(t, taken, last, `"type"`, `"tipe"`)
	loss, err := repair(config(diskOf(spoilt)), to, inspect.Cut{At: uint64(last), Reason: "x"})
	said := `"erased":{"2":"2026-11-20T09:00:00.000Z"},"missing":[2]}}`
	if err != nil || !slices.Equal(loss.Missing, []uint64{2}) || len(hold(to.files(), said)) == 0 {
		t.Errorf("cut where a line cannot be read: %v, %v", loss, err)
	}
	if _, err := repair(config(diskOf(taken)), newDisk(), inspect.Cut{At: 2, Reason: "x"}); err != nil {
		t.Errorf("cut at what was taken away: %v", err)
	}
}

// A whole note of another key is not what a crash leaves of one, also where it is the last of the log.
func TestAForeignNoteAtTheEndOfTheLogIsSeen(t *testing.T) {
	all := history(t, add{N: 1}, add{N: 2})
	other := withFreshKey(t, all)
	lines := journalLines(all)
	d := diskOf(other)
	origin, _, _ := strings.Cut(all["checkpoint"], "\n")
	var c checkpoint.Checkpoint
	c.Origin = origin
	c.Seq = uint64(len(lines))
	c.Hash[0] = 1
	for _, name := range []string{"checkpoint", "checkpoints.log"} {
		if err := d.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	log := checkpoint.Log{FS: d, Origin: origin, Key: privateKey(other)}
	if err := errors.Join(log.Open(), log.Sign(&c)); err != nil {
		t.Fatal(err)
	}
	forged := maps.Clone(all)
	forged["checkpoints.log"] += d.files()["checkpoints.log"]
	if _, _, err := check(config(diskOf(forged)), false); !isForked(err) {
		t.Errorf("the last note is signed by another key: %v", err)
	}
	forged["checkpoints.log"] = all["checkpoints.log"] + d.files()["checkpoints.log"][:40]
	if _, _, err := check(config(diskOf(forged)), false); err != nil {
		t.Errorf("a note was cut short at the end: %v", err)
	}
}

// No line gives a directory a name that it has or had: who wrote it would sign under that with another key.
func TestAForkTakesANewName(t *testing.T) {
	all := history(t, add{N: 1})
	const name = "journal/000000000001.jsonl"
	lines := journalLines(all)
	origin, _, _ := strings.Cut(all["checkpoint"], "\n")
	other := withFreshKey(t, all)
	public, err := checkpoint.PublicKey(diskOf(other))
	if err != nil {
		t.Fatal(err)
	}
	frame, _, _ := strings.Cut(lines[1], `"type"`)
	frame = strings.Replace(frame, `"seq":2,"synced":1`, `"seq":3,"synced":2`, 1)
	line := fmt.Sprintf(`%s"type":"forked","data":{"origin":%q,"key":%q,"parent":{"origin":%q,"seq":2,"hash":%q}}}`,
		frame, origin, vkeyOf(origin, public), origin, lines[1][9:73])
	other[name] = rechained(all["FORMAT"], all[name]+line+"\n")
	for _, gone := range []string{"checkpoint", "checkpoints.log", "tree/00"} {
		delete(other, gone)
	}
	if _, _, err := store.Open(config(diskOf(other))); !errors.As(err, new(*journal.Damage)) {
		t.Errorf("a start: %v", err)
	}
	if _, _, err := check(config(diskOf(other)), false); !errors.As(err, new(*journal.Damage)) {
		t.Errorf("verify: %v", err)
	}
}
