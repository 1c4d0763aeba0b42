package store_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"waybill/store"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// placed is a journal line with what is known of it without reading it as the store does.
type placed struct {
	frame
	place      journal.Place
	text       string
	inLastFile bool
}

func placedLines(t testing.TB, all map[string]string) (lines []placed) {
	t.Helper()
	names := named(all, "journal/")
	for i, name := range names {
		at := journal.Place{File: name}
		for text := range strings.Lines(all[name]) {
			at.Line++
			lines = append(lines, placed{frames(t, []string{text})[0], at, text, i == len(names)-1})
			at.Offset += int64(len(text))
		}
	}
	return lines
}

// provable reports whether line i of the last file, when it is bad, must have
// been durable: a later line whose bytes are whole says so.
func provable(lines []placed, i int, whole func(j int) bool) bool {
	if !lines[i].inLastFile {
		return true
	}
	for j := i + 1; j < len(lines); j++ {
		if whole(j) && lines[j].Synced >= lines[i].Seq {
			return true
		}
	}
	return false
}

// TestEveryBitFlip: each is found, named by file, line, byte and seq, and taken
// for a torn tail exactly when nothing proves that the line was durable.
func TestEveryBitFlip(t *testing.T) {
	t.Parallel()
	all := sampleFiles(t)
	lines := placedLines(t, all)
	torn := 0
	damaged := 0
	for i, l := range lines {
		for bit := 0; bit < len(l.text)*8; bit += stride {
			at := bit / 8
			text := []byte(all[l.place.File])
			text[int(l.place.Offset)+at] ^= 1 << (bit % 8)
			changed := maps.Clone(all)
			changed[l.place.File] = string(text)
			newline := at == len(l.text)-1 // then the next line is part of this one
			want := fmt.Sprint(&journal.Damage{Place: l.place, Seq: l.Seq})
			rep, err := inspect.Read(diskOf(changed), false, func(journal.Place, *journal.Line) error {
				return nil
			})
			var d *journal.Damage
			switch proof := provable(lines, i, func(j int) bool { return !newline || j > i+1 }); {
			case proof && errors.As(err, &d) && strings.HasPrefix(d.Error(), want) && rep.Torn == nil:
				damaged++
			case !proof && err == nil && rep.Torn != nil && strings.HasPrefix(rep.Torn.Error(), want):
				torn++
				if end := rep.Torn.Offset + rep.Torn.Bytes; end != int64(len(text)) {
					t.Errorf("bit %d of %s: torn up to %d of %d bytes", bit, want, end, len(text))
				}
			default:
				t.Fatalf("bit %d of byte %d of %s provable %v: %v, torn %v", bit%8, at, want, proof, err,
					rep.Torn)
			}
		}
	}
	t.Logf("%d flips in %d lines: %d found as damage, %d as a torn tail", torn+damaged, len(lines), damaged,
		torn)
	last := lines[len(lines)-3:]
	if stride == 1 && torn != 8*(len(last[0].text)+len(last[1].text)+len(last[2].text)) {
		t.Errorf("%d flips were found as a torn tail", torn)
	}
}

// TestFlipAfterCleanEnd: a snapshot proves that its line was durable; then no
// flip is a torn tail, and Verify and Open both name the line.
func TestFlipAfterCleanEnd(t *testing.T) {
	t.Parallel()
	d := newDisk()
	st := open(t, config(d))
	put(t, st, add{N: 1})
	put(t, st, add{N: 2, Name: "Lu"}, add{N: 3})
	closeStore(t, st)
	all := d.files()
	for _, l := range placedLines(t, all) {
		for at := 0; at < len(l.text); at += stride {
			text := []byte(all[l.place.File])
			text[int(l.place.Offset)+at] ^= 1 << (at % 8)
			changed := maps.Clone(all)
			changed[l.place.File] = string(text)
			want := fmt.Sprint(&journal.Damage{Place: l.place, Seq: l.Seq})
			d := diskOf(changed)
			_, _, verr := check(config(d), false)
			_, _, oerr := store.Open(config(d))
			for who, err := range map[string]error{"Verify": verr, "Open": oerr} {
				var damage *journal.Damage
				if !errors.As(err, &damage) || !strings.HasPrefix(err.Error(), want) {
					t.Fatalf("%s: bit %d of byte %d of %s: %v", who, at%8, at, want, err)
				}
			}
			if !maps.Equal(d.files(), changed) {
				t.Fatalf("byte %d of %s: a refused Open changed something", at, want)
			}
		}
	}
}

// TestFlipInFormat: the chain starts at FORMAT.
func TestFlipInFormat(t *testing.T) {
	all := sampleFiles(t)
	for at := range len(all["FORMAT"]) {
		text := []byte(all["FORMAT"])
		text[at] ^= 1 << (at % 8)
		changed := maps.Clone(all)
		changed["FORMAT"] = string(text)
		rep, err := inspect.Read(diskOf(changed), false, func(journal.Place, *journal.Line) error {
			return nil
		})
		if err == nil {
			t.Errorf("byte %d: %+v", at, rep)
		}
		if _, _, err := store.Open(config(diskOf(changed))); err == nil {
			t.Errorf("byte %d: opened", at)
		}
	}
}
