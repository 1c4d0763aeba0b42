package durable

import (
	"io"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// Long work rests for three times as long as it has worked, and only while others ask for something.
func TestAPaceRestsWhileOthersAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := uint64(0)
		p := &Pace{Calls: func() uint64 { return asked }}
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

// A rest has a bound, however long the work before it has taken: a disk that stood still for a minute does
// not have a snapshot wait for three.
func TestARestHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := uint64(0)
		p := &Pace{Calls: func() uint64 {
			asked++
			return asked
		}}
		p.Step()
		for _, work := range []time.Duration{time.Minute, maxRest, maxRest / rests} {
			time.Sleep(work)
			began := time.Now()
			p.Step()
			if got, want := time.Since(began), min(rests*work, maxRest); got != want {
				t.Errorf("%s after %s of work, want %s", got, work, want)
			}
		}
	})
}

// What is written and read at a pace rests.
func TestFilesAreWrittenAndReadAtThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := uint64(0)
		p := &Pace{Calls: func() uint64 {
			asked++
			return asked
		}}
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

// slow is a directory whose disk takes its time.
type slow struct{ Dir }

type slowFile struct{ File }

func (d slow) Create(name string) (File, error) {
	f, err := d.Dir.Create(name)
	return slowFile{f}, err
}

func (f slowFile) Write(b []byte) (int, error) {
	time.Sleep(2 * stint)
	return f.File.Write(b)
}

// Beside another process only what is asked of the disk has to rest: the processor is shared by the kernel.
func TestOnlyWritesRestBesideAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			to   FS
			want time.Duration
		}{
			{Dir(t.TempDir()), 0},
			{slow{Dir(t.TempDir())}, (2 + 2*rests) * stint},
		} {
			f, err := PacedWrites().Files(c.to).Create("a")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for range 3 {
				time.Sleep(10 * stint) // work
				began := time.Now()
				if _, err := f.Write([]byte("abc")); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got != c.want {
					t.Errorf("%T: %s, want %s", c.to, got, c.want)
				}
			}
		}
	})
}
