package live_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

// keeper is another place for lines, which says that it has them when the test does.
type keeper struct {
	mu     sync.Mutex
	given  []journal.Line
	kept   func(uint64)
	failed func(error)
}

func (k *keeper) keep(kept func(uint64), failed func(error)) func([]journal.Line) {
	k.kept, k.failed = kept, failed
	return func(lines []journal.Line) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.given = append(k.given, lines...)
	}
}

// seqs returns the numbers of the lines that were given so far.
func (k *keeper) seqs() (list []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.given {
		list = append(list, l.Seq)
	}
	return list
}

// keepingValue opens a value whose lines a keeper keeps.
func keepingValue(t *testing.T) (*live.Value[*count, string], *keeper, live.Config[*count, string]) {
	cfg := config(t)
	cfg.Durable = func(live.Written) {}
	encode := cfg.Encode
	cfg.Encode = func(e string, data, personal []byte) (string, []byte, []byte) {
		kind, data, _ := encode(e, data, personal)
		if e == "one" { // the others have a buffer without anything in it
			personal = append(personal, `{"name":"Lesia"}`...)
		}
		return kind, data, personal
	}
	k := new(keeper)
	cfg.Keep = k.keep
	return open(t, cfg), k, cfg
}

// begun runs an update or a view beside the test, and returns where its error will be.
func begun(do func() error) chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	synctest.Wait()
	return done
}

// pending returns the error of what was begun; errPending where it still waits.
func pending(done chan error) error {
	synctest.Wait()
	select {
	case err := <-done:
		return err
	default:
		return errPending
	}
}

var errPending = errors.New("it waits")

// Decision keep.answers: nothing is acknowledged, and nothing that rests on it is shown, before its lines are
// kept. Later lines are given meanwhile, and each says how far those before it are kept.
func TestNothingIsAcknowledgedBeforeItIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, k, cfg := keepingValue(t)
		update := func(text string) chan error {
			return begun(func() error { _, err := v.Update(say(text), nil); return err })
		}
		first := update("one")
		second := update("two")
		seen := begun(func() error { return v.View(func(*count, time.Time) {}) })
		if got := k.seqs(); len(got) != 2 || pending(first) != errPending || pending(seen) != errPending {
			t.Fatalf("lines %v are given, and what rests on them is told", got)
		}
		k.kept(1)
		if pending(first) != nil || pending(second) != errPending || pending(seen) != errPending {
			t.Error("with line 1 kept not just what rests on it is told")
		}
		third := update("three")
		k.kept(3)
		for _, done := range []chan error{second, seen, third} {
			if err := pending(done); err != nil {
				t.Error(err)
			}
		}
		if err := v.Close(nil); err != nil {
			t.Error(err)
		}
		text, err := durable.ReadFile(cfg.FS, "journal/"+journal.Name(1))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{`"synced":0`, `"synced":0`, `"synced":1`} {
			if line := strings.Split(string(text), "\n")[i]; !strings.Contains(line, want) {
				t.Errorf("line %d has no %s: %s", i+1, want, line)
			}
			if k.given[i].Seq != uint64(i+1) || !strings.Contains(string(text), string(k.given[i].Text())) {
				t.Errorf("line %d was given as %s", i+1, k.given[i].Text())
			}
		}
	})
}

// Decision keep.silent: after 5 seconds nothing is changed any more, a read gives up, and a change that is in
// the journal is answered with a doubt after 30; all goes on by itself.
func TestASilentKeeperStopsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, k, _ := keepingValue(t)
		began := time.Now()
		change := begun(func() error { _, err := v.Update(say("one"), nil); return err })
		seen := begun(func() error { return v.View(func(*count, time.Time) {}) })
		if err := <-seen; err != live.ErrSilent || time.Since(began) != 5*time.Second {
			t.Errorf("a read ends with %v after %v", err, time.Since(began))
		}
		if _, err := v.Update(say("two"), nil); err != live.ErrSilent || len(k.seqs()) != 1 {
			t.Errorf("a change beside a silent keeper: %v, lines %v", err, k.seqs())
		}
		if lines, since := v.Waiting(); lines != 1 || !since.Equal(began) {
			t.Errorf("%d lines wait since %v", lines, since)
		}
		if err := <-change; err != live.ErrDoubt || time.Since(began) != 30*time.Second {
			t.Errorf("the change ends with %v after %v", err, time.Since(began))
		}
		k.kept(1)
		n := 0
		if err := v.View(func(c *count, _ time.Time) { n = c.n }); err != nil || n != 1 {
			t.Errorf("%d events, %v", n, err)
		}
		again := begun(func() error { _, err := v.Update(say("three"), nil); return err })
		k.kept(2)
		if err := pending(again); err != nil {
			t.Error(err)
		}
		if err := v.Close(nil); err != nil {
			t.Error(err)
		}
	})
}

// Decision keep.silent: a stop waits for the keeper for 30 seconds, while requests under way end as well.
func TestAStopWaitsForTheKeeperOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []time.Duration{0, 20 * time.Second, 40 * time.Second} {
			v, _, _ := keepingValue(t)
			change := begun(func() error { _, err := v.Update(say("one"), nil); return err })
			synctest.Wait()
			began := time.Now()
			v.Leave()
			time.Sleep(before) // so long requests take
			err := v.Close(nil)
			took := time.Since(began)
			if !errors.Is(err, live.ErrFailed) || took != max(before, 30*time.Second) {
				t.Errorf("requests take %v: the stop ends after %v with %v", before, took, err)
			}
			<-change
		}
	})
}

// Decision keep.fails: the end of the keeper is as final as a failed sync, for what waits and for what comes.
func TestAKeeperThatFailsIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, k, _ := keepingValue(t)
		change := begun(func() error { _, err := v.Update(say("one"), nil); return err })
		k.failed(errors.New("it is gone"))
		if err := pending(change); !errors.Is(err, live.ErrFailed) {
			t.Errorf("what waited ends with %v", err)
		}
		if _, err := v.Update(say("two"), nil); !errors.Is(err, live.ErrFailed) {
			t.Errorf("what comes ends with %v", err)
		}
		<-v.Failed()
		if err := v.Close(nil); !errors.Is(err, live.ErrFailed) {
			t.Errorf("the end is %v", err)
		}
	})
}

// Decision keep.stop: an end waits for the keeper for 30 seconds, and is then a failure.
func TestAnEndWaitsForTheKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kept := range []bool{true, false} {
			v, k, _ := keepingValue(t)
			change := begun(func() error { _, err := v.Update(say("one"), nil); return err })
			began := time.Now()
			end := begun(func() error { return v.Close(nil) })
			if kept {
				time.Sleep(20 * time.Second)
				k.kept(1)
			}
			err := <-end
			if took := time.Since(began); kept && (err != nil || took != 20*time.Second) ||
				!kept && (!errors.Is(err, live.ErrFailed) || took != 30*time.Second) {
				t.Errorf("kept: %v: the end is %v after %v", kept, err, took)
			}
			<-change
		}
	})
}

// Decision keep.answers: what rests on lines that are kept is shown, whatever waits after them.
func TestAReadRestsOnItsOwnLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, k, _ := keepingValue(t)
		for _, text := range []string{"one", "two", "three"} {
			begun(func() error { _, err := v.Update(say(text), nil); return err })
		}
		on := func(line uint64) chan error {
			return begun(func() error {
				return v.ViewOn(func(*count, time.Time) uint64 { return line })
			})
		}
		second, newest := on(2), on(live.All)
		for line := range uint64(3) {
			if line > 0 {
				k.kept(line)
			}
			if err := pending(on(line)); err != nil {
				t.Errorf("with line %d kept, a read that rests on it: %v", line, err)
			}
		}
		if pending(second) != nil || pending(newest) != errPending {
			t.Error("with line 2 kept not just what rests on it is shown")
		}
		if err := <-newest; err != live.ErrSilent {
			t.Errorf("what rests on a line that is not kept: %v", err)
		}
		patient := begun(func() error {
			return v.Await(t.Context(), func(*count, time.Time) uint64 { return live.All })
		})
		time.Sleep(time.Hour)
		if pending(patient) != errPending {
			t.Error("what nobody waits for gives up")
		}
		k.kept(3)
		if err := pending(patient); err != nil {
			t.Error(err)
		}
		if err := v.Close(nil); err != nil {
			t.Error(err)
		}
	})
}

// Decision keep.silent: a reading's line needs this disk alone, and what it shows is kept.
func TestAReadingShowsWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, k, _ := keepingValue(t)
		read := func() chan error {
			return begun(func() error { _, err := v.UpdateHere(say("read")); return err })
		}
		for range 2 {
			reading := read()
			time.Sleep(time.Minute)
			if err := pending(reading); err != nil {
				t.Errorf("a reading beside a silent keeper: %v", err)
			}
		}
		k.kept(2)
		begun(func() error { _, err := v.Update(say("changed"), nil); return err })
		reading := read()
		time.Sleep(time.Minute)
		if err := pending(reading); err != live.ErrSilent {
			t.Errorf("a reading of what is not kept: %v", err)
		}
		k.kept(4)
		if err := v.Close(nil); err != nil {
			t.Error(err)
		}
	})
}
