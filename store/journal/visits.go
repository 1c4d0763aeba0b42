package journal

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
)

// Visited is a line that is good, on its way to whoever visits it.
type Visited struct {
	At    Place
	Line  Line
	Event any // what Visits.Prepare has made of it
}

// Misfit is to be deferred where a line is decoded or visited. What panics there becomes damage to the line:
// the chain is good, but no program wrote this.
func (v *Visited) Misfit(err *error) {
	if p := recover(); p != nil {
		*err = DamageAt(v.At, v.Line.Seq, fmt.Sprintf("does not fit the lines before it: %v", p))
	}
}

// Visits has lines visited, batch by batch, beside whatever reads them: reading and hashing the next lines,
// preparing these and visiting those takes a goroutine each. With two cores no more of them would be of use,
// and each still goes through the lines in their order, so that the first error is that of the first line.
type Visits struct {
	// Prepare, unless it is nil, is called for each batch before any line of it is visited.
	Prepare func([]Visited)
	// Visit, unless it is nil, is called for each line. Its error ends the visits.
	Visit func(*Visited) error

	ahead  chan []Visited
	failed atomic.Bool
}

// Beside calls read, which calls Hand, and returns once all that was handed on is visited. The error of a
// visit precedes that of read: it is of an earlier line.
func (v *Visits) Beside(read func() error) error {
	const waiting = 2 // batches between two goroutines
	var behind sync.WaitGroup
	v.ahead = make(chan []Visited, waiting)
	prepared := v.ahead
	if v.Prepare != nil {
		prepared = make(chan []Visited, waiting)
		behind.Go(func() {
			for batch := range v.ahead {
				v.Prepare(batch)
				prepared <- batch
			}
			close(prepared)
		})
	}
	var failed error
	behind.Go(func() {
		for batch := range prepared {
			for i := 0; i < len(batch) && failed == nil; i++ {
				failed = v.visit(&batch[i])
			}
			v.failed.Store(failed != nil)
		}
	})
	err := read()
	close(v.ahead)
	behind.Wait()
	return cmp.Or(failed, err)
}

func (v *Visits) visit(x *Visited) (err error) {
	defer x.Misfit(&err)
	return v.Visit(x)
}

// Hand hands on lines that are to be visited.
func (v *Visits) Hand(batch []Visited) {
	if len(batch) > 0 && v.Visit != nil {
		v.ahead <- batch
	}
}

// Failed reports whether a visit has: what follows need not be read.
func (v *Visits) Failed() bool {
	return v.failed.Load()
}
