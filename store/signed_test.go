package store_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Decision checkpoints.key: a directory that has lines and no checkpoint is not signed, also with its
// snapshots and keys gone; a start says so, goes on, and signs.
func TestAJournalWithoutCheckpointsIsNotSigned(t *testing.T) {
	d := newDisk()
	st := open(t, config(d))
	put(t, st, add{N: 1}, add{N: 2})
	closeStore(t, st)
	for _, gone := range [][]string{{"checkpoint", "checkpoints.log"},
		{"checkpoint", "checkpoints.log", "checkpoint.key", "checkpoint.pub"}} {
		all := d.files()
		for _, name := range append(gone, named(all, "snapshots/")...) {
			delete(all, name)
		}
		rep, _, err := check(config(diskOf(all)), false)
		if err != nil || !rep.Unsigned() {
			t.Errorf("without %v: %+v, %v", gone, rep, err)
		}
		log := new(logBook)
		again := diskOf(all)
		cfg := config(again)
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		closeStore(t, open(t, cfg))
		if !strings.Contains(log.String(), "not signed") {
			t.Errorf("without %v the start says %q", gone, log)
		}
		if rep, _, err := check(config(again), false); err != nil || rep.Unsigned() {
			t.Errorf("after a start: %+v, %v", rep, err)
		}
	}
	if rep, _, err := check(config(d), false); err != nil || rep.Unsigned() {
		t.Errorf("as it was: %+v, %v", rep, err)
	}
}

// Decision checkpoints.key: an older genuine note in place of the newest is told, and is no damage.
func TestAnOlderCheckpointIsTold(t *testing.T) {
	d := newDisk()
	st := open(t, config(d))
	put(t, st, add{N: 1})
	closeStore(t, st)
	older := d.files()["checkpoint"]
	st = open(t, config(d))
	put(t, st, add{N: 2})
	closeStore(t, st)
	all := d.files()
	if rep, _, err := check(config(diskOf(all)), false); err != nil || rep.Older != nil {
		t.Errorf("%+v, %v", rep.Older, err)
	}
	all["checkpoint"] = older
	rep, _, err := check(config(diskOf(all)), false)
	if err != nil || rep.Older == nil || rep.Older.Published >= rep.Older.Logged {
		t.Errorf("an older one: %+v, %v", rep.Older, err)
	}
	delete(all, "checkpoint")
	if _, _, err := check(config(diskOf(all)), false); err != nil {
		t.Errorf("none: %v", err)
	}
}

// timeOfNote is the time in a checkpoint.
var timeOfNote = regexp.MustCompile(` time \S+\n`)

// Verify does not grow with the time that a server runs: the log of checkpoints keeps the newest, and of
// older ones one an hour, then one a day. What it keeps still proves what it did.
func TestTheLogOfCheckpointsIsThinned(t *testing.T) {
	d := newDisk()
	clock := newClock()
	cfg := config(d)
	cfg.Now = clock.now
	st := open(t, cfg)
	put(t, st, add{N: 1})
	closeStore(t, st)
	one := d.files()["checkpoint"] + "\n"
	// A log as a server leaves it that signs for 60 days each two minutes, or each 30 s with -crashes.
	// Nobody looks at its signatures here.
	var log strings.Builder
	apart := 2 * time.Minute
	if *crashes > 0 {
		apart = 30 * time.Second
	}
	notes := int(60 * 24 * time.Hour / apart)
	for n := range notes {
		at := epoch.Add(time.Duration(n-notes) * apart).UTC().Format("2006-01-02T15:04:05.000Z")
		log.WriteString(timeOfNote.ReplaceAllString(one, " time "+at+"\n"))
	}
	all := d.files()
	all["checkpoints.log"] = log.String() + all["checkpoints.log"]
	d = diskOf(all)
	cfg.FS = d
	st = open(t, cfg)
	put(t, st, add{N: 2})
	closeStore(t, st)
	thinned := d.files()["checkpoints.log"]
	// 1,000 newest, 31 days of hours, 29 days, and a few that this test has made.
	kept := strings.Count(thinned, "\n— ")
	if most := 1000 + 31*24 + 30 + 10; kept > most || kept < 1000+30*24 {
		t.Errorf("%d notes are kept of %d, want at most %d", kept, notes, most)
	}
	if !strings.HasSuffix(thinned, d.files()["checkpoint"]+"\n") {
		t.Error("the newest is not the last")
	}
}
