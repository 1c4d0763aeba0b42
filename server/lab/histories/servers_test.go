package histories

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/ports"
	"waybill/server/lab/rig"
	"waybill/server/lab/worlds"
	"waybill/server/operate/admin"
)

// start is where both clocks stand at first: some days before clocks change in Europe.
var start = time.Date(2026, 10, 22, 8, 0, 0, 0, time.UTC)

// place is a server that can be asked, as one of two partners.
type place struct {
	name string
	url  string
	keys [2]string
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// client keeps connections, to either server.
var client = &http.Client{Timeout: time.Minute}

// ask makes a request.
func (p *place) ask(who int, method, target, body string) (answer, error) {
	r, err := http.NewRequest(method, p.url+target, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if key := p.key(who); key != "" {
		r.Header.Set("x-api-key", key)
	}
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text}, err
}

// key returns the key of who asks; "" is none.
func (p *place) key(who int) string {
	switch who {
	case nobodyAsks:
		return ""
	case strangerAsks:
		return "no-such-key"
	}
	return p.keys[who-1]
}

// ours is this program, in this process, and a world in it that becomes what it was for each history.
type ours struct {
	place
	control string
}

// startOurs serves a feed on a clock that stands still.
func startOurs(t testing.TB, feed string) *ours {
	t.Helper()
	lab := bench.New(bench.Settings{
		TestClock: true,
		StartAt:   start,
		Frozen:    true,
	})
	dir := filepath.Join(t.TempDir(), "d")
	cfg := server.Config{
		Dir:          dir,
		FS:           rig.Unsynced(dir),
		Log:          slog.New(slog.DiscardHandler),
		Lab:          lab.Lab(),
		MaxTransfers: 1,
	}
	f, err := front.Listen(cfg, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	err = f.Server.Admin.Import(os.DirFS(feed), "feed", admin.ImportOptions{Strict: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o := &ours{place: place{name: "waybill"}}
	for i, name := range []string{"anna", "bohdan"} {
		if o.keys[i], err = f.Server.Admin.AddPartner(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.Serve()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := worlds.Listen(ln, f, lab)
	o.control = c.URL()
	t.Cleanup(func() {
		c.Close()
		f.Stop()
		f.Close()
	})
	made := o.call(t, "POST", "/worlds", `{"name":"history"}`)
	_, rest, _ := strings.Cut(string(made), `"baseUrl":"`)
	o.url, _, _ = strings.Cut(rest, `"`)
	return o
}

// call makes a call of the control listener.
func (o *ours) call(t testing.TB, method, path, body string) []byte {
	t.Helper()
	c := place{url: o.control}
	a, err := c.ask(nobodyAsks, method, path, body)
	if err != nil || a.status >= 300 {
		t.Fatal(a.status, string(a.body), err)
	}
	return a.body
}

// reset has the world become what it was.
func (o *ours) reset(t testing.TB) { o.call(t, "PUT", "/worlds/history", `{"from":"main"}`) }

// buildMini builds the small server from its source, and returns the program. The go command keeps what it
// runs, not what it builds: it is linked only where something has changed.
func buildMini(t testing.TB, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "mini")
	build := exec.Command("go", "run", "-exec", "cp", ".", program)
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// mini is the small server, a process of its own, which remembers nothing beyond its end.
type mini struct {
	place
	said    map[string]string // KEY and the other lines that it prints
	process *exec.Cmd
	log     *bytes.Buffer
}

// startMini runs the small server on a free port, and waits until it listens.
func startMini(t testing.TB, program string, flags ...string) *mini {
	t.Helper()
	addr := ports.Address(t)
	m := &mini{said: map[string]string{}, log: new(bytes.Buffer)}
	m.process = exec.Command(program, append([]string{"-addr", addr}, flags...)...)
	m.process.Env = append(os.Environ(), "GOGC=1000") // it ends before it has much to clear away
	m.process.Stderr = m.log
	out, err := m.process.StdoutPipe()
	if err == nil {
		err = m.process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); m.said["ID_TOKEN"] == "" && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		m.said[name] = value
	}
	m.place = place{"mini", "http://" + addr, [2]string{m.said["KEY"], m.said["KEY2"]}}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return m
		}
		time.Sleep(time.Millisecond)
	}
	m.stop()
	t.Fatalf("%s does not listen at %s: %s", program, addr, m.log)
	return nil
}

// stop ends the process.
func (m *mini) stop() {
	m.process.Process.Kill()
	m.process.Wait()
}

// stillAtStart are the flags of the small server's clock.
func stillAtStart(feed string) []string {
	return []string{"-feed", feed, "-test-clock", start.Format(time.RFC3339), "-frozen"}
}

// source is where the small server's source is. One's own can be held against this program in its place, if
// it has the same flags and prints the same lines.
var source = flag.String("mini", "", "the source of a small server in Go; without it testdata/mini")

// sourceOfMini is where the small server's source is.
func sourceOfMini() string { return cmp.Or(*source, rig.File("testdata/mini")) }
