package backup_test

import (
	"archive/zip"
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/backup"
	"waybill/server/proof/evidence"
	"waybill/server/proof/export"
	"waybill/server/proof/history"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// maker makes something new of a directory under a name, and says whether what stands there is whole.
type maker struct {
	make  func(from durable.ReadFS, out string) error
	whole func(out string) error
}

// makers are all that do so. booking is one that the directory has.
func makers(booking string) map[string]maker {
	sound := func(out string) error {
		_, err := verify.Directory(durable.Dir(out), false, inspect.Expected{})
		return err
	}
	return map[string]maker{
		"backup": {
			func(from durable.ReadFS, out string) error {
				_, err := backup.Backup(from, true, durable.Dir(out))
				return err
			}, sound,
		},
		"repair": {
			func(from durable.ReadFS, out string) error {
				cut := inspect.Cut{At: 3, Reason: "x", Force: true}
				_, _, err := backup.Repair(from, durable.Dir(out), cut)
				return err
			}, sound,
		},
		"export": {
			func(from durable.ReadFS, out string) error {
				_, err := export.Write(from, false, durable.Dir(out))
				return err
			},
			func(out string) error {
				_, err := os.Stat(filepath.Join(out, "schema.sql"))
				return err
			},
		},
		"evidence": {
			func(from durable.ReadFS, out string) error {
				_, err := evidence.File(from, false, history.Filter{Booking: booking}, out)
				return err
			},
			func(out string) error {
				archive, err := zip.OpenReader(out)
				if err == nil {
					err = archive.Close()
				}
				return err
			},
		},
	}
}

// reader is a directory that says before each file of it is opened, which may fail.
type reader struct {
	durable.ReadFS
	opening func() error
}

func (r *reader) Open(name string) (durable.Readable, error) {
	if err := r.opening(); err != nil {
		return nil, err
	}
	return r.ReadFS.Open(name)
}

// served returns a directory that was served, and a booking in it.
func served(t *testing.T) (dir, booking string) {
	t.Helper()
	dir = t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	booking = rig.NewBookingID(t, s, key)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, booking
}

// onlyWhole sees that a folder has one thing, which is whole.
func onlyWhole(t *testing.T, m maker, out string) {
	t.Helper()
	if names, err := os.ReadDir(filepath.Dir(out)); err != nil || len(names) != 1 {
		t.Errorf("beside it are %v, %v", names, err)
	}
	if err := m.whole(out); err != nil {
		t.Error("what stands there is not whole:", err)
	}
}

// Decision copies.whole: of two that write to one path at once, one has made it, and the other is told.
func TestOfTwoAtOnceOneIsTold(t *testing.T) {
	dir, booking := served(t)
	for name, m := range makers(booking) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			begun := make(chan struct{})
			goOn := make(chan struct{})
			held := &reader{durable.Dir(dir), sync.OnceValue(func() error {
				close(begun)
				<-goOn
				return nil
			})}
			first := make(chan error)
			go func() { first <- m.make(held, out) }()
			<-begun
			second := m.make(durable.Dir(dir), out)
			close(goOn)
			told := errors.Join(<-first, second)
			want := "^" + regexp.QuoteMeta(out) + " is being written by another process$"
			if told == nil || !regexp.MustCompile(want).MatchString(told.Error()) {
				t.Errorf("of the two is told %v", told)
			}
			onlyWhole(t, m, out)
		})
	}
}

// Decision copies.whole: what one that was killed has left is in nobody's way, and goes.
func TestWhatAKilledRunHasLeftGoes(t *testing.T) {
	if name := os.Getenv("WAYBILL_KILLED"); name != "" {
		out := os.Getenv("WAYBILL_OUT")
		from := &reader{durable.Dir(os.Getenv("WAYBILL_FROM")), func() error {
			if hasWritten(filepath.Dir(out)) {
				os.Stdout.WriteString("writing\n")
				select {} // until it is killed
			}
			return nil
		}}
		makers(os.Getenv("WAYBILL_BOOKING"))[name].make(from, out)
		t.Fatal("it has read all, and written nothing before")
	}
	dir, booking := served(t)
	for name, m := range makers(booking) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			child := exec.Command(os.Args[0], "-test.run", "^TestWhatAKilledRunHasLeftGoes$")
			child.Env = append(os.Environ(), "WAYBILL_KILLED="+name, "WAYBILL_OUT="+out, "WAYBILL_FROM="+dir,
				"WAYBILL_BOOKING="+booking)
			said, err := child.StdoutPipe()
			if err == nil {
				err = child.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(said).ReadString('\n')
			if err != nil || line != "writing\n" {
				t.Errorf("it says %q, %v", line, err)
			}
			child.Process.Kill()
			child.Wait()
			if _, err := os.Lstat(out); err == nil {
				t.Error("what was not written to its end has its name")
			}
			if err := m.make(durable.Dir(dir), out); err != nil {
				t.Fatal("the next one says", err)
			}
			onlyWhole(t, m, out)
		})
	}
}

// hasWritten reports whether a folder has a file, other than that which says that somebody writes.
func hasWritten(folder string) (has bool) {
	filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		has = has || err == nil && d.Type().IsRegular() && !strings.Contains(d.Name(), "LOCK")
		return nil
	})
	return has
}

// Decision copies.whole: one that fails, wherever it does, leaves nothing: neither keys, nor what is in the
// way of the next.
func TestWhatFailsLeavesNothing(t *testing.T) {
	dir, booking := served(t)
	for name, m := range makers(booking) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			failed := 0
			for at := int64(1); ; at++ {
				var opened atomic.Int64
				err := m.make(&reader{durable.Dir(dir), func() error {
					if opened.Add(1) == at {
						return syscall.EIO
					}
					return nil
				}}, out)
				if err == nil { // it can do without that file, or has no other
					onlyWhole(t, m, out)
					if err := os.RemoveAll(out); err != nil {
						t.Fatal(err)
					}
				} else {
					failed++
					if names, _ := os.ReadDir(filepath.Dir(out)); len(names) > 0 {
						t.Fatalf("where the opening %d fails it leaves %v", at, names)
					}
				}
				if opened.Load() < at {
					break
				}
			}
			if failed < 5 {
				t.Errorf("it has failed %d times", failed)
			}
		})
	}
}
