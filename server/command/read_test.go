package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
)

// written makes a file in a directory of its own.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func content(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// copied returns a copy of a directory, without what proves how far its journal went: snapshots and
// checkpoints.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"snapshots", "checkpoint", "checkpoints.log"} {
		if err := os.RemoveAll(filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

const firstFile = "journal/000000000001.jsonl"

// Decision verify.forked: what an auditor keeps elsewhere shows a journal that was cut or rewritten since, by
// anyone.
func TestVerifyAgainst(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 1, "no data directory at", "checkpoint", "-data", dir)
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo") // a verb is as good as a server
	want(t, 2, "takes no operands", "checkpoint", "-data", dir, "x")
	first := want(t, 0, `^waybill/\S+\n\d+\n\S{44}\nhash [0-9a-f]{64} time \S+Z\n\n— waybill/\S+ \S+\n$`, "checkpoint",
		"-data", dir)
	key := content(t, dir, "checkpoint.pub")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	second := want(t, 0, "", "checkpoint", "-data", dir)
	if first == second || second != content(t, dir, "checkpoint") ||
		!strings.Contains(content(t, dir, "checkpoints.log"), first+"\n") {
		t.Errorf("%q, then %q", first, second)
	}
	other := filepath.Join(t.TempDir(), "other")
	want(t, 0, "in force", "import", "-data", other, "../../testdata/demo")

	// The same history cut after its second line, and another one under the same name and keys.
	cut := copied(t, dir)
	anew := filepath.Join(t.TempDir(), "anew")
	lines := strings.SplitAfter(content(t, dir, firstFile), "\n")
	err := os.WriteFile(filepath.Join(cut, firstFile), []byte(strings.Join(lines[:2], "")), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(anew, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"FORMAT", "checkpoint.key", "checkpoint.pub"} {
		if err := os.WriteFile(filepath.Join(anew, name), []byte(content(t, dir, name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		want(t, 0, "wb_", "partner", "add", "-data", anew, "y")
	}
	// Without any checkpoint nobody vouches for the lines that are left, with the kept one somebody does.
	want(t, 1, `(?m)^waybill: not signed: the hashes of 2 lines`, "verify", "-data", cut)
	for _, sound := range []string{anew, dir} {
		want(t, 0,
			`(?s)^sound: .*the books at .*: 0 bookings, 0 tickets; 0 runs with 0 seats, 0 sold, 0 held, 0 free\n$`, "verify", "-data", sound)
	}
	for _, c := range []struct {
		code                 int
		says, dir, note, key string
	}{
		{0, `extends 1 checkpoint in `, dir, first, ""},
		{0, `extends 1 checkpoint in `, dir, second, key},
		{0, `extends 2 checkpoints in `, dir, first + "\n" + second, ""},
		{0, `extends 2 checkpoints in `, dir, "\n\n" + first + "\n\n\n" + second + "\n\n", ""},
		{0, `extends 1 checkpoint in `, cut, first, ""},
		{1,
			`two histories: this journal and the note are both signed by waybill/.*line 3 of .*000001.jsonl .seq 3, byte \d+.: lines from seq 3 on are missing; a checkpoint in the file given proves that seq 4`, cut, first + "\n" + second, ""},
		{1,
			`two histories: .*line 2 of .*000001.jsonl .seq 2, byte \d+.: is not the line that the checkpoint in the file given signed`, anew, first, ""},
		{1, `seq 4, byte .*: is not the line that the checkpoint .*none of the older checkpoints fits`, anew, second, ""},
		{1, `is signed with another key`, dir, first, content(t, other, "checkpoint.pub")},
		{1, `(?m)^waybill: another journal: .*is signed with another key`, dir, content(t, other, "checkpoint"), ""},
		{1, `(?m)^waybill: another journal: .*is of another journal`, dir, content(t, other, "checkpoint"), content(t, other, "checkpoint.pub")},
		{1, `has no checkpoint: no line, from the first on, is the name of a journal`, dir, "hello\n", ""},
		{1, `has a signature that is not over these lines`, dir, strings.Replace(first, "\n2\n", "\n4\n", 1), ""},
		{1, `has no checkpoint`, dir, "\n", ""},
		{1, `-key \S+ is not an Ed25519 public key`, dir, first, "hello\n"},
		{1, `-key \S+ is a verifier key, as witnesses take it: give checkpoint.pub`, dir, first,
			want(t, 0, "", "checkpoint", "-key", "-data", dir)},
	} {
		args := []string{"verify", "-data", c.dir, "-against", written(t, c.note)}
		if c.key != "" {
			args = append(args, "-key", written(t, c.key))
		}
		want(t, c.code, c.says, args...)
	}
	want(t, 1, "no such file", "verify", "-data", dir, "-against", filepath.Join(dir, "none"))
	want(t, 1, "no such file", "verify", "-data", dir, "-against", filepath.Join(dir, "checkpoint"), "-key",
		filepath.Join(dir, "none"))
	want(t, 1, "no data directory at", "verify", "-data", t.TempDir(), "-against",
		filepath.Join(dir, "checkpoint"))
}

// Decision verify.wrapped: what editors and mail programs put around kept notes and a key decides no verdict,
// of either auditor, and is said. Anything else is named, with its line.
func TestVerifyAgainstALetter(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	note := want(t, 0, "", "checkpoint", "-data", dir)
	key := content(t, dir, "checkpoint.pub")
	each := func(line string) func(string) string {
		return func(text string) string {
			return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", line) + line
		}
	}
	lines := strings.SplitAfter(note, "\n")
	without := func(i int, with string) string {
		return strings.Join(slices.Concat(lines[:i], []string{with}, lines[i+1:]), "")
	}
	for _, c := range []struct {
		code      int
		says      string // by both, where it is the same
		note, key string
	}{
		{0, "", note, key},
		{0, "", note + "\n" + note, key},
		{0, `\(lines: 1\); other text \(lines: 0\)`, "\ufeff" + note, "\ufeff" + key},
		{0, `\(lines: 6\); other text \(lines: 0\)`, each("\r\n")(note), each("\r\n")(key)},
		{0, `\(lines: 6\); other text \(lines: 0\)`, each(" \t\n")(note), each(" \t\n")(key)},
		{0, `\(lines: 1\); other text \(lines: 0\)`, strings.TrimSuffix(note, "\n"), strings.TrimSuffix(key, "\n")},
		{0, `\(lines: 8\); other text \(lines: 0\)`, "> " + each("\n> ")(note), "> " + each("\n> ")(key)},
		{0, `\(lines: 8\); other text \(lines: 0\)`, "> >" + each("\r\n>> ")(note), key},
		{0, `\(lines: 1\); other text \(lines: 4\)`, "Dear all,\n\nthis is it:\n" + note + "-- \nJohn\n", "My key:\n" + key},
		{0, `\(lines: 0\); other text \(lines: 1\)`, note + "hello\n" + note, key + "\n-- \nJohn\n"},
		{1, `line 4 .*is not hash, 64 hex digits`, without(3, "hash 12\n"), key},
		{1, `line 4 .*is not a number of lines`, "a\n\n" + without(1, "2 lines\n"), key},
		{1, `line 5 .*is not an empty line`, without(4, ""), key},
		{1, `line 2 .*is not a number of lines, but`, strings.ReplaceAll(note, "\n", "\n\n"), key},
		{1, `line 6 .*is not a signature`, strings.Join(lines[:5], ""), key},
		{1, `line 6 .*is not a signature`, without(5, strings.Replace(lines[5], " ", "\n", 2)), key},
		{1, `line 7 .*is not a signature`, note + "— John\n", key},
		{1, `line 1 .*is not the name of a journal`, without(0, " "+lines[0]), key},
		{1, `line 2 .*is not the name of a journal.* ['"]Max> waybill`, "Max> \nMax> " + each("\nMax> ")(note), key},
		{0, `\(lines: 6\); other text \(lines: 0\)`, each("\u00a0\n")(note), each("\u00a0\n")(key)},
		{0, `\(lines: 6\); other text \(lines: 0\)`, each("\u2003\u3000\n")(note), each("\u2003\u3000\n")(key)},
		{1, `line 4 .*\.\d{3}Z\\u2028`, without(3, strings.TrimSpace(lines[3])+"\u2028\n"), key},
		{1, `line 4 .*: lines 4 to 5 are one line`, without(3, strings.Replace(lines[3], " time", " \ntime", 1)), key},
		{1, `line 4 .*: lines 4 to 5 are one line`, "> " + each("\n> ")(without(3, lines[3][:72]+"\n"+lines[3][72:])), key},
		{1, `line 6 .*: lines 6 to 8 are one line`, without(5, lines[5][:40]+"\n"+lines[5][40:90]+"\n"+lines[5][90:]), key},
		{1, `line 6 .*— \(U\+2014\), .*\\u2013 waybill`, without(5, "–"+strings.TrimPrefix(lines[5], "—")), key},
		{1, `line 6 .*=3D['"]; it is a mail in the form that it is sent`,
			"Content-Transfer-Encoding: quoted-printable\n\n\n" + strings.ReplaceAll(note, "=", "=3D"), key},
		{1, `no line.*; it is a mail in the form`, "content-transfer-encoding:base64\n\nd2F5Ymls\n", key},
		{1, `line 8 .*is not the name of a journal`, note + "\n" + lines[5], key},
		{1, `line 7 .*is not the name of a journal`, note + "-" + lines[5][3:], key},
		{1, `(checkpoint at line 3|on the note of line 4)`, "x\n\n" + without(1, "4\n"), key},
		{1, `line 2 .*is not a number of lines, but ['"]{2}\n`, strings.ReplaceAll(note, "\n", "\n\n"), key},
		{1, `no line, from the first on, is the name of a journal.*UTF-16: save it as UTF-8`, "h\x00e\x00", key},
		{1, `not .*an Ed25519`, note, "> hello\n"},
	} {
		args := []string{"verify", "-data", dir, "-against", written(t, c.note), "-key", written(t, c.key)}
		said := want(t, c.code, c.says, args...)
		if rig.Has(t, "python3") {
			script := append([]string{"-I", "-S", rig.File("server/docs/audit.py"), dir}, args[3:]...)
			cmd := exec.Command("python3", script...)
			out, _ := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != c.code || !matches(c.says, string(out)) {
				t.Errorf("%q: audit.py ends with %v and says %s", c.note, cmd.ProcessState, out)
			}
			said += string(out)
		}
		if c.says == "" && strings.Contains(said, "passed over") {
			t.Errorf("%q: %s", c.note, said)
		}
	}
	said := want(t, 0, "", "verify", "-json", "-data", dir, "-against", written(t, "\ufeff"+note))
	if r := verdictOf(t, said).Remarks; len(r) != 1 || r[0].Kind != "wrapped" || r[0].Seq != 0 {
		t.Errorf("%+v", r)
	}
}

// Decision copies.checked: a backup of a directory, in use or not, is one that verifies, starts, and knows
// the same key.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	to := t.TempDir()
	want(t, 2, "takes OUT", "backup", "-data", dir)
	want(t, 1, "", "backup", "-data", dir, filepath.Join(to, "none"))
	s := serve(t, "-data", dir)
	for _, name := range []string{"running", "stopped"} {
		out := filepath.Join(to, name)
		want(t, 0, `/`+name+` is sound and has all lines up to \d+, of 20`, "backup", "-data", dir, out)
		want(t, 1, "^waybill: "+out+" is there already\n$", "backup", "-data", dir, out)
		want(t, 0, `^sound: `, "verify", "-data", out)
		if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(info, err)
		}
		again := serve(t, "-data", out)
		if status, body := again.get(t, "/v2/bookings", s.key); status != 200 {
			t.Errorf("%s: %d %s", name, status, body)
		}
		again.stop()
		s.stop()
	}
	want(t, 0, `(?s)^sound: .*extends \d checkpoints`, "verify", "-data", filepath.Join(to, "stopped"),
		"-against", filepath.Join(dir, "checkpoints.log"))
	journal := filepath.Join(dir, firstFile)
	err := os.WriteFile(journal, bytes.Replace([]byte(content(t, journal)), []byte("timetable"),
		[]byte("timetaple"), 1), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	want(t, 1, "line 2 of", "backup", "-data", dir, filepath.Join(to, "damaged"))
}

// No verb that writes a file or a directory writes it into the one that it reads, whatever both are called.
func TestNothingIsWrittenIntoWhatIsRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"backup",
		"export",
		"repair -cut-at 2 -reason x",
		"evidence -booking AAAAAAAAAAAAAAAAAAAAAA",
	} {
		for data, out := range map[string]string{
			dir:        dir,
			dir + "/":  filepath.Join(dir, "journal", "e.zip"),
			link:       filepath.Join(dir, "journal", "e.zip"),
			dir + "/.": filepath.Join(link, "journal", "e.zip"),
		} {
			args := append(strings.Fields(line), out)
			want(t, 1, "^waybill: "+out+" is inside the data directory\n$",
				slices.Insert(args, 1, "-data", data)...)
		}
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("%v is now %v, %v", before, after, err)
	}
	want(t, 0, "^sound", "verify", "-data", dir)
}

// Decision copies.checked: a repair writes what is before a damaged line elsewhere, says so in the journal,
// and does not deceive who kept a checkpoint.
func TestRepair(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	to := t.TempDir()
	s := serve(t, "-data", dir)
	want(t, 1, "a server is running", "repair", "-data", dir, "-cut-at", "3", "-reason", "x",
		filepath.Join(to, "a"))
	s.stop()
	journal := filepath.Join(dir, firstFile)
	lines := strings.SplitAfter(content(t, journal), "\n")
	lines[2] = strings.Replace(lines[2], `"data":`, `"date":`, 1)
	if err := os.WriteFile(journal, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, 1, "damaged: .*line 3 of", "verify", "-data", dir)
	want(t, 65, "line 3 of", "serve", "-data", dir, "-addr", "127.0.0.1:0")
	for says, args := range map[string][]string{
		"-cut-at must be a seq from 2 on": {"-reason", "x", "out"},
		"-cut-at must be a seq":           {"-cut-at", "1", "-reason", "x", "out"},
		"invalid value":                   {"-cut-at", "three", "-reason", "x", "out"},
		"-reason must be given":           {"-cut-at", "3", "-reason", " ", "out"},
		"takes OUT":                       {"-cut-at", "3", "-reason", "x"},
	} {
		want(t, 2, says, append([]string{"repair", "-data", dir}, args...)...)
	}
	want(t, 1, "the lines to be kept are not good: .*line "+
		"3", "repair", "-data", dir, "-cut-at", "4", "-reason",
		"x", filepath.Join(to, "b"))
	want(t, 1, "is inside the data directory", "repair", "-data", dir, "-cut-at", "3", "-reason", "x",
		filepath.Join(dir, "journal", "b"))
	out := filepath.Join(to, "good")
	want(t, 0, `good is sound and has the lines before 3; line 3 says what was cut\n$`, "repair", "-data", dir,
		"-cut-at", "3", "-reason", "a bit flipped", out)
	want(t, 0, `^sound: 3 lines`, "verify", "-data", out)
	want(t, 1, "good is there already", "repair", "-data", dir, "-cut-at", "3", "-reason", "x", out)
	want(t, 0, `a bit flipped.*; by `, "log", "-data", out)
	want(t, 1, `two histories: .*a repair cut the journal at seq 3: a bit flipped`,
		"verify", "-data", out, "-against", filepath.Join(dir, "checkpoint"))
	again := serve(t, "-data", out)
	again.stop()
	want(t, 0, `^sound: \d+ lines`, "verify", "-data", out)
	want(t, 1,
		`two histories: .*covers line \d+ of \S+, which this directory left after line 3 to become waybill/\S+; a repair cut`,
		"verify", "-data", out, "-against", filepath.Join(dir, "checkpoint"))
	if content(t, journal) != strings.Join(lines, "") {
		t.Error("the repair changed the damaged journal")
	}
}

// Decision verify.missing: a file of the directory that is missing is named, with what that means and what
// there is to do, and not in the words of the system.
func TestVerifyNamesAFileThatIsMissing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "in force", "import", "-data", dir, "../../testdata/demo")
	for name, says := range map[string]string{
		"FORMAT": "is missing, but there is a journal.*is incomplete; serve a backup instead",
		"checkpoint.pub": "is missing, but there are checkpoints.*; with checkpoint.key the next start " +
			"makes it again; serve a backup",
		"checkpoints.log": "is missing, but there is a checkpoint.*; the next start begins a new " +
			"file; serve a backup",
	} {
		left := cloned(t, dir)
		if err := os.Remove(filepath.Join(left, name)); err != nil {
			t.Fatal(err)
		}
		_, stdout, stderr := run(t, nil, "verify", "-data", left)
		named := matches(`^waybill: damaged: `+name+`: `+says, stderr)
		if !named || strings.Contains(stderr, "open ") {
			t.Errorf("%s: %s%s", name, stdout, stderr)
		}
		want(t, 1, `(?s)"kind": "damaged",\s*"file": "`+name, "verify", "-json", "-data", left)
		if name == "FORMAT" {
			want(t, 1, "^waybill: .*FORMAT: is missing, but there is a journal", "log", "-data", left)
			continue
		}
		want(t, 0, "in force", "import", "-data", left, "../../testdata/demo")
		want(t, 0, "^sound: ", "verify", "-data", left)
	}
}

// Decision copies.missing: the command that verify advises works where somebody was forgotten after the
// damage, also where the line that says so is the damaged one.
func TestRepairAfterForget(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "-data", dir)
	s.book(t)
	_, booked := s.get(t, "/v2/bookings", s.key)
	s.book(t)
	id := regexp.MustCompile(`"id":"([^"]{22})"`).FindStringSubmatch(booked)[1]
	want(t, 0, "(?m)^erased: ", "forget", "-data", dir, "-booking", id, "-reason", "asked")
	s.stop()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, c := range []struct{ file, kind, says string }{
		{files[0], "booking.created", `line \d+ says what was cut\n$`},
		{files[1], "personal.erased", `were erased: 1, which line \d+ names\n$`},
	} {
		whole := content(t, c.file)
		at := strings.LastIndex(whole, `"type":"`+c.kind)
		spoilt := whole[:at] + `"tipe` + whole[at+len(`"type`):]
		if err := os.WriteFile(c.file, []byte(spoilt), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, advice := run(t, nil, "verify", "-data", dir)
		seq := regexp.MustCompile(`-cut-at (\d+)`).FindStringSubmatch(advice)
		if seq == nil {
			t.Fatal("verify advises no repair: ", advice)
		}
		out := filepath.Join(t.TempDir(), "good")
		want(t, 0, c.says, "repair", "-data", dir, "-cut-at", seq[1], "-reason", "x", out)
		want(t, 0, "^sound: ", "verify", "-data", out)
		if err := os.WriteFile(c.file, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
