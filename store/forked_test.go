package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"waybill/store"
	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// leavesOf returns the leaf hashes of lines, computed apart from the store, as RFC 6962 defines them:
// over the chained bytes, from offset 75 up to the personal part or the newline.
func leavesOf(lines []string) (leaves [][]byte) {
	for _, line := range lines {
		chained, _, _ := strings.Cut(strings.TrimSuffix(line[75:], "\n"), `,"personal":{`)
		sum := sha256.Sum256([]byte("\x00" + chained))
		leaves = append(leaves, sum[:])
	}
	return leaves
}

// rootOf returns the root of RFC 6962, 2.1.
func rootOf(leaves [][]byte) []byte {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	h := sha256.New()
	h.Write([]byte{1})
	h.Write(rootOf(leaves[:k]))
	h.Write(rootOf(leaves[k:]))
	return h.Sum(nil)
}

// signedRoot returns the root in a checkpoint, which must be of all lines.
func signedRoot(t *testing.T, all map[string]string) []byte {
	t.Helper()
	lines := strings.Split(all["checkpoint"], "\n")
	if want := fmt.Sprint(len(journalLines(all))); lines[1] != want {
		t.Fatalf("the checkpoint is of %s lines, and there are %s", lines[1], want)
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Whatever a start finds of the tree's hashes, the root that it signs is of all lines: they are a cache.
func TestTheRootIsOfAllLines(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	cfg.SegmentBytes = 3000
	life := func(d *disk, n int) map[string]string {
		cfg.FS = d
		st := open(t, cfg)
		for i := range n {
			put(t, st, add{N: int64(i), Name: "Ada"})
		}
		closeStore(t, st)
		all := d.files()
		if !bytes.Equal(signedRoot(t, all), rootOf(leavesOf(journalLines(all)))) {
			t.Error("the root is not of the lines")
		}
		return all
	}
	whole := life(d, 300)
	for name, change := range map[string]func(all map[string]string){
		"nothing":          func(map[string]string) {},
		"no hashes":        func(all map[string]string) { delete(all, "tree/00"); delete(all, "tree/08") },
		"one file missing": func(all map[string]string) { delete(all, "tree/08") },
		"cut":              func(all map[string]string) { all["tree/00"] = all["tree/00"][:4000] },
		"garbage behind":   func(all map[string]string) { all["tree/00"] += strings.Repeat("x", 77) },
		"wrong in the edge": func(all map[string]string) {
			all["tree/00"] = all["tree/00"][:len(all["tree/00"])-1] + "x"
		},
		"no snapshots": func(all map[string]string) {
			maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "snapshots/") })
		},
		"no notes": func(all map[string]string) { delete(all, "checkpoint"); delete(all, "checkpoints.log") },
	} {
		all := maps.Clone(whole)
		change(all)
		d := diskOf(all)
		life(d, 20)
		cfg.FS = d
		if _, _, err := check(cfg, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// isSpoilt reports whether a remark names a file that the next start makes anew.
func isSpoilt(rep inspect.Report, name string) bool {
	return slices.ContainsFunc(rep.Happened, func(e chain.Event) bool {
		return e.Kind == "cache" && strings.Contains(e.Text, name)
	})
}

// Decision tree.files: a hash that is wrong beside the journal is a remark, named by its place; no line is
// lost with it. A backup does without, and the next start says so and makes it again.
func TestAWrongHashOfTheTreeIsARemark(t *testing.T) {
	d := newDisk()
	st := open(t, config(d))
	for range 300 {
		put(t, st, add{N: 1})
	}
	closeStore(t, st)
	for name, offset := range map[string]int{"tree/00": 32 * 17, "tree/08": 0} {
		all := d.files()
		text := []byte(all[name])
		text[offset] ^= 1
		all[name] = string(text)
		rep, _, err := check(config(diskOf(all)), false)
		if want := fmt.Sprintf("%s: byte %d", name, offset); err != nil || !isSpoilt(rep, want) {
			t.Errorf("%v %v, want %s", rep.Happened, err, want)
		}
		out := within{newDisk(), "b"}
		if err := inspect.Backup(diskOf(all), out, false); err != nil {
			t.Errorf("a backup: %v", err)
		}
		if _, _, err := check(config(out), false); err != nil {
			t.Errorf("a backup with a wrong %s: %v", name, err)
		}
		log := new(logBook)
		cfg := config(diskOf(all))
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		closeStore(t, open(t, cfg))
		const says = `level=WARN msg="the tree's hashes are computed again from the journal"`
		if _, _, err := check(cfg, false); err != nil || !strings.Contains(log.String(), says) {
			t.Errorf("a start with a wrong %s: %v; %s", name, err, log)
		}
		delete(all, name)
		if _, _, err := check(config(diskOf(all)), false); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// said is what the line of a copy's first start says.
type said struct {
	Origin, Key string
	Parent      struct {
		Origin, Hash string
		Seq          uint64
	}
}

// forkedLines returns what the lines of the type forked say.
func forkedLines(t *testing.T, all map[string]string) (list []said) {
	t.Helper()
	for _, line := range journalLines(all) {
		var l struct {
			Type string
			Data said
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "forked" {
			list = append(list, l.Data)
		}
	}
	return list
}

// original returns the files of a directory with a few lines, and what it is called.
func original(t *testing.T) (all map[string]string, origin string) {
	d := newDisk()
	st := open(t, config(d))
	put(t, st, add{N: 1}, add{N: 2, Name: "Di"})
	closeStore(t, st)
	all = d.files()
	origin, _, _ = strings.Cut(all["checkpoint"], "\n")
	return all, origin
}

// Decision copies.name: a start that finds no key on a directory with lines has a name and a key of its own,
// and a line says both and where it left its parent. What was signed before stays checkable.
func TestACopyHasANameOfItsOwn(t *testing.T) {
	all, parent := original(t)
	last := frames(t, journalLines(all))[2]
	copied := maps.Clone(all)
	delete(copied, "checkpoint.key")
	d := diskOf(copied)
	var log bytes.Buffer
	cfg := config(d)
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	st := open(t, cfg)
	put(t, st, add{N: 3})
	closeStore(t, st)
	now := d.files()
	list := forkedLines(t, now)
	if len(list) != 1 {
		t.Fatalf("%d lines say that it is a copy", len(list))
	}
	own, _, _ := strings.Cut(now["checkpoint"], "\n")
	f := list[0]
	if f.Origin != own || own == parent || f.Parent.Origin != parent || f.Parent.Seq != 3 ||
		f.Parent.Hash != last.Hash ||
		!strings.HasPrefix(f.Key, own+"+") {
		t.Errorf(
			"it says %+v, and signs as %s; the parent is %s, its last line %s",
			f,
			own,
			parent,
			last.Hash,
		)
	}
	if now["checkpoint.key"] == all["checkpoint.key"] || now["checkpoint.pub"] == all["checkpoint.pub"] {
		t.Error("it has its parent's key")
	}
	if !strings.Contains(log.String(), own) || !strings.Contains(log.String(), parent) {
		t.Errorf("the log does not say what happened: %s", &log)
	}
	id := strings.TrimPrefix(parent, "waybill/")
	if now["checkpoints-"+id+".log"] != all["checkpoints.log"] ||
		now["checkpoint-"+id+".pub"] != all["checkpoint.pub"] {
		t.Error("what the parent had signed is not kept as it was")
	}
	rep, end, err := check(config(d), false)
	if err != nil || end.total != 6 || rep.Checkpoints < 3 {
		t.Errorf("%+v, %v", rep, err)
	}
	// It stays what it is at the next start, which has nothing to complain of. A line that is changed in it
	// is found by a start, as in any other.
	log.Reset()
	closeStore(t, open(t, cfg))
	if log.Len() > 0 {
		t.Errorf("the second start says %s", &log)
	}
	changed := d.files()
	name := "journal/000000000001.jsonl"
	changed[name] = rechained(changed["FORMAT"], strings.Replace(changed[name], `"n":3`, `"n":4`, 1))
	for _, snapshot := range named(changed, "snapshots/") {
		delete(changed, snapshot)
	}
	if _, _, err := store.Open(config(diskOf(changed))); !errors.As(err, new(*journal.Damage)) {
		t.Errorf("a line that was changed after it was signed: %v", err)
	}
	if again, _, _ := strings.Cut(d.files()["checkpoint"], "\n"); again != own ||
		len(forkedLines(t, d.files())) != 1 {
		t.Errorf("the next start signs as %s, not %s", again, own)
	}
	// A note of the parent's that was put aside counts as any other.
	now["checkpoints-"+id+".log"] = strings.Replace(now["checkpoints-"+id+".log"], "— ", "— x", 1)
	if _, _, err := check(config(diskOf(now)), false); err == nil {
		t.Error("a note of the parent's that is not good is not seen")
	}
}

// A standby that is promoted while its parent lives: neither passes for the other, from the line on at which
// they part.
func TestACopyAndItsParentDoNotPassForEachOther(t *testing.T) {
	all, parent := original(t)
	grown := func(all map[string]string) map[string]string {
		d := diskOf(all)
		st := open(t, config(d))
		put(t, st, add{N: 7})
		closeStore(t, st)
		return d.files()
	}
	copied := maps.Clone(all)
	delete(copied, "checkpoint.key")
	standby := grown(copied)
	primary := grown(all)
	own, _, _ := strings.Cut(standby["checkpoint"], "\n")
	for name, c := range map[string]struct {
		of, note map[string]string
		want     string
	}{
		"before they part, the standby": {standby, all, "<nil>"},
		"before they part, the primary": {primary, all, "<nil>"},
		"the primary's, the primary":    {primary, primary, "<nil>"},
		"the standby's, the standby":    {standby, standby, "<nil>"},
		"the primary's, the standby": {standby, primary, "covers line 5 of " + parent +
			", which this directory left after line 3 to become " + own},
		"the standby's, the primary": {primary, standby, "is of another journal, " + own},
	} {
		key, err := checkpoint.ParsePublicKey([]byte(c.note["checkpoint.pub"]))
		if err != nil {
			t.Fatal(err)
		}
		_, err = verifyWith(
			config(diskOf(c.of)),
			false,
			keptNote([]byte(c.note["checkpoint"]), key),
			unchecked,
			uninspected,
		)
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	// With the primary's files beside it the standby is not sound, and does not start: it is not what they
	// are of.
	for _, name := range []string{"checkpoint.pub", "checkpoint.key"} {
		standby[name] = primary[name]
	}
	delete(standby, "checkpoint")
	delete(standby, "checkpoints.log")
	want := "checkpoint.pub: is not the key of " + own
	if _, _, err := check(config(diskOf(standby)), false); !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("verify of the standby with the primary's key: %v", err)
	}
	if _, _, err := store.Open(config(diskOf(standby))); !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("a start of the standby with the primary's key: %v", err)
	}
}

// A copy whose first start is cut short, at any call, has one name in the end, and signs under no other.
func TestTheFirstStartOfACopyIsCutShort(t *testing.T) {
	all, parent := original(t)
	delete(all, "checkpoint.key")
	for call, done := 1, false; !done; call++ {
		for _, survives := range []survival{nothing, everything} {
			d := diskOf(all)
			d.before = func(n int, _ string) act {
				if n == call {
					return ends
				}
				return works
			}
			st, _, failed := store.Open(config(d))
			done = failed == nil
			if st != nil {
				st.Close()
			}
			after := d.crash(rand.New(rand.NewPCG(1, uint64(call))), survives, survives)
			rep, _, err := check(config(after), false)
			if err != nil && rep.Torn == nil {
				t.Errorf("call %d: it is damaged: %v", call, err)
			}
			st = open(t, config(after))
			put(t, st, add{N: 1})
			closeStore(t, st)
			now := after.files()
			names := []string{parent}
			for _, f := range forkedLines(t, now) {
				if f.Parent.Origin != names[len(names)-1] {
					t.Errorf(
						"call %d: %s says that its parent is %s; it is %v",
						call,
						f.Origin,
						f.Parent.Origin,
						names,
					)
				}
				names = append(names, f.Origin)
			}
			own, _, _ := strings.Cut(now["checkpoint"], "\n")
			if own != names[len(names)-1] {
				t.Errorf("call %d: it signs as %s, and is called %v", call, own, names)
			}
			if rep, _, err := check(config(after), false); err != nil || rep.Checkpoints < 3 {
				t.Errorf("call %d: %+v, %v", call, rep, err)
			}
		}
	}
}

// rechained returns lines with hashes that follow from each other.
func rechained(format, text string) string {
	sum := sha256.Sum256([]byte(format))
	var all strings.Builder
	for line := range strings.Lines(text) {
		chained, _, _ := strings.Cut(strings.TrimSuffix(line[75:], "\n"), `,"personal":{`)
		sum = sha256.Sum256(fmt.Appendf(nil, "%x%s", sum, chained))
		fmt.Fprintf(&all, `{"hash":"%x%s`, sum, line[73:])
	}
	return all.String()
}

// Proof that is taken away in part is seen: verify says up to where lines are vouched for, and what was
// signed under an earlier name and is not there.
func TestNotesThatAreTakenAwayAreMissed(t *testing.T) {
	all, parent := original(t)
	delete(all, "checkpoint.key")
	d := diskOf(all)
	st := open(t, config(d))
	put(t, st, add{N: 3})
	closeStore(t, st)
	whole := d.files()
	look := func(all map[string]string) inspect.Report {
		t.Helper()
		rep, _, err := check(config(diskOf(all)), false)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := look(whole); rep.Vouched != rep.Head.Seq || len(rep.Unkept) > 0 {
		t.Errorf("with all notes: %+v", rep)
	}
	own := maps.Clone(whole)
	delete(own, "checkpoint")
	delete(own, "checkpoints.log")
	if rep := look(own); rep.Vouched != 3 || rep.Head.Seq < 6 {
		t.Errorf("without its own notes: vouched for up to %d of %d", rep.Vouched, rep.Head.Seq)
	}
	id := strings.TrimPrefix(parent, "waybill/")
	delete(whole, "checkpoints-"+id+".log")
	if rep := look(whole); len(rep.Unkept) != 1 || rep.Unkept[0].Origin != parent {
		t.Errorf("without the parent's notes: %+v", rep.Unkept)
	}
	whole["checkpoints-"+id+".log"] = "garbage\n"
	if _, _, err := check(config(diskOf(whole)), false); err == nil {
		t.Error("garbage in place of the parent's notes is not seen")
	}
	delete(whole, "checkpoint-"+id+".pub")
	_, _, err := check(config(diskOf(whole)), false)
	if wrong, ok := errors.AsType[*journal.Damage](err); !ok || wrong.File != "checkpoint-"+id+".pub" {
		t.Errorf("without the parent's key: %v", err)
	}
}

// A backup has the notes and no key; one that is not whole does not start.
func TestABackupHasNoKey(t *testing.T) {
	all, _ := original(t)
	d := diskOf(all)
	out := within{d, "copy"}
	if err := inspect.Backup(d, out, false); err != nil {
		t.Fatal(err)
	}
	copied := map[string]string{}
	for name, text := range d.files() {
		if name, ok := strings.CutPrefix(name, "copy/"); ok {
			copied[name] = text
		}
	}
	for _, name := range []string{"checkpoint", "checkpoints.log", "checkpoint.pub"} {
		if copied[name] != all[name] {
			t.Errorf("it has another %s", name)
		}
	}
	if _, has := copied["checkpoint.key"]; has {
		t.Error("it has the key")
	}
	for _, has := range []string{"checkpoint.pub", "checkpoints.log"} {
		part := map[string]string{has: copied[has]}
		if _, _, err := store.Open(config(diskOf(part))); !strings.Contains(
			fmt.Sprint(err),
			"FORMAT: is missing",
		) {
			t.Errorf("with nothing but %s: %v", has, err)
		}
	}
}
