package reference_test

import (
	"fmt"
	"go/format"
	"html"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/docs"
	"waybill/server/lab/rig"
)

// samplesRun are the languages of samples but Go, each with how a machine runs files of it one after another.
// Before what a file prints stands a line with its name.
var samplesRun = map[string][]string{
	"curl": {"sh", "-c", `for f in "$@"; do printf '\n== %s\n' "$f"; sh "$f"; done`, "sh"},
	"TypeScript": {"node", "--input-type=module", "-e", `for (const f of process.argv.slice(1)) {
		console.log("\n== " + f)
		await import(f)
	}`, "--"}, // it is JavaScript as well
	"Python": {"python3", "-c", `import sys
for f in sys.argv[1:]:
    print("\n== " + f, flush=True)
    exec(open(f).read(), {})`},
}

// opened is a directory in which a visitor has been, to be copied: to make one takes long.
type opened struct {
	dir string
	*rig.Visitor
}

func newOpened(t *testing.T) *opened {
	dir := t.TempDir()
	v := rig.NewVisitorOn(t, dir)
	if err := v.S.Close(); err != nil {
		t.Fatal(err)
	}
	return &opened{dir, v}
}

// shop is a visitor at a server on loopback, with the variables that the reference's first page tells of.
type shop struct {
	*rig.Visitor
	server *httptest.Server
	env    []string
}

func (o *opened) newShop(t *testing.T) *shop {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(o.dir)); err != nil {
		t.Fatal(err)
	}
	v := *o.Visitor
	s, err := server.Open(server.Config{
		Dir: dir,
		FS:  rig.Unsynced(dir),
		Lab: rig.TestClock(),
		Now: func() time.Time { return rig.Start },
	})
	if err != nil {
		t.Fatal(err)
	}
	v.S = s
	x := &shop{&v, httptest.NewServer(s), nil}
	t.Cleanup(func() {
		x.server.Close()
		s.Close()
	})
	home := t.TempDir()
	access := *v.Cookies[0]
	refresh := *v.Cookies[1]
	port := fmt.Sprint("_", x.server.Listener.Addr().(*net.TCPAddr).Port)
	access.Name += port
	refresh.Name += port
	jar := "127.0.0.1\tFALSE\t/\tFALSE\t0\t" + access.Name + "\t" + access.Value + "\n" +
		"127.0.0.1\tFALSE\t/v2/auth\tFALSE\t0\t" + refresh.Name + "\t" + refresh.Value + "\n"
	write(t, filepath.Join(home, "cookies"), jar)
	write(t, filepath.Join(home, ".curlrc"), "silent\nwrite-out = \"\\n%{http_code}\"\n")
	x.env = append(os.Environ(), "CURL_HOME="+home, "HOME="+home, "WAYBILL="+x.server.URL, "KEY="+v.Key,
		"COOKIES="+filepath.Join(home, "cookies"),
		"SESSION="+access.Name+"="+access.Value+"; "+refresh.Name+"="+refresh.Value)
	for name, value := range v.Names {
		value = strings.Replace(value, "/v2/reports/files", x.server.URL+"/v2/reports/files", 1)
		x.env = append(x.env, name+"="+value)
	}
	return x
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the shop, and returns what it prints.
func (x *shop) run(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Env = x.env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestSamplesCanBePasted: the calls that the reference shows do what they say, in each language that the
// machine has.
func TestSamplesCanBePasted(t *testing.T) {
	t.Parallel()
	base := newOpened(t)
	gopher := buildSamples(t)
	var reads []string // operations that change nothing: they are called one after another
	for pattern := range rig.Operations {
		if strings.HasPrefix(pattern, "GET ") {
			reads = append(reads, pattern)
		}
	}
	languages := []string{"curl", "TypeScript", "Go", "Python"}
	for n, language := range languages {
		run := samplesRun[language]
		if language == "Go" {
			run = []string{gopher}
		}
		if _, err := exec.LookPath(run[0]); err != nil {
			t.Logf("no %s: the samples in %s are not run", run[0], language)
			continue
		}
		checkSamples(t, base.newShop(t), language, run, reads)
		// Each of the others needs a directory of its own: by default two are called in each language.
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(rig.Operations)), func(pattern string) bool {
			return slices.Contains(reads, pattern)
		})
		for i, pattern := range others {
			if *rig.Long || i%len(languages) == n && i < 2*len(languages) {
				checkSamples(t, base.newShop(t), language, run, []string{pattern})
			}
		}
	}
}

// checkSamples runs the samples of some operations in a language, and checks the status that each gets.
func checkSamples(t *testing.T, x *shop, language string, run []string, patterns []string) {
	dir := t.TempDir()
	args := slices.Clone(run)
	sources := map[string]string{}
	for _, pattern := range patterns {
		op := rig.Operations[pattern]
		name := op["operationId"].(string)
		sources[pattern] = sampleOf(t, name, language)
		if language != "Go" { // whose samples are functions of one program
			name = filepath.Join(dir, name+".mjs")
			write(t, name, sources[pattern])
		}
		args = append(args, name)
	}
	answers := strings.Split(x.run(t, args...), "\n== ")[1:]
	if len(answers) != len(patterns) {
		t.Fatalf("%s: %d answers to %d calls", language, len(answers), len(patterns))
	}
	for i, pattern := range patterns {
		_, out, _ := strings.Cut(answers[i], "\n")
		status, _, _ := strings.Cut(out, " ")
		if language == "curl" {
			out = strings.TrimSpace(out)
			status = out[strings.LastIndexByte(out, '\n')+1:]
		}
		if rig.Object(rig.Operations[pattern], "responses", status) == nil || status[0] != '2' {
			t.Errorf("%s in %s: status %q\n%s\n%.2000s", pattern, language, status, sources[pattern], out)
		}
	}
}

// sampleOf returns the sample in a language that the page of an operation shows.
func sampleOf(t *testing.T, id, language string) string {
	page, err := docs.Files.ReadFile("made/operations/" + id + ".html")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?s)(?:<pre aria-label="|<details><summary>)` + language +
		`(?:">|</summary>\n<pre>)<code>(.*?)</code>`).FindSubmatch(page)
	if shown == nil {
		t.Fatalf("%s: its page shows no sample in %s", id, language)
	}
	return html.UnescapeString(string(shown[1]))
}

// buildSamples makes one program of all samples in Go, which runs the one that it is asked for. The go
// command keeps what it runs, wherever the source was: it is built only where a sample has changed.
func buildSamples(t *testing.T) (program string) {
	dir := t.TempDir()
	imports := map[string]bool{}
	var functions strings.Builder
	var cases strings.Builder
	for _, pattern := range slices.Sorted(maps.Keys(rig.Operations)) {
		id := rig.Operations[pattern]["operationId"].(string)
		source := sampleOf(t, id, "Go")
		pretty, err := format.Source([]byte(source))
		if err != nil || strings.TrimSpace(string(pretty)) != source {
			t.Errorf("%s: %v, or it is not as gofmt has it:\n%s", id, err, source)
		}
		head, body, _ := strings.Cut(source, "func main() {")
		for line := range strings.Lines(head) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, `"`) {
				imports[line] = true
			}
		}
		functions.WriteString("func " + id + "() {" + body + "\n\n")
		fmt.Fprintf(&cases, "\tcase %q:\n\t\t%s()\n", id, id)
	}
	var text strings.Builder
	text.WriteString("package main\n\nimport (\n")
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		text.WriteString("\t" + name + "\n")
	}
	text.WriteString(")\n\n" + functions.String() + "func main() {\n\tfor _, id := range os.Args[1:] {\n" +
		"\t\tfmt.Println(\"\\n== \" + id)\n\t\tswitch id {\n" + cases.String() + "\t\t}\n\t}\n}\n")
	write(t, filepath.Join(dir, "main.go"), text.String())
	write(t, filepath.Join(dir, "go.mod"), "module samples\n\ngo 1.26\n")
	build := exec.Command("go", "run", "-trimpath", "-exec", "cp", ".", "samples")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "samples")
}

// TestErrorsCanBeSeenOnTheDemo: what an errorCode's page says to paste gets an answer with that code.
func TestErrorsCanBeSeenOnTheDemo(t *testing.T) {
	t.Parallel()
	demonstrations := readJSON[map[string]struct{ Text, Shell string }](t, "../../docs/demo.json")
	codes := map[string]bool{}
	for _, kind := range rig.ErrorKinds {
		codes[rig.Object(kind, "properties", "errorCode")["const"].(string)] = true
	}
	for code := range codes {
		if demonstrations[code].Text == "" {
			t.Errorf("%s: its page does not say how to see it", code)
		}
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("no curl: the commands are not run")
		return
	}
	base := newOpened(t)
	for i, code := range slices.Sorted(maps.Keys(demonstrations)) {
		d := demonstrations[code]
		if !codes[code] {
			t.Errorf("%s is no code", code)
		}
		if d.Shell == "" || !*rig.Long && i%4 > 0 { // each needs a directory of its own
			continue
		}
		out := base.newShop(t).run(t, "sh", "-c", d.Shell)
		if !strings.Contains(out, `"errorCode":"`+code+`"`) {
			t.Errorf("%s: %s\n%s", code, d.Shell, out)
		}
	}
}

// TestDemoPairs: the pairs of cities that the demo's page names show what it says.
func TestDemoPairs(t *testing.T) {
	s, key := rig.Demo(t, server.Config{MaxTransfers: 1})
	page := rig.Ask(s, "", "GET", "/docs/demo", "").Body.String()
	pairs := regexp.MustCompile(`<dt><code>(.*)</code> – <code>(.*)</code></dt><dd>(.*)</dd>`)
	listed := pairs.FindAllStringSubmatch(page, -1)
	if len(listed) < 8 {
		t.Errorf("the page has %d pairs of cities", len(listed))
	}
	for _, p := range listed {
		from, to, says := p[1], p[2], p[3]
		target := "/v2/offers?departureDate=2026-11-23&departureCitySlug=" + from + "&arrivalCitySlug=" + to
		a := rig.Ask(s, key, "GET", target, "")
		body := a.Body.String()
		for word, shown := range map[string]string{
			"10 %":        `"amount":10,`,
			"15 %":        `"amount":15,`,
			"three seats": `"seatsLeft":3,`,
			"external":    `"source":"Eurolane"`,
			"change":      `"id":"warsaw-west-9"`,
			"two legs":    `"id":"bel-0800"`,
			"empty":       `"offers":[]`,
		} {
			if strings.Contains(says, word) && !strings.Contains(body, shown) {
				t.Errorf("%s to %s shows no %s", from, to, word)
			}
		}
		if a.Code != 200 || strings.Contains(body, `"offers":[]`) != strings.Contains(says, "empty") {
			t.Errorf("%s to %s: %d, %d bytes", from, to, a.Code, len(body))
		}
	}
	companies := regexp.MustCompile(`<li><code>(.*)</code></li>`).FindAllStringSubmatch(page, -1)
	for _, c := range companies {
		if _, err := s.Admin.CompanyBySlug(c[1]); err != nil {
			t.Error(err)
		}
	}
	if len(companies) != len(s.Timetable.Load().Companies) {
		t.Errorf("%d companies are named", len(companies))
	}
}
