//go:build !lean

package command

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/busy"
	"waybill/server/lab/seed"
	"waybill/server/lab/worlds"
	"waybill/server/operate/admin"
	"waybill/server/operate/stand"
)

// What testers and students use (decision bench.flags), which the lean build has not: see lean.go.

// isLean reports whether this is the lean build.
const isLean = false

// absentFlags are the flags that a verb has in another build only, by the verb.
var absentFlags map[string][]string

// benchFlags are the flags of serve that are of the test bench.
var benchFlags = []option{
	{"test-clock", "",
		"serve with a clock that can be moved; it starts at `now` or an instant as in 2026-11-20T08:30:00Z"},
	{"frozen", false, "start with a test clock that stands still until it is moved"},
	{"test-control", "", "the loopback `address` where testers make worlds and faults"},
	{"worlds", 0, "make this `number` of worlds, 1 to 99, at the ports after that of -test-control"},
	{"seed", "", "make a new directory, and derive all that would be random in it from this `number`"},
	{"demo", "", "with `busy`, fill a new directory with sales, refunds, a moved run and a cancelled run"},
	{"vary", false, "vary what the interface leaves open, so that no client relies on it"},
}

// The verbs.
var tourVerb = verb{"tour", "", "play one booking step by step",
	"It shows what is sent, written and changed, in a directory of its own.",
	(*call).tour, []option{
		{"pace", 0.0, "continue after so many `seconds`; with 0 each step waits for Enter"}}}

var conformVerb = verb{"conform", "", "play the interface's rules against any server", "",
	(*call).conform, []option{
		{"base-url", "", "the `URL` of the server, as in http://127.0.0.1:8080"},
		{"key", "", "a partner's API `key`"},
		{"key2", "", "the `key` of another partner"},
		{"control", "", "the `URL` of the server's -test-control; the rules are played in a world of their own"},
		{"from", "", "the `slug` of the city of departure; without -from, -to and -date a journey is searched for"},
		{"to", "", "the `slug` of the city of arrival"},
		{"date", "", "a `day` with departures, as in 2026-11-25"},
		{"stop", "", "the `id` of a stop; by default a stop of the first offer"},
		{"write", false, "also make and cancel bookings, of 32 seats at most at a time; by default " +
			"only GET requests are sent"},
		{"id-token", "", "an ID `token` of a company user"},
		{"email", "", "the `e-mail` address of a company user, with -password-file"},
		{"password-file", "", "the `file` whose first line is the user's password"},
		{"fms", "", "the `id` of an FMS object of the user's company, whose geolocation is switched on and off"},
		{"stage", 0, "play only the stage of this `number`, 1 to 10"},
		{"beyond", false, "also play stage 10: what this server adds to the interface"},
		{"like", "", "the `URL` of a server with the same timetable, to compare each answer with"},
		{"like-key", "", "a partner's `key` at that server"},
		{"strict", false, "count a rule that is not shown as failed, unless -known lists it"},
		{"known", "", "the `file` of rules that are known to fail: an id a line, # begins a comment"},
		{"list", false, "print the rules, and send no request"},
		{"junit", "", "the `file` to write the results into, as JUnit"},
		{"recorded", "", "check a deployment's recorded answers, a HAR `file` or a directory of pairs; no request is sent"}}}

// newLab returns the test bench of a server that has no test clock: it gives up one that the directory had.
func newLab() *stand.Lab {
	return bench.New(bench.Settings{}).Lab()
}

// testBench is the test bench of a directory that is served, with the worlds beside it.
type testBench struct {
	held    bool // see controlled
	clock   bool // there is a test clock
	busy    bool // the demo is to be filled
	bench   *bench.Bench
	addr    string         // where calls about worlds are made; "" is nowhere
	number  int            // of worlds that are made at the start
	control net.Listener   // at addr; nil until listen
	ports   []net.Listener // of the worlds of the start; none until listen
	worlds  *worlds.Control
}

// maxWorlds is how many worlds a start may make.
const maxWorlds = 99

// testBench reads the flags of the test bench of a server that listens on addr.
func (c *call) testBench(addr string) (*testBench, error) {
	set := bench.Settings{
		Frozen: c.get("frozen").(bool),
		Vary:   c.get("vary").(bool),
	}
	if err := c.testClock(&set); err != nil {
		return nil, err
	}
	if err := c.demo(&set, addr); err != nil {
		return nil, err
	}
	control := c.text("test-control")
	set.Watch = control != ""
	switch {
	case (set.Frozen || set.Watch || set.Vary || c.isGiven("seed") || c.isGiven("worlds")) && !set.TestClock:
		return nil, errors.New("-frozen, -seed, -test-control, -vary and -worlds need -test-clock")
	case set.Watch && !isLoopback(control):
		return nil, fmt.Errorf("-test-control %q is not a loopback address as in 127.0.0.1:8081", control)
	}
	if err := c.seed(&set, addr); err != nil {
		return nil, err
	}
	number, err := c.worlds(control)
	if err != nil {
		return nil, err
	}
	return &testBench{
		clock:  set.TestClock,
		held:   set.Frozen || set.Watch || c.isGiven("seed"),
		busy:   set.Busy,
		bench:  bench.New(set),
		addr:   control,
		number: number,
	}, nil
}

// worlds reads how many worlds are made at the start, at the ports after that of the control listener.
func (c *call) worlds(control string) (number int, err error) {
	if !c.isGiven("worlds") {
		return 0, nil
	}
	number = c.get("worlds").(int)
	if number < 1 || number > maxWorlds {
		return 0, fmt.Errorf("-worlds must be from 1 to %d", maxWorlds)
	}
	if control == "" {
		return 0, errors.New("-worlds needs -test-control: worlds are made at the ports after it")
	}
	if at, err := net.ResolveTCPAddr("tcp", control); err == nil && at.Port+number > lastPort {
		return 0, fmt.Errorf("-worlds %d: there are not that many ports after %d", number, at.Port)
	}
	return number, nil
}

// lastPort is the last of all ports.
const lastPort = 1<<16 - 1

// testClock reads where the test clock starts.
func (c *call) testClock(set *bench.Settings) (err error) {
	clock := c.text("test-clock")
	set.TestClock = clock != ""
	if clock == "" || clock == "now" {
		return nil
	}
	if set.StartAt, err = web.ParseInstant(clock); err != nil {
		return fmt.Errorf("-test-clock %w, or now", err)
	}
	return nil
}

// demo reads whether the demo is to be filled. Then a test clock begins earlier, and is where it was asked
// for when the sales are over.
func (c *call) demo(set *bench.Settings, addr string) error {
	switch kind := c.text("demo"); {
	case kind == "":
		return nil
	case kind != "busy":
		return fmt.Errorf("-demo %q must be busy or left out", kind)
	case !isLoopback(addr):
		return errors.New("-demo busy needs a loopback address in -addr")
	case c.text("rate") != "" || c.text("provider-url") != "":
		// The sales are calls as a partner's are: refused ones would leave half a demo.
		return errors.New("-demo busy goes without -rate and -provider-url; start again with them later")
	}
	set.Busy = true
	if set.TestClock {
		if set.StartAt.IsZero() {
			set.StartAt = time.Now()
		}
		set.StartAt = set.StartAt.Add(-busy.Span)
	}
	return nil
}

// seed reads the number that all that would be random comes from.
func (c *call) seed(set *bench.Settings, addr string) error {
	if !c.isGiven("seed") {
		return nil
	}
	number, err := strconv.ParseUint(c.text("seed"), 10, 64)
	if err != nil {
		return fmt.Errorf("-seed %q is not a number from 0 to 18446744073709551615", c.text("seed"))
	}
	// Whoever knows the number knows every key and every secret, and can sign what they like with them: only
	// those who are on this machine anyway may reach such a server.
	if !isLoopback(addr) {
		return errors.New("-seed: every key follows from the number, so -addr must be a loopback address")
	}
	set.Seed = seed.New(number)
	return nil
}

// isLoopback reports whether an address to listen on is reached by this machine only. A name is looked up: it
// may be another than localhost.
func isLoopback(addr string) bool {
	at, err := net.ResolveTCPAddr("tcp", addr)
	return err == nil && at.IP.IsLoopback()
}

// lab returns the bench as a server takes it.
func (t *testBench) lab() *stand.Lab { return t.bench.Lab() }

// controlled reports whether testers hold the clock still, decide what is random, or copy what is served.
func (t *testBench) controlled() bool { return t.held }

// listen opens the port for calls about worlds, if there is to be one, and those of the worlds of the start.
func (t *testBench) listen() (err error) {
	if t.addr == "" {
		return nil
	}
	if t.control, err = net.Listen("tcp", t.addr); err != nil {
		return fmt.Errorf("-test-control: %w", err)
	}
	at := t.control.Addr().(*net.TCPAddr).Port
	for i := range t.number {
		ln, err := worlds.ListenAt(at + i + 1)
		if err != nil {
			return fmt.Errorf("-worlds: %w", err)
		}
		t.ports = append(t.ports, ln)
	}
	return nil
}

// commands returns what is to be pasted into a shell besides: where calls about worlds are made.
func (t *testBench) commands() string {
	if t.control == nil {
		return ""
	}
	return "CONTROL=http://" + t.control.Addr().String() + "\n"
}

// fill fills a new demo, whose partner has a key, if it is to be busy.
func (t *testBench) fill(s *server.Server, key string) error {
	if !t.busy {
		return nil
	}
	town := &busy.Town{
		Server: s,
		Key:    key,
		By:     admin.Self(),
	}
	if t.clock {
		town.Pass = func(d time.Duration) error {
			_, _, _, err := t.bench.MoveClock(bench.Move{By: d})
			return err
		}
	}
	if err := town.Fill(); err != nil {
		return fmt.Errorf("-demo busy: %w", err)
	}
	return nil
}

// warn says in the log what anybody can do whom the clock obeys.
func (t *testBench) warn(log *slog.Logger, isLocal bool) {
	if t.clock && !isLocal {
		log.Warn("-test-clock on an address that other machines reach: without a key, anybody there can " +
			"move or stop the clock (POST /test/clock). Unpaid tickets then lapse, refunds shrink, " +
			"sessions end; the clock never moves back")
	}
}

// clean removes what a killed server has left of worlds.
func (t *testBench) clean(cfg server.Config) {
	if err := worlds.Clean(cfg.Dir); err != nil {
		cfg.Log.Warn("worlds that a killed server left behind could not be removed", "err", err)
	}
}

// serve answers calls about worlds, beside a directory that is open, and makes those of the start.
func (t *testBench) serve(f *front.Front) error {
	if t.control == nil {
		return nil
	}
	t.worlds = worlds.Listen(t.control, f, t.bench)
	ports := t.ports
	t.ports = nil // they are the worlds' from here on
	return t.worlds.MakeNumbered(ports)
}

// close removes all worlds, and closes their ports.
func (t *testBench) close(log *slog.Logger) {
	if t.worlds != nil {
		if err := t.worlds.Close(); err != nil {
			log.Warn("not all worlds could be removed; the next start removes them", "err", err)
		}
	}
	for _, ln := range t.ports {
		ln.Close()
	}
	if t.control != nil {
		t.control.Close()
	}
}
