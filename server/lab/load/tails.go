package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// rounds is how often what is compared is measured, in turn: other work on a machine comes and goes.
const rounds = 3

// A setting is what sales are measured beside.
type setting struct {
	name  string
	press func(conns int, window time.Duration) ([]time.Duration, error)

	took []time.Duration // in all rounds, the shortest first
	over time.Duration   // all rounds
}

// tails writes how long sales take while nothing else is done, while a snapshot is written all the time, and
// on the bare limit. How long one sale in a thousand takes is what a partner with a thousand sales a day sees
// daily.
func (l *Load) tails() error {
	bare, err := newLimit(l)
	if err != nil {
		return err
	}
	defer bare.close()
	fmt.Fprintf(l.Table, "\n| sales | connections | requests/s | p50 ms | p99 ms | p99.9 ms | p99.9 × alone |\n%s\n",
		strings.Repeat("|---", 7)+"|")
	// In turn, so that what else the machine does meets all alike.
	for _, n := range l.Conns {
		// The first is what the others are measured against.
		settings := []*setting{
			{name: "alone", press: l.alone},
			{name: "while a snapshot is written", press: l.besideSnapshots},
			{name: "the limit: bare net/http, a shared sync, as many bytes", press: bare.press},
		}
		for range rounds {
			for _, s := range settings {
				took, err := s.press(n, l.Window/rounds)
				if err != nil {
					return err
				}
				s.took = append(s.took, took...)
				s.over += l.Window / rounds
			}
		}
		for _, s := range settings {
			slices.Sort(s.took)
			fmt.Fprintf(l.Table, "| %s | %d | %.0f | %.2f | %.2f | %.2f | %.1f |\n", s.name, n,
				float64(len(s.took))/s.over.Seconds(), s.millis(0.5), s.millis(0.99), s.millis(0.999),
				s.millis(0.999)/settings[0].millis(0.999))
		}
	}
	return nil
}

// millis returns how long the share of the sales took that were answered first, in milliseconds.
func (s *setting) millis(share float64) float64 {
	at := int(share * float64(len(s.took)))
	return s.took[min(at, len(s.took)-1)].Seconds() * 1e3
}

// alone makes sales while nothing else is done.
func (l *Load) alone(conns int, window time.Duration) ([]time.Duration, error) {
	took, _, err := l.measure(create, conns, window, math.MaxInt)
	return took, err
}

// besideSnapshots makes sales while one snapshot after the other is written.
func (l *Load) besideSnapshots(conns int, window time.Duration) ([]time.Duration, error) {
	over := make(chan struct{})
	var failed error
	var writing sync.WaitGroup
	writing.Go(func() {
		for failed == nil {
			select {
			case <-over:
				return
			default:
				failed = l.server.Store.Snapshot()
			}
		}
	})
	took, err := l.alone(conns, window)
	close(over)
	writing.Wait()
	if err == nil {
		err = failed
	}
	return took, err
}

// press makes sales of the limit.
func (x *limit) press(conns int, window time.Duration) ([]time.Duration, error) {
	took, _, err := x.load.press(x.addr, create, conns, window, math.MaxInt)
	return took, err
}
