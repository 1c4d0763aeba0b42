// Package rig is for tests only: it is what the tests of several rooms share. Each opens the real server on a
// real directory, with the real journal, and looks at what comes of it:
//
//	s, key := rig.Demo(t, server.Config{})       // on the demo network, with a partner's key
//	offer := rig.Offer(t, s, key, rig.Bukovel)
//	a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1))
//	rig.CompareWithReplay(t, s, dir, false)      // the live state is what the journal gives
//
// [Player] plays transcripts of requests and answers. [Visitor] is a partner and a company's user at once,
// whose answers are held against the document; [Office] a company's user in a bubble where waiting costs no
// time. [Peer] is the carrier's provider, or what sends texts; [Cosigner] a witness, [Witnessed] a server
// that has some, [Proven] a directory that evidence is made of. [SlowSync], [Troubled] and [Crowded] are
// disks.
//
// Tests import it from a package of their own (partner_test), as it imports the server and so all rooms.
package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
)

// File returns the path of a file of this module, from whatever folder the tests run in.
func File(name string) string {
	dir := "."
	for range 9 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		dir = filepath.Join("..", dir)
	}
	panic("the tests do not run in the module")
}

// ShortPaths has the tests of a package make their directories where paths are short: that of a socket has
// about a hundred bytes at most, and some systems have half of them in TMPDIR alone. TestMain calls it.
func ShortPaths() {
	const short = 20
	if len(os.TempDir()) > short {
		os.Setenv("TMPDIR", "/tmp")
	}
	if len(os.Getenv("GOTMPDIR")) > short { // where it is set, t.TempDir takes that
		os.Unsetenv("GOTMPDIR")
	}
}

// Has reports whether a program is here, and says so where it is not.
func Has(t *testing.T, program string) bool {
	if _, err := exec.LookPath(program); err != nil {
		t.Logf("%s is not here, and nothing is checked with it", program)
		return false
	}
	if program == "python3" {
		plainPython()
	}
	return true
}

// plainPython puts the folder of the interpreter itself first in the PATH: the script that a manager of
// versions puts before it takes four times as long as most of what it is to run.
var plainPython = sync.OnceFunc(func() {
	if out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		at := filepath.Dir(strings.TrimSpace(string(out)))
		os.Setenv("PATH", at+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
})

// Eventually waits for what other processes and the network do.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass: ", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// BubbleClock is the clock of a bubble, which starts at Start.
func BubbleClock() func() time.Time {
	began := time.Now()
	return func() time.Time { return Start.Add(time.Since(began)) }
}

// HandClock is a clock that a test moves by hand, from Start on, beside a server that reads it at any time.
type HandClock struct {
	moved atomic.Int64 // nanoseconds
}

// Now is the clock's time.
func (c *HandClock) Now() time.Time { return Start.Add(time.Duration(c.moved.Load())) }

// Move sets the clock on by d.
func (c *HandClock) Move(d time.Duration) { c.moved.Add(int64(d)) }

// Start is when transcripts start, by the server's clock.
var Start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// Demo is a server on the demo network at Start, with a partner's key. Unless the settings have files of
// their own, its directory is not synced.
func Demo(t testing.TB, cfg server.Config) (*server.Server, string) {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return Start }
	}
	if cfg.FS == nil {
		cfg.FS = Unsynced(cfg.Dir)
	}
	s, err := server.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.Close() == nil {
			Keep(t, cfg.Dir)
		}
	})
	if s.Fresh() {
		ImportDemo(t, s)
	}
	key, err := s.Admin.AddPartner("anna", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, key
}
