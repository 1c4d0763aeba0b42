package terminal

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// Lines wait so long: nobody who follows them notices, and a system call for each request would cost a
	// sixth of all sales.
	gatherDelay = 20 * time.Millisecond
	// queueBytes is how many bytes of lines may wait, besides those that are being written.
	queueBytes = 1 << 20
	// unreadWait is how long an end waits for somebody who does not read.
	unreadWait = time.Second
)

// Queue passes the lines of a log on. A writer never waits: while nobody reads them, lines are left out, and
// a line in their place says how many.
type Queue struct {
	To  io.Writer
	Log func(io.Writer, slog.Level) *slog.Logger // makes the log that says so

	leaving bytes.Buffer // what is being written

	mu      sync.Mutex
	kept    bytes.Buffer
	lost    int           // lines, after those that are kept
	written chan struct{} // closed once nothing is kept any more; nil: nothing is
}

// Write keeps a line that has room, and has what is kept written after a moment.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.kept.Len()+len(line) > queueBytes {
		q.lost++
		return len(line), nil
	}
	if q.written == nil {
		q.written = make(chan struct{})
		time.AfterFunc(gatherDelay, q.write)
	}
	return q.kept.Write(line)
}

// write writes what is kept, and after a moment what came meanwhile.
func (q *Queue) write() {
	q.mu.Lock()
	q.leaving, q.kept = q.kept, q.leaving
	lost := q.lost
	q.lost = 0
	q.mu.Unlock()
	if lost > 0 {
		log := q.Log(&q.leaving, slog.LevelWarn)
		log.Warn("nobody read the log in time; lines are left out", "lines", lost)
	}
	q.leaving.WriteTo(q.To)
	q.leaving.Reset() // what cannot be written is lost
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.kept.Len() > 0 {
		time.AfterFunc(gatherDelay, q.write)
		return
	}
	close(q.written)
	q.written = nil
}

// Flush waits until all lines are written, a second at most.
func (q *Queue) Flush() {
	q.mu.Lock()
	written := q.written
	q.mu.Unlock()
	if written == nil {
		return
	}
	briefly(func() error {
		<-written
		return nil
	})
}

// Brief is an output that may have no reader: it waits for a second at most.
type Brief struct{ To io.Writer }

// Write writes a text, unless nobody reads it in time.
func (b Brief) Write(text []byte) (int, error) {
	own := bytes.Clone(text)
	return len(text), briefly(func() error {
		_, err := b.To.Write(own)
		return err
	})
}

// briefly does what may have to wait for a reader, and returns an error if there is none in time.
func briefly(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(unreadWait):
		return errors.New("nobody reads it")
	}
}
