package store_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"waybill/store/durable"
	"waybill/store/live"
)

var (
	crashes = flag.Int("crashes", 0, "states that TestCrashes goes through, at least; "+
		"0 is 150, at a sixth of the places, and only some of the bytes and bits in the tests that change each")
	oneState = flag.String("crash", "",
		"the only state that TestCrashes goes through, by the name that a failure gives it")
)

// campaign stops a workload at every call that changes something, in every way, and each time looks at so
// many of the states that the disk may be in then. What is looked for stands in ledger, life.judge and
// life.check.
type campaign struct {
	lie       func(durable.FS) durable.FS // stands between store and disk; or nil
	untrusted bool
	places    []place
	images    int
}

// place is a call and what becomes of it.
type place struct {
	call int
	op   string
	how  act
	on   bool // of all calls of this kind, from this one on
	end  bool // the process is killed at the second call after it
}

var hows = map[act]string{
	ends: "before", endsHalf: "in", endsAfter: "after", fails: "EIO", failsFull: "ENOSPC", failsHalf: "short",
}

func (p place) String() string {
	how := hows[p.how]
	if p.on {
		how += "-on"
	}
	if p.end {
		how += "-end"
	}
	return fmt.Sprintf("%d/%s", p.call, how)
}

// kind is what a disk's calls have in common that goes wrong for all of them.
func kind(op string) string {
	verb, name, _ := strings.Cut(op, " ")
	if verb == "syncdir" {
		return op
	}
	return verb + " " + path.Dir(name)
}

// newCampaign finds the places of a workload, with at least so many states.
func newCampaign(states int, lie func(durable.FS) durable.FS, untrusted bool) *campaign {
	c := &campaign{lie: lie, untrusted: untrusted}
	l := c.life(place{}, func(n int, op string) {
		all := []place{{how: ends}, {how: endsHalf}, {how: endsAfter}, {how: fails}, {
			how: fails,
			on:  true,
		}, {how: fails, end: true}}
		switch verb, _, _ := strings.Cut(op, " "); verb {
		case "write":
			all = append(all, place{how: failsHalf}, place{
				how: failsHalf,
				on:  true,
			}, place{how: failsHalf, end: true})
			fallthrough
		case "create", "mkdir":
			all = append(all, place{how: failsFull}, place{how: failsFull, on: true})
		}
		for _, p := range all {
			p.call = n
			p.op = op
			c.places = append(c.places, p)
		}
	})
	c.images = (states + len(c.places) - 1) / len(c.places)
	l.disk.before = nil
	l.check()
	if len(l.complaints())+len(l.errs) > 0 && lie == nil && !untrusted {
		panic(fmt.Sprint("the workload itself goes wrong: ", l.complaints(), l.errs))
	}
	return c
}

// life goes through the workload up to a place.
func (c *campaign) life(p place, seen func(n int, op string)) *life {
	d := newDisk()
	d.chance = p.chance(-1)
	l := c.born(d, new(ledger))
	var opening bool
	d.before = func(n int, op string) act {
		if seen != nil {
			seen(n, op)
		}
		if strings.HasPrefix(op, "write journal/") {
			l.read()
		}
		switch {
		case n == p.call && op != p.op && c.lie == nil:
			l.complain("call %d is %s and was %s: the workload is not always the same", n, op, p.op)
		case n == p.call:
			opening = l.opening
			return p.how
		case n > p.call && p.on && kind(op) == kind(p.op):
			return p.how
		case n == p.call+2 && p.end:
			return ends
		}
		return works
	}
	l.run(workload)
	if p.call > 0 {
		l.judge(p, opening)
	}
	return l
}

// born starts a process on a disk.
func (c *campaign) born(d *disk, b *ledger) *life {
	l := &life{ledger: b, disk: d, fsys: d, untrusted: c.untrusted}
	if c.lie != nil {
		l.fsys = c.lie(d)
	}
	return l
}

// chance returns the same random numbers for a state each time; -1 is the way to the place itself.
func (p place) chance(image int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(p.call)<<8+uint64(p.how), uint64(image)))
}

// judge finds that what failed was told in the right way.
func (l *life) judge(p place, opening bool) {
	told := errors.Join(l.errs...)
	switch {
	case p.end:
	case p.how <= endsAfter:
		if !l.disk.killed() {
			l.complain("the place is not reached")
		}
	case strings.HasPrefix(p.op, "seal"):
		if told != nil || !strings.Contains(l.log.String(), "level=WARN") {
			l.complain("a file that cannot be sealed is more, or less, than a warning: %v", told)
		}
	case p.how == failsFull && strings.HasPrefix(p.op, "create journal/") && !strings.HasSuffix(p.op, ".tmp"):
		if told != nil || l.broken {
			l.complain("a new file that the disk has no room for is more than a reason to go "+
				"on in the old one: %v", told)
		}
	case opening:
		// The first checkpoint of a directory is tried again later: that it could not be written is a
		// warning.
		if !errors.Is(told, errFault) &&
			!strings.Contains(l.log.String(), "a checkpoint could not be written") {
			l.complain("a start takes no notice: %v", told)
		}
	case strings.HasSuffix(kind(p.op), " journal"):
		if !l.broken || !errors.Is(told, live.ErrFailed) || !errors.Is(told, errFault) {
			l.complain("the store does not report that its journal has failed: %v", told)
		}
	case l.broken:
		l.complain("the journal has failed with something else: %v", told)
	case told == nil && !strings.Contains(l.log.String(), "level=WARN"):
		l.complain("nobody is told")
	case !p.on && l.last == nil:
		// It was tried again: the last snapshot is of the last line.
		all := l.disk.files()
		if all["snapshots/"+fmt.Sprintf("%012d.jsonl", len(journalLines(all)))] == "" {
			l.complain("there is no snapshot of the end: %q", named(all, "snapshots/"))
		}
	}
}

// maxLives is how many recoveries a state may go through, each ended by a crash, before the one that is
// looked at.
const maxLives = 4

// state makes one state of the disk, goes on with it, and tells what was wrong. Image 0 is of a process that
// is killed, and of a loss of power after the next; 1 to 4 are the extremes of a loss of power; the others
// are random, and some are of crashes during recovery, one after the other. So is what would else be a state
// that was seen before; again tells that even so it is one.
func (c *campaign) state(l *life, p place, image int, seen map[string]bool) (wrong []string, again bool) {
	r := p.chance(image)
	d := l.disk
	b := l.ledger.copied()
	lives := []int{1, 0, 0, 0, 0, r.IntN(2) * r.IntN(3)}[min(image, 5)]
	left := func(image int) {
		switch {
		case image == 0:
			d = d.restarted(nil)
		case image <= 4:
			d = d.crash(r, survival((image-1)>>1), survival((image-1)&1))
		case r.IntN(3) == 0:
			d = d.restarted(r)
			lives = max(lives, 1)
		default:
			d = d.crash(r, mixed, mixed)
		}
	}
	left(image)
	for n := 0; n < lives || n < maxLives && seen[d.String()]; n++ {
		next := c.born(d, b)
		if image > 0 || n > 0 {
			d.endSomewhere(r)
		}
		next.run(recovery)
		left(max(image, 1))
	}
	if seen[d.String()] {
		return nil, true
	}
	if seen != nil {
		seen[d.String()] = true
	}
	c.born(d, b).check()
	if r.IntN(4) == 0 {
		d = d.crash(r, nothing, nothing)
		c.born(d, b).check()
	}
	return b.complaints(), false
}

// endSomewhere kills the next process at a random call, or makes that fail.
func (d *disk) endSomewhere(r *rand.Rand) {
	call := 1 + r.IntN(32)
	how := 1 + act(r.IntN(int(failsHalf)))
	d.chance = r
	d.before = func(n int, _ string) act {
		if n == call {
			return how
		}
		return works
	}
}

const shards = 16

// TestCrashes is the crash campaign. No event that was acknowledged or shown is lost, altered or invented,
// none twice, and no start is refused: wherever a process ends or the power goes, again while the store
// recovers, and whatever call fails, once or from then on.
//
// A state that fails can be gone through alone: go test ./store -run TestCrashes -crash 41/after/7. Only the
// directory's id and the hashes differ from run to run.
func TestCrashes(t *testing.T) {
	t.Parallel()
	want := *crashes
	if want == 0 {
		want = 150
	}
	var c *campaign
	t.Run("places", func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { c = newCampaign(want, nil, false) })
		at := map[string]bool{}
		for _, p := range c.places {
			at[kind(p.op)] = true
		}
		for _, kind := range []string{
			"create journal", "write journal", "sync journal", "rename journal", "seal journal", "syncdir journal",
			"create snapshots", "write snapshots", "sync snapshots", "rename snapshots", "remove snapshots", "syncdir snapshots",
			"write .", "sync .", "rename .", "syncdir .", // checkpoints among them
			"create backup/journal", "write backup/journal", "sync backup/journal", "rename backup", "syncdir backup",
		} {
			if !at[kind] {
				t.Errorf("the workload has no call of the kind %s", kind)
			}
		}
	})
	places := c.places
	if *crashes == 0 && *oneState == "" {
		r := rand.New(rand.NewPCG(1, 2)) // not every sixth: neighbours are ways to fail of one call
		places = slices.DeleteFunc(slices.Clone(places), func(place) bool { return r.IntN(6) > 0 })
	}
	var states atomic.Int64
	t.Run("states", func(t *testing.T) {
		for k := range shards {
			t.Run(fmt.Sprint(k), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					for i := k; i < len(places); i += shards {
						states.Add(int64(c.at(t, places[i])))
					}
				})
			})
		}
	})
	t.Logf("%d states at %d places", states.Load(), len(places))
	if *oneState != "" {
		want = 1
	}
	if n := states.Load(); n < int64(want) {
		t.Errorf("only %d states, want %d", n, want)
	}
}

// at goes through the states of a place and tells how many there were.
func (c *campaign) at(t *testing.T, p place) (states int) {
	if *oneState != "" && path.Dir(*oneState) != p.String() {
		return 0
	}
	l := c.life(p, nil)
	seen := map[string]bool{}
	for image := 0; states < c.images && image < 4*c.images; image++ {
		name := fmt.Sprintf("%v/%d", p, image)
		wrong, again := c.state(l, p, image, seen)
		if again || *oneState != "" && *oneState != name {
			continue // those before the one that is asked for decide what was seen before it
		}
		states++
		if len(wrong) > 0 {
			t.Errorf("-crash %s: %s: %s", name, p.op, strings.Join(wrong, "\n\t"))
			return states // the place's other states would tell the same
		}
	}
	return states
}
