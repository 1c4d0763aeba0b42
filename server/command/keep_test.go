package command

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waybill/server/lab/rig"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Decision keep.answers: `serve -keep 'waybill receive DIR'`: whenever the server is killed, the keeper has
// every line that anybody was told of; the next start sends what it lacks, and goes on.
func TestAKeeperHasEverythingThatWasAnswered(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	standby := filepath.Join(filepath.Dir(dir), "standby")
	keeper := fmt.Sprintf("exec '%s' receive '%s'", bin, standby)
	line := regexp.MustCompile(`^\d+$`)
	for kill := range 3 {
		p := startProcess(t, bin, dir, "-keep", keeper)
		p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
		order := offer(t, p)
		var mu sync.Mutex
		told := 0
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 3 + kill { // as many as the bus has seats
					seq := p.sells(t, order)
					mu.Lock()
					told = max(told, seq)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		next := ""
		for range 100 { // the keeper has the directory locked until it has seen the end of its input
			_, next, _ = run(t, nil, "receive", "-next", standby)
			if next = strings.TrimSpace(next); line.MatchString(next) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if n, err := strconv.Atoi(next); err != nil || n <= told || told == 0 {
			t.Errorf("kill %d: line %d was told of, and the keeper goes on from %q", kill, told, next)
		}
	}
	p := startProcess(t, bin, dir, "-keep", keeper)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
	here := content(t, dir, firstFile)
	if there := content(t, standby, firstFile); there != here {
		t.Errorf("the keeper has %d bytes of %d", len(there), len(here))
	}
}

// sells sells a ticket, and returns the line that the answer names.
func (p *process) sells(t *testing.T, order string) int {
	status, body, header := p.callFor("POST", "/v2/bookings", order)
	if status != 201 {
		t.Errorf("%d %s", status, body)
	}
	seq, err := strconv.Atoi(header.Get("Waybill-Seq"))
	if err != nil {
		t.Error(err, header)
	}
	return seq
}

// Decision keep.begins: a keeper that begins wrongly stops the start before a line is written. Where it has
// more lines, this machine may have sent them itself, before an older backup was put here.
func TestAKeeperThatBeginsWronglyStopsTheStart(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	want(t, 0, "", "import", "-data", dir, "../../testdata/demo")
	backup, standby := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "standby")
	want(t, 0, "is sound", "backup", "-data", dir, backup)
	want(t, 0, "wb_", "partner", "add", "-data", dir, "anna")
	_, sent := with("", "tail", "-data", dir, "-format", "copy")
	if code, said := with(sent, "receive", standby); code != 0 {
		t.Fatal(code, said)
	}
	old := content(t, backup, firstFile)
	cmd := exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", backup, "-keep",
		bin+" receive -keeper "+standby)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 78 || content(t, backup, firstFile) != old ||
		!strings.Contains(string(out), "or this machine had that line, and an older backup stands here now") {
		t.Errorf("%v\n%s", cmd.ProcessState, out)
	}
	// A directory of another journal is named, and nobody is told to serve it.
	other := filepath.Join(t.TempDir(), "other")
	want(t, 0, "", "import", "-data", other, "../../testdata/demo")
	theirs, _, _ := journal.ReadOrigin(durable.Dir(dir))
	ours, _, _ := journal.ReadOrigin(durable.Dir(other))
	cmd = exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", other, "-keep",
		bin+" receive -keeper "+standby)
	out, _ = cmd.CombinedOutput()
	says := fmt.Sprintf("it keeps another journal, %q, up to line 4, and this one is %q", theirs, ours)
	if cmd.ProcessState.ExitCode() != 78 || !strings.Contains(string(out), says) ||
		strings.Contains(string(out), "serve its") {
		t.Errorf("%v, without %s\n%s", cmd.ProcessState, says, out)
	}
	before := content(t, dir, firstFile)
	lines := strings.Count(before, "\n")
	has := func(seq int) string {
		return fmt.Sprintf("echo %d %s; cat >&2", seq, strings.Repeat("ab", 32))
	}
	for _, c := range []struct {
		keeper, says string
		code         int
	}{
		{has(lines + 5), fmt.Sprint("another machine has gone on from line ", lines+5), 78},
		{has(lines), fmt.Sprint("another machine has gone on from line ", lines), 78},
		{"echo hello; cat >&2", "first line is not in the form SEQ HASH", 78},
		{"echo 5 abcd; cat >&2", "first line is not in the form SEQ HASH", 78},
		{"echo 5; cat >&2", "first line is not in the form SEQ HASH", 78},
		{"echo 0 -; echo hello; cat >&2", `answered "hello"`, 74},
		{"exit 0", "ended before it said", 74},
		{"/no/such/command", "ended before it said", 74},
	} {
		cmd := exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", dir, "-keep", c.keeper)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit %d, want %d\n%s", c.keeper, code, c.code, out)
		}
		if content(t, dir, firstFile) != before {
			t.Fatalf("%s: a line was written", c.keeper)
		}
	}
}

// Decisions keep.silent and keep.stop: a start whose keeper says nothing warns of it, by the first word of
// its command, which may have secrets after it. A stop of it ends with 0: nobody was told anything.
func TestAStopWhileAStartWaits(t *testing.T) {
	t.Parallel()
	for keeper, word := range map[string]string{
		"sleep 1000 # secret":      "sleep",
		"PASSWORD=secret cat >&2":  "sh",
		"PASSWORD='a secret' cat":  "sh",
		"exec cat # from a secret": "exec",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			bin, dir := build(t)
			cmd := exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", dir, "-keep", keeper)
			said := new(lastWords)
			cmd.Stderr = said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill() })
			rig.Eventually(t, "it warns of the keeper", func() bool {
				return strings.Contains(said.String(), `"the keeper says nothing","command":"`+word+`"`)
			})
			cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil || strings.Contains(said.String(), "secret") {
				t.Errorf("it ends with %v, and says %s", err, said)
			}
		})
	}
}

// Decisions keep.silent and keep.fails: beside a silent keeper nothing is changed, the server is not ready,
// and all goes on by itself; a keeper that ends, or says what it was not sent, ends the server with 74.
func TestASilentKeeper(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	temp := filepath.Dir(dir)
	hold := filepath.Join(temp, "hold")
	lie := filepath.Join(temp, "lie")
	keeper := fmt.Sprintf(`'%s' receive '%s/standby' | while read l; do while [ -e '%s' ]; do sleep 0.1; done
		[ ! -e '%s' ] || l=999999; echo "$l"; done`, bin, temp, hold, lie)
	p := startProcess(t, bin, dir, "-keep", keeper)
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	other := strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "boris"))
	order := offer(t, p)
	_, sold := p.call("POST", "/v2/bookings", order)
	kept := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(sold)
	if kept == nil {
		t.Fatal(sold)
	}
	touch := func(name string) {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch(hold)
	waits := make(chan int, 1)
	keyed := *p
	keyed.once = "held up"
	go func() {
		status, _ := keyed.call("POST", "/v2/bookings", order)
		waits <- status
	}()
	for status := 0; status != 503; time.Sleep(100 * time.Millisecond) {
		status, _ = p.call("GET", "/readyz", "")
	}
	status, body, header := p.callFor("POST", "/v2/bookings", order)
	if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, "does not answer") {
		t.Errorf("a change beside a silent keeper: %d %v %s", status, header, body)
	}
	if status, body := keyed.call("POST", "/v2/bookings", order); status != 503 ||
		!strings.Contains(body, "may have taken effect") {
		t.Errorf("a repetition beside a silent keeper: %d %s", status, body)
	}
	waiting := regexp.MustCompile(`\nwaybill_keep_lines_waiting [1-9]`)
	for _, path := range []string{"/livez", "/metrics"} {
		if status, body := p.call("GET", path, ""); status != 200 ||
			path == "/metrics" && !waiting.MatchString(body) {
			t.Errorf("%s beside a silent keeper: %d", path, status)
		}
	}
	p.restsOnKeptLines(t, kept[1], other)
	manifest := []string{"manifest", "-data", dir, "kl-0700", time.Now().Format(time.DateOnly)}
	want(t, 1, "does not answer", manifest...) // it would show a sale that is not kept
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	if status := <-waits; status != 201 {
		t.Errorf("what waited for the keeper is answered with %d", status)
	}
	rig.Eventually(t, "it is ready again", func() bool {
		status, _ := p.call("GET", "/readyz", "")
		return status == 200
	})
	want(t, 0, "kl-0700", manifest...)
	touch(lie)
	p.call("POST", "/v2/bookings", order)
	p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != exitIO {
		t.Errorf("a keeper that lies ends the server with %d", code)
	}
}

// What verbs say while the keeper lacks a sale: those that go through the server, and those that read the
// directory.
func TestVerbsBesideASilentKeeper(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	hold := filepath.Join(filepath.Dir(dir), "hold")
	p := startProcess(t, bin, dir, "-keep", fmt.Sprintf(`'%s' receive '%s.standby' | while read l; do
		while [ -e '%s' ]; do sleep 0.1; done; echo "$l"; done`, bin, dir, hold))
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	order := offer(t, p)
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var sale sync.WaitGroup
	sale.Go(func() { p.call("POST", "/v2/bookings", order) }) // whatever it is told by then
	rig.Eventually(t, "the keeper is silent", func() bool {
		status, _ := p.call("GET", "/readyz", "")
		return status == 503
	})
	const silent = "^waybill: the second machine that keeps the journal does not answer; nothing was changed"
	const unread = silent + ", and this can be read once it does\n$"
	journal := content(t, dir, firstFile)
	sales := regexp.MustCompile(`"booking":"([^"]+)"`).FindAllStringSubmatch(journal, -1)
	last := strings.Count(journal, "\n")
	counts := fmt.Sprintf("it is not known whether the lines from %d to %d count: ", last, last)
	run := " -reason ice kl-0700 " + time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	var asked sync.WaitGroup
	for _, c := range []struct {
		code       int
		says, verb string
	}{
		{1, unread, "partner list DIR"},
		{1, unread, "outbox list DIR"},
		{1, unread, "ticket asked DIR"},
		{1, unread, "run cancel DIR -dry-run" + run},
		{1, silent + "\n$", "run cancel DIR" + run},
		{1, silent + "\n$", "partner add DIR clara"},
		{1, silent + "\n$", "key rotate DIR"},
		{1, fmt.Sprintf("it is not known whether line %d counts: it is not signed yet, and the server that "+
			"has the directory open decides", last), "evidence DIR -booking " + sales[len(sales)-1][1] + " DIR.zip"},
		{1, counts, fmt.Sprint("tail DIR -from ", last)},
		{1, counts, fmt.Sprint("tail DIR -from ", last+1)},
		{0, fmt.Sprintf("the newest checkpoint covers line %d, 1 line ago; it is not known yet whether what "+
			"came after that line counts\n", last-1), "verify DIR"},
	} {
		line := strings.NewReplacer("DIR.zip", dir+".zip", "DIR", "-data "+dir).Replace(c.verb)
		args := strings.Fields(line)
		asked.Go(func() { want(t, c.code, c.says, args...) })
	}
	asked.Wait()
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	sale.Wait()
}

// What is erased is erased in the keeper's copy, before the erasure is answered.
func TestAnErasureReachesTheKeeper(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	standby := filepath.Join(filepath.Dir(dir), "standby")
	p := startProcess(t, bin, dir, "-keep", fmt.Sprintf("exec '%s' receive '%s'", bin, standby))
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	p.sells(t, strings.Replace(offer(t, p), `"Ukrainka"`, `"Ukrainka","email":"lesia@example.com"`, 1))
	if len(rig.FilesWith(t, standby, "lesia@example.com")) == 0 {
		t.Error("the keeper has no name to erase")
	}
	want(t, 0, "erased", "forget", "-data", dir, "-email", "lesia@example.com", "-reason", "asked for")
	if names := rig.FilesWith(t, standby, "lesia@example.com"); len(names) > 0 {
		t.Errorf("the keeper has the name in %q", names)
	}
}

// restsOnKeptLines checks what a server with a silent keeper still shows: what rests on lines that are kept.
// A sale of its partner's, on a run from Kyiv to Warsaw, is not.
func (p *process) restsOnKeptLines(t *testing.T, kept, other string) {
	day := time.Now().AddDate(0, 0, 2).Format(time.DateOnly)
	search := "/v2/offers?departureDate=" + day + "&departureCitySlug="
	key := p.key
	defer func() { p.key = key }()
	var asked sync.WaitGroup
	var mu sync.Mutex
	var late []time.Duration // how long each 503 has waited
	for _, c := range []struct {
		path, key string
		status    int
	}{
		{"/v2/bookings/" + kept, key, 200},
		{"/v2/bookings", key, 503},
		{"/v2/events", key, 503},
		{"/v2/bookings", other, 200},
		{"/v2/events", other, 200},
		{"/v2/bookings/" + kept, other, 503}, // that there is none rests on every line
		{search + "kyiv&arrivalCitySlug=warsaw", key, 503},
		{search + "ivano-frankivsk&arrivalCitySlug=bukovel", key, 200},
		{"/v2/cities", key, 200},
	} {
		asker := *p
		asker.key = c.key
		asked.Go(func() {
			began := time.Now()
			status, body := asker.call("GET", c.path, "")
			if status != c.status {
				t.Errorf("%s beside a silent keeper: %d, want %d: %s", c.path, status, c.status, body)
			}
			if status == 503 {
				mu.Lock()
				late = append(late, time.Since(began))
				mu.Unlock()
			}
		})
	}
	began := time.Now()
	search = strings.NewReplacer("offers", "offers/schedule", "departureDate", "date").Replace(search)
	if status, body := p.call("GET", search+"kyiv&arrivalCitySlug=warsaw", ""); status != 503 {
		t.Errorf("a search beside a silent keeper: %d %s", status, body)
	}
	once := time.Since(began)
	asked.Wait()
	if longest := slices.Max(late); longest > once*3/2 {
		t.Errorf("a 503 comes after %v, where one wait takes %v", longest, once)
	}
}

// Decision keep.begins: a start that waits for its keeper ends when the process should, with 0.
func TestAStartGivesUpASilentKeeper(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	want(t, 0, "", "import", "-data", dir, "../../testdata/demo")
	for _, keeper := range []string{
		"cat >/dev/null",                    // it says nothing
		"echo 0 -; cat >/dev/null",          // it never has what it lacks
		"read -r l; cat >/dev/null; exit 3", // it neither says nor ends well
	} {
		cmd := exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", dir,
			"-keep", "echo up >&2; "+keeper)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		log := bufio.NewScanner(stderr)
		for log.Scan() && !strings.Contains(log.Text(), "up") {
		}
		cmd.Process.Signal(syscall.SIGTERM)
		for log.Scan() {
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitDone {
			t.Errorf("%s: a start that should end exits with %d", keeper, code)
		}
	}
}

// Decision keep.begins: a key that is made without a server is not kept elsewhere yet, and that is said.
func TestAKeyMadeWithoutAServerIsSaidNotToBeKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "", "import", "-data", dir, "../../testdata/demo")
	code, key, said := run(t, nil, "partner", "add", "-data", dir, "anna")
	if code != 0 || !strings.HasPrefix(key, "wb_") || !strings.Contains(said, "this directory alone") {
		t.Errorf("%d %q %q", code, key, said)
	}
}

// A first start that its keeper ends leaves a directory with no timetable. Each later start says what to do.
func TestADirectoryWithoutATimetableSaysWhatToDo(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	cmd := exec.Command(bin, "serve", "-addr", "127.0.0.1:0", "-data", dir, "-keep", "echo 0 -; exit 0")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitIO {
		t.Fatalf("exit %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	for range 2 {
		p := startProcess(t, bin, dir)
		rig.Eventually(t, "it says what to do", func() bool {
			return strings.Contains(fmt.Sprint(p.said), "waybill import -data")
		})
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.cmd.Wait()
	}
}
