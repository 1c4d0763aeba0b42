package terminal

import (
	"io"
	"sync"
	"time"
)

// Lines wait so long at most, or until so much has come: as long as nobody notices who follows them.
const (
	gatherDelay = 20 * time.Millisecond
	gatherBytes = 64 << 10 // bytes
)

// Gathered writes the lines of a moment together: a system call for each request would cost a sixth of all
// sales.
type Gathered struct {
	To io.Writer

	mu sync.Mutex
	b  []byte // a flush is due where there are any
}

// Write keeps a line, and has what is kept written after a moment, or at once where that is much.
func (g *Gathered) Write(line []byte) (int, error) {
	g.mu.Lock()
	due := len(g.b) == 0
	g.b = append(g.b, line...)
	full := len(g.b) > gatherBytes
	g.mu.Unlock()
	if full {
		g.Flush()
	} else if due {
		time.AfterFunc(gatherDelay, g.Flush)
	}
	return len(line), nil
}

// Flush writes what is kept.
func (g *Gathered) Flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.b) > 0 { // they may have left, being many
		g.To.Write(g.b)
		g.b = g.b[:0]
	}
}
