package web

// A Loop is how work that goes on beside the requests is asked for: messages are sent, reports are written.
// Where the clock ticks, that work is done when there is something to do. Where the clock stands still, it is
// done only when [Core.RunDue] asks for it, so that no line of the journal depends on how fast the machine is
// (decision clock.frozen).
//
//	for s.Base.Err() == nil {
//		if !s.Still.Load() {
//			work()
//		}
//		select {
//		case <-s.Base.Done():
//		case <-time.After(wait):
//		case done := <-s.loop:
//			done <- work()
//		}
//	}
type Loop chan chan error

// NewLoop makes a loop that RunDue asks, after those made before. The goroutine that works must receive from
// it until the server stops, or its journal can no longer be written.
func (s *Core) NewLoop() Loop {
	l := make(Loop)
	s.loops = append(s.loops, l)
	return l
}

// RunDue has each loop do what is due, one after the other, and returns once it is done, or cannot be done
// any more, as the server stops or its journal cannot be written. What fails is tried again by the next
// RunDue: it undoes nothing of what has caused it, and so is no error of that, but one in the log. It must
// not be called before the loops run.
func (s *Core) RunDue() {
	for _, l := range s.loops {
		done := make(chan error, 1)
		select {
		case l <- done:
		case <-s.Base.Done():
			return
		case <-s.Store.Failed():
			return
		}
		select {
		case err := <-done:
			if err != nil {
				s.Log.Warn("work that was due has failed; it will be tried again", "err", err)
			}
		case <-s.Base.Done():
			return
		case <-s.Store.Failed():
			return
		}
	}
}
