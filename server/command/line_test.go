package command

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server/proof/verify"
	"waybill/store/chain"
)

// Decision verbs.help.

// TestOnlyServeAndImportMakeADirectory: all other verbs refuse one that is not there, and make nothing.
func TestOnlyServeAndImportMakeADirectory(t *testing.T) {
	const id = "t3ruoNuTuU_mzrLf_b6oxw"
	operands := map[string][]string{
		"partner add":    {"x"},
		"partner revoke": {"x"},
		"ticket move":    {id, "new"},
		"ticket status":  {id, "Prepaid"},
		"ticket answer":  {"-reason", "x", id, "refused"},
		"user remove":    {"a@example.com"},
		"outbox retry":   {"all"},
		"user add":       {"-email", "a@example.com", "-company", "x", "-role", "ADMIN"},
		"forget":         {"-booking", id, "-reason", "x"},
		"idtoken":        {"-email", "a@example.com"},
		"evidence":       {"-booking", id, "out.zip"},
		"statement":      {"-from", "2026-11-20", "-to", "2026-11-20"},
		"backup":         {"out"},
		"export":         {"out"},
		"ticket cancel":  {"-reason", "x", strings.Repeat("A", 22)},
		"run cancel":     {"-reason", "x", "kl-0700", "2026-11-21"},
		"run move":       {"-reason", "x", "-minutes", "5", "kl-0700", "2026-11-21"},
		"run restore":    {"-reason", "x", "kl-0700", "2026-11-21"},
		"manifest":       {"kl-0700", "2026-11-21"},
		"repair":         {"-cut-at", "5", "-reason", "x", "out"},
	}
	for _, v := range verbs {
		switch v.name {
		case "serve",
			"import",
			"audit",
			"version",
			"completion",
			"ready",
			"conform",
			"ticket check",
			"tour",
			"receive": // two make one of their own
			continue
		}
		dir := t.TempDir()
		t.Chdir(dir)
		args := append(strings.Fields(v.name), "-data", "data")
		code, stdout, stderr := run(t, nil, append(args, operands[v.name]...)...)
		stderr = strings.Replace(stderr, "no journal is here: ", "", 1) // which is verify's verdict
		if code != 1 || stdout != "" ||
			!strings.HasPrefix(stderr, "waybill: there is no data directory at data; ") ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d\n%s%s", v.name, code, stdout, stderr)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s has made %v, %v", v.name, left, err)
		}
	}
}

// TestOneLineNamesTheNearest: what was mistyped gets one line, with the nearest command or flag.
func TestOneLineNamesTheNearest(t *testing.T) {
	t.Parallel()
	key := "w.example+00000000+" + strings.Repeat("A", 1752)
	cut := "w.example+00000000+" + strings.Repeat("A", 40) + "…" + strings.Repeat("A", 18)
	for _, c := range []struct{ line, says string }{
		{"parnter add x", `there is no command "parnter"; did you mean partner? "waybill help" lists all`},
		{"partner ad x", `there is no command "partner ad"; did you mean partner add? "waybill help" lists all`},
		{"partner", `partner is a group of commands: add, list, revoke; "waybill help partner" says more`},
		{"verfiy", `there is no command "verfiy"; did you mean verify? "waybill help" lists all`},
		{"ver", `there is no command "ver"; did you mean verify? "waybill help" lists all`},
		{"sell", `there is no command "sell"; "waybill help" lists all`},
		{"help srve", `there is no command "srve"; did you mean serve? "waybill help" lists all`},
		{"help verify -agianst x", `verify: there is no flag -agianst; did you mean -against? "waybill help verify" says more`},
		{"help log x", `log: takes no operands, not "x"; "waybill help log" says more`},
		{"serve -adr :80", `serve: there is no flag -adr; did you mean -addr? "waybill help serve" says more`},
		{"-adr :80", `serve: there is no flag -adr; did you mean -addr? "waybill help serve" says more`},
		{"verify -agianst x", `verify: there is no flag -agianst; did you mean -against? "waybill help verify" says more`},
		{"import FEED -strict", `import: flags come before operands: -strict stands after "FEED"; "waybill help import" says more`},
		{"import", `import: takes FEED after its flags, not 0 operands; "waybill help import" says more`},
		{"ticket move a", `ticket move: takes TICKET and BOOKING|new after its flags, not 1 operand; "waybill help ticket move" says more`},
		{"log x", `log: takes no operands, not "x"; "waybill help log" says more`},
		{"log " + key, `log: takes no operands, not "` + cut + `"; "waybill help log" says more`},
		{key, `there is no command "` + cut + `"; "waybill help" lists all`},
		{"serve -rate " + key, `-rate "` + cut + `A" must have the form 50/s or 50/s:200`},
		{"log -f -at 2026-11-20T08:00:00Z", `-f follows lines to come, -at ends in the past: give only one of them`},
	} {
		code, stdout, stderr := run(t, nil, strings.Fields(c.line)...)
		if code != 2 || stdout != "" || stderr != "waybill: "+c.says+"\n" {
			t.Errorf("waybill %s: exit %d\n%s%swant %s", c.line, code, stdout, stderr, c.says)
		}
	}
}

// TestVerbsThatAreApart: what is said of a verb by its name is said of one that there is.
func TestVerbsThatAreApart(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(quiet, mayBeCut, noData) {
		if v, rest := find(strings.Fields(name)); v == nil || len(rest) > 0 || v.name != name {
			t.Errorf("there is no verb %q", name)
		}
	}
}

// TestHelp: for all, a verb and a group, in each form, exit 0; --version too.
func TestHelp(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"help":             "(?s)serve .*verify.*partner add",
		"-h":               "partner add",
		"--help":           "partner add",
		"help partner":     "(?s)^  partner add .*partner list.*partner revoke",
		"partner -h":       "partner revoke",
		"partner --help":   "partner revoke",
		"partner help":     "partner revoke",
		"help partner add": "^waybill partner add .flags. NAME",
		"partner add -h":   "^waybill partner add",
		"help verify":      "^waybill verify",
		"verify --help":    "-against",
		"--version":        "^waybill .*\ngo1",
		"-version":         "dependencies",
		"version":          "dependencies",
	} {
		code, stdout, stderr := run(t, nil, strings.Fields(line)...)
		if code != 0 || stderr != "" || !regexp.MustCompile(says).MatchString(stdout) {
			t.Errorf("waybill %s: exit %d\n%s%s", line, code, stdout, stderr)
		}
	}
}

// TestJSON: the verbs that list, log and verify print JSON, beside a server and without.
func TestJSON(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	want(t, 0, "wb_", "partner", "add", "-data", dir, "-company", "zorevia-lines", "Anna")
	for _, live := range []bool{false, true} {
		if live {
			defer serve(t, "-data", dir).stop()
		}
		var partners []struct {
			Name      string
			Companies []string
			Keys      []struct{ Revoked *string }
		}
		parse(t, &partners, want(t, 0, "", "partner", "list", "-data", dir, "-json"))
		if len(partners) != 1 || partners[0].Name != "Anna" || len(partners[0].Companies) != 1 ||
			len(partners[0].Keys) != 1 || partners[0].Keys[0].Revoked != nil {
			t.Errorf("%+v", partners)
		}
		var companies []struct{ Slug string }
		if parse(t, &companies, want(t, 0, "", "company", "list", "-data", dir,
			"-json")); len(companies) != 4 {
			t.Errorf("%+v", companies)
		}
		for _, list := range []string{"user list", "outbox list", "ticket asked"} {
			if got := want(t, 0, "", append(strings.Fields(list), "-data", dir, "-json")...); got != "[]\n" {
				t.Errorf("%s: %q", list, got)
			}
		}
		v := verdictOf(t, want(t, 0, "", "verify", "-data", dir, "-json"))
		if v.Verdict != "sound" || v.Lines < 2 || v.Checkpoints < 1 || len(v.Problems) > 0 ||
			!strings.HasPrefix(v.Key, v.Origin+"+") || v.Books["tickets"] == nil {
			t.Errorf("%+v", v)
		}
		lines := strings.Split(strings.TrimSpace(want(t, 0, "", "log", "-data", dir, "-json")), "\n")
		var line struct {
			Seq        uint64
			Type, Text string
			Time       time.Time
			By         struct{ User string }
		}
		if parse(t, &line, lines[1]); line.Seq != 2 || line.Type != "timetable.imported" || line.Text == "" ||
			line.By.User == "" || line.Time.IsZero() {
			t.Errorf("%s: %+v", lines[1], line)
		}
	}
}

func parse(t *testing.T, to any, text string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// TestVerifySaysWhatToDo: after damage the next step, with -json where it is.
func TestVerifySaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	want(t, 0, "wb_", "partner", "add", "-data", dir, "Anna")
	name := filepath.Join(dir, firstFile)
	text := bytes.Replace([]byte(content(t, dir, firstFile)), []byte("Anna"), []byte("Olga"), 1)
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, 1, "damaged: .*waybill repair -data "+dir+" -cut-at \\d+ -reason TEXT OUT", "verify", "-data",
		dir)
	want(t, 1, `^damaged: .*\nthe journal is waybill/\S+, its key waybill/\S+\ndamaged: line \d+ of `+firstFile+` .seq`,
		"verify", "-data", dir)
	v := verdictOf(t, want(t, 1, "damaged", "verify", "-data", dir, "-json"))
	if p := v.Problems; v.Verdict != "damaged" || len(p) != 1 || p[0].Kind != "damaged" ||
		p[0].File != firstFile || p[0].Seq == 0 || p[0].Line == 0 || p[0].Text == "" || v.Origin == "" {
		t.Errorf("%+v", v)
	}
	want(t, 65, "waybill verify -data "+dir, "serve", "-data", dir, "-addr", "127.0.0.1:0")
}

// verdict is what verify -json prints.
type verdict struct {
	Verdict, Origin, Key          string
	Lines                         uint64
	Files, Snapshots, Checkpoints int
	Witnesses                     []verify.WitnessFound
	Problems                      []verify.Problem
	Remarks                       []chain.Event
	Books                         map[string]any
}

// verdictOf reads a verdict, which has all members, and no list that is null.
func verdictOf(t *testing.T, text string) (v verdict) {
	t.Helper()
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if v.Witnesses == nil || v.Problems == nil || v.Remarks == nil || len(v.Books) != 14 {
		t.Errorf("a member is missing, or null: %s", text)
	}
	return v
}

// TestVerifyJSONOfWhatIsNotSound: each verdict is an object, and says what could be read.
func TestVerifyJSONOfWhatIsNotSound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	nothing := written(t, "no note")
	none := filepath.Join(dir, "nowhere")
	for what, args := range map[string][]string{
		"a file that has no checkpoint": {"-data", dir, "-against", nothing},
		"a file that is not there":      {"-data", dir, "-against", none},
		"a directory that is not there": {"-data", none},
	} {
		v := verdictOf(t, want(t, 1, "", append([]string{"verify", "-json"}, args...)...))
		named := what != "a directory that is not there"
		p := v.Problems
		if v.Verdict != "failed" || len(p) != 1 || p[0].Kind != "failed" || p[0].Text == "" ||
			(v.Origin != "") != named || (v.Key != "") != named {
			t.Errorf("%s: %+v", what, v)
		}
	}
	_, _, stderr := run(t, nil, "verify", "-data", dir, "-against", nothing)
	if strings.Contains(stderr, "damaged") || strings.Contains(stderr, "backup") {
		t.Errorf("what is wrong with -against is told of the directory: %s", stderr)
	}
	journal, err := os.OpenFile(filepath.Join(dir, firstFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	journal.WriteString(`{"hash":"12`)
	journal.Close()
	v := verdictOf(t, want(t, 3, "", "verify", "-data", dir, "-json"))
	if p := v.Problems; v.Verdict != "torn" || v.Checkpoints == 0 || v.Lines == 0 || len(p) != 1 ||
		p[0].File != firstFile {
		t.Errorf("a torn tail: %+v", v)
	}
}

// TestAFileIsNoDirectory: a file as -data is no data directory, and what has no line, no name and no key is
// none either. verify says then that no journal is here.
func TestAFileIsNoDirectory(t *testing.T) {
	t.Parallel()
	file := written(t, "x")
	begun := filepath.Join(t.TempDir(), "begun") // of a standby that was sent nothing
	want(t, 0, "^0 -\n$", "receive", "-keeper", begun)
	for _, data := range []string{file, begun, t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		for _, line := range []string{"partner list", "log", "checkpoint"} {
			want(t, 1, "^waybill: there is no data directory at "+data,
				append(strings.Fields(line), "-data", data)...)
		}
		says := "no journal is here: there is no data directory at " + data
		want(t, 1, "^waybill: "+says, "verify", "-data", data)
		v := verdictOf(t, want(t, 1, "", "verify", "-data", data, "-json"))
		if len(v.Problems) != 1 || v.Verdict != "failed" || !strings.HasPrefix(v.Problems[0].Text, says) {
			t.Errorf("of %s: %+v", data, v)
		}
	}
	want(t, 0, "in force", "import", "-data", begun, "../../testdata/demo")
	want(t, 78, "not a directory", "serve", "-addr", "127.0.0.1:0", "-data", file)
}

// fullDisk is an output that takes nothing.
type fullDisk struct{ err error }

func (f fullDisk) Write([]byte) (int, error) { return 0, f.err }

// TestOutputThatCannotBeWritten: what nobody got is not done, whoever does it; a log that nobody reads has
// ended.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	into := func(err error, args ...string) (int, string) {
		var stderr bytes.Buffer
		code := Main(&Process{
			Args: args, Stdin: strings.NewReader(""), Stdout: fullDisk{err}, Stderr: &stderr,
			Env: func(string) (string, bool) { return "", false },
		})
		return code, stderr.String()
	}
	for _, live := range []bool{false, true} {
		if live {
			defer serve(t, "-data", dir).stop()
		}
		for _, line := range []string{"verify", "verify -json", "checkpoint", "log", "partner add x",
			"partner list", "company list -json", "version"} {
			words := strings.Fields(line)
			at := len(words)
			if words[len(words)-1] == "x" {
				at--
			}
			args := append([]string{}, words[:at]...)
			if line != "version" {
				args = append(args, "-data", dir)
			}
			code, stderr := into(syscall.ENOSPC, append(args, words[at:]...)...)
			if code != 1 ||
				!strings.Contains(stderr, "the output cannot be written: no space left on device") {
				t.Errorf("live %t: %s: exit %d, %s", live, line, code, stderr)
			}
		}
		if code, stderr := into(syscall.EPIPE, "log", "-data", dir); code != 0 || stderr != "" {
			t.Errorf("live %t: log into a closed pipe: exit %d, %s", live, code, stderr)
		}
	}
}

// TestAPipeIsNoFeed: what cannot be a feed is refused at once.
func TestAPipeIsNoFeed(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, 1, "fifo is neither a directory nor a zip archive", "import", "-dry-run", "-data",
		filepath.Join(t.TempDir(), "data"), fifo)
}

// TestLogOfUnknown: a booking that no line tells of is an error.
func TestLogOfUnknown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	const id = "t3ruoNuTuU_mzrLf_b6oxw"
	for _, flag := range []string{"-booking", "-ticket"} {
		want(t, 1, "^waybill: no line of the journal names "+id+"\n$", "log", "-data", dir, flag, id)
	}
	want(t, 1, "no line", "log", "-data", dir, "-booking", id, "-at", "2026-11-20T08:00:00Z")
}

// TestLogFollows shows lines as they are written, beside a server, until it is stopped.
func TestLogFollows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	defer serve(t, "-data", dir).stop()
	out := &output{lines: make(chan string, 100)}
	end := make(chan struct{})
	code := make(chan int)
	go func() {
		code <- Main(&Process{
			Args: []string{"log", "-data", dir, "-f"}, Stdout: out, Stderr: os.Stderr, Stop: end,
			Env: func(string) (string, bool) { return "", false },
		})
	}()
	for line := ""; !strings.Contains(line, "timetable.imported"); {
		line = <-out.lines
	}
	for _, name := range []string{"Anna", "Bohdan"} {
		want(t, 0, "wb_", "partner", "add", "-data", dir, name)
		for line := ""; !strings.Contains(line, "partner.key_added"); {
			line = <-out.lines
		}
	}
	close(end)
	if c := <-code; c != 0 {
		t.Errorf("exit %d", c)
	}
}

// TestReadingStops: a verb that reads for long ends when the process should, says so, and leaves no half
// copy.
func TestReadingStops(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	out := filepath.Join(t.TempDir(), "out")
	days := []string{"-from", "2026-11-20", "-to", "2026-11-20"}
	for _, args := range [][]string{{"verify"}, {"log"}, {"checkpoint"}, {"backup", out}, {"export", out},
		append([]string{"statement"}, days...)} {
		end := make(chan struct{})
		close(end)
		var stdout, stderr bytes.Buffer
		code := Main(&Process{
			Args:   slices.Concat(args[:1], []string{"-data", dir}, args[1:]),
			Stdout: &stdout,
			Stderr: &stderr,
			Stop:   end,
			Env:    func(string) (string, bool) { return "", false },
		})
		if code != exitFailed || !strings.Contains(stderr.String(), "stopped before it was done") {
			t.Errorf("%s: exit %d: %s%s", args[0], code, &stdout, &stderr)
		}
		if _, err := os.Stat(filepath.Join(out, "FORMAT")); err == nil {
			t.Errorf("%s leaves what looks whole", args[0])
		}
		os.RemoveAll(out)
	}
}

// TestKeyWithoutCheckpoints: a key that nothing is held against is no check, and is not passed over.
func TestKeyWithoutCheckpoints(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	mldsa := append([]byte{6}, make([]byte, 1312)...)
	other := "w.example+00000000+" + base64.StdEncoding.EncodeToString(mldsa)
	want(t, 2, `(?s)^.{1,600}is of type 6, which this program cannot check.{1,60}$`, "verify", "-data", dir,
		"-witness-key", other)
	want(t, 1, `(?s)^.{1,600}: file name too long\n$`, "verify", "-data", dir, "-against", other)
	_, vkey := with("", "checkpoint", "-data", dir, "-key")
	want(t, 2, "an author's .type 1., not a witness's .type 4.", "verify", "-data", dir, "-witness-key", vkey)
	want(t, 2, "-key checks the checkpoints of -against", "verify", "-data", dir, "-key",
		filepath.Join(dir, "checkpoint.pub"))
}

// TestBackupNamesThePlace: what a backup cannot read is named by file, line, byte and seq, as by verify.
func TestBackupNamesThePlace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	name := filepath.Join(dir, filepath.FromSlash(firstFile))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(text, '\n') + 1
	text[first] = '['
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	place := fmt.Sprintf("line 2 of %s (seq 2, byte %d): is not in the form of a journal "+
		"line", firstFile, first)
	want(t, 1, regexp.QuoteMeta(place), "backup", "-data", dir, filepath.Join(t.TempDir(), "out"))
}
