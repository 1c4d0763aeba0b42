// Package seed makes all that would be random from one number, so that a run can be brought about again
// (decision seed.streams).
//
// A [Source] has a stream for each purpose, by name. What one purpose takes does not move the others: a
// health check, which needs an id for its request, does not change the ids of the bookings made after it.
//
//	source := seed.New(42)
//	ids := source.Stream("ids")
//	ids.Read(id[:]) // the same for everybody who starts from 42
//
// Whoever knows the number knows every key and every secret. It is for tests only.
package seed

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
)

// Source is where a seeded server has its random bytes from. It may be used from any goroutine.
type Source struct {
	Number uint64 // that everything comes from

	mu      sync.Mutex
	epoch   uint64                   // see Restart
	streams map[string]*rand.ChaCha8 // by purpose
}

// New returns the source of a number, at its beginning.
func New(number uint64) *Source {
	return &Source{
		Number:  number,
		streams: map[string]*rand.ChaCha8{},
	}
}

// Stream returns the stream of a purpose. It goes on where the last reader of that purpose has stopped, and
// its Read never fails.
func (s *Source) Stream(purpose string) io.Reader {
	return stream{s, purpose}
}

// Restart has all streams begin anew, otherwise than after any other epoch. A server that is started again
// does not know how far its streams had come; the number of its newest line is an epoch that there was never
// before, and is again when the same history is.
func (s *Source) Restart(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = epoch
	clear(s.streams)
}

// Clone returns a source whose streams go on from where these are now, on their own.
func (s *Source) Clone() *Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	clone := New(s.Number)
	clone.epoch = s.epoch
	for purpose, from := range s.streams {
		to := *from
		clone.streams[purpose] = &to
	}
	return clone
}

// stream reads one purpose of a source.
type stream struct {
	source  *Source
	purpose string
}

// Read fills b.
func (x stream) Read(b []byte) (int, error) {
	x.source.mu.Lock()
	defer x.source.mu.Unlock()
	from := x.source.streams[x.purpose]
	if from == nil {
		of := fmt.Appendf(nil, "waybill seed v1\n%d %d\n%s\n", x.source.Number, x.source.epoch, x.purpose)
		from = rand.NewChaCha8(sha256.Sum256(of))
		x.source.streams[x.purpose] = from
	}
	return from.Read(b)
}
