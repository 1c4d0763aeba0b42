package web

import "errors"

// A Loop is work that goes on beside the requests: messages are sent, reports are written. Where the clock
// ticks, it works when it sees that there is something to do. Where the clock stands still, it works only
// when [Core.Settle] asks it, so that no line of the journal depends on how fast the machine is (contract
// §13).
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

// NewLoop makes a loop that Settle asks, after those made before. The goroutine that works must receive from
// it until the server stops.
func (s *Core) NewLoop() Loop {
	l := make(Loop)
	s.loops = append(s.loops, l)
	return l
}

// Settle has each loop do what is due, one after the other, and returns once it is done.
func (s *Core) Settle() (err error) {
	for _, l := range s.loops {
		done := make(chan error, 1)
		select {
		case l <- done:
		case <-s.Base.Done():
			return err
		}
		select {
		case failed := <-done:
			err = errors.Join(err, failed)
		case <-s.Base.Done():
			return err
		}
	}
	return err
}
