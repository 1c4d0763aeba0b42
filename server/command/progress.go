package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waybill/store/durable"
)

// progress tells somebody at a terminal that work which takes long goes on. In a pipe it says nothing.
type progress struct {
	what  string
	start time.Time
	bytes atomic.Int64 // read of the directory so far
	stop  chan struct{}
	done  chan struct{}

	mu    sync.Mutex
	to    *os.File
	shown bool // the last line of the terminal is ours
}

const (
	patience  = 2 * time.Second // for which work may take without a word
	clearLine = "\r\x1b[K"
)

// unwatched are the verbs that show no progress: they show other things all the time, or ask for something.
// All others may have to read a long journal.
var unwatched = []string{"serve", "log", "bench", "version", "user add"}

// watch has somebody at a terminal see how far a verb is, until the returned function is called.
func (c *call) watch() (end func()) {
	f, ok := c.Stderr.(*os.File)
	if !ok || !isTerminal(f) || slices.Contains(unwatched, c.verb.name) {
		return func() {}
	}
	x := &progress{
		what:  c.verb.name,
		start: time.Now(),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
		to:    f,
	}
	p := *c.Process
	p.Stdout = besides{x, c.Stdout}
	c.Process = &p
	c.fsys = countedFS{c.fsys, &x.bytes}
	go x.tell()
	return func() {
		close(x.stop)
		<-x.done
		x.clear()
	}
}

// tell shows how far the work is from time to time, until it ends.
func (x *progress) tell() {
	defer close(x.done)
	// Work that is short is not worth a line.
	wait := patience
	for {
		select {
		case <-x.stop:
			return
		case <-time.After(wait):
		}
		wait = time.Second / 4
		x.show()
	}
}

// show writes the line anew.
func (x *progress) show() {
	x.mu.Lock()
	defer x.mu.Unlock()
	// Work that reads no files has no bytes to show.
	read := ""
	if n := x.bytes.Load(); n > 0 {
		read = fmt.Sprintf("%d MB read, ", n>>20)
	}
	fmt.Fprintf(x.to, "%s%s: %s%d s", clearLine, x.what, read, int(time.Since(x.start).Seconds()))
	x.shown = true
}

// clear takes the line away again.
func (x *progress) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clearLocked()
}

// clearLocked takes the line away. The lock is held.
func (x *progress) clearLocked() {
	if x.shown {
		io.WriteString(x.to, clearLine)
	}
	x.shown = false
}

// besides is an output that may share its terminal with the progress.
type besides struct {
	*progress
	io.Writer
}

// Write takes the line away before something else is written.
func (b besides) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clearLocked()
	return b.Writer.Write(text)
}

// countedFS is a file system that counts the bytes read from its files.
type countedFS struct {
	durable.FS
	bytes *atomic.Int64
}

// Open opens a file whose bytes are counted as they are read.
func (c countedFS) Open(name string) (durable.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFile{f, c.bytes}, nil
}

// countedFile counts the bytes that are read of a file.
type countedFile struct {
	durable.File
	bytes *atomic.Int64
}

// ReadAt counts what it reads.
func (f countedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.bytes.Add(int64(n))
	return n, err
}
