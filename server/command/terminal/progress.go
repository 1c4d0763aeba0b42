package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"waybill/store/durable"
)

// Progress is a line on a terminal, which says that work that takes long goes on. Work that is short shows
// none.
type Progress struct {
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

// Watch has somebody at a terminal see how far some work is, until it ends. It returns nil where the file is
// no terminal: a pipe is told nothing.
func Watch(what string, f *os.File) *Progress {
	if !Is(f) {
		return nil
	}
	p := &Progress{
		what:  what,
		start: time.Now(),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
		to:    f,
	}
	go p.tell()
	return p
}

// End takes the line away for good.
func (p *Progress) End() {
	close(p.stop)
	<-p.done
	p.clear()
}

// Output returns an output that may share its terminal with the progress: the line is taken away before
// something else is written.
func (p *Progress) Output(to io.Writer) io.Writer {
	return besides{p, to}
}

// Count returns a file system the bytes of whose files count as progress when they are read.
func (p *Progress) Count(fsys durable.ReadFS) durable.ReadFS {
	return countedFS{fsys, &p.bytes}
}

// tell shows how far the work is from time to time, until it ends.
func (p *Progress) tell() {
	defer close(p.done)
	// Work that is short is not worth a line.
	wait := patience
	for {
		select {
		case <-p.stop:
			return
		case <-time.After(wait):
		}
		wait = time.Second / 4
		p.show()
	}
}

// show writes the line anew.
func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Work that reads no files has no bytes to show.
	read := ""
	if n := p.bytes.Load(); n > 0 {
		read = fmt.Sprintf("%d MB read, ", n>>20)
	}
	fmt.Fprintf(p.to, "%s%s: %s%d s", clearLine, p.what, read, int(time.Since(p.start).Seconds()))
	p.shown = true
}

// clear takes the line away again.
func (p *Progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

// clearLocked takes the line away. The lock is held.
func (p *Progress) clearLocked() {
	if p.shown {
		io.WriteString(p.to, clearLine)
	}
	p.shown = false
}

// besides is an output that may share its terminal with the progress.
type besides struct {
	*Progress
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
	durable.ReadFS
	bytes *atomic.Int64
}

// Open opens a file whose bytes are counted as they are read.
func (c countedFS) Open(name string) (durable.Readable, error) {
	f, err := c.ReadFS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFile{f, c.bytes}, nil
}

// countedFile counts the bytes that are read of a file.
type countedFile struct {
	durable.Readable
	bytes *atomic.Int64
}

// ReadAt counts what it reads.
func (f countedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.Readable.ReadAt(b, at)
	f.bytes.Add(int64(n))
	return n, err
}
