package command

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"waybill/server/command/terminal"
)

// logger writes text for a person, who has a terminal, and JSON for a program.
func (p *Process) logger(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f, ok := p.Stderr.(*os.File); ok && terminal.Is(f) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// Lines wait so long at most, or until so much has come: as long as nobody notices who follows them.
const (
	logDelay  = 20 * time.Millisecond
	logBuffer = 64 << 10 // bytes
)

// gathered writes the lines of a moment together: a system call for each request would cost a sixth of all
// sales.
type gathered struct {
	to io.Writer

	mu sync.Mutex
	b  []byte // a flush is due where there are any
}

// Write keeps a line, and has what is kept written after a moment, or at once where that is much.
func (g *gathered) Write(line []byte) (int, error) {
	g.mu.Lock()
	due := len(g.b) == 0
	g.b = append(g.b, line...)
	full := len(g.b) > logBuffer
	g.mu.Unlock()
	if full {
		g.flush()
	} else if due {
		time.AfterFunc(logDelay, g.flush)
	}
	return len(line), nil
}

// flush writes what is kept.
func (g *gathered) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.b) > 0 { // they may have left, being many
		g.to.Write(g.b)
		g.b = g.b[:0]
	}
}
