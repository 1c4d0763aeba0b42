package command

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/ports"
	"waybill/server/lab/rig"
)

// run runs a command to its end.
func run(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	// A server ends as soon as it serves. Verbs that read go on to their end.
	stop := make(chan struct{})
	reading := []string{"verify", "log", "backup", "export", "repair", "checkpoint", "tail", "evidence",
		"statement", "receive"}
	if len(args) == 0 || !slices.Contains(reading, args[0]) {
		close(stop)
	}
	code = Main(&Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Stop: stop,
		Env:  func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	// A child that a parallel test begins has all that is open here until its exec: also a directory's lock,
	// which a process that comes next would find in use.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return code, out.String(), errs.String()
}

// executable writes a program. None that a parallel test begins has it open to write still, as until its exec
// it has all that is open here: what is being written cannot be run.
func executable(path string, text []byte) error {
	err := os.WriteFile(path, text, 0o700)
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return err
}

// want runs a command and checks its exit code and that its output, of both kinds, matches.
func want(t *testing.T, code int, pattern string, args ...string) string {
	t.Helper()
	got, stdout, stderr := run(t, nil, args...)
	if got != code || !regexp.MustCompile(pattern).MatchString(stdout+stderr) {
		t.Errorf("waybill %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, pattern,
			stdout, stderr)
	}
	return stdout
}

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

// output is a Writer that tells when a pattern has come.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	for {
		line, rest, ok := bytes.Cut(o.text.Bytes(), []byte("\n"))
		if !ok {
			return len(b), nil
		}
		select {
		case o.lines <- string(line):
		default: // nobody reads that many
		}
		o.text.Next(o.text.Len() - len(rest))
	}
}

// serving is a server that runs until stop.
type serving struct {
	addr, key, control string
	stop               func() int
}

// serve serves. A directory that is not there yet, and that no flag has a say in, is a copy of a demo.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	key := ""
	if len(args) == 2 && args[0] == "-data" {
		key = copyDemo(t, args[1])
	}
	s := serveTLS(t, nil, args...)
	s.key = cmp.Or(s.key, key)
	return s
}

// serveTLS serves over TLS with a certificate of the pool, unless there is none.
func serveTLS(t *testing.T, pool *x509.CertPool, args ...string) *serving {
	t.Helper()
	client := http.DefaultClient
	scheme := "http://"
	if pool != nil {
		client = &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool},
			DisableKeepAlives: true,
		}}
		scheme = "https://"
	}
	stdout := &output{lines: make(chan string, 1000)}
	stderr := &output{lines: make(chan string, 1000)}
	end := make(chan struct{})
	code := make(chan int, 1)
	go func() {
		code <- Main(&Process{
			Args:   append([]string{"serve", "-addr", "127.0.0.1:0"}, args...),
			Stdout: stdout,
			Stderr: stderr,
			Stop:   end,
			Env:    func(string) (string, bool) { return "", false },
		})
	}()
	s := &serving{stop: sync.OnceValue(func() int { close(end); return <-code })}
	t.Cleanup(func() { s.stop() })
	var said strings.Builder
	for s.addr == "" {
		select {
		case line := <-stderr.lines:
			said.WriteString(line + "\n")
			if m := servingAt.FindStringSubmatch(line); m != nil {
				s.addr = m[1]
			}
		case c := <-code:
			code <- c
			for len(stderr.lines) > 0 {
				said.WriteString(<-stderr.lines + "\n")
			}
			t.Fatalf("serve %v ended with %d\n%s", args, c, &said)
		}
	}
	resp, err := client.Get(scheme + s.addr + "/readyz")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(err, resp)
	}
	resp.Body.Close()
	for len(stdout.lines) > 0 {
		switch name, value, _ := strings.Cut(<-stdout.lines, "="); name {
		case "KEY":
			s.key = value
		case "CONTROL":
			s.control = value
		}
	}
	return s
}

func (s *serving) get(t *testing.T, path, key string) (int, string) {
	t.Helper()
	r, _ := http.NewRequest("GET", "http://"+s.addr+path, nil)
	r.Header.Set("x-api-key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// Decision verbs.exits: 2 is what the command line alone shows wrong.
func TestUsage(t *testing.T) {
	t.Parallel()
	want(t, 2, "there is no command", "sell")
	want(t, 2, "there is no command", "partner", "sack")
	want(t, 2, "there is no flag -colour; .waybill help serve. says more", "serve", "-colour")
	want(t, 2, "operands", "import")
	want(t, 2, "operands", "partner", "add", "a", "b")
	want(t, 2, "-provider-url: .* http or https", "serve", "-provider-url", "provider:80")
	want(t, 2, "-messenger-url: .* http or https", "serve", "-messenger-url", "ftp://phones")
	want(t, 2, "is not HOST:PORT", "serve", "-smtp", "mail")
	want(t, 2, "sender: .x. is not a bare", "serve", "-smtp-from", "x")
	want(t, 2, "need -smtp", "serve", "-smtp-tls", "starttls")
	want(t, 78, "-smtp-password-file: open", "serve", "-smtp", "mail:25", "-smtp-password-file", "nowhere")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, 78, "-smtp-password-file: the first line of .* is empty", "serve", "-smtp", "mail:25",
		"-smtp-password-file", empty)
	want(t, 78, "-smtp-password-file: open .* is not a regular file", "serve", "-smtp", "mail:25",
		"-smtp-password-file", os.DevNull)
	want(t, 78, "-smtp-password-file: the first line of .* must be UTF-8", "serve", "-smtp", "mail:25",
		"-smtp-password-file", written(t, "\xff\xfes\x00e\x00\n\x00"))
	want(t, 2, "-max-transfers", "serve", "-max-transfers", "2")
	want(t, 2, "-letters-days must be from 1 to 3650", "serve", "-letters-days", "0")
	want(t, 2, "-letters-days must be from 1 to 3650", "serve", "-letters-days", "3651")
	want(t, 2, "-legacy-since .yesterday. is not an instant", "serve", "-legacy-since", "yesterday")
	want(t, 2, "-addr", "serve", "-addr", "nowhere")
	want(t, 2, "-log-level", "serve", "-log-level", "loud")
	want(t, 2, "not an id", "log", "-booking", "x")
	want(t, 2, "-at", "log", "-at", "x")
	// Decision timetable.bounds: there is one range of years.
	for _, line := range []string{
		"serve -legacy-since 2200-01-01T00:00:00Z", "log -at 1969-12-31T23:59:59Z",
		"statement -from 1969-12-31 -to 2026-11-20", "statement -from 2026-11-20 -to 2200-01-01",
		"run cancel -reason snow kl-0700 2200-01-01", "manifest kl-0700 1969-12-31",
	} {
		want(t, 2, "waybill: .*, of the years 1970 to 2199", strings.Fields(line)...)
	}
	want(t, 2, "takes OUT after its flags", "export")
	want(t, 2, "name is not valid UTF-8", "partner", "add", "a\xff")
	want(t, 2, "-reason has more than 500 characters", "forget", "-email", "a@example.com", "-reason",
		strings.Repeat("x", 501))
	want(t, 0, "distributes bus tickets", "-h")
	want(t, 0, "(?s)It serves the pages until it is\\sstopped", "desk", "-h")
	want(t, 0, "(?s)All who were sold together go\\s+together.*each ticket is named first", "forget", "-h")
	want(t, 0, "dependencies", "version")
	for _, v := range verbs {
		stdout := want(t, 0, "waybill "+v.name, append(strings.Fields(v.name), "-h")...)
		if strings.Contains(stdout, "flag provided") {
			t.Errorf("%s -h: %s", v.name, stdout)
		}
	}
	code, _, stderr := run(t, map[string]string{"WAYBILL_MAX_TRANSFERS": "7"}, "serve")
	if code != 2 || !strings.Contains(stderr, "-max-transfers") {
		t.Errorf("the environment sets no flag: %d, %s", code, stderr)
	}
	code, _, stderr = run(t, map[string]string{"WAYBILL_IMPORT_STRICT": "maybe"}, "import", "x")
	if code != 2 || !strings.Contains(stderr, "WAYBILL_IMPORT_STRICT") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// Decision verbs.environment: a variable with a verb's name is of that verb, a short one of serve alone, but
// for the directory, and for the address that ready asks; an empty one is none. What writers of files of
// variables put around a value is not of it. A verb that lacks a flag
// names the variable that it would take, where the short one is set.
func TestAVariableIsOfOneVerb(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", dir, demoFeed)
	const nobody = "http://127.0.0.1:1"
	for _, c := range []struct{ env, line, says string }{
		{"WAYBILL_ADDR=0.0.0.0:8080 WAYBILL_DATA=" + dir, "desk", "no server has " + dir + " open"},
		{"WAYBILL_DESK_ADDR=0.0.0.0:8080", "desk", "-addr"},
		{"WAYBILL_KEY=x WAYBILL_AGAINST=x WAYBILL_DATA=" + dir, "verify", "sound"},
		{"WAYBILL_VERIFY_AGAINST=nowhere WAYBILL_DATA=" + dir, "verify", "open nowhere"},
		{"WAYBILL_FORMAT=x WAYBILL_DATA=" + dir, "tail", `{"hash":`},
		{"WAYBILL_TAIL_FORMAT=x WAYBILL_DATA=" + dir, "tail", `-format "x"`},
		{"WAYBILL_DATA=nowhere WAYBILL_LOG_DATA=" + dir, "log", "opened"},
		{"WAYBILL_ADDR=" + nobody, "ready", nobody},
		{"WAYBILL_ADDR=x WAYBILL_SERVE_ADDR=" + nobody, "ready", nobody},
		{"WAYBILL_SERVE_ADDR=x WAYBILL_READY_ADDR=" + nobody, "ready", nobody},
		{"WAYBILL_RATE=x WAYBILL_SERVE_RATE=y", "serve", `-rate "y"`},
		{"WAYBILL_RATE= WAYBILL_MAX_TRANSFERS=7", "serve", "-max-transfers"},
		{"WAYBILL_SERVE_RATE= WAYBILL_RATE=x", "serve", `-rate "x"`},
		{"WAYBILL_TICKET_CHECK_KEY=nowhere", "ticket check x", "-key: open nowhere"},
		{"WAYBILL_REASON=x", "forget -booking " + strings.Repeat("A", 22),
			"-reason must be given; WAYBILL_REASON is not read here, but WAYBILL_FORGET_REASON is"},
		{"WAYBILL_REASON=", "forget -booking " + strings.Repeat("A", 22), "-reason must be given\n"},
		{"WAYBILL_FROM=2026-11-20", "statement -to 2026-11-20", "but WAYBILL_STATEMENT_FROM is"},
		{"WAYBILL_DATA=~" + dir + "\r", "verify", "sound"},
		{"WAYBILL_RATE=~\r WAYBILL_MAX_TRANSFERS=7\r", "serve", "-max-transfers must be"},
		{"WAYBILL_DATA=\"\"", "serve", `WAYBILL_DATA="": the quotes are part of the value; leave them out`},
		{"WAYBILL_DATA='" + dir + "'", "verify", "WAYBILL_DATA='" + dir + "': the quotes are"},
		{"WAYBILL_TRUSTED_PROXY=10.0.0.0/8,~fd00::/8 WAYBILL_CORS_ORIGIN=https://a.example,~https://b/", "serve",
			`-cors-origin "https://b/" is not`},
		{"WAYBILL_SECURE_COOKIES=yes", "serve", `WAYBILL_SECURE_COOKIES="yes" cannot be read as true or false: `},
		{"WAYBILL_MAX_TRANSFERS=1.0", "serve", `WAYBILL_MAX_TRANSFERS="1.0" cannot be read as number: `},
		{"WAYBILL_LETTERS_DAYS=030", "serve", `WAYBILL_LETTERS_DAYS="030" cannot be read as days: a number must not begin`},
		{"", "serve -letters-days 030", `invalid value "030" for flag -letters-days: a number must not begin`},
	} {
		env := map[string]string{}
		for set := range strings.SplitSeq(c.env, " ") {
			name, value, _ := strings.Cut(set, "=")
			env[name] = strings.ReplaceAll(value, "~", " ")
		}
		_, stdout, stderr := run(t, env, strings.Fields(c.line)...)
		if !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s waybill %s\n%s%s\nwant %s", c.env, c.line, stdout, stderr, c.says)
		}
	}
	named := map[string]string{}
	for _, v := range verbs {
		for _, o := range v.flags {
			for _, name := range v.variables(o.name) {
				what := v.name + " -" + o.name
				if other := named[name]; other != "" && v.name != "ready" {
					t.Errorf("%s is of %s and of %s", name, other, what)
				}
				named[name] = what
			}
		}
	}
}

// Decision verbs.help: help is there for all, for each verb and each group, in whatever way it is asked for,
// and is no failure; nor is the version.
func TestHelpIsNoFailure(t *testing.T) {
	t.Parallel()
	all := `(?s)Without a command it serves, as "waybill serve" does.*\n  serve .*\n  version .*\n  partner add `
	for _, words := range []string{"-h", "-help", "--help", "help", "help help", "help -h"} {
		want(t, 0, all, strings.Fields(words)...)
	}
	for _, words := range []string{"version", "-version", "--version"} {
		want(t, 0, "(?s)^waybill .*dependencies", words)
	}
	groups := map[string]bool{}
	for _, v := range verbs {
		word, _, grouped := strings.Cut(v.name, " ")
		if grouped {
			groups[word] = true
		}
		page := "^waybill " + v.name + " [[]flags[]]"
		want(t, 0, page, strings.Fields("help "+v.name)...)
		for _, flag := range []string{"-h", "-help", "--help"} {
			want(t, 0, page, strings.Fields(v.name+" "+flag)...)
		}
	}
	if len(groups) < 5 {
		t.Fatalf("the groups are %v", groups)
	}
	for name := range groups {
		for _, words := range []string{"help " + name, name + " -h", name + " --help", name + " help"} {
			want(t, 0, "^  "+name+" ", strings.Fields(words)...)
		}
	}
}

// Decision verbs.help: a mistyped verb or flag gets one line, with the nearest that there is and how to see
// them all.
func TestWhatIsMistypedGetsTheNearest(t *testing.T) {
	t.Parallel()
	line := func(pattern string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(t, nil, args...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !matches(pattern, stderr) {
			t.Errorf("waybill %s: %d, %q, want %s", args, code, stdout+stderr, pattern)
		}
	}
	for _, v := range verbs {
		typed := strings.Fields(v.name)
		last := &typed[len(typed)-1]
		*last = (*last)[:len(*last)-1] + "x" // its last letter is wrong
		line(`^waybill: there is no command ".*"; did you mean .*[?] "waybill help" lists all`, typed...)
		c := (&Process{}).newCall(&v)
		c.VisitAll(func(f *flag.Flag) {
			if len(f.Name) < 3 { // one letter of two may be wrong
				return
			}
			wrong := "-" + f.Name[:len(f.Name)-1] + "_"
			typed := append(strings.Fields(v.name), wrong)
			nearest := `there is no flag ` + wrong + `; did you mean -.*[?] `
			line(nearest+`"waybill help `+v.name+`" says more`, typed...)
		})
	}
	line(`"serv"; did you mean serve[?]`, "serv")
	line(`"partner ad"; did you mean partner add[?]`, "partner", "ad")
	line(`"pratner"; did you mean partner[?]`, "pratner", "add")
	line(`no flag -adr; did you mean -addr[?] "waybill help serve"`, "-adr", ":1")
	line(`partner is a group of commands: add, .*; "waybill help partner" says more`, "partner")
	line(`there is no command "zzzzzz"; "waybill help" lists all`, "zzzzzz")
}

// Decision verbs.both: one implementation of each verb, with and without a running server.
func TestVerbsWorkBesideAServerAndWithout(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 1, "no data directory at", "partner", "list", "-data", dir)
	want(t, 0, "(?s)agency.txt: 4 rows.*0 rows skipped.*is in force", "import", "-data", dir, "-strict",
		"../../testdata/demo")
	over := t.TempDir()
	if err := os.CopyFS(over, rig.FeedWith(t, map[string][][2]string{
		"calendar.txt":       {{"20240101,20361231", "20140101,20161231"}},
		"calendar_dates.txt": {{",202", ",201"}},
	})); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	want(t, 1, "with -strict nothing is changed", "import", "-data", none, "-strict", over)
	want(t, 0, "no day of the feed is left.*\ndry run", "import", "-data", none, "-dry-run", over)
	if _, err := os.Stat(none); err == nil {
		t.Error("a feed of which no day is left has made a directory")
	}
	const alone = `No server is running\..*\n`
	key := strings.TrimSpace(want(t, 0, `^wb_\S{43}\n`+alone+`$`, "partner", "add", "-data", dir, "anna"))
	for _, live := range []bool{false, true} {
		var s *serving
		if live {
			s = serve(t, "-data", dir)
			if status, body := s.get(t, "/v2/bookings", key); status != 200 {
				t.Errorf("status %d: %s", status, body)
			}
			want(t, 73, "in use", "serve", "-addr", "127.0.0.1:0", "-data", dir)
		}
		name := fmt.Sprint("live ", live)
		said := `^wb_\S{43}\n` + alone + `$`
		if live {
			said = `^wb_\S{43}\n$`
		}
		want(t, 0, said, "partner", "add", "-data", dir, "-company", "zorevia-lines, vltavia-bus",
			name)
		want(t, 0, name+"  since .*only zorevia-lines,vltavia-bus", "partner", "list", "-data", dir)
		want(t, 0, "1 key revoked", "partner", "revoke", "-data", dir, name)
		want(t, 1, "no valid key", "partner", "revoke", "-data", dir, name)
		want(t, 0, "dry run", "import", "-data", dir, "-dry-run", "../../testdata/demo")
		want(t, 1, "not a GTFS feed", "import", "-data", dir, "..")
		want(t, 1, "has days until 2037-01-01", "import", "-data", dir, "-dry-run", over)
		want(t, 2, "-fare-per-km", "import", "-data", dir, "-fare-per-km", "cheap", "../../testdata/demo")
		want(t, 1, "there is no such ticket", "ticket", "move", "-data", dir, "AAAAAAAAAAAAAAAAAAAAAA", "new")
		want(t, 2, "not a ticket's id", "ticket", "status", "-data", dir, "x", "Prepaid")
		want(t, 0, "new key", "key", "rotate", "-data", dir)
		want(t, 0, `^sound: \d+ lines`, "verify", "-data", dir)
		want(t, 0, `partner.key_added`, "log", "-data", dir)
		out := filepath.Join(t.TempDir(), "out")
		want(t, 0, `out has all lines up to \d+, of 20.*out/schema.sql`, "export", "-data", dir, out)
		want(t, 1, "out is there already", "export", "-data", dir, out)
		if live && s.stop() != 0 {
			t.Error("the server did not end with 0")
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "journal/000000000001.jsonl"))
	if err != nil || strings.Contains(string(text), key) {
		t.Error("the journal shows a key", err)
	}
}

// Decision start.demo: a new, empty directory gets the demo network once, on a loopback address.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, "-data", filepath.Join(dir, "a"))
	if status, body := s.get(t, "/v2/bookings", s.key); status != 200 {
		t.Errorf("the shown key: %d %s", status, body)
	}
	want(t, 0, "partner add: .demo.*; by ", "log", "-data", filepath.Join(dir, "a"))
	if info, err := os.Stat(filepath.Join(dir, "a/admin.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s.stop()
	if again := serve(t, "-data", filepath.Join(dir, "a")); again.key != "" {
		t.Error("a second start shows a key")
	}
}

// Decision verbs.exits: exit codes of serve, as in sysexits.h.
func TestServeExitCodes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", dir, "../../testdata/demo")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	elsewhere := "in use; -addr 127.0.0.1:0 takes a port that is free"
	want(t, 1, elsewhere, "serve", "-data", dir, "-addr", taken.Addr().String())
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	want(t, 78, "too long for its socket", "serve", "-data", long, "-addr", "127.0.0.1:0")
	want(t, 78, "too long for its socket", "partner", "add", "-data", long, "x")
	want(t, 78, `too long for its socket \(at most \d+ bytes`, "receive", "-keeper", long)
	if _, err := os.Stat(long); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is refused is there: %v", err)
	}
	// A newer format, then damage.
	format := filepath.Join(dir, "FORMAT")
	text, err := os.ReadFile(format)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(format, bytes.Replace(text, []byte(" v3 "), []byte(" v4 "), 1), 0o600)
	want(t, 78, "newer", "serve", "-data", dir, "-addr", "127.0.0.1:0")
	want(t, 1, "newer", "verify", "-data", dir)
	os.WriteFile(format, text, 0o600)
	journal := filepath.Join(dir, "journal/000000000001.jsonl")
	lines, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(journal, append(lines, `{"hash":"torn`...), 0o600)
	want(t, 3, "torn tail: line 3 of journal/000000000001.jsonl .seq 3, byte [0-9]+.", "verify", "-data", dir)
	os.WriteFile(journal, bytes.Replace(lines, []byte("timetable.imported"), []byte("timetable.exported"), 1),
		0o600)
	want(t, 65, "line 2 of journal/000000000001.jsonl .seq 2, byte [0-9]+.", "serve", "-data", dir, "-addr",
		"127.0.0.1:0")
	want(t, 1, "damaged: line 2 of .*.seq 2, byte [0-9]+.", "verify", "-data", dir)
}

// Decision legacy.sunset: -legacy-since is when the legacy interface was deprecated, as its guide tells.
func TestLegacySince(t *testing.T) {
	t.Parallel()
	s := serve(t, "-data", filepath.Join(t.TempDir(), "data"), "-legacy-since", "2026-06-01T15:00:00+03:00")
	status, page := s.get(t, "/docs/migration", "")
	if status != 200 || !strings.Contains(page, "since <strong>Mon, 01 Jun 2026 12:00:00 UTC") {
		t.Errorf("%d: %s", status, page)
	}
}

// Decision errors.plain: only what net/http refuses before there is a request is plain; the rest is the
// envelope, over TCP too.
func TestOverTCP(t *testing.T) {
	t.Parallel()
	s := serve(t, "-data", filepath.Join(t.TempDir(), "data"))
	send := func(text string) string {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, text)
		b, _ := io.ReadAll(c)
		return string(b)
	}
	head := " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: " + s.key + "\r\n"
	large := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 300<<10, strings.Repeat(" ", 300<<10))
	for request, want := range map[string]string{
		"GET /v2/nothing" + head + "\r\n":  `(?s)404 Not Found.*"errorCode":"NOT_FOUND"`,
		"GET //v2/cities" + head + "\r\n":  `(?s)404 Not Found.*"errorCode":"NOT_FOUND"`,
		"OPTIONS *" + head + "\r\n":        `(?s)(404 Not Found.*"errorCode":"NOT_FOUND"|200 OK)`,
		"BREW /v2/cities" + head + "\r\n":  `(?s)405 Method Not Allowed.*Allow: GET, HEAD`,
		"HEAD /v2/cities" + head + "\r\n":  `(?s)200 OK.*Content-Length: [1-9]`,
		"POST /v2/bookings" + head + large: `(?s)413 Request Entity Too Large.*"errorCode":"BODY_TOO_LARGE"`,
		"POST /v2/bookings" + head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": `(?s)400 Bad Request.*"field":"offerId"`,
		"GET /v2/cities" + head + "x-api-key: " + s.key + "\r\n\r\n":                          `200 OK`,
		"GET /v2/bookings" + head + "x-api-key: " + s.key + "\r\n\r\n":                        `401 Unauthorized`,
		"GET /" + strings.Repeat("x", 40<<10) + head + "\r\n":                                 `431 Request Header Fields Too Large`,
	} {
		if got := send(request); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%.60q\n got %.300s\nwant %s", request, got, want)
		}
	}
}

// Decision start.demo: a new demo directory is ready once it has its partner.
func TestADemoIsReadyOnceItHasItsPartner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	addr := ports.Address(t)
	end := make(chan struct{})
	code := make(chan int, 1)
	go func() {
		code <- Main(&Process{
			Args:   []string{"serve", "-addr", addr, "-data", dir},
			Stdout: io.Discard,
			Stderr: io.Discard,
			Stop:   end,
			Env:    func(string) (string, bool) { return "", false },
		})
	}()
	for deadline := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not become ready")
		}
	}
	if _, stdout, _ := run(t, nil, "partner", "list", "-data", dir); !strings.Contains(stdout, "demo") {
		t.Errorf("it is ready, and has these partners: %q", stdout)
	}
	close(end)
	if c := <-code; c != 0 {
		t.Errorf("exit %d", c)
	}
}

// servingAt finds the address in the log of a server that has started.
var servingAt = regexp.MustCompile(`"msg":"serving","addr":"([^"]+)"`)
