package reference_test

import (
	"fmt"
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
		"COOKIES="+filepath.Join(home, "cookies"))
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

// TestSamplesCanBePasted: the calls that the reference shows do what they say.
func TestSamplesCanBePasted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("no curl: the samples are not run")
		return
	}
	base := newOpened(t)
	reading := base.newShop(t)
	for i, pattern := range slices.Sorted(maps.Keys(rig.Operations)) {
		x := reading // operations that change nothing are called one after another
		if !strings.HasPrefix(pattern, "GET ") {
			// Each of the others needs a directory of its own: by default each fourth is called.
			if !*rig.Long && i%4 > 0 {
				continue
			}
			x = base.newShop(t)
		}
		op := rig.Operations[pattern]
		sample := sampleOf(t, op["operationId"].(string))
		out := strings.TrimSpace(x.run(t, "sh", "-c", sample))
		status := out[strings.LastIndexByte(out, '\n')+1:]
		if rig.Object(op, "responses", status) == nil || status[0] != '2' {
			t.Errorf("%s: status %q\n%s\n%.2000s", pattern, status, sample, out)
		}
	}
}

// sampleOf returns the call of curl that the page of an operation shows.
func sampleOf(t *testing.T, id string) string {
	t.Helper()
	page, err := docs.Files.ReadFile("made/operations/" + id + ".html")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?s)<pre aria-label="curl"><code>(.*?)</code>`).FindSubmatch(page)
	if shown == nil {
		t.Fatalf("%s: its page shows no sample", id)
	}
	return html.UnescapeString(string(shown[1]))
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
