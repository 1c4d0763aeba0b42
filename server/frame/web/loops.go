package web

import (
	"sync"
	"time"
)

// A Loop does, beside the requests, what the state says is to be done: messages are sent, reports are
// written, the provider is asked. It depends neither on who has caused that nor on what he was told: an
// update that was answered with a doubt is in the state as any other. Its work waits until the lines that it
// has seen count (ledger.Store.Await).
//
// Where the clock ticks, the work is done when there is something to do. Where the clock stands still, it is
// done only when [Core.RunDue] asks for it, so that no line of the journal depends on how fast the machine is
// (decision clock.frozen). RunDue also asks once a test clock was moved.
type Loop struct {
	work   Work
	failed string // what the log says where the work has failed
	wake   chan struct{}
	asked  chan chan struct{}
}

// Work does what is to be done, and returns how long it is until there is something to do again. What has
// failed is tried again after a minute.
type Work func() (next time.Duration, err error)

// Rarely is how long a loop waits where nothing is known to be due.
const Rarely = time.Hour

// workAgain is how long a loop waits after its work has failed.
const workAgain = time.Minute

// NewLoop makes a loop that RunDue asks, after those made before. The log says failed where the work fails.
func (s *Core) NewLoop(failed string, work Work) *Loop {
	l := &Loop{
		work:   work,
		failed: failed,
		wake:   make(chan struct{}, 1),
		asked:  make(chan chan struct{}),
	}
	s.loops = append(s.loops, l)
	return l
}

// Wake says that there may be something to do.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default: // it is told already
	}
}

// RunLoops has all loops work, until the server stops.
func (s *Core) RunLoops(running *sync.WaitGroup) {
	for _, l := range s.loops {
		running.Go(func() { s.run(l) })
	}
}

func (s *Core) run(l *Loop) {
	for s.Base.Err() == nil {
		wait := Rarely
		if !s.Still.Load() {
			wait = s.do(l)
		}
		select {
		case <-s.Base.Done():
		case done := <-l.asked:
			s.do(l)
			close(done)
		case <-l.wake:
		case <-time.After(wait):
		}
	}
}

// do has a loop work once. What fails undoes nothing of what has caused it, and so is an error in the log.
func (s *Core) do(l *Loop) (next time.Duration) {
	next, err := l.work()
	if err == nil {
		return next
	}
	if s.Base.Err() == nil {
		s.Log.Warn(l.failed+"; it will be tried again", "err", err)
	}
	return workAgain
}

// RunDue has each loop do what is due, one after the other, and returns once it is done, or cannot be done
// any more, as the server stops or its journal cannot be written. What fails is tried again by the next
// RunDue. It must not be called before the loops run.
func (s *Core) RunDue() {
	for _, l := range s.loops {
		done := make(chan struct{})
		select {
		case l.asked <- done:
		case <-s.Base.Done():
			return
		case <-s.Store.Failed():
			return
		}
		select {
		case <-done:
		case <-s.Base.Done():
			return
		case <-s.Store.Failed():
			return
		}
	}
}
