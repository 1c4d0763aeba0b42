package durable

import (
	"errors"
	"io/fs"
	"time"
)

// A Pace has long work leave the machine to those who wait for answers meanwhile: after a millisecond of work
// it rests for three, unless nobody has asked for anything since. Without it a snapshot of a million bookings
// keeps one of two cores for a second, and the slowest requests of that second take several times as long.
type Pace struct {
	// Calls counts the calls of others.
	Calls func() uint64

	writesOnly bool // of work in a process that has stepped back: only what it asks of the disk counts

	began time.Time // of the work since the last rest
	seen  uint64    // what had been asked for then
}

const (
	stint   = time.Millisecond
	rests   = 3 // for each stint
	maxRest = 20 * time.Millisecond
)

// Step says that a small part of the work is done, and rests where that is due.
func (p *Pace) Step() {
	worked := time.Since(p.began)
	if worked < stint {
		return
	}
	asked := p.Calls()
	if asked != p.seen && !p.began.IsZero() {
		time.Sleep(min(rests*worked, maxRest))
		asked = p.Calls()
	}
	p.seen = asked
	p.began = time.Now()
}

// Files returns fsys, whose new files are written at the pace.
func (p *Pace) Files(fsys FS) FS {
	return pacedFiles{fsys, p}
}

type pacedFiles struct {
	FS
	pace *Pace
}

// Create makes a new file.
func (x pacedFiles) Create(name string) (File, error) {
	f, err := x.FS.Create(name)
	return pacedFile{f, x.pace}, err
}

type pacedFile struct {
	File
	pace *Pace
}

// Write writes, and rests where that is due.
func (f pacedFile) Write(b []byte) (int, error) {
	if f.pace.writesOnly {
		f.pace.began = time.Now()
	}
	n, err := f.File.Write(b)
	f.pace.Step()
	return n, err
}

// Reads returns fsys, whose files are read at the pace.
func (p *Pace) Reads(fsys fs.FS) fs.FS {
	return pacedReads{fsys, p}
}

type pacedReads struct {
	fs.FS
	pace *Pace
}

// Open opens a file.
func (x pacedReads) Open(name string) (fs.File, error) {
	f, err := x.FS.Open(name)
	return pacedRead{f, x.pace}, err
}

type pacedRead struct {
	fs.File
	pace *Pace
}

// Read reads, and rests where that is due.
func (f pacedRead) Read(b []byte) (int, error) {
	f.pace.Step()
	return f.File.Read(b)
}

// ReadDir reads a directory.
func (f pacedRead) ReadDir(n int) ([]fs.DirEntry, error) {
	dir, ok := f.File.(fs.ReadDirFile)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return dir.ReadDir(n)
}

// PacedWrites returns the pace of files that are written beside the clients of another process. Nobody here
// knows what these ask for, so that they always may; and the kernel sees to it that they get the processor
// ([StepBack]), but not the disk.
func PacedWrites() *Pace {
	asked := uint64(0)
	return &Pace{
		Calls: func() uint64 {
			asked++
			return asked
		},
		writesOnly: true,
	}
}

// NoPace returns the pace of work beside which nobody waits.
func NoPace() *Pace {
	return &Pace{Calls: func() uint64 { return 0 }}
}
