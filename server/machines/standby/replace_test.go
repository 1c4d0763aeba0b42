package standby_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/machines/standby"
	"waybill/store/durable"
	"waybill/store/journal"
)

// keeper is a receive whose input stays open.
type keeper struct {
	in    *io.PipeWriter
	says  *bufio.Reader
	ended chan error
}

// newKeeper starts one on a directory, which asks others for it, or gives it up. A lean one takes no clock.
func newKeeper(dir string, lean bool) *keeper {
	in, to := io.Pipe()
	from, out := io.Pipe()
	k := &keeper{in: to, says: bufio.NewReader(from), ended: make(chan error, 1)}
	o := standby.Options{NoClock: lean, Socket: filepath.Join(dir, "keep.sock")}
	go func() {
		k.ended <- standby.Receive(durable.Dir(dir), o, in, out)
		out.Close()
	}()
	return k
}

// hears checks the next line that the keeper says.
func (k *keeper) hears(t *testing.T, want string) {
	t.Helper()
	said, err := k.says.ReadString('\n')
	if err != nil || !strings.HasPrefix(said, want) {
		t.Fatalf("it says %q, %v, want %q", said, err, want)
	}
}

// Decision keep.replaced: a keeper gives its directory up to one whose sender has the next line, and to
// nobody else; it goes on itself until then. What it has stays.
func TestAKeeperGivesWayToTheNextLineAlone(t *testing.T) {
	p := rig.NewProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	stream := strings.SplitAfter(rig.Tailed(t, p.Dir, "copy", 1), "\n")
	lines := journalOf(t, p.Dir)
	last := len(lines) - 3 // that the first keeper is sent at first
	line := func(seq int) string { return strings.TrimSuffix(lines[seq-1], "\n") + "\n" }
	if _, err := rig.Received(dir, ""); err != nil {
		t.Fatal(err)
	}
	killed, err := net.Listen("unix", filepath.Join(dir, "keep.sock"))
	if err != nil {
		t.Fatal(err)
	}
	killed.(*net.UnixListener).SetUnlinkOnClose(false)
	killed.Close()

	old := newKeeper(dir, false)
	old.hears(t, "0 -")
	for _, text := range stream {
		if text == line(last+1) {
			break
		}
		io.WriteString(old.in, text)
		if strings.HasPrefix(text, `{"hash"`) {
			old.hears(t, "")
		}
	}
	_, err = rig.Received(dir, line(last+1))
	if !errors.Is(err, durable.ErrLocked) {
		t.Errorf("one that does not ask: %v", err)
	}
	has := fmt.Sprint(last, " ")
	before, err := journal.Parse([]byte(strings.TrimSuffix(line(last), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	follows := func(kind, data string) string { // a line whose hash follows
		l := journal.Line{Synced: before.Seq, Type: kind, Data: []byte(data)}
		l.Seq, l.Time = before.Seq+1, before.Time
		return string(l.AppendTo(nil, before.Hash))
	}
	foreign := new(standby.Foreign)
	for what, c := range map[string]struct {
		sent string
		want error
		lean bool
	}{
		"nothing":             {"", io.EOF, false},
		"half a line":         {line(last + 1)[:100], io.EOF, false},
		"a later line":        {line(last + 2), standby.ErrHeld, false},
		"the last line again": {line(last), standby.ErrHeld, false},
		"a line of another":   {strings.Replace(line(last+1), `"synced":`, `"synced":1`, 1), standby.ErrHeld, false},
		"no line":             {"hello\n", standby.ErrHeld, false},
		"a newer line":        {follows("something.newer", "{}"), journal.ErrNewer, false},
		"no JSON":             {follows("clock.read", "{x}"), standby.ErrHeld, false},
		"no erasure":          {follows(journal.KindErased, `{"lines":"x"}`), standby.ErrHeld, false},
		"a clock":             {follows(journal.KindClock, "{}"), standby.ErrMovedClock, true},
		"a file of no copy":   {`{"file":"x","data":""}` + "\n" + line(last+1), foreign, false},
		"another FORMAT":      {`{"file":"FORMAT","data":"eA=="}` + "\n" + line(last+1), foreign, false},
	} {
		other := newKeeper(dir, c.lean)
		other.hears(t, has)
		io.WriteString(other.in, c.sent)
		other.in.Close()
		err := <-other.ended
		if c.want == foreign && errors.As(err, new(*standby.Foreign)) {
			continue
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	io.WriteString(old.in, line(last+1))
	old.hears(t, fmt.Sprint(last+1))

	other := newKeeper(dir, false)
	other.hears(t, fmt.Sprint(last+1, " "))
	files := strings.Join(stream[:1], "") // before a line may come what it needs
	io.WriteString(other.in, files+line(last+2))
	other.hears(t, fmt.Sprint(last+2))
	if err := <-old.ended; err == nil {
		t.Error("the first does not say that it was replaced")
	}
	io.WriteString(other.in, line(last+3))
	other.hears(t, fmt.Sprint(last+3))
	other.in.Close()
	if err := <-other.ended; err != nil {
		t.Error(err)
	}
	if next, err := standby.Next(durable.Dir(dir)); err != nil || next != uint64(len(lines)+1) {
		t.Errorf("it goes on from line %d, %v", next, err)
	}
}
