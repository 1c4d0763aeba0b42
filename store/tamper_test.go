package store_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// held is a directory in memory that can only be read.
type held struct {
	durable.FS
	files map[string]string
}

type heldFile struct {
	durable.Readable
	*strings.Reader
}

func (h held) Open(name string) (durable.Readable, error) {
	text, ok := h.files[name]
	if !ok {
		return nil, failed("open", name, fs.ErrNotExist)
	}
	return heldFile{Reader: strings.NewReader(text)}, nil
}

func (h held) List(dir string) (names []string, err error) {
	for name := range h.files {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (f heldFile) Sync() error                             { return nil }
func (f heldFile) Close() error                            { return nil }
func (f heldFile) Size() (int64, error)                    { return f.Reader.Size(), nil }
func (f heldFile) Read(b []byte) (int, error)              { return f.Reader.Read(b) }
func (f heldFile) ReadAt(b []byte, off int64) (int, error) { return f.Reader.ReadAt(b, off) }

// verdict is what verify says of a directory.
type verdict func(fsys durable.FS) (inspect.Report, error)

// tamper is a way to change a directory: the files that are then other ones, or, as nil, gone.
type tamper struct {
	what  string
	files map[string]*string
	// foreign tells that what was put in may follow from the line before: the place that is named is the
	// first that a checkpoint or a snapshot disagrees with.
	foreign bool
}

func (w *tamper) apply(all map[string]string) map[string]string {
	all = maps.Clone(all)
	for name, text := range w.files {
		if delete(all, name); text != nil {
			all[name] = *text
		}
	}
	return all
}

// bytewise calls try with each flip of a bit of a file, and with each shorter one that starts the same, or
// every so many.
func bytewise(name, text string, step int, try func(tamper)) {
	change := func(what string, at int, text string) {
		try(tamper{what: fmt.Sprintf("%s %d of %s", what, at, name), files: map[string]*string{name: &text}})
	}
	for bit := 0; bit < 8*len(text); bit += step {
		b := []byte(text)
		b[bit/8] ^= 1 << (bit % 8)
		change("flipped bit", bit, string(b))
	}
	for n := 0; n < len(text); n += step {
		change("cut to byte", n, text[:n])
	}
}

// linewise calls try with each line of a journal deleted, doubled, swapped with the next, and replaced by
// each other; with each line, and each tail, replaced by that of another journal; and with each file deleted,
// emptied, doubled and swapped. Of the lines that could replace one it takes one in so many.
func linewise(all, other map[string]string, every int, try func(tamper)) {
	names := named(all, "journal/")
	for i, name := range names {
		lines := slices.Collect(strings.Lines(all[name]))
		change := func(what string, at int, foreign bool, parts ...[]string) {
			text := strings.Join(slices.Concat(parts...), "")
			try(tamper{fmt.Sprintf("%s %d of %s", what, at+1, name), map[string]*string{name: &text},
				foreign})
		}
		for k := range lines {
			change("deleted line", k, false, lines[:k], lines[k+1:])
			change("doubled line", k, false, lines[:k+1], lines[k:])
			if k > 0 {
				change("swapped line", k, false, lines[:k-1], lines[k:k+1], lines[k-1:k], lines[k+1:])
			}
			for j, l := range journalLines(all) {
				if (j+k)%every > 0 {
					continue
				}
				change("replaced line", k, false, lines[:k], []string{l}, lines[k+1:])
			}
			for j, l := range journalLines(other) {
				if (j+k)%every > 0 {
					continue
				}
				change(fmt.Sprintf("another journal's line %d for line", j+1), k, true, lines[:k],
					[]string{l}, lines[k+1:])
			}
			change("another journal's tail from line", k, true, lines[:k],
				slices.Collect(strings.Lines(other[name]))[min(k, strings.Count(other[name], "\n")):])
		}
		text := all[name]
		next := all[names[(i+1)%len(names)]]
		empty := ""
		try(tamper{what: "deleted " + name, files: map[string]*string{name: nil}})
		try(tamper{what: "emptied " + name, files: map[string]*string{name: &empty}})
		try(tamper{
			what:  "swapped " + name,
			files: map[string]*string{name: &next, names[(i+1)%len(names)]: &text},
		})
		for _, as := range []string{"000000000002.jsonl", "000000000999.jsonl", "999999999999.jsonl",
			"1.jsonl", "copy.jsonl", "copy"} {
			try(tamper{
				what:  "doubled " + name + " as " + as,
				files: map[string]*string{"journal/" + as: &text},
			})
			try(tamper{
				what:  "renamed " + name + " to " + as,
				files: map[string]*string{"journal/" + as: &text, name: nil},
			})
		}
		from := other[name]
		try(tamper{"another journal's " + name, map[string]*string{name: &from}, true})
	}
}

// firstOther returns the place of the first line that is not as it was, as a reader of the files finds it,
// and its seq.
func firstOther(was []placed, all map[string]string) (at journal.Place, seq int) {
	for _, name := range named(all, "journal/") {
		at = journal.Place{File: name, Line: 1}
		if seq < len(was) && was[seq].place.File != name {
			return at, seq + 1
		}
		for text := range strings.Lines(all[name]) {
			if seq == len(was) || was[seq].place != at || was[seq].text != text {
				return at, seq + 1
			}
			at.Line++
			at.Offset += int64(len(text))
			seq++
		}
	}
	at.File = cmp.Or(at.File, "journal")
	return at, seq + 1
}

// campaignOf tries ways to change a directory, on all cores.
func (v verdict) campaignOf(t *testing.T, all map[string]string, ways func(try func(tamper)),
	judge func(t *testing.T, w *tamper, changed map[string]string, rep inspect.Report, err error)) {
	t.Helper()
	todo := make(chan []tamper, 16)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for some := range todo {
				for i := range some {
					if t.Failed() {
						continue
					}
					changed := some[i].apply(all)
					rep, err := v(held{files: changed})
					judge(t, &some[i], changed, rep, err)
				}
			}
		})
	}
	n := 0
	var some []tamper
	ways(func(w tamper) {
		if n++; len(some) == 64 {
			todo <- some
			some = nil
		}
		some = append(some, w)
	})
	todo <- some
	close(todo)
	wg.Wait()
	t.Logf("%d changes", n)
}

// findsAll holds a verdict against every change of a directory that was closed. Its end is durable, so each
// is damage, but for what stands after that end: it is a torn tail. Of the bits and bytes of the journal it
// tries one of each step, and of the lines that could replace one, one of each lineStep.
func (v verdict) findsAll(t *testing.T, all, other map[string]string, step, lineStep int) {
	if rep, err := v(held{files: all}); err != nil || rep.Torn != nil {
		t.Fatal(rep, err)
	}
	was := placedLines(t, all)
	// The newest snapshot is proof enough beside the key; without checkpoints no time goes into their
	// signatures.
	bare := maps.Clone(all)
	older := named(all, "snapshots/")[0]
	maps.DeleteFunc(bare, func(name, _ string) bool {
		return name == older || strings.HasPrefix(name, "checkpoint") && name != "checkpoint.key"
	})
	damaged := func(t *testing.T, w *tamper, changed map[string]string, rep inspect.Report, err error) {
		var d *journal.Damage
		same := maps.Equal(changed, all) || maps.Equal(changed, bare)
		at, seq := firstOther(was, changed)
		switch {
		case same && err == nil && rep.Torn == nil, !same && errors.As(err, &d) && w.foreign:
		// no file of a journal
		case !same && errors.As(err, &d) && d.Line == 0 && changed[d.File] != "" && all[d.File] == "":
		// after what was durable
		case err == nil && rep.Torn != nil && seq == len(was)+1 && rep.Torn.Place == at:
		case same, !errors.As(err, &d), d.Place != at || d.Seq != uint64(seq):
			t.Errorf("%s: %v, torn %v; the place is %+v, seq %d", w.what, err, rep.Torn, at, seq)
		}
	}
	unsound := func(t *testing.T, w *tamper, changed map[string]string, rep inspect.Report, err error) {
		// in other bytes
		same := changed["checkpoint.key"] != all["checkpoint.key"] &&
			privateKey(changed).Equal(privateKey(all))
		if err == nil && !same && !isSpoilt(rep, "snapshots/") {
			t.Errorf("%s: is sound", w.what)
		}
	}
	each := func(step int, prefix ...string) func(func(tamper)) {
		return func(try func(tamper)) {
			for name, text := range all {
				if slices.ContainsFunc(prefix, func(p string) bool { return strings.HasPrefix(name, p) }) {
					bytewise(name, text, step, try)
				}
			}
		}
	}
	v.campaignOf(t, bare, each(step, "journal/"), damaged)
	// each as long as the journal, and compared as a whole
	v.campaignOf(t, bare, each(7*step, "snapshots/"), unsound)
	v.campaignOf(t, all, func(try func(tamper)) { linewise(all, other, lineStep, try) }, damaged)
	v.campaignOf(t, all, each(step, "checkpoint", "FORMAT"), unsound)
	v.campaignOf(t, all, each(max(801, 17*step), "timetables/"), unsound) // named by the hash of all of it
}

// privateKey returns the key that signs checkpoints; nil is none.
func privateKey(all map[string]string) (key ed25519.PrivateKey) {
	if block, _ := pem.Decode([]byte(all["checkpoint.key"])); block != nil {
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = parsed.(ed25519.PrivateKey)
	}
	return key
}

// wordy is a history of the test state in several files, with snapshots and checkpoints.
func wordy(t *testing.T, all map[string]string, text string) map[string]string {
	t.Helper()
	d := diskOf(all)
	cfg := config(d)
	cfg.SegmentBytes = 1500
	for range 3 {
		st := open(t, cfg)
		put(t, st, add{N: 1, Text: text, Name: "Hal"}, add{N: 2})
		put(t, st, add{N: 3, Text: text + text})
		put(t, st, add{N: 4, Name: "Ida"}, add{N: 5, Text: text}, add{N: 6})
		closeStore(t, st)
	}
	return d.files()
}

// TestTampered: verify finds each bit that is flipped, each byte that is cut off, each line and each file
// that is deleted, doubled, swapped or put in from another history under the same keys, and names the place.
// Without -crashes, of the lines that could replace one a third is tried.
func TestTampered(t *testing.T) {
	t.Parallel()
	all := wordy(t, nil, "Lviv")
	other := wordy(t, map[string]string{
		"FORMAT":         all["FORMAT"],
		"checkpoint.key": all["checkpoint.key"],
		"checkpoint.pub": all["checkpoint.pub"],
	}, "Kyiv")
	t.Logf("%d bytes in %d files", len(strings.Join(journalLines(all), "")), len(named(all, "journal/")))
	lineStep := 1
	if *crashes == 0 {
		lineStep = 3
	}
	verdict(func(fsys durable.FS) (inspect.Report, error) {
		rep, _, err := check(config(fsys), false)
		return rep, err
	}).findsAll(t, all, other, stride, lineStep)
}

// TestTamperedAfterAKill: of a journal that was killed, what nothing proves durable may be taken for a torn
// tail, or, cut at a line's end, for a journal that ended there; nothing else is.
func TestTamperedAfterAKill(t *testing.T) {
	t.Parallel()
	all := sampleFiles(t)
	was := placedLines(t, all)
	ways := func(try func(tamper)) {
		for _, name := range named(all, "journal/") {
			bytewise(name, all[name], stride, try)
		}
		linewise(all, sampleFiles(t), 1, try)
	}
	verdict(func(fsys durable.FS) (inspect.Report, error) {
		rep, _, err := check(config(fsys), false)
		return rep, err
	}).campaignOf(t, all, ways, func(t *testing.T, w *tamper, changed map[string]string, rep inspect.Report,
		err error) {
		at, seq := firstOther(was, changed)
		d := new(journal.Damage)
		cut := strings.HasPrefix(strings.Join(journalLines(all), ""), strings.Join(journalLines(changed), ""))
		switch {
		case rep.Torn != nil:
			*d = rep.Torn.Damage
		case !errors.As(err, &d) && (!cut || rep.Head.Seq != uint64(seq-1)):
			t.Errorf("%s: %v, %+v; the place is %+v, seq %d", w.what, err, rep, at, seq)
			return
		}
		if d.Seq > 0 && (d.Place != at || d.Seq != uint64(seq)) {
			t.Errorf("%s: %v; the place is %+v, seq %d", w.what, d, at, seq)
		}
	})
}
