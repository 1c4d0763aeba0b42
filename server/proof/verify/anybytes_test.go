package verify_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Whatever bytes a directory has, both auditors come to an end, to the same verdict and to the same lines,
// and a start serves it or says in this program's words why not.

var (
	seed      = flag.Uint64("seed", 1, "what damages are drawn from")
	only      = flag.Int("only", -1, "the `number` of the one case of each part that is tried; below 0: all")
	cases     = flag.Int("cases", 0, "how `many` of each part are tried; 0: 100, and with -long 2,000")
	disagreed = flag.String("disagreements", "", "a `file` for all that is not as it should be, by kind")
)

// spoilt is a directory with which something was done, and what came of it.
type spoilt struct {
	dir  string
	bare bool       // it is served from its first line: it has no snapshot
	r    *rand.Rand // what the case is drawn from

	how        string // what was done
	where      string // of a file, or of a member of a type of line
	what       string // before and after
	unreadable bool   // something stands where no file can be read

	we, they opinion
	problems []verify.Problem
	said     string // what verify's error says
	refused  error  // why it was not served
	panicked string // by verify, or by the start
	after    opinion
	logged   bytes.Buffer
}

// change notes what was done.
func (c *spoilt) change(how, where, before, after string) {
	short := func(text string) string {
		const most = 90
		if len(text) > most {
			text = text[:most] + "…"
		}
		return fmt.Sprintf("%q", text)
	}
	c.how, c.where, c.what = how, where, short(before)+" → "+short(after)
}

// name says what was done, in a line.
func (c *spoilt) name() string { return c.how + " of " + c.where + ": " + c.what }

// guarded calls what may panic, and returns with what it has.
func guarded(do func()) (panicked string) {
	defer func() {
		if x := recover(); x != nil {
			panicked = fmt.Sprintf("%v\n%s", x, debug.Stack())
		}
	}()
	do()
	return ""
}

// judge has verify look at the directory.
func (c *spoilt) judge(t *testing.T) {
	c.panicked = guarded(func() {
		v, err := verify.Judge(durable.Dir(c.dir), c.dir, verify.Beside{}, inspect.Expected{}, "")
		c.problems = v.Problems
		if err != nil {
			c.said = err.Error()
		}
		c.we = opinionOf(t, v)
	})
}

// serve starts a server on the directory and stops it. After it a sound one must still be sound.
func (c *spoilt) serve(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	panicked := guarded(func() {
		s, err := server.Open(server.Config{
			Dir: c.dir,
			FS:  rig.Unsynced(c.dir),
			Log: slog.New(slog.NewTextHandler(&c.logged, nil)),
			Now: func() time.Time { return at },
			Lab: rig.TestClock(),
		})
		c.refused = err
		if err != nil {
			return
		}
		c.refused = s.Close()
		if c.we.Verdict == "sound" {
			c.after = ours(t, c.dir)
		}
	})
	c.panicked = cmp.Or(c.panicked, panicked)
}

// fault is what is not as it should be.
type fault struct{ kind, text string }

// othersWords match what this program's words never have: those of Go's packages, and names of its types.
var othersWords = regexp.MustCompile(`json: |invalid character|unmarshal|Go (struct|value)|\bEOF\b` +
	`|strconv\.|unexpected end of|invalid syntax|value out of range|illegal base64|encoding/|parsing time` +
	`|asn1:|x509:|runtime error|%!|\bmap\[|crypto/|` +
	`\b(ledger|booking|schedule|auth|journal|report|ids|wire|books|inspect|chain|live|note|tree)\.[A-Z]`)

// notThere matches why a line cannot be applied: it names what is not there.
var notThere = regexp.MustCompile(`does not exist|there is no|has no |already exists|is not a ride|no such|` +
	`not known|offsets for|no ride|no such seat|seats for|names messages`)

// pythonsWords match what its interpreter says, which audit.py must not pass on.
var pythonsWords = regexp.MustCompile(`NoneType|object has no|subscriptable|argument must|fromisoformat|` +
	`index out of|unhashable|'(int|str|list|dict|float|bool)'|invalid literal|operand|codec can't`)

// faults holds what came of a case against what should.
func (c *spoilt) faults() (list []fault) {
	add := func(kind, format string, args ...any) {
		list = append(list, fault{kind, fmt.Sprintf(format, args...)})
	}
	if c.panicked != "" {
		add("panic", "%s", c.panicked)
		return list
	}
	if c.they.Verdict == "traceback" {
		add("traceback", "%s", c.they.Problems[0].Text)
	} else if differ := c.differ(); differ != "" {
		add("auditors: "+differ, "%s", "")
	}
	if c.we.Verdict == "failed" && !c.unreadable {
		text := c.we.Problems[0].Text
		if text != verify.ErrNoJournal.Error() && !strings.Contains(text, "before the first release") {
			add("failed, and all can be read", "%s", text)
		}
	}
	for _, p := range c.problems {
		if found := othersWords.FindString(p.Text); found != "" {
			add("words of verify: "+found, "%s", p.Text)
			break
		}
	}
	for _, p := range c.they.Problems {
		if found := pythonsWords.FindString(p.Text); found != "" && c.they.Verdict != "traceback" {
			add("words of audit.py: "+found, "%s", p.Text)
			break
		}
	}
	return append(list, c.startFaults()...)
}

// differ says what the auditors do not agree on. Only verify reads the keys.
func (c *spoilt) differ() string {
	switch {
	case strings.HasPrefix(c.where, "keys/"), c.where == "tickets.pub":
		if c.they.Verdict != "sound" {
			return "audit.py reads keys"
		}
	case c.we.Verdict != c.they.Verdict:
		return "verdict"
	case !slices.Equal(c.we.lines(), c.they.lines()):
		return "lines"
	case !slices.Equal(c.we.Remarks, c.they.Remarks):
		return fmt.Sprintf("remarks: verify alone %s, audit.py alone %s", alone(c.we.Remarks, c.they.Remarks),
			alone(c.they.Remarks, c.we.Remarks))
	case !reflect.DeepEqual(c.we.Books, c.they.Books):
		return "books"
	}
	return ""
}

// alone returns the kinds of the remarks that only one auditor has.
func alone(one, other []remark) (kinds []string) {
	other = slices.Clone(other)
	for _, r := range one {
		if i := slices.Index(other, r); i >= 0 {
			other = slices.Delete(other, i, i+1)
		} else {
			kinds = append(kinds, r.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// exit is the kind of exit of a start.
func (c *spoilt) exit() string {
	switch {
	case c.refused == nil:
		return "served"
	case errors.As(c.refused, new(*journal.Damage)):
		return "65"
	case errors.Is(c.refused, journal.ErrNewer), errors.Is(c.refused, journal.ErrOlder):
		return "78"
	}
	return "1"
}

// startFaults holds what a start did against the verdict.
func (c *spoilt) startFaults() (list []fault) {
	add := func(kind string) {
		text := fmt.Sprint(c.refused)
		list = append(list, fault{"start: " + kind, text})
	}
	exit := c.exit()
	if c.refused != nil {
		if found := othersWords.FindString(c.refused.Error()); found != "" {
			add("words: " + found)
		}
	}
	switch c.we.Verdict {
	case "sound":
		if exit != "served" {
			add("sound, and ends with " + exit)
		} else if c.after.Verdict != "sound" {
			add(fmt.Sprintf("sound, and %s after it: %+v", c.after.Verdict, c.after.Problems))
		} else if strings.Contains(c.logged.String(), "torn") {
			add("sound, and mends: " + c.logged.String())
		}
	case "books":
		var d *journal.Damage
		named := errors.As(c.refused, &d) && notThere.MatchString(d.Reason) &&
			slices.Contains(c.we.lines(), d.Seq)
		if exit != "served" && !named {
			add("books, and ends with " + exit)
		}
	case "torn", "unsigned", "forked":
		// what another key has signed under the directory's name is of another history
		if exit != "served" && (c.we.Verdict != "forked" || exit != "65") {
			add(c.we.Verdict + ", and ends with " + exit)
		}
	case "newer":
		if exit != "78" {
			add("newer, and " + exit)
		}
	case "damaged":
		file := c.problems[0].File
		if exit != "65" && exit != "served" && !errors.Is(c.refused, durable.ErrLink) &&
			!errors.Is(c.refused, durable.ErrIrregular) { // what is no file says so
			add("damaged, and ends with " + exit)
		}
		if c.bare && exit != "65" && strings.HasPrefix(file, "journal/") {
			add("damaged in the journal, and " + exit)
		}
	}
	return list
}

// try has directories spoilt, judged and served, and tells what came of them.
func try(t *testing.T, part string, n int, spoil func(c *spoilt), tell func(*spoilt)) {
	t.Helper()
	const together = 50 // as many as one python judges
	numbers := []int{*only}
	if *only < 0 {
		numbers = numbers[:0]
		for i := range n {
			numbers = append(numbers, i)
		}
	}
	folder := t.TempDir()
	for some := range slices.Chunk(numbers, together) {
		var cases []*spoilt
		var dirs []string
		for _, i := range some {
			c := &spoilt{
				dir: filepath.Join(folder, fmt.Sprint(i)),
				r:   rand.New(rand.NewPCG(*seed, uint64(i)<<8|uint64(part[0]))),
			}
			spoil(c)
			c.what = fmt.Sprintf("%s (-seed %d -only %d)", c.what, *seed, i)
			cases, dirs = append(cases, c), append(dirs, c.dir)
		}
		for i, o := range eachOfTheirs(t, dirs) {
			cases[i].they = o
		}
		for _, c := range cases {
			c.judge(t)
			c.serve(t)
			tell(c)
			if *only < 0 {
				os.RemoveAll(c.dir)
			} else {
				t.Logf("%s\nverify:   %+v\naudit.py: %+v\nstart: %s %v\n%s", c.name(), c.we, c.they, c.exit(), c.refused,
					&c.logged)
			}
		}
	}
}

// eachOfTheirs returns the opinions of audit.py. Where a directory ends it, the opinion says so.
func eachOfTheirs(t *testing.T, dirs []string) (list []opinion) {
	t.Helper()
	for len(list) < len(dirs) {
		some, said, err := judgedByPython(dirs[len(list):])
		list = append(list, some...)
		if len(list) == len(dirs) {
			break
		}
		if err == nil {
			t.Fatalf("audit.py tells of %d directories, and not of %d", len(list), len(dirs))
		}
		o := opinion{Verdict: "traceback"}
		o.problem(lastLines(said))
		list = append(list, o)
	}
	return list
}

// problem adds a problem that is of no line.
func (o *opinion) problem(text string) {
	o.Problems = append(o.Problems, struct {
		Seq  uint64
		Text string
	}{0, text})
}

// lastLines returns what a traceback ends with.
func lastLines(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// tally is what is not as it should be, by kind.
type tally struct {
	sync.Mutex
	groups map[string][]string // the cases
	faults map[string]int      // by kind
	kinds  map[string]int      // verdicts and ends
	cases  int
}

// add adds a case.
func (x *tally) add(t *testing.T, part string, c *spoilt) {
	x.Lock()
	defer x.Unlock()
	x.cases++
	x.kinds[part+" "+c.we.Verdict+", start "+c.exit()]++
	for _, f := range c.faults() {
		x.faults[part+" "+f.kind]++
		where := " of " + c.where
		if part == "B" {
			where = ""
			if strings.HasPrefix(c.where, "timetable ") {
				where = " of a timetable"
			}
		}
		group := fmt.Sprintf("%s | %s | %s%s | verify %s, audit.py %s, start %s", part, f.kind, c.how, where,
			c.we.Verdict, c.they.Verdict, c.exit())
		first := func(o opinion) string {
			var text strings.Builder
			for _, p := range o.Problems[:min(2, len(o.Problems))] {
				fmt.Fprintf(&text, " [%d: %.240s]", p.Seq, p.Text)
			}
			return fmt.Sprintf("%s%s, lines %v, remarks %v", o.Verdict, text.String(), o.lines(), o.Remarks)
		}
		text := fmt.Sprintf("%s\n    verify:   %s\n    audit.py: %s\n    start:    %s %.300v", c.name(),
			first(c.we), first(c.they), c.exit(), c.refused)
		if f.text != "" {
			text += fmt.Sprintf("\n    %.3000s", f.text)
		}
		if f.kind == "auditors: books" {
			text += fmt.Sprintf("\n    books: %v\n       and %v", c.we.Books, c.they.Books)
		}
		x.groups[group] = append(x.groups[group], text)
	}
	if x.cases%100 == 0 {
		x.write(t)
	}
}

// write writes the list, if that was asked for.
func (x *tally) write(t *testing.T) {
	if *disagreed == "" {
		return
	}
	if err := os.WriteFile(*disagreed, []byte(x.text()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// text returns the list, the most frequent first.
func (x *tally) text() string {
	var all strings.Builder
	byCount := func(of map[string]int) {
		for _, k := range slices.SortedFunc(maps.Keys(of), func(a, b string) int {
			return cmp.Or(of[b]-of[a], strings.Compare(a, b))
		}) {
			fmt.Fprintf(&all, "- %d × %s\n", of[k], k)
		}
	}
	fmt.Fprintf(&all, "%d cases, seed %d\n\n## Verdicts of verify, and what the start did\n\n", x.cases, *seed)
	byCount(x.kinds)
	fmt.Fprintf(&all, "\n## What is not as it should be, by kind\n\n")
	byCount(x.faults)
	fmt.Fprintf(&all, "\n## Each group\n\n")
	for _, k := range slices.SortedFunc(maps.Keys(x.groups), func(a, b string) int {
		return cmp.Or(len(x.groups[b])-len(x.groups[a]), strings.Compare(a, b))
	}) {
		fmt.Fprintf(&all, "### %d × %s\n\n", len(x.groups[k]), k)
		for i, c := range x.groups[k] {
			if i < 3 {
				fmt.Fprintf(&all, "    %s\n\n", c)
			} else if name, _, _ := strings.Cut(c, "\n"); i < 12 {
				fmt.Fprintf(&all, "    also %s\n", name)
			}
		}
		all.WriteString("\n")
	}
	return all.String()
}

// Whatever was done to a directory, both auditors agree, and a start serves it or refuses it in words.
func TestAnyBytes(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	n := cmp.Or(*cases, 100)
	if *rig.Long && *cases == 0 {
		n = 2000
	}
	b := newRich(t)
	found := &tally{groups: map[string][]string{}, faults: map[string]int{}, kinds: map[string]int{}}
	t.Run("of", func(t *testing.T) {
		for part, spoil := range map[string]func(t *testing.T, c *spoilt){"A": b.damage, "B": b.change} {
			t.Run(part, func(t *testing.T) {
				t.Parallel()
				try(t, part, n, func(c *spoilt) { spoil(t, c) }, func(c *spoilt) { found.add(t, part, c) })
			})
		}
	})
	found.write(t)
	if len(found.groups) > 0 {
		t.Errorf("%.20000s", found.text())
	}
}

// rich is a directory that has something of all that a directory has.
type rich struct {
	closed string // with a snapshot of its end
	killed string // with lines after its newest snapshot
	plain  string // in one file, signed once, without snapshots and earlier names: to be forged
	other  string // another directory
}

// more is done in the directory of the fixture at its end: letters, a sale under a key, and a refund.
const more = `
messenger
as anna
GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate=2026-12-04
    200
    offer = data.offers[0].id
with Idempotency-Key: six
POST /v2/bookings {"offerId":"$offer","currency":"EUR","passengers":[` +
	`{"firstName":"Maria","lastName":"Zankovetska","email":"maria@example.com"},` +
	`{"firstName":"Les","lastName":"Kurbas"}]}
    201
    f = data.booking.id
    first = data.booking.tickets[0].id
with Idempotency-Key: seven
POST /v2/bookings/$f/pay
    200
POST /v2/bookings/$f/cancel {"ticketIds":["$first"]}
    200
rest
`

// newRich makes one: it plays the text of the fixture, which has every kind of line.
func newRich(t *testing.T) *rich {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rich")
	text, err := os.ReadFile(rig.File("testdata/journal/v3.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b := &rich{killed: dir + "killed", plain: dir + "plain", other: newHonest(t).dir}
	synctest.Test(t, func(t *testing.T) {
		p := rig.NewPlayer(t, dir, "seed")
		for line := range strings.Lines(string(text) + more) {
			p.Line++
			p.Play(strings.TrimRight(line, "\n"))
		}
		if err := os.CopyFS(b.killed, os.DirFS(p.Dir())); err != nil {
			t.Fatal(err)
		}
		p.Finish()
		b.closed = p.Dir()
	})
	b.makePlain(t)
	for _, dir := range []string{b.closed, b.killed, b.plain} {
		if o := ours(t, dir); o.Verdict != "sound" {
			t.Fatalf("%s: %+v", dir, o)
		}
	}
	return b
}

// makePlain makes the directory that is forged.
func (b *rich) makePlain(t *testing.T) {
	t.Helper()
	err := os.CopyFS(b.plain, os.DirFS(b.closed))
	var whole []byte
	files, _ := filepath.Glob(filepath.Join(b.plain, "journal", "*"))
	for _, name := range files {
		text, failed := os.ReadFile(name)
		whole = append(whole, text...)
		err = errors.Join(err, failed, os.Remove(name))
	}
	for _, name := range []string{"checkpoint-*.pub", "checkpoints-*.log"} {
		earlier, _ := filepath.Glob(filepath.Join(b.plain, name))
		for _, name := range earlier {
			err = errors.Join(err, os.Remove(name))
		}
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(b.plain, rig.JournalFile), whole, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	resign(t, b.plain)
}

// copyOf copies a directory. Timetables, which are large and never written again, are the same files in it.
func copyOf(t *testing.T, of, to string) {
	t.Helper()
	err := filepath.WalkDir(of, func(path string, d os.DirEntry, err error) error {
		name := filepath.Join(to, strings.TrimPrefix(path, of))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(name, 0o700)
		case filepath.Base(filepath.Dir(path)) == "timetables":
			return os.Link(path, name)
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
