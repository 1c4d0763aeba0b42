package worlds

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/ports"
	"waybill/server/lab/rig"
	"waybill/store/durable"
)

// A world is served at the port that a call names, and again after a reset; a port that is taken is 409, and
// nothing is made.
func TestAWorldIsServedAtThePortThatIsAskedFor(t *testing.T) {
	x := newControl(t)
	ln, err := net.Listen("tcp", ports.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	body := fmt.Sprintf(`{"name":"a","port":%d}`, port)
	if r := x.call(409, "POST", "/worlds", body); !strings.Contains(r.body, "the port is taken") {
		t.Error(r.body)
	}
	if _, err := os.Stat(filepath.Join(x.dir, "worlds", "a")); err == nil {
		t.Error("its directory is there")
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	made := x.call(201, "POST", "/worlds", body).body
	want := fmt.Sprintf("http://127.0.0.1:%d", port)
	if got := member(t, made, "data", "world", "baseUrl"); got != want || x.bookings(want) != 0 {
		t.Errorf("at %v, want %s", got, want)
	}
	x.call(409, "POST", "/worlds", strings.Replace(body, `"a"`, `"b"`, 1))
	x.book(want)
	x.call(200, "PUT", "/worlds/a", `{"from":"main"}`)
	if x.bookings(want) != 0 {
		t.Error("it is as it was")
	}
	for _, port := range []string{"0", "65536", "-1", `"8090"`, "null", "80.5"} {
		r := x.call(400, "POST", "/worlds", `{"name":"c","port":`+port+`}`)
		if got := member(t, r.body, "errors", 0, "details", "field"); got != "port" {
			t.Errorf("port %s: %s", port, r.body)
		}
	}
	x.call(204, "DELETE", "/worlds/a", "") // and the port is free again
	x.call(201, "POST", "/worlds", body)
}

// Worlds are listed as people count.
func TestWorldsAreListedAsPeopleCount(t *testing.T) {
	want := []string{"a", "a-1", "a01", "a1", "a2", "a2b", "a10", "a10-2", "a10-10", "aa", "b", "w0", "w00",
		"w1", "w9", "w10", "w99999999999999999999", "w100000000000000000000"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareNames)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	x := newControl(t)
	for _, name := range []string{"w10", "w9", "a"} {
		x.world(name, Main)
	}
	body := x.call(200, "GET", "/worlds", "").body
	var names []any
	for i := range 4 {
		names = append(names, member(t, body, "data", "worlds", i, "name"))
	}
	if fmt.Sprint(names) != "[main a w9 w10]" {
		t.Error(names)
	}
}

// Decision worlds.unsynced: nothing of a world is synced, neither its files nor its directories, also after a
// reset; main has the files that it was given.
func TestAWorldIsNotSynced(t *testing.T) {
	x := newControl(t)
	x.world("a", Main)
	notSynced(t, x.c.find("a"), filepath.Join(x.dir, "worlds", "a"))
	x.call(200, "PUT", "/worlds/a", `{"from":"main"}`)
	notSynced(t, x.c.find("a"), filepath.Join(x.dir, "worlds", "a"))
	if fsys := x.c.find(Main).Front.Config().FS; fsys != rig.Unsynced(x.dir) {
		t.Errorf("main is served from %T, want what it was given", fsys)
	}
}

// notSynced sees that what is written to a world's directory is there, and was not synced.
func notSynced(t *testing.T, w *World, dir string) {
	t.Helper()
	fsys := w.Front.Config().FS
	if fsys == nil {
		t.Fatal("it is served as any directory")
	}
	f, err := fsys.Create("unsynced")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("a line\n")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	// Of a file that is closed, and a directory that is not there, the system would complain.
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	if err := fsys.SyncDir("nowhere"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "unsynced")); string(text) != "a line\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A file of a world has room to grow to what the disk has, and no more.
func TestAWorldsFileSeesAFullDisk(t *testing.T) {
	dir := Unsynced(t.TempDir())
	if err := dir.Mkdir("journal"); err != nil {
		t.Fatal(err)
	}
	if err := durable.PublishText(dir, "journal", "1", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	f, err := dir.Append("journal/1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if size, err := f.Size(); err != nil || size != 5 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if err := f.Reserve(1 << 10); err != nil {
		t.Error(err)
	}
	if err := f.Reserve(1 << 60); err == nil {
		t.Error("there is room for 2^60 bytes")
	}
	if f, err := dir.Create("journal/1"); err == nil {
		f.Close()
		t.Error("a file is made in the place of another")
	}
}

// What is asked of a world that has stopped is 503, and no answer has the time of a clock that is gone.
func TestAWorldThatHasStoppedTellsNoTime(t *testing.T) {
	x := newControl(t)
	x.world("a", Main)
	stopped := x.c.find("a").Front
	if err := stopped.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/worlds", "/worlds/a"} {
		if r := x.call(503, "GET", path, ""); strings.Contains(r.body, "0001") {
			t.Error(path, r.body)
		}
	}
	for _, method := range []string{"GET", "POST"} {
		r, err := http.NewRequest(method, "/test/clock", strings.NewReader(`{"advance":"1m"}`))
		if err != nil {
			t.Fatal(err)
		}
		w := newRecorded()
		stopped.Server.Handler().ServeHTTP(w, r)
		text := fmt.Sprint(w.header, w.body())
		if w.status != 503 || strings.Contains(text, "0001") {
			t.Errorf("%s: %d %s", method, w.status, text)
		}
	}
	x.c.mu.Lock()
	delete(x.c.worlds, "a") // it has ended already
	x.c.mu.Unlock()
}

// recorded is an answer, with what was written of it at a time.
type recorded struct {
	header http.Header
	status int
	parts  []string
}

func newRecorded() *recorded { return &recorded{header: http.Header{}} }

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) { w.status = status }

func (w *recorded) Write(b []byte) (int, error) {
	w.parts = append(w.parts, string(b))
	return len(b), nil
}

func (w *recorded) Flush() {}

func (w *recorded) body() string { return strings.Join(w.parts, "") }
