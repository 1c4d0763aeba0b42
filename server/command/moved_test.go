package command

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

// cut takes the last line away from a file of the journal, which stays the same file.
func cut(t *testing.T, name string) {
	t.Helper()
	text := strings.TrimSuffix(content(t, name), "\n")
	if err := os.Truncate(name, int64(strings.LastIndex(text, "\n")+1)); err != nil {
		t.Fatal(err)
	}
}

// Decision directory.held: receive, too, says of no line that it is kept in a directory which is no longer
// there, or in a file that somebody else has written.
func TestAStandbyThatIsNoLongerThere(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(t *testing.T, standby string){
		"moved": func(t *testing.T, standby string) {
			if err := os.Rename(standby, standby+".old"); err != nil {
				t.Fatal(err)
			}
		},
		"written over": func(t *testing.T, standby string) { cut(t, filepath.Join(standby, firstFile)) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			aStandbyThatIsNoLongerThere(t, change)
		})
	}
}

func aStandbyThatIsNoLongerThere(t *testing.T, change func(t *testing.T, standby string)) {
	bin, dir := build(t)
	want(t, 0, "is in force", "import", "-data", dir, "../../testdata/demo")
	standby := filepath.Join(filepath.Dir(dir), "standby")
	stream := want(t, 0, "", "tail", "-data", dir, "-format", "copy")
	last := strings.LastIndex(strings.TrimSuffix(stream, "\n"), "\n") + 1
	cmd := exec.Command(bin, "receive", standby)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, said := new(lastWords), new(lastWords)
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, stream[:last])
	before := fmt.Sprint(strings.Count(stream[:last], "\n")-strings.Count(stream[:last], `{"file":`), "\n")
	rig.Eventually(t, "the lines are kept", func() bool { return strings.HasSuffix(out.String(), before) })
	change(t, standby)
	io.WriteString(in, stream[last:])
	in.Close()
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != exitIO || !strings.HasSuffix(out.String(), before) {
		t.Errorf("%v: it says %s and %s", cmd.ProcessState, out, said)
	}
}

var offerID = regexp.MustCompile(`"offers":\[{"id":"([^"]+)"`)

// Decision directory.held: a server whose directory is moved, removed or restored under it, or whose journal
// is another file, acknowledges nothing more, says why, and ends with 74. It writes nothing into what has
// come in its place: that is sound, and its own server's.
func TestADirectoryThatIsNoLongerThere(t *testing.T) {
	t.Parallel()
	copyOf := func(t *testing.T, from, to string) {
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	move := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	// newest returns the last file of a journal.
	newest := func(t *testing.T, dir string) string {
		files, _ := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
		if len(files) == 0 {
			t.Fatal("there is no journal")
		}
		return files[len(files)-1]
	}
	for _, c := range []struct {
		what   string
		change func(t *testing.T, dir, backup string)
		says   string
	}{
		{"restored", func(t *testing.T, dir, backup string) {
			move(t, dir, dir+".old")
			copyOf(t, backup, dir)
		}, "is another directory"},
		{"removed", func(t *testing.T, dir, _ string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, "no such file or directory"},
		{"moved away", func(t *testing.T, dir, _ string) {
			move(t, dir, dir+".old")
		}, "no such file or directory"},
		{"with a journal that was replaced by its own copy", func(t *testing.T, dir, _ string) {
			name := newest(t, dir)
			copyOf(t, name, name+".copy")
			move(t, name+".copy", name)
		}, "is another file"},
		{"with a journal that was written over, as cp does", func(t *testing.T, dir, _ string) {
			cut(t, newest(t, dir))
		}, "were written"},
		{"with another LOCK", func(t *testing.T, dir, _ string) {
			name := filepath.Join(dir, "LOCK")
			copyOf(t, name, name+".copy")
			move(t, name+".copy", name)
		}, "LOCK is another file"},
	} {
		for _, then := range []string{"sells", "is stopped"} {
			t.Run(c.what+", and "+then, func(t *testing.T) {
				t.Parallel()
				bin, dir := build(t)
				p := startProcess(t, bin, dir)
				p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
				day := time.Now().AddDate(0, 0, 3).Format(time.DateOnly)
				_, offers := p.call("GET", "/v2/offers?"+rig.KyivLviv+"&departureDate="+day, "")
				order := rig.BookingBody(offerID.FindStringSubmatch(offers)[1], 1)
				backup := filepath.Join(t.TempDir(), "backup")
				want(t, 0, "is sound", "backup", "-data", dir, backup)
				c.change(t, dir, backup)
				var second *process
				if c.what == "restored" { // its own server starts, and neither writes into the other's files
					second = startProcess(t, bin, dir)
					if second.base == "" {
						t.Fatalf("a second server does not start: %s", second.said)
					}
				}
				if then == "sells" {
					if status, said := p.call("POST", "/v2/bookings", order); status != 500 {
						p.cmd.Process.Kill()
						t.Errorf("a sale is answered with %d %s", status, said)
					}
				} else {
					p.cmd.Process.Signal(syscall.SIGTERM)
				}
				state, err := p.cmd.Process.Wait() // that of cmd would cut off what it says
				if err != nil || state.ExitCode() != exitIO {
					t.Errorf("it ends with %v, want %d: %v", state, exitIO, err)
				}
				rig.Eventually(t, "it says "+c.says, func() bool {
					return strings.Contains(p.said.String(), c.says)
				})
				if second != nil {
					second.cmd.Process.Signal(syscall.SIGTERM)
					if err := second.cmd.Wait(); err != nil {
						t.Errorf("the second server ends with %v: %s", err, second.said)
					}
					want(t, 0, "^sound", "verify", "-data", dir)
				}
			})
		}
	}
}
