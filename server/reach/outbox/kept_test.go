package outbox_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger/held"
	"waybill/store/journal"
)

// pausing is a keeper that has each line at once, but while it is held up.
type pausing struct {
	mu     sync.Mutex
	heldUp bool
	last   uint64 // that it was given
	kept   func(uint64)
}

func (p *pausing) keep(kept func(uint64), _ func(error)) func([]journal.Line) {
	p.kept = kept
	return func(lines []journal.Line) {
		p.mu.Lock()
		p.last = lines[len(lines)-1].Seq
		heldUp := p.heldUp
		p.mu.Unlock()
		if !heldUp {
			kept(p.last)
		}
	}
}

func (p *pausing) holdUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heldUp = true
}

func (p *pausing) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heldUp = false
	p.kept(p.last)
}

// Decision keep.silent: a letter that the keeper has held up goes once it speaks, though its request was
// answered with a doubt and nothing else happens.
func TestALetterGoesOnceTheKeeperSpeaks(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := new(pausing)
		lab := rig.NoClock()
		open := lab.Open
		lab.Open = func(o *held.Options, start time.Time) {
			open(o, start)
			o.Keep = k.keep
		}
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(), Lab: lab})
		defer s.Close()
		b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
		k.holdUp()
		began := time.Now()
		a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b+"/pay", "")
		if took := time.Since(began); a.Status != 500 || took != 30*time.Second {
			t.Errorf("a payment beside a silent keeper, after %s: %+v", took, a)
		}
		// The sender looked at once, and has given up by then.
		time.Sleep(6 * time.Second)
		if n := len(rig.Letters(t, dir)); n != 0 {
			t.Errorf("%d letters have left before their lines were kept", n)
		}
		k.goOn()
		synctest.Wait()
		if n := len(rig.Letters(t, dir)); n != 1 {
			t.Errorf("%d letters have left once the keeper has spoken", n)
		}
	})
}
