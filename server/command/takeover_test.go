//go:build !lean

package command

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

const clients = 24 // of a load; each waits for its answer

// crowd is clients that sell, read and cancel, and remember what they were told.
type crowd struct {
	began  time.Time
	orders []string // bodies of bookings
	key    string
	at     atomic.Pointer[process] // whom they ask; nobody for a moment
	busy   atomic.Int64            // requests under way
	over   atomic.Bool
	fenced atomic.Int64 // since when the first machine is fenced, since began; 0 is not yet
	wg     sync.WaitGroup

	mu      sync.Mutex
	history map[string][]did // by the ids of bookings
	ids     []string
	sales   int // that were acknowledged
	late    int // of these, by the first machine, although begun after the fence
}

// newCrowd returns a crowd that knows what it may buy of a server, and how to sign in there.
func newCrowd(t *testing.T, p *process) *crowd {
	t.Helper()
	c := &crowd{began: time.Now(), history: map[string][]did{}, key: p.key}
	for day := range 40 {
		date := time.Now().AddDate(0, 0, 2+day).Format(time.DateOnly)
		const search = "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate="
		_, body := p.call("GET", search+date, "")
		for _, m := range regexp.MustCompile(`"offers":\[{"id":"([^"]+)"`).FindAllStringSubmatch(body, -1) {
			const one = `{"offerId":%q,"currency":"EUR",` +
				`"passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`
			c.orders = append(c.orders, fmt.Sprintf(one, m[1]))
		}
	}
	if len(c.orders) == 0 {
		t.Fatal("nothing can be bought")
	}
	return c
}

// begin has the clients begin.
func (c *crowd) begin() {
	for range clients {
		c.wg.Go(func() {
			for !c.over.Load() {
				p := c.at.Load()
				if p == nil || !c.act(p) {
					time.Sleep(2 * time.Millisecond)
				}
			}
		})
	}
}

// end waits until each client has its last answer.
func (c *crowd) end() {
	c.over.Store(true)
	c.wg.Wait()
}

// act asks a machine for something, and reports whether that answered as it should.
func (c *crowd) act(p *process) bool {
	c.busy.Add(1)
	defer c.busy.Add(-1)
	n := rand.IntN(10)
	id := c.some()
	switch {
	case n < 6 || id == "":
		return c.sell(p)
	case n < 9:
		return c.read(p, id)
	default:
		return c.cancel(p, id)
	}
}

func (c *crowd) sell(p *process) bool {
	begun := time.Since(c.began)
	status, body := p.call("POST", "/v2/bookings", c.orders[rand.IntN(len(c.orders))])
	if status != http.StatusCreated {
		return false
	}
	end := time.Since(c.began)
	id := bookingID.FindStringSubmatch(body)[1]
	c.mu.Lock()
	c.ids = append(c.ids, id)
	c.sales++
	if since := c.fenced.Load(); since > 0 && begun > time.Duration(since) {
		c.late++
	}
	c.mu.Unlock()
	c.note(id, did{true, isLive, begun, end})
	return true
}

func (c *crowd) read(p *process, id string) bool {
	begun := time.Since(c.began)
	status, body := p.call("GET", "/v2/bookings/"+id, "")
	read := did{false, isAbsent, begun, time.Since(c.began)}
	switch {
	case status == http.StatusOK && strings.Contains(body, `"status":"Canceled"`):
		read.state = isCanceled
	case status == http.StatusOK:
		read.state = isLive
	case status != http.StatusNotFound:
		return false
	}
	c.note(id, read)
	return true
}

func (c *crowd) cancel(p *process, id string) bool {
	begun := time.Since(c.began)
	status, _ := p.call("POST", "/v2/bookings/"+id+"/cancel", "")
	write := did{true, isCanceled, begun, time.Since(c.began)}
	switch status {
	case http.StatusOK:
	case http.StatusConflict, http.StatusServiceUnavailable:
		return false // nothing was done
	default:
		write.end = never // a broken connection, or 500: nobody knows
	}
	c.note(id, write)
	return status == http.StatusOK
}

var bookingID = regexp.MustCompile(`"booking":{"id":"([^"]+)"`)

func (c *crowd) note(id string, d did) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history[id] = append(c.history[id], d)
}

// some returns a booking that was sold lately, so that several clients do something to it.
func (c *crowd) some() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids) == 0 {
		return ""
	}
	return c.ids[max(0, len(c.ids)-1-rand.IntN(40))]
}

// told returns how many sales were acknowledged.
func (c *crowd) told() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sales
}

// moment waits for one in which at least 8 requests are under way, and lines are given and not kept.
func (c *crowd) moment(t *testing.T, p *process) (busy, waiting int) {
	t.Helper()
	rig.Eventually(t, "lines are on their way", func() bool {
		_, text := p.call("GET", "/metrics", "")
		if m := linesWaiting.FindStringSubmatch(text); m != nil {
			waiting, _ = strconv.Atoi(m[1])
		}
		busy = int(c.busy.Load())
		return busy >= 8 && waiting > 0
	})
	return busy, waiting
}

var linesWaiting = regexp.MustCompile(`(?m)^waybill_keep_lines_waiting (\d+)$`)

// more waits until so many more sales are acknowledged.
func (c *crowd) more(t *testing.T, sales int) {
	t.Helper()
	until := c.told() + sales
	rig.Eventually(t, "clients are told of more sales", func() bool { return c.told() >= until })
}

// check holds what the clients were told against a journal, and against each other.
func (c *crowd) check(t *testing.T, dir string) (missing int) {
	t.Helper()
	journal := allLines(t, dir)
	sold := map[string]bool{}
	created := regexp.MustCompile(`"type":"booking.created","data":{"booking":"([^"]+)"`)
	for _, m := range created.FindAllSubmatch(journal, -1) {
		sold[string(m[1])] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, history := range c.history {
		if !sold[id] {
			missing++
		}
		if err := linear(history); err != nil {
			t.Errorf("booking %s: %v\n%v", id, err, history)
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d sales that were acknowledged are missing", missing, c.sales)
	}
	if c.late > 0 {
		t.Errorf("%d sales by the first machine after the fence", c.late)
	}
	return missing
}

// allLines returns the journal of a directory.
func allLines(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.Bytes()
}

// roomyFeed writes the demo's feed with buses that do not get full.
func roomyFeed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(rig.File("testdata/demo"))); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "waybill_buses.txt")
	text := regexp.MustCompile(`(?m)^(bus-[^,]+,[^,]+),\d+,`).ReplaceAllString(content(t, name), "$1,1000,")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// duel is a takeover, which the machine that was the first one may outlive.
type duel struct {
	t      *testing.T
	e      *engine
	c      *crowd
	bin    string
	first  *process
	dir    string // of the first machine
	number int
}

// machine starts a machine that keeps its lines in the stream.
func (d *duel) machine(dir string) *process {
	p := startProcess(d.t, d.bin, dir, "-keep", d.e.keeper())
	p.Transport = &http.Transport{MaxIdleConnsPerHost: 2 * clients}
	return p
}

// The ways in which the first machine, or what is between it and the stream, comes to its end.
var ends = []string{
	"the first machine lives, and the stream's leader is killed",
	"the first machine is killed",
	"the first machine lives",
	"the keeper is killed",
	"the first machine and the stream's leader are killed",
}

// strike does what the end of the first machine is.
func (d *duel) strike(end string) {
	if strings.Contains(end, "leader") {
		d.e.kill(d.e.leader())
	}
	switch {
	case strings.HasPrefix(end, "the keeper"):
		pid := d.first.cmd.Process.Pid
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			d.t.Log(err)
		}
		for child := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				syscall.Kill(n, syscall.SIGKILL)
			}
		}
	case !strings.Contains(end, "lives"):
		d.first.cmd.Process.Kill()
	}
}

// play has a second machine take over, and returns it as the first one of the next duel.
func (d *duel) play(end string) {
	t, c := d.t, d.c
	c.fenced.Store(0)
	c.at.Store(d.first)
	c.more(t, 50+rand.IntN(200))
	busy, waiting := c.moment(t, d.first)
	d.strike(end)
	if code, out := d.e.does(d.bin, "fence"); code != 0 {
		t.Fatalf("fence: exit %d\n%s", code, out)
	}
	c.fenced.Store(int64(time.Since(c.began)))
	d.number++
	dir := filepath.Join(filepath.Dir(d.dir), fmt.Sprint("machine-", d.number))
	if rand.IntN(3) == 0 {
		pull := d.e.command(d.bin, "pull", dir)
		if err := pull.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond) // it is killed anywhere
		pull.Process.Kill()
		pull.Wait()
	}
	code, out := d.e.does(d.bin, "pull", dir)
	for n := 0; n < 20 && code != 0; n++ { // a receive that lost its pipe may have the lock still
		time.Sleep(100 * time.Millisecond)
		code, out = d.e.does(d.bin, "pull", dir)
	}
	if code != 0 || !strings.Contains(out, "a fence") {
		t.Fatalf("%s: pull: exit %d\n%s", end, code, out)
	}
	second := d.machine(dir)
	for n := 0; n < 5 && second.base == ""; n++ { // as its unit does: a new leader may not know the fence yet
		second = d.machine(dir)
	}
	second.key = d.first.key
	d.first.cmd.Wait()
	if code := d.first.cmd.ProcessState.ExitCode(); code != exitIO && strings.Contains(end, "lives") {
		t.Errorf("%s: it ends with %d after the fence", end, code)
	}
	c.fenced.Store(0)
	c.at.Store(second)
	d.e.start()
	c.more(t, 20)
	if strings.Contains(end, "lives") { // and wants to go on
		again := d.machine(d.dir)
		again.cmd.Wait()
		if code := again.cmd.ProcessState.ExitCode(); code != exitConfig {
			t.Errorf("%s: started again it ends with %d", end, code)
		}
	}
	t.Logf("%s: %d requests under way, %d lines given and not kept", end, busy, waiting)
	d.first, d.dir = second, dir
}

// newDuel starts an engine, a machine, and clients of it. It returns nil where there is no engine.
func newDuel(t *testing.T) *duel {
	t.Helper()
	e := startEngine(t)
	if e == nil {
		return nil
	}
	e.start()
	bin, dir := build(t)
	d := &duel{t: t, e: e, bin: bin, dir: dir}
	want(t, 0, "is in force", "import", "-data", dir, roomyFeed(t))
	d.first = d.machine(dir)
	d.first.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	d.c = newCrowd(t, d.first)
	d.c.at.Store(d.first)
	d.c.begin()
	t.Cleanup(d.c.end)
	return d
}

// end stops the machine that is the first now, and holds what clients were told against its journal, and that
// against the stream.
func (d *duel) end() {
	t := d.t
	d.c.end()
	d.first.cmd.Process.Signal(syscall.SIGTERM)
	if err := d.first.cmd.Wait(); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
	missing := d.c.check(t, d.dir)
	copied := filepath.Join(filepath.Dir(d.dir), "copied")
	if code, out := d.e.does(d.bin, "pull", copied); code != 0 {
		t.Fatalf("pull: exit %d\n%s", code, out)
	}
	same := bytes.Equal(allLines(t, copied), allLines(t, d.dir))
	if !same {
		t.Error("the journal is not what is kept")
	}
	want(t, 0, "^sound", "verify", "-data", d.dir)
	t.Logf("%d takeovers: of %d sales %d are missing, %d after the fence by a first machine; equal bytes: %t",
		d.number, d.c.sales, missing, d.c.late, same)
}

// Decision keep.fence: when a second machine takes over from a first that may live on, under load, nothing
// that was acknowledged is missing, the first sells nothing after the fence, the second's journal is what is
// kept, byte for byte, and the history as clients saw it is linear.
func TestTakeovers(t *testing.T) {
	t.Parallel()
	d := newDuel(t)
	if d == nil {
		return
	}
	takeovers := 2
	if *rig.Long {
		takeovers = 60
	}
	for n := range takeovers {
		d.play(ends[n%len(ends)])
	}
	d.end()
}

// Two of three servers of the engine are gone: nobody is told of anything meanwhile. Then all goes on by
// itself, and nothing that was acknowledged is missing.
func TestNothingIsAnsweredByAMinority(t *testing.T) {
	t.Parallel()
	d := newDuel(t)
	if d == nil {
		return
	}
	d.c.more(t, 50)
	ways := []bool{false}
	if *rig.Long {
		ways = []bool{false, true}
	}
	for _, killed := range ways {
		d.c.moment(t, d.first)
		left := d.e.leader()
		for i := range d.e.servers {
			if i != left && killed {
				d.e.kill(i)
			} else if i != left {
				d.e.signal(i, syscall.SIGSTOP)
			}
		}
		rig.Eventually(t, "it is not ready", func() bool {
			status, _ := d.first.call("GET", "/readyz", "")
			return status == http.StatusServiceUnavailable
		})
		told := d.c.told()
		rig.Eventually(t, "a change is refused", func() bool {
			status, _ := d.first.call("POST", "/v2/bookings", d.c.orders[0])
			return status == http.StatusServiceUnavailable
		})
		if now := d.c.told(); now != told {
			t.Errorf("killed %t: %d sales were acknowledged by one server of three", killed, now-told)
		}
		for i := range d.e.servers {
			if d.e.servers[i] != nil {
				d.e.signal(i, syscall.SIGCONT)
			}
		}
		d.e.start()
		d.c.more(t, 50)
	}
	d.end()
}

// Decision keep.erased: an erasure reaches what is pulled from a stream, where the personal part still is. A
// new stream takes the lines as they are now; with the old one gone, it is nowhere.
func TestAnErasureBesideAStream(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	if e == nil {
		return
	}
	e.start()
	bin, dir := build(t)
	p := startProcess(t, bin, dir, "-keep", e.keeper())
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	p.sells(t, strings.Replace(offer(t, p), `"Ukrainka"`, `"Ukrainka","email":"lesia@example.com"`, 1))
	want(t, 0, "erased", "forget", "-data", dir, "-email", "lesia@example.com", "-reason", "asked for")
	inStream := func(stream string) bool {
		for n := 1; ; n++ {
			var answer struct{ Message *struct{ Data []byte } }
			text := e.ask("$JS.API.STREAM.MSG.GET."+stream, fmt.Sprintf(`{"seq":%d}`, n))
			if parse(t, &answer, text); answer.Message == nil {
				return false
			}
			if bytes.Contains(answer.Message.Data, []byte("lesia@example.com")) {
				return true
			}
		}
	}
	if !inStream("WAYBILL") {
		t.Error("what was kept before the erasure is not in the stream, so that this test shows nothing")
	}
	copied := filepath.Join(filepath.Dir(dir), "copied")
	if code, out := e.does(bin, "pull", copied); code != 0 {
		t.Fatalf("pull: exit %d\n%s", code, out)
	}
	if names := rig.FilesWith(t, copied, "lesia@example.com"); len(names) > 0 {
		t.Errorf("the copy has the name in %q", names)
	}
	tail := exec.Command(bin, "tail", "-data", dir, "-format", "copy")
	fresh := e.command(bin, "-stream", "FRESH")
	var err error
	if fresh.Stdin, err = tail.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tail.Start(), fresh.Run(), tail.Wait()); err != nil {
		t.Fatal(err)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait()
	p = startProcess(t, bin, dir, "-keep", e.keeper()+" -stream FRESH")
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
	if !strings.Contains(e.ask("$JS.API.STREAM.DELETE.WAYBILL", ""), `"success":true`) {
		t.Error("the old stream is not deleted")
	}
	if inStream("FRESH") {
		t.Error("the new stream has the name")
	}
	again := filepath.Join(filepath.Dir(dir), "again")
	if code, out := e.does(bin, "-stream", "FRESH", "pull", again); code != 0 ||
		!bytes.Equal(allLines(t, again), allLines(t, dir)) {
		t.Errorf("the new stream is not the journal: exit %d\n%s", code, out)
	}
}

// Decision keep.fence: of messages that were under way when a mark came, none counts behind it, although the
// engine takes those whose expected place is right by chance.
func TestAMessageUnderWayDoesNotPassAFence(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	if e == nil {
		return
	}
	e.start()
	bin, dir := build(t)
	want(t, 0, "is in force", "import", "-data", dir, "../../testdata/demo")
	stream := want(t, 0, "", "tail", "-data", dir, "-format", "copy")
	keep := e.command(bin)
	keep.Stdin = strings.NewReader(stream)
	if out, err := keep.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var state struct{ State struct{ Messages int } }
	parse(t, &state, e.ask("$JS.API.STREAM.INFO.WAYBILL", ""))
	at := state.State.Messages
	const form = "Nats-Expected-Last-Sequence: %d\r\nWaybill-Writer: 7 %d %d\r\nWaybill-Last: 9 %064d\r\n"
	took := func(n int) bool { // message n of a writer that had n before it under way
		answer := e.publish(fmt.Sprintf(form, at+n, n+1, n, 0), "what is no line\n")
		return !strings.Contains(answer, `"error"`)
	}
	if code, out := e.does(bin, "fence"); code != 0 {
		t.Fatal(code, out)
	}
	for _, nobody := range []string{"", "somebody"} {
		stranger := e.command(bin, "fence")
		stranger.Env = append(stranger.Env, "NATS_USER="+nobody)
		if out, _ := stranger.CombinedOutput(); stranger.ProcessState.ExitCode() != exitFailed {
			t.Errorf("%q fences: exit %d %s", nobody, stranger.ProcessState.ExitCode(), out)
		}
	}
	if took(0) || !took(1) || !took(2) {
		t.Error("the engine does not do what this test is of")
	}
	copied := filepath.Join(t.TempDir(), "copied")
	if code, out := e.does(bin, "pull", copied); code != 0 || !strings.Contains(out, "a fence") ||
		!bytes.Equal(allLines(t, copied), allLines(t, dir)) {
		t.Errorf("what passed the fence counts: %d %s", code, out)
	}
	fence := at + 1 // the message
	last := fmt.Sprintf("%d ", bytes.Count(allLines(t, dir), []byte("\n")))
	for _, c := range []struct {
		past string
		code int
	}{{"0", exitFailed}, {fmt.Sprint(fence - 1), exitFailed}, {fmt.Sprint(fence), 0}, {"", 0}} {
		arguments := []string{"-past", c.past}
		if c.past == "" {
			arguments = nil
		}
		code, out := e.does(bin, arguments...)
		if code != c.code || code == 0 && !strings.HasPrefix(out, last) {
			t.Errorf("past %q: a keeper begins with %s, exit %d", c.past, out, code)
		}
	}
}
