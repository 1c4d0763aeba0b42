package standby_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/machines/standby"
	"waybill/server/machines/tail"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// journalOf returns the lines of a directory.
func journalOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	return strings.SplitAfter(strings.TrimSuffix(rig.Tailed(t, dir, "json", 1), "\n"), "\n")
}

// Decisions tail.lines, standby.lines: what tail writes, receive takes: the lines, the format, timetables and
// keys but the checkpoint's. The copy is a directory that a server opens, under a name of its own, with all
// that was sold.
func TestAStandbyIsACopyThatServes(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	stream := rig.Tailed(t, p.Dir, "copy", 1)
	said, err := rig.Received(dir, stream)
	lines := journalOf(t, p.Dir)
	if err != nil || !strings.HasSuffix(said, fmt.Sprintf("%d\n", len(lines))) {
		t.Fatalf("%q, %v", said, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "journal/*"))
	copied, err := os.ReadFile(files[0])
	if err != nil || len(files) != 1 || string(copied) != strings.Join(lines, "")+"\n" {
		t.Errorf("the lines are not the same: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "checkpoint.key")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it has the key that signs checkpoints")
	}
	// All of it again is passed over.
	if said, err := rig.Received(dir, stream); err != nil || strings.Count(said, "\n") != 1 {
		t.Errorf("again: %q, %v", said, err)
	}
	if next, err := standby.Next(durable.Dir(dir)); err != nil || next != uint64(len(lines)+1) {
		t.Errorf("next is %d, %v", next, err)
	}
	s, err := server.Open(server.Config{Dir: dir, Now: func() time.Time { return rig.Start }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.View(func(st ledger.State, _ time.Time) {
		if st.Bookings.Count() != 2 {
			t.Errorf("it has %d bookings", st.Bookings.Count())
		}
	}); err != nil {
		t.Fatal(err)
	}
	own := s.Store.Key().Name
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	signed, err := checkpoint.Newest(durable.Dir(p.Dir))
	if err != nil || strings.HasPrefix(string(signed), own+"\n") {
		t.Errorf("it signs as %s, %v", own, err)
	}
	rep, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{})
	if err != nil || rep.Unsigned() {
		t.Errorf("%+v, %v", rep, err)
	}
	// Promoted by mistake while the primary lives: it takes no more lines, and says why.
	p.Forget(t, "email", "nobody@example.com")
	_, err = rig.Received(dir, rig.Tailed(t, p.Dir, "copy", 1))
	if !errors.As(err, new(*standby.Foreign)) || !strings.Contains(err.Error(), "it was started") {
		t.Errorf("after it was started: %v", err)
	}
}

// What does not continue a copy is refused, and what came before it stays.
func TestAStandbyTakesNothingElse(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	stream := strings.SplitAfter(rig.Tailed(t, p.Dir, "copy", 1), "\n")
	stream = stream[:len(stream)-1]
	first := 0
	for !strings.HasPrefix(stream[first], `{"hash"`) {
		first++
	}
	with := func(at int, text ...string) string {
		return strings.Join(stream[:at], "") + strings.Join(text, "") + strings.Join(stream[at:], "")
	}
	file := func(name, text string) string {
		return fmt.Sprintf(
			"{\"file\":%q,\"data\":%q}\n",
			name,
			base64.StdEncoding.EncodeToString([]byte(text)),
		)
	}
	last := stream[len(stream)-1]
	for name, c := range map[string]struct{ stream, want string }{
		"no format":         {strings.Join(stream[first:], ""), "before the file FORMAT"},
		"a line left out":   {strings.Join(stream[:len(stream)-2], "") + last, "comes where line"},
		"a line changed":    {strings.Join(stream[:len(stream)-1], "") + strings.Replace(last, "2026", "2027", 1), "hash"},
		"a line of nothing": {with(len(stream)-1, "\n"), "is not in the form"},
		"garbage":           {with(len(stream)-1, "garbage\n"), "is not in the form"},
		"an old one " +
			"changed": {with(len(stream), strings.Replace(stream[first], "creation", "Creation", 1)), "differs"},
		"another name":       {with(len(stream), file("FORMAT", "waybill-journal v3 OTHER\n")), "and this one is"},
		"the signing key":    {with(1, file("checkpoint.key", "x")), "is not a file of a copy"},
		"a way out":          {with(1, file("keys/../../x", "x")), "is not a file of a copy"},
		"a way out, rooted":  {with(1, file("/etc/passwd", "x")), "is not a file of a copy"},
		"another timetable":  {with(1, file("timetables/"+strings.Repeat("0", 64)+".jsonl", "x")), "does not fit its name"},
		"no file":            {with(1, `{"file":"FORMAT","data":7}`+"\n"), "should hold a file"},
		"more than a file":   {with(1, strings.Replace(stream[0], "}", "}{}", 1)), "should hold a file"},
		"a file's other way": {with(1, strings.Replace(stream[0], "file", "File", 1)), "is not in the form"},
		"a key of no name":   {with(1, file("keys/tickets2", strings.Repeat("0", 64)+"\n")), "is not a file of a copy"},
		"a ring of nothing":  {with(1, file("keys/offer-tokens", "")), "is not a key"},
		"a ring, changed":    {with(1, file("keys/offer-tokens", "1 "+strings.Repeat("0", 63)+" -\n")), "is not a key"},
		"a key too " +
			"short": {with(1, file("keys/tickets", strings.Repeat("0", 62)+"\n")), "keys/tickets: is " +
			"not a key"},
		"a key of " +
			"letters": {with(1, file("keys/outbound", strings.Repeat("x", 64)+"\n")), "keys/outbound: " +
			"is not a key"},
		"a key too " +
			"long": {with(len(stream), file("keys/development-idp", strings.Repeat("0", 66)+"\n")), "is not a key"},
		"a seed of letters": {with(len(stream), file("keys/seed", "x\n")), "keys/seed: is not a number"},
	} {
		dir := filepath.Join(t.TempDir(), "standby")
		_, err := rig.Received(dir, c.stream)
		if !errors.As(err, new(*standby.Foreign)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		// What was received stays, and is gone on with.
		if _, err := rig.Received(dir, strings.Join(stream, "")); err != nil {
			t.Errorf("%s: then all of it: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was written", name)
		}
	}
}

// What a newer version has written is told apart from what is foreign: the standby's program is to be
// replaced, and the source is not. What came before it stays.
func TestAStandbyTakesNothingNewer(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	for version, want := range map[int]error{1: journal.ErrOlder, 4: journal.ErrNewer} {
		format := fmt.Appendf(nil, "waybill-journal v%d X\n", version)
		text := base64.StdEncoding.EncodeToString(format)
		_, err := rig.Received(dir, `{"file":"FORMAT","data":"`+text+"\"}\n")
		if !errors.Is(err, want) {
			t.Errorf("a FORMAT of version %d: %v", version, err)
		}
	}
	var head journal.Head
	rep, err := inspect.Follow(durable.Dir(p.Dir), head, func(*journal.Line) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	head = rep.Head
	newer := journal.Line{
		Head:   journal.Head{Stamp: journal.Stamp{Seq: head.Seq + 1, Time: head.Time}},
		Synced: head.Seq,
		Type:   "something.newer",
		Data:   []byte(`{}`),
	}
	line := newer.AppendTo(nil, head.Hash)
	said, err := rig.Received(dir, rig.Tailed(t, p.Dir, "copy", 1)+string(line))
	foreign := errors.As(err, new(*standby.Foreign))
	names := regexp.MustCompile(fmt.Sprintf(`line %d: .*unknown type "something.newer"`, newer.Seq))
	if !errors.Is(err, journal.ErrNewer) || foreign || !names.MatchString(err.Error()) {
		t.Errorf("a line of a newer type: %v", err)
	}
	if !strings.HasSuffix(said, fmt.Sprintf("%d\n", head.Seq)) {
		t.Errorf("of what came before it, it says %q", said)
	}
	if got := journalFiles(t, dir); got != journalFiles(t, p.Dir) {
		t.Error("what came before it has not stayed")
	}
}

// A stream that is cut anywhere is gone on with from where Next says, and every line that was said to be
// there is.
func TestAStandbyGoesOnAfterABreak(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	stream := rig.Tailed(t, p.Dir, "copy", 1)
	want := journalOf(t, p.Dir)
	dir := filepath.Join(t.TempDir(), "standby")
	at := 0
	for step := 1; at < len(stream); step = step*2 + 1 {
		end := min(at+step*50, len(stream))
		_, err := rig.Received(dir, stream[:end])
		if cut := stream[end-1] != '\n'; (err != nil) != cut {
			t.Errorf("cut at %d: %v", end, err)
		}
		at = end
		next, err := standby.Next(durable.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if next > 1 {
			stream = rig.Tailed(t, p.Dir, "copy", next)
			at = 0
			if next > uint64(len(want)) {
				break
			}
		}
	}
	if got := journalFiles(t, dir); got != strings.Join(want, "")+"\n" {
		t.Error("the lines are not the same")
	}
}

// journalFiles returns the journal of a standby, as it lies there.
func journalFiles(t *testing.T, dir string) (all string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "journal/*"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

// An erasure is carried out in the standby too: in lines that it had before, and after a crash in between.
func TestAStandbyErasesToo(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	if _, err := rig.Received(dir, rig.Tailed(t, p.Dir, "copy", 1)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(journalFiles(t, dir), "Ukrainka") {
		t.Fatal("it does not have the name to begin with")
	}
	p.Forget(t, "booking", p.Booking)
	next, err := standby.Next(durable.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Received(dir, rig.Tailed(t, p.Dir, "copy", next)); err != nil {
		t.Fatal(err)
	}
	if text := journalFiles(t, dir); strings.Contains(text, "Ukrainka") ||
		!strings.Contains(text, `"personal":{"erased":`) {
		t.Error("the name is still there")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "journal/*")); len(files) < 2 {
		t.Error("the line that erases stands in the file of what it erases")
	}
	// A crash after the line and before the erasing: the line is there, and the name too.
	fresh := rig.NewProven(t)
	crashed := filepath.Join(t.TempDir(), "crashed")
	if _, err := rig.Received(crashed, rig.Tailed(t, fresh.Dir, "copy", 1)); err != nil {
		t.Fatal(err)
	}
	before := map[string]string{} // lines, by their hashes
	for line := range strings.Lines(journalFiles(t, crashed)) {
		before[line[:75]] = line
	}
	fresh.Forget(t, "booking", fresh.Booking)
	next, _ = standby.Next(durable.Dir(crashed))
	if _, err := rig.Received(crashed, rig.Tailed(t, fresh.Dir, "copy", next)); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(crashed, "journal/*"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var was strings.Builder
		for line := range strings.Lines(string(text)) {
			was.WriteString(cmp.Or(before[line[:75]], line))
		}
		os.Chmod(name, 0o600)
		if err := os.WriteFile(name, []byte(was.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(journalFiles(t, crashed), "Ukrainka") {
		t.Fatal("the crash is not as it should be")
	}
	if _, err := rig.Received(crashed, ""); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(journalFiles(t, crashed), "Ukrainka") {
		t.Error("after a crash the name is still there")
	}
}

// formerFirst is a first machine's directory that is to be the standby: it has snapshots of its own.
func formerFirst(t *testing.T, p *rig.Proven) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "former")
	if err := os.CopyFS(dir, os.DirFS(p.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, checkpoint.PrivateKeyFile)); err != nil {
		t.Fatal(err)
	}
	if len(rig.FilesWith(t, filepath.Join(dir, "snapshots"), "Ukrainka")) == 0 {
		t.Fatal("it has no snapshot with the name to begin with")
	}
	return dir
}

// An erasure is carried out in the snapshots of a standby too: when its line comes, and where a receive that
// was cut short has left snapshots of before that line.
func TestAStandbyErasesInSnapshotsToo(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	dir := formerFirst(t, p)
	beside := map[string]bool{ // what lies beside the journal, and whether it tells of who is forgotten
		"outbox/" + p.Ticket + ".1-1.eml":    true,
		"outbox/AAAAAAAAAAAAAAAAAAAAAA.eml":  false,
		"reports/AAAAAAAAAAAAAAAAAAAAAA.csv": false,
	}
	for name := range beside {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(t.TempDir(), "snapshots")
	if err := os.CopyFS(left, os.DirFS(filepath.Join(dir, "snapshots"))); err != nil {
		t.Fatal(err)
	}
	p.Forget(t, "booking", p.Booking)
	next, err := standby.Next(durable.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ when, stream string }{
		{"when the line comes", rig.Tailed(t, p.Dir, "copy", next)},
		{"when the snapshots were left there", ""},
	} {
		if _, err := rig.Received(dir, c.stream); err != nil {
			t.Fatal(c.when, err)
		}
		if names := rig.FilesWith(t, dir, "Ukrainka"); len(names) > 0 {
			t.Errorf("%s the name stands in %q", c.when, names)
		}
		if _, err := verify.Directory(durable.Dir(dir), false, inspect.Expected{}); err != nil {
			t.Errorf("%s: %v", c.when, err)
		}
		if err := os.CopyFS(filepath.Join(dir, "snapshots"), os.DirFS(left)); err != nil {
			t.Fatal(err)
		}
	}
	for name, gone := range beside {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) != gone {
			t.Errorf("%s: gone %t is wrong, %v", name, gone, err)
		}
	}
}

// A crash after the file of a line was made and before the line stands in it: the same line goes into that
// file.
func TestAStandbyGoesOnInAFileThatIsEmpty(t *testing.T) {
	p := rig.NewProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	p.Forget(t, "booking", p.Booking)
	stream := rig.Tailed(t, p.Dir, "copy", 1)
	at := strings.Index(stream, `"type":"personal.erased"`)
	at = strings.LastIndex(stream[:at], "\n") + 1
	if _, err := rig.Received(dir, stream[:at]); err != nil {
		t.Fatal(err)
	}
	next, err := standby.Next(durable.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("journal/%012d.jsonl", next))
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Received(dir, stream[at:]); err != nil {
		t.Errorf("it cannot go on: %v", err)
	}
	if strings.Contains(journalFiles(t, dir), "Ukrainka") {
		t.Error("the name is still there")
	}
}

// A line is written once it is known to be on the disk, and none after the end that nothing proves.
func TestTailWritesWhatIsOnTheDisk(t *testing.T) {
	p := rig.NewProven(t)
	lines := journalOf(t, p.Dir)
	crashed := filepath.Join(t.TempDir(), "crashed")
	if err := os.CopyFS(crashed, os.DirFS(p.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"snapshots", "checkpoint", "checkpoints.log"} {
		if err := os.RemoveAll(filepath.Join(crashed, name)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := tail.Write(
		durable.Dir(crashed),
		func() bool { return false },
		tail.Options{},
		&out,
	)
	if err == nil || !strings.Contains(err.Error(), "it is not known whether the lines from") {
		t.Errorf("%v", err)
	}
	if n := strings.Count(out.String(), "\n"); n == 0 || n >= len(lines) {
		t.Errorf("%d of %d lines are written", n, len(lines))
	}
	err = tail.Write(durable.Dir(p.Dir), func() bool { return false }, tail.Options{
		From: uint64(len(lines) + 2),
	}, &out)
	if err == nil || !strings.Contains(err.Error(), "the journal ends before line") {
		t.Errorf("from beyond the end: %v", err)
	}
}
