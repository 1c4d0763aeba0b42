package chain

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"waybill/store/journal"
)

// Visited is a good line that is to be visited.
type Visited struct {
	At    journal.Place
	Line  journal.Line
	Event any // what Visits.Prepare has made of it
}

// Misfit is to be deferred where a line is decoded or visited. A panic there becomes an error of the line:
// the chain is good, but no program wrote such a line. What the Go runtime says of it helps nobody who reads
// it.
func (v *Visited) Misfit(err *error) {
	p := recover()
	if p == nil {
		return
	}
	why := "does not fit the lines before it"
	if _, runtimes := p.(runtime.Error); !runtimes {
		why += fmt.Sprintf(": %v", p)
	}
	wrong := journal.DamageAt(v.At, v.Line.Seq, why)
	wrong.Books = true
	*err = wrong
}

// Visits is the last observer of a reading that has lines decoded and applied: that goes on beside the
// reading, in batches of lines. Reading and hashing the next lines, preparing these and visiting those takes
// a goroutine each. With two cores no more of them would be of use, and each still goes through the lines in
// their order, so that the first error is that of the first line.
type Visits struct {
	// Prepare, unless it is nil, is called for each batch before any line of it is visited.
	Prepare func([]Visited)
	// Visit is called for each line. Its error ends the visits.
	Visit func(*Visited) error
	// Failed is the line whose visit has failed; 0 if none has. Other observers may have seen later ones.
	Failed uint64

	batch  []Visited // to be handed on
	size   int       // of its lines, in bytes
	full   int       // the size at which a batch is handed on; batches grow as blocks do
	ahead  chan []Visited
	failed atomic.Bool
}

// Read has the reader read the journal for the observers, of which v is one. It returns once all lines that
// were shown to v are visited. The error of a visit precedes the reader's, as it is of an earlier line.
func (v *Visits) Read(r Reader, observers ...Observer) (end End, err error) {
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
				if failed = v.visit(&batch[i]); failed != nil {
					v.Failed = batch[i].Line.Seq
				}
			}
			v.failed.Store(failed != nil)
		}
	})
	end, err = r.Read(observers...)
	v.handOn()
	close(v.ahead)
	behind.Wait()
	return end, cmp.Or(failed, err)
}

func (v *Visits) visit(x *Visited) (err error) {
	defer x.Misfit(&err)
	return v.Visit(x)
}

// Line has a line visited. Once a visit has failed, no more lines are needed.
func (v *Visits) Line(at journal.Place, l *journal.Line) error {
	v.batch = append(v.batch, Visited{At: at, Line: *l})
	v.size += len(l.Chained) + len(l.Personal)
	if v.size >= v.full {
		v.full = min(max(2*v.full, firstBlock), lastBlock)
		v.handOn()
	}
	if v.failed.Load() {
		return ErrEnough
	}
	return nil
}

// End checks nothing: Read waits for the last visits.
func (v *Visits) End(*End) error { return nil }

// handOn hands the batch on.
func (v *Visits) handOn() {
	if len(v.batch) == 0 {
		return
	}
	lines := len(v.batch)
	v.ahead <- v.batch
	v.batch = make([]Visited, 0, lines)
	v.size = 0
}
