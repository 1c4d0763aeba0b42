//go:build !lean

package command

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waybill/server/lab/ports"
)

// Decisions bench.flags, conform.stages: the flags of the test bench, ready and conform.

// What the command line alone shows wrong is exit 2, before anything is opened.
func TestTesterFlagsThatCannotBe(t *testing.T) {
	for line, says := range map[string]string{
		"serve -frozen":                                                    "-test-clock",
		"serve -vary":                                                      "-test-clock",
		"serve -seed 1":                                                    "-test-clock",
		"serve -test-control 127.0.0.1:0":                                  "-test-clock",
		"serve -test-clock tomorrow":                                       "-test-clock",
		"serve -test-clock now -seed x":                                    "number",
		"serve -test-clock now -seed -1":                                   "number",
		"serve -test-clock now -seed 1 -addr :0":                           "loopback",
		"serve -test-clock now -seed 1 -addr 0.0.0.0:0":                    "loopback",
		"serve -test-clock now -test-control :0":                           "loopback",
		"serve -test-clock now -test-control 192.0.2.1:0":                  "loopback",
		"serve -test-clock now -test-control nonsense":                     "loopback",
		"serve -worlds 2":                                                  "-test-clock",
		"serve -test-clock now -worlds 2":                                  "-test-control",
		"serve -test-clock now -test-control 127.0.0.1:0 -worlds 0":        "from 1 to 99",
		"serve -test-clock now -test-control 127.0.0.1:0 -worlds 100":      "from 1 to 99",
		"serve -test-clock now -test-control 127.0.0.1:65530 -worlds 6":    "not that many ports after 65530",
		"ready -addr ftp://127.0.0.1":                                      "URL",
		"ready -addr nonsense":                                             "URL",
		"ready -addr 127.0.0.1:":                                           "URL",
		"ready -addr 127.0.0.1:99999":                                      "URL",
		"ready -addr http://127.0.0.1:0":                                   "URL",
		"ready -wait -1s":                                                  "at least 0",
		"conform":                                                          "-base-url",
		"conform -base-url nonsense://x":                                   "URL",
		"conform -base-url http://127.0.0.1:1 -stage 11":                   "-stage",
		"conform -base-url http://127.0.0.1:1 -like http://127.0.0.1:2":    "-like-key",
		"conform -base-url http://127.0.0.1:1 -like nonsense://x":          "-like",
		"conform -base-url http://127.0.0.1:1 -email a@example.com":        "-password-file",
		"conform -base-url http://127.0.0.1:1 -stage -1":                   "-stage",
		"conform -base-url http://127.0.0.1:1 -from kyiv":                  "together",
		"conform -base-url http://127.0.0.1:1 -from a -to b -date soon":    "-date",
		"conform -base-url http://127.0.0.1:1 -key a -key2 a":              "two partners",
		"conform -base-url http://127.0.0.1:1 -control http://127.0.0.1:1": "-write",
		"conform -base-url http://127.0.0.1:1 -recorded x":                 "-recorded sends no request",
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		code, stdout, stderr := run(t, nil, strings.Fields(line)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("waybill %s: exit %d\n%s%s", line, code, stdout, stderr)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("waybill %s has made %v", line, left)
		}
	}
}

// A seed is for a new directory: exit 78. A directory that stands still goes on so, also without the flag.
func TestSeedIsForANewDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	clock := "2026-11-20T08:00:00Z"
	first := serve(t, "-data", dir, "-test-clock", clock, "-frozen", "-seed", "1")
	key := first.key
	first.stop()
	want(t, 78, "has lines already", "serve", "-data", dir, "-addr", "127.0.0.1:0", "-test-clock", clock,
		"-seed", "1")
	again := serve(t, "-data", dir, "-test-clock", "now")
	defer again.stop()
	_, body := again.get(t, "/test/clock", "")
	if body != `{"data":{"now":"2026-11-20T08:00:00.000Z","frozen":true}}`+"\n" {
		t.Error(body)
	}
	other := serve(t, "-data", filepath.Join(t.TempDir(), "data"), "-test-clock", "now", "-seed", "1")
	defer other.stop()
	if key == "" || other.key != key {
		t.Errorf("the keys of one seed are %q and %q", key, other.key)
	}
}

// Decision bench.vary: with the flag answers vary, without it they do not.
func TestServeVaries(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var answers []string
	for _, flags := range [][]string{nil, {"-vary"}, nil} {
		s := serve(t, append([]string{"-data", dir, "-test-clock", "now"}, flags...)...)
		_, body := s.get(t, "/v2/cities/kyiv", "")
		answers = append(answers, body)
		s.stop()
	}
	if answers[0] != answers[2] || answers[0] == answers[1] {
		t.Errorf("%q", answers)
	}
}

// ready: 0 when /readyz is 200, else 1. conform: 0, 1 where a rule failed, and the interface as a checklist.
func TestReadyAndConform(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, "-data", filepath.Join(dir, "data"), "-test-clock", "2026-11-20T08:00:00Z", "-test-control",
		"127.0.0.1:0")
	url := "http://" + s.addr
	asks(t, 0, "^$", "ready", "-addr", url)
	asks(t, 0, "^$", "ready", "-addr", s.addr)
	report := filepath.Join(dir, "junit.xml")
	counts := `\d+ passed, \d+ failed \(\d+ causes\), \d+ not shown`
	form := regexp.MustCompile(`^((pass|fail|not shown)  \d\.\d\d  [^:]+: .+|      .+|` + counts + `)\n$`)
	said := asks(t, 0, `(?m)^`+counts+`$`, "conform", "-base-url", url, "-key", s.key, "-junit", report)
	for line := range strings.Lines(said) {
		if !form.MatchString(line) {
			t.Errorf("a line of another form: %s", line)
		}
	}
	if b, err := os.ReadFile(report); err != nil || !strings.Contains(string(b), "<testsuite ") {
		t.Errorf("%v %s", err, b)
	}
	wrong := []string{"conform", "-base-url", url, "-key", "wb_unknown", "-stage", "3"}
	asks(t, 1, `(?s)^fail .*passed, [1-9]\d* failed`, wrong...)
	asks(t, 0, `(?m)^  2\.15  GET /v2/offers/schedule, rule 1: more than 14 days`, "conform", "-list")
	s.stop()
	asks(t, 1, "connect", "ready", "-addr", url)
	asks(t, 1, "no server answers", "conform", "-base-url", url, "-key", s.key)
	// A report that cannot be written, and lists that cannot be read, are said before anybody is asked.
	for flag, says := range map[string]string{
		"-junit=" + dir:                 "-junit: .*directory",
		"-known=" + dir + "/none":       "-known: .*no such file",
		"-known=" + report:              "there is no rule",
		"-password-file=" + dir + "/no": "-password-file: .*no such file",

		"-password-file=" + written(t, "\ufeff\r\nx"): "-password-file: the first line of .* is empty",
	} {
		line := []string{"conform", "-base-url", url, flag}
		if strings.HasPrefix(flag, "-password") {
			line = append(line, "-email", "a@example.com")
		}
		asks(t, 1, says, line...)
	}
}

// asks runs a verb to its end, which wants an exit code and a text.
func asks(t *testing.T, code int, pattern string, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	got := Main(&Process{
		Args:   args,
		Stdout: &stdout,
		Stderr: &stderr,
		Env:    func(string) (string, bool) { return "", false },
	})
	said := stdout.String() + stderr.String()
	if got != code || !matches(pattern, said) {
		t.Errorf("waybill %s: exit %d, want %d\n%s", args, got, code, said)
	}
	return stdout.String()
}

// A run that is stopped says so, by its exit code too.
func TestConformIsStopped(t *testing.T) {
	t.Parallel()
	s := serve(t, "-data", filepath.Join(t.TempDir(), "data"), "-test-clock", "now")
	want(t, 1, "(?s)not shown  1.01 .*stopped before its end", "conform", "-base-url", "http://"+s.addr)
}

// A clock that anybody may move is said in the log, with what that does, where others than this machine reach
// the server; not where only this machine does, nor where there is no such clock.
func TestAClockThatOthersCanMoveIsAWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ testClock, isLocal, warned bool }{
		{true, false, true},
		{true, true, false},
		{false, false, false},
		{false, true, false},
	} {
		var log bytes.Buffer
		tests := testBench{clock: c.testClock}
		tests.warn(slog.New(slog.NewTextHandler(&log, nil)), c.isLocal)
		said := matches(`level=WARN .*without a key, anybody there can move or stop the clock`, log.String())
		if said != c.warned {
			t.Errorf("%+v: %s", c, &log)
		}
	}
}

// What a killed process has left of worlds is gone at the next start, whatever its flags.
func TestAStartRemovesWorlds(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	serve(t, "-data", dir).stop()
	left := filepath.Join(dir, "worlds", "a", "journal")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	defer serve(t, "-data", dir).stop()
	if _, err := os.Stat(filepath.Join(dir, "worlds")); err == nil {
		t.Error("they are there")
	}
}

// The worlds of a start are served at the ports after the control listener's, before main lets anybody in. A
// port of theirs that is taken is exit 1, and named, before anything is made.
func TestWorldsOfAStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	port, other := ports.Row(t, 3), ports.Row(t, 3)
	at := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", port+n) }
	args := []string{"-test-clock", "2026-11-20T08:00:00Z", "-frozen", "-worlds", "2", "-test-control"}
	// The port stays taken: a child that another test has just begun may hold a closed listener until it is
	// another program.
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", other+2))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	refuses(t, dir, []refusal{{
		1, dir, "-worlds: .*" + taken.Addr().String() + ".*address already in use",
		append(args, fmt.Sprintf("127.0.0.1:%d", other), "-addr", "127.0.0.1:0"),
	}})
	args = append(args, at(0))
	s := serve(t, append(args, "-data", dir)...)
	resp, err := http.Get("http://" + at(0) + "/worlds")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	const world = `{"name":"%s","baseUrl":"http://%s","from":%s,"now":"2026-11-20T08:00:00.000Z","faults":[]}`
	worlds := []string{
		fmt.Sprintf(world, "main", s.addr, "null"),
		fmt.Sprintf(world, "world-01", at(1), `"main"`),
		fmt.Sprintf(world, "world-02", at(2), `"main"`),
	}
	if want := `{"data":{"worlds":[` + strings.Join(worlds, ",") + "]}}\n"; string(body) != want {
		t.Errorf("%s\nwant %s", body, want)
	}
	s.addr = at(2) // the demo is there, and its partner's key is good
	if status, body := s.get(t, "/v2/bookings", s.key); status != 200 {
		t.Error(status, body)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("it ends with %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "worlds")); err == nil {
		t.Error("the worlds are there")
	}
}

// Decision worlds.ports: where worlds are made is printed with the demo's key, as the system may choose the
// port.
func TestTheControlListenerIsPrinted(t *testing.T) {
	t.Parallel()
	s := serve(t, "-data", filepath.Join(t.TempDir(), "data"), "-test-clock", "now", "-test-control",
		"127.0.0.1:0")
	resp, err := http.Get(s.control + "/worlds")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(s.control, resp, err)
	}
	resp.Body.Close()
}
