package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

// testKey is the key of a directory, and of its witness: a seed of zeros.
var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// newLog opens the log of a directory.
func newLog(t *testing.T, dir string) *Log {
	t.Helper()
	log := &Log{FS: durable.Dir(dir), Origin: "waybill/x", Key: testKey}
	if err := log.Open(); err != nil {
		t.Fatal(err)
	}
	return log
}

// of returns the checkpoint of a line.
func (s *Log) of(seq uint64) *Checkpoint {
	return &Checkpoint{
		Origin: s.Origin,
		Head:   journal.Head{Stamp: journal.Stamp{Seq: seq, Time: time.UnixMilli(int64(seq)).UTC()}},
	}
}

// newestIs checks which note is the newest one, to the byte.
func (s *Log) newestIs(t *testing.T, when string, want []byte) {
	t.Helper()
	if got, err := Newest(s.FS); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: the newest note is %q, %v, want %q", when, got, err, want)
	}
}

// Witnesses sign a note while the next is made. It goes into the log, and the newest stays the newest.
func TestAnOlderNoteThatIsCosignedStaysOlder(t *testing.T) {
	log := newLog(t, t.TempDir())
	for _, seq := range []uint64{1, 2} {
		if err := log.Sign(log.of(seq)); err != nil {
			t.Fatal(err)
		}
	}
	older := log.of(1).Sign(testKey)
	newer := log.of(2).Sign(testKey)
	line := string(note.Sign([]byte("x\n"), "w.example", testKey)[len("x\n\n"):])
	if err := log.Cosign(older, line, true); err != nil {
		t.Fatal(err)
	}
	log.newestIs(t, "an older note was cosigned", newer)
	logged, err := durable.ReadFile(log.FS, LogFile)
	cosigned := append(bytes.Clone(older), line...)
	if err != nil || !bytes.Contains(logged, cosigned) {
		t.Errorf("the log does not have what was cosigned: %q, %v", logged, err)
	}
	if witnessed, err := NewestWitnessed(log.FS); err != nil || !bytes.Equal(witnessed, cosigned) {
		t.Errorf("the newest that all witnesses have signed is %q, %v", witnessed, err)
	}
	if err := log.Cosign(newer, line, false); err != nil {
		t.Fatal(err)
	}
	log.newestIs(t, "the newest note was cosigned", append(bytes.Clone(newer), line...))
}

// A note is written into the log first. Where a crash came before it was published, a start publishes it:
// somebody may have been given it.
func TestANewerNoteOfTheLogIsPublishedByAStart(t *testing.T) {
	dir := t.TempDir()
	log := newLog(t, dir)
	if err := log.Sign(log.of(1)); err != nil {
		t.Fatal(err)
	}
	newer := log.of(2).Sign(testKey)
	if err := log.add(newer); err != nil {
		t.Fatal(err)
	}
	log = newLog(t, dir)
	log.newestIs(t, "after a start", newer)
	if log.Signed() != 2 {
		t.Errorf("the last line that was signed is %d, want 2", log.Signed())
	}
	if err := log.Sign(log.of(3)); err != nil {
		t.Fatal(err)
	}
	newLog(t, dir).newestIs(t, "after another", log.of(3).Sign(testKey))
}

// A crash leaves part of the last note: the one before it is the last, and the next is written in the place
// of the part.
func TestPartOfANoteIsWrittenOver(t *testing.T) {
	dir := t.TempDir()
	log := newLog(t, dir)
	for _, seq := range []uint64{1, 2} {
		if err := log.Sign(log.of(seq)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, LogFile)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	first := log.of(1).Sign(testKey)
	for size := info.Size() - 2; size > int64(len(first))+1; size -= 40 {
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		if signed, start, err := Last(log.FS); err != nil || start != 0 || !bytes.Equal(signed, first) {
			t.Fatalf("of %d bytes the last note is %q from %d on, %v", size, signed, start, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, File)); err != nil {
		t.Fatal(err)
	}
	log = newLog(t, dir)
	if err := log.Sign(log.of(3)); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(first, []byte("\n"), log.of(3).Sign(testKey), []byte("\n"))
	logged, err := durable.ReadFile(log.FS, LogFile)
	if err != nil || !bytes.Equal(logged, want) {
		t.Errorf("the log is %q, %v, want %q", logged, err, want)
	}
}
