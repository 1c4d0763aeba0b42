package verify_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// What attackers from outside have found, and kin of it.

// A line that somebody with the key and the rules has written or changed has one verdict.
func TestForgedLinesHaveOneVerdict(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, func(s *server.Server) { changeRun(t, s, "move", "kl-0530", "minutes", "15") })
	sale, moved := b.line(t, "booking.created", 1), b.line(t, "run.moved", 1)
	start := regexp.MustCompile(`"start":(\d+)(,"offsets":\[[^\]]*\])`)
	at, err := strconv.Atoi(start.FindStringSubmatch(b.lines[moved-1])[1])
	if err != nil {
		t.Fatal(err)
	}
	aligned := func(away int) string { // from where 15 minutes would put it
		return fmt.Sprintf(`"start":%d$2,"aligned":true`, at+away)
	}
	const twoDays = 2 * 24 * 60 * 60
	clock := func(members string) string {
		return `"time":"2026-11-20T09:00:00.000Z","type":"clock.set","data":{"real":true,` + members + `}`
	}
	repaired := func(members string) string {
		return `"time":"2026-11-20T09:00:00.000Z","type":"repaired","data":{"reason":"x",` + members + `}`
	}
	intoItsOwn := fmt.Sprintf(`"time":"2026-11-20T09:00:00.000Z","type":"ticket.moved","data":{"ticket":%q,`+
		`"from":%[2]q,"booking":%[2]q,"new":false,"before":{%[2]q:%d}}`, b.tickets[0], b.bookings[0], sale+1)
	var dirs []string
	var want []string
	for _, c := range []struct {
		verdict  string
		line     int
		from, to string
	}{
		{"books", moved, start.String(), aligned(0)},
		{"sound", moved, start.String(), aligned(-twoDays)},
		{"sound", moved, start.String(), aligned(twoDays)},
		{"books", moved, start.String(), aligned(-twoDays - 1)},
		{"books", moved, start.String(), aligned(twoDays + 1)},
		{"newer", sale, `"start":\d+`, `"start":9223372036854775807`},
		{"newer", sale, `"start":\d+`, `"start":-9223372036854775808`},
		{"newer", sale, `"amount":\d+`, `"amount":4611686018427387904`},
		{"newer", sale, `"amount":`, `"amount":-`},
		{"sound", 0, "", clock(`"offsetMs":0,"still":"0000-01-01T00:00:00Z"`)},
		{"newer", 0, "", clock(`"offsetMs":0,"still":"0001-01-01T00:00:00Z"`)},
		{"sound", 0, "", repaired(`"forced":-3`)},
		{"sound", 0, "", repaired(`"erased":{"2":"2026-11-20T08:30:00.000Z"}`)},
		{"damaged", 0, "", repaired(`"erased":{"2":"2026-11-20T08:30:00Z"}`)},
		{"damaged", 0, "", repaired(`"erased":{"2":"2026-11-20T08:30:00.000+02:00"}`)},
		{"damaged", 0, "", repaired(`"erased":{"2":"2026-11-31T08:30:00.000Z"}`)},
		{"damaged", 0, "", repaired(`"erased":{"2":"2026-11-20"}`)},
		{"damaged", 0, "", repaired(`"erased":{"+2":"2026-11-20T08:30:00.000Z"}`)},
		{"damaged", 0, "", repaired(`"erased":{"٢":"2026-11-20T08:30:00.000Z"}`)},
		{"books", 0, "", intoItsOwn},
	} {
		dirs = append(dirs, b.rewrite(t, c.line, c.from, c.to))
		want = append(want, c.verdict+" of "+c.to)
	}
	agree(t, dirs, want)
}

// agree holds both auditors against verdicts, whose first words are the verdict, and against each other.
func agree(t *testing.T, dirs, want []string) {
	t.Helper()
	var they []opinion
	if rig.Has(t, "python3") {
		they = theirs(t, dirs)
	}
	for i, dir := range dirs {
		we := ours(t, dir)
		if verdict, _, _ := strings.Cut(want[i], " "); we.Verdict != verdict {
			t.Errorf("verify says %+v, want %s", we, want[i])
		}
		if they != nil {
			compareOpinions(t, want[i], we, they[i])
		}
	}
}

// A timetable whose numbers are none that an import gives is damaged, and nobody waits for it.
func TestATimetableWithNumbersOutOfRangeIsDamaged(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	imported := b.line(t, "timetable.imported", 1)
	var dirs, want []string
	for from, to := range map[string]string{
		`"first":\d+`:                     `"first":2147483647`,
		`"seats":19`:                      `"seats":2147483647`,
		`"amount":\d+`:                    `"amount":9223372036854775807`,
		`("RefundRules".*"percent":)\d+`:  `${1}10001`,
		`("Discounts".*"percent":)\d+`:    `${1}-1`,
		`"bits":\[`:                       `"bits":[` + strings.Repeat("0,", 1400),
		`("first":)(\d+)(,"bits":)\[\d+,`: `${1}84005$3[2,`,
	} {
		name := regexp.MustCompile(`"sha256":"([0-9a-f]{64})"`).FindStringSubmatch(b.lines[imported-1])[1]
		text, err := os.ReadFile(filepath.Join(b.dir, "timetables", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		changed := regexp.MustCompile(from).ReplaceAll(text, []byte(to))
		if string(changed) == string(text) {
			t.Fatalf("the timetable has no %s", from)
		}
		hash := fmt.Sprintf("%x", sha256.Sum256(changed))
		dir := b.rewrite(t, imported, name, hash)
		if err := os.WriteFile(filepath.Join(dir, "timetables", hash+".jsonl"), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
		want = append(want, "damaged by "+to)
	}
	agree(t, dirs, want)
}

// Files that are none of the format's, whatever they are called, are nobody's business.
func TestFilesThatOnlyLookLikeTheFormatsAreNone(t *testing.T) {
	t.Parallel()
	of := newBookkeeping(t, nil).dir
	var dirs, want []string
	for _, name := range []string{
		"checkpoints-A_B.log", "checkpoints-é.log", "snapshots/99999999999999999999999.jsonl",
		"snapshots/00000000000٣.jsonl", "reports/A.csv.tmp", "outbox/B.999-1.eml.tmp",
		"timetables/y.jsonl.tmp",
	} {
		dirs = append(dirs, spoiltCopy(t, of, func(dir string) error {
			name := filepath.Join(dir, name)
			err := os.MkdirAll(filepath.Dir(name), 0o700)
			return errors.Join(err, os.WriteFile(name, []byte("x"), 0o600))
		}))
		want = append(want, "sound beside "+name)
	}
	agree(t, dirs, want)
	for i, dir := range dirs {
		o := ours(t, dir)
		if slices.ContainsFunc(o.Remarks, func(r remark) bool { return r.Kind == "beyond" }) {
			t.Errorf("%s: verify says %+v", want[i], o)
		}
	}
}

// What a start reads and finds wrong is damage: FORMAT of another directory, from which line 1 does not
// follow, and a copy whose notes have no key, or none that can be read.
func TestAStartRefusesWhatItReads(t *testing.T) {
	t.Parallel()
	h := newHonest(t)
	other := newBookkeeping(t, nil).dir
	for what, spoil := range map[string]func(dir string) error{
		"another's FORMAT": func(dir string) error { replace(t, dir, "FORMAT", other); return nil },
		"no key of the notes": func(dir string) error {
			return os.Remove(filepath.Join(dir, checkpoint.PublicKeyFile))
		},
		"an empty key of the notes": func(dir string) error {
			return os.Truncate(filepath.Join(dir, checkpoint.PublicKeyFile), 0)
		},
	} {
		dir := spoiltCopy(t, keyless(t, h.dir), spoil)
		now := func() time.Time { return day.Add(2 * time.Hour) }
		s, err := server.Open(server.Config{Dir: dir, Now: now})
		if err == nil {
			s.Close()
		}
		if _, isDamage := errors.AsType[*journal.Damage](err); !isDamage {
			t.Errorf("%s: a start says %v", what, err)
		}
		if o := ours(t, dir); o.Verdict != "damaged" {
			t.Errorf("%s: verify says %+v", what, o)
		}
	}
}

// A note is in UTF-8, the names of its signers, too: else it is none, and nobody's.
func TestANoteIsInUTF8(t *testing.T) {
	t.Parallel()
	dir := spoiltCopy(t, keyless(t, newHonest(t).dir), func(dir string) error {
		name := filepath.Join(dir, checkpoint.LogFile)
		log, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		at := bytes.Index(log, []byte("— waybill/")) + len("— waybill/")
		log[at+5] = 0x90
		return os.WriteFile(name, log, 0o600)
	})
	if o := ours(t, dir); o.Verdict != "damaged" {
		t.Errorf("verify says %+v", o)
	}
	if rig.Has(t, "python3") {
		if o := theirs(t, []string{dir})[0]; o.Verdict != "damaged" {
			t.Errorf("audit.py says %+v", o)
		}
	}
}

// A pipe in place of a directory is no directory, and nobody waits for its other end.
func TestAPipeIsNoDirectory(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := ours(t, pipe); o.Verdict != "failed" {
		t.Errorf("verify says %+v", o)
	}
}

// A file that somebody gives may come through a link or a pipe. What cannot be read is failed.
func TestFilesThatAreGiven(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	dir := newBookkeeping(t, nil).dir
	note := filepath.Join(dir, checkpoint.File)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(note, link); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		link:        "sound",
		dir:         "failed",
		"/dev/null": "failed",
		link + "x":  "failed",
	} {
		if o := theirs(t, []string{dir}, "-against", given)[0]; o.Verdict != want {
			t.Errorf("-against %s: audit.py says %+v, want %s", given, o, want)
		}
		if o := theirs(t, []string{dir}, "-against", note, "-key", given)[0]; o.Verdict != "failed" {
			t.Errorf("-key %s: audit.py says %+v", given, o)
		}
	}
}

// meanwhile has a server do something when the journal has been read: its last file, which it reads again.
type meanwhile struct {
	durable.ReadFS
	do func()
}

func (m meanwhile) List(dir string) ([]string, error) {
	if dir == "journal" {
		m.do()
	}
	return m.ReadFS.List(dir)
}

// Beside a server a report may be written anew while the journal is read: nobody is accused.
func TestAReportThatIsWrittenAnewMeanwhile(t *testing.T) {
	t.Parallel()
	dir := rig.File("testdata/journal/v3")
	dir = spoiltCopy(t, dir)
	reports, err := filepath.Glob(filepath.Join(dir, ledger.ReportDir, "*"+ledger.ReportSuffix))
	if err != nil || len(reports) == 0 {
		t.Fatal(err, reports)
	}
	const python = `
import importlib.util, sys
spec = importlib.util.spec_from_file_location("audit", sys.argv[1])
audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)
class Beside(audit.Audit):
    def read_journal(self, before):
        super().read_journal(before)
        for name in sys.argv[3:]:
            open(name, "a").write("x")
print(Beside(sys.argv[2], audit.command_line(["."])).result["verdict"])`
	write := func() {
		for _, name := range reports {
			text, _ := os.ReadFile(name)
			if err := os.WriteFile(name, append(text, 'x'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := verify.Directory(meanwhile{durable.Dir(dir), write}, true, inspect.Expected{}); err != nil {
		t.Errorf("written anew meanwhile: %v", err)
	}
	if o := ours(t, dir); o.Verdict != "books" {
		t.Errorf("of other reports verify says %+v", o)
	}
	if rig.Has(t, "python3") {
		args := []string{"-B", "-I", "-S", "-c", python, rig.File("server/docs/audit.py"), dir}
		out, err := exec.Command("python3", append(args, reports...)...).CombinedOutput()
		if err != nil || string(out) != "sound\n" {
			t.Errorf("audit.py, of reports that are written anew meanwhile: %v, %s", err, out)
		}
	}
}

// A start that goes on from a snapshot says how many lines it has not read, and who reads them.
func TestAStartSaysWhatItHasNotRead(t *testing.T) {
	t.Parallel()
	dir := spoiltCopy(t, rig.File("testdata/journal/v3"))
	var log bytes.Buffer
	for range 2 {
		log.Reset()
		s, err := server.Open(server.Config{
			Dir: dir,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Lab: rig.NoClock(),
			Now: func() time.Time { return day.Add(9 * 24 * time.Hour) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	said := regexp.MustCompile(`level=INFO msg="[^"]*waybill verify reads the lines[^"]*" lines=(\d+)`)
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	last, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(files[len(files)-1]), ".jsonl"))
	if m := said.FindStringSubmatch(log.String()); m == nil || m[1] != strconv.Itoa(last-1) {
		t.Errorf("the lines before %d were not read, and a start says\n%s", last, &log)
	}
}
