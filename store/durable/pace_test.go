package durable

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// Long work rests for three times as long as it has worked, and only while others ask for something.
func TestAPaceRestsWhileOthersAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := uint64(0)
		p := &Pace{Asked: func() uint64 { return asked }}
		rested := func() time.Duration {
			time.Sleep(2 * time.Millisecond) // work
			began := time.Now()
			p.Step()
			return time.Since(began)
		}
		if got := rested(); got != 0 {
			t.Errorf("%s at first", got)
		}
		for range 3 {
			asked++
			if got := rested(); got != 6*time.Millisecond {
				t.Errorf("%s while others ask", got)
			}
			if got := rested(); got != 0 {
				t.Errorf("%s while nobody does", got)
			}
		}
		asked++
		began := time.Now()
		p.Step()
		if got := time.Since(began); got != 0 {
			t.Errorf("%s after no work", got)
		}
	})
}

// What is written and read at a pace rests.
func TestFilesAreWrittenAndReadAtThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := AlwaysPaced()
		p.Step()
		f, err := p.Files(Dir(t.TempDir())).Create("a")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		began := time.Now()
		time.Sleep(stint)
		if _, err := f.Write([]byte("abc")); err != nil || time.Since(began) != (1+rests)*stint {
			t.Errorf("%s to write: %v", time.Since(began), err)
		}
		from, err := p.Reads(fstest.MapFS{"b": {Data: []byte("abc")}}).Open("b")
		if err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		time.Sleep(stint)
		if text, err := io.ReadAll(from); err != nil || string(text) != "abc" ||
			time.Since(began) != (1+rests)*stint {
			t.Errorf("%q in %s: %v", text, time.Since(began), err)
		}
	})
}

// A file that grows is synced each megabyte, so that a disk is never given hundreds of them at once.
func TestALargeFileIsSyncedAsItGrows(t *testing.T) {
	dir := t.TempDir()
	f, err := Dir(dir).Create("large")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 100_000
	for i := range 50 {
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if left := f.(*osFile).unsynced; left >= syncEvery || i == 0 && left != size {
			t.Fatalf("%d bytes are not synced", left)
		}
	}
	if _, err := io.Copy(f, strings.NewReader(strings.Repeat("x", 2*syncEvery+10))); err != nil {
		t.Fatal(err)
	}
	if left := f.(*osFile).unsynced; left >= syncEvery {
		t.Errorf("%d bytes that were copied are not synced", left)
	}
	if info, err := os.Stat(filepath.Join(dir, "large")); err != nil ||
		info.Size() != 50*size+2*syncEvery+10 {
		t.Error(info, err)
	}
}
