package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"waybill/store"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// sampleFiles returns the files of a directory with two journal files of a dozen
// lines, of which some have personal parts and some share a batch, after a kill.
func sampleFiles(t testing.TB) map[string]string {
	t.Helper()
	d := newDisk()
	cfg := config(d)
	clock := newClock()
	cfg.Now = clock.now
	cfg.SegmentBytes = 1400
	st := open(t, cfg)
	for i, events := range [][]add{
		{{N: 1}},
		{{N: 2, Name: "Ida"}, {N: 3}, {N: 4, Name: "Jo"}},
		{{N: 5, Text: `,"personal":{"n":1}`}}, // its quotes are escaped: no marker
		{{N: 6}, {N: 7}},
		{{N: 8, Name: `},"personal":{`}},
		{{N: 9}, {N: 10, Name: "Kay"}, {N: 11}},
	} {
		clock.add(1)
		if put(t, st, events...); i == 1 || i == 3 {
			clock.add(1e9)
		}
	}
	all := d.files()
	closeStore(t, st)
	for _, name := range named(all, "snapshots/") {
		delete(all, name)
	}
	if n := len(named(all, "journal/")); n != 2 || len(journalLines(all)) != 12 {
		t.Fatalf("%d lines in %d files", len(journalLines(all)), n)
	}
	return all
}

// TestChain checks the journal as the documentation says, not as line.go does:
// hash is SHA-256 over the previous hash in hex and the bytes from 75 up to the
// first ,"personal":{ or else the newline; before line 1 stands the SHA-256 of FORMAT.
func TestChain(t *testing.T) {
	all := sampleFiles(t)
	prev := fmt.Sprintf("%x", sha256.Sum256([]byte(all["FORMAT"])))
	personal := 0
	for i, line := range journalLines(all) {
		l := frames(t, []string{line})[0]
		if line[:9] != `{"hash":"` || line[73:75] != `",` || line[9:73] != l.Hash ||
			!strings.HasSuffix(line, "}\n") {
			t.Fatalf("line %d is not framed as documented: %s", i+1, line)
		}
		rest := strings.TrimSuffix(line[75:], "\n")
		hashed, part, has := strings.Cut(rest, `,"personal":{`)
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(prev+hashed))); l.Hash != want {
			t.Errorf("line %d: hash %s, want %s", i+1, l.Hash, want)
		}
		prev = l.Hash
		var data struct{ Personal string }
		if err := json.Unmarshal(l.Data, &data); err != nil {
			t.Fatal(err)
		}
		if !has {
			if data.Personal != "" || l.Personal != nil {
				t.Errorf("line %d names a personal part that it has not: %s", i+1, line)
			}
			continue
		}
		personal++
		part = "{" + strings.TrimSuffix(part, "}")
		if part != string(l.Personal) {
			t.Errorf("line %d: personal part %s, a JSON reader sees %s", i+1, part, l.Personal)
		}
		want := fmt.Sprintf("%x", sha256.Sum256([]byte(part)))
		if data.Personal != want || !strings.HasSuffix(hashed, `"personal":"`+want+`"}`) {
			t.Errorf("line %d: data does not end in the personal part's hash %s: %s", i+1, want, hashed)
		}
	}
	if personal != 4 {
		t.Errorf("%d personal parts, want 4", personal)
	}
}

// TestRead hands out every line as a JSON reader sees it, with its place.
func TestRead(t *testing.T) {
	all := sampleFiles(t)
	want := frames(t, journalLines(all))
	i := 0
	_, err := inspect.Read(diskOf(all), false, func(at journal.Place, l *journal.Line) error {
		w := want[i]
		i++
		if hex.EncodeToString(l.Hash[:]) != w.Hash || l.Seq != w.Seq || l.Synced != w.Synced ||
			!l.Time.Equal(w.Time) ||
			l.Type != w.Type || string(l.Data) != string(w.Data) || !bytes.Equal(l.Personal, w.Personal) {
			t.Errorf("line %d: %+v, want %+v", i, l, w)
		}
		line := all[at.File][at.Offset:]
		if !strings.HasPrefix(line, `{"hash":"`+w.Hash) ||
			strings.Count(all[at.File][:at.Offset], "\n") != at.Line-1 {
			t.Errorf("line %d stands at %+v", i, at)
		}
		return nil
	})
	if err != nil || i != len(want) {
		t.Errorf("%d lines, want %d, %v", i, len(want), err)
	}
	if _, err := inspect.Read(diskOf(all), false, func(journal.Place, *journal.Line) error {
		return errFault
	}); err != errFault {
		t.Error("the visitor's error: ", err)
	}
}

// edit changes a line of the journal.
func edit(t testing.TB, all map[string]string, line int, from, to string) map[string]string {
	t.Helper()
	all = maps.Clone(all)
	old := journalLines(all)[line-1]
	changed := strings.Replace(old, from, to, 1)
	if changed == old {
		t.Fatalf("line %d has no %s", line, from)
	}
	for _, name := range named(all, "journal/") {
		all[name] = strings.Replace(all[name], old, changed, 1)
	}
	return all
}

// TestErasedPersonal: a personal part may be gone in exactly one form, and may not be another.
func TestErasedPersonal(t *testing.T) {
	all := sampleFiles(t)
	const was = `{"salt":"c0ffee","name":"Ida"}`
	for _, c := range []struct {
		to    string
		sound bool
	}{
		{was, true},
		{`{"erased":"2027-01-02T03:04:05.678Z"}`, true},
		{`{"salt":"c0ffee","name":"Ada"}`, false},
		{`{"salt":"c0ffee","name":"Ida" }`, false},
		{`{}`, false},
		{`{"erased":""}`, false},
		{`{"erased":"2027-01-02"}`, false},
		{`{"erased":"2027-01-02T03:04:05Z"}`, false},
		{`{"erased":"2027-01-02T03:04:05,678Z"}`, false},
		{`{"erased":"2027-01-02T3:04:05.678Z"}`, false},
		{`{"erased":"2027-13-02T03:04:05.678Z"}`, false},
		{`{"erased":"2027-01-02T03:04:05.678+01:00"}`, false},
		{`{"erased":"2027-01-02T03:04:05.678Z","name":"Ida"}`, false},
		{`{"name":"Ida","erased":"2027-01-02T03:04:05.678Z"}`, false},
		{`{"erased": "2027-01-02T03:04:05.678Z"}`, false},
		{`{"Erased":"2027-01-02T03:04:05.678Z"}`, false},
	} {
		changed := all
		if c.to != was {
			changed = edit(t, all, 3, was, c.to)
		}
		rep, err := inspect.Read(diskOf(changed), false,
			func(journal.Place, *journal.Line) error { return nil })
		if sound := err == nil && rep.Torn == nil; sound != c.sound {
			t.Errorf("%s: sound %v, want %v: %v", c.to, sound, c.sound, err)
		}
		// nobody has erased it
		if _, _, err := store.Open(config(diskOf(changed))); (err == nil) != (c.to == was) {
			t.Errorf("%s: Open: %v", c.to, err)
		}
	}
	// The part as a whole cannot go, and none can come.
	for _, c := range [][2]string{{`,"personal":` + was, ""}, {`,"personal":` + was, `,"personal":null`},
		{was + "}", was + `,"more":1}`}} {
		if _, _, err := store.Open(config(diskOf(edit(t, all, 3, c[0], c[1])))); err == nil {
			t.Errorf("%s in place of %s was accepted", c[1], c[0])
		}
	}
	if _, _, err := store.Open(config(diskOf(edit(t, all, 2, "}}\n",
		`},"personal":{"erased":"2027-01-02T03:04:05.678Z"}}`+"\n")))); err == nil {
		t.Error("a personal part where there was none was accepted")
	}
}

// TestWellFormedLine: a line that follows by its hash must still follow in its numbers and its time.
func TestWellFormedLine(t *testing.T) {
	all := sampleFiles(t)
	name := named(all, "journal/")[1]
	last := frames(t, journalLines(all))[11]
	const layout = "2006-01-02T15:04:05.000Z"
	for _, c := range []struct {
		what, frame string
		sound       bool
	}{
		{"next", `"seq":13,"synced":12,"time":"` + last.Time.Format(layout) + `","type":"added","data":{"n":1}}`, true},
		{"seq doubled", `"seq":12,"synced":11,"time":"` + last.Time.Format(layout) + `","type":"added","data":{"n":1}}`, false},
		{"seq left out", `"seq":14,"synced":12,"time":"` + last.Time.Format(layout) + `","type":"added","data":{"n":1}}`, false},
		{"seq with a zero", `"seq":013,"synced":12,"time":"` + last.Time.Format(layout) + `","type":"added","data":{"n":1}}`, false},
		{"durable before written", `"seq":13,"synced":13,"time":"` + last.Time.Format(layout) + `","type":"added","data":{"n":1}}`, false},
		{"older", `"seq":13,"synced":12,"time":"` + last.Time.Add(-1e6).Format(layout) + `","type":"added","data":{"n":1}}`, false},
		{"no such day", `"seq":13,"synced":12,"time":"2027-02-30T00:00:00.000Z","type":"added","data":{"n":1}}`, false},
		{"a member more", `"seq":13,"more":1,"synced":12,"time":"` + last.Time.Format(layout) + `","type":"added","data":{"n":1}}`, false},
		{"no object", `"seq":13,"synced":12,"time":"` + last.Time.Format(layout) + `","type":"added","data":[1]}`, false},
	} {
		left := maps.Clone(all)
		left[name] += fmt.Sprintf("{\"hash\":\"%x\",%s\n", sha256.Sum256([]byte(last.Hash+c.frame)), c.frame)
		rep, err := inspect.Read(diskOf(left), false, func(journal.Place, *journal.Line) error { return nil })
		if sound := err == nil && rep.Torn == nil; sound != c.sound {
			t.Errorf("%s: sound %v, want %v: %v, %v", c.what, sound, c.sound, rep.Torn, err)
		}
	}
}

// render writes a line from what was read of it.
func render(l *journal.Line) string {
	b := fmt.Sprintf(`{"hash":"%x","seq":%d,"synced":%d,"time":"%s","type":"%s","data":%s`,
		l.Hash, l.Seq, l.Synced, l.Time.Format("2006-01-02T15:04:05.000Z"), l.Type, l.Data)
	if l.Personal != nil {
		b += `,"personal":` + string(l.Personal)
	}
	return b + "}"
}

// FuzzParseLine: no bytes make the parser panic, and what it reads it could have written.
func FuzzParseLine(f *testing.F) {
	lines := journalLines(sampleFiles(f))
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		f.Add([]byte(line))
		f.Add([]byte(line[:len(line)-1]))
		f.Add([]byte(line[:75]))
		f.Add([]byte(strings.Replace(line, `"data":{`, `"data":`, 1)))
		f.Add([]byte(line + "," + line))
	}
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)
		l, err := journal.Parse(b)
		if !bytes.Equal(b, before) {
			t.Error("the parser changed what it read")
		}
		if err == nil && render(&l) != string(b) {
			t.Errorf("%q is read as %q", b, render(&l))
		}
	})
}
