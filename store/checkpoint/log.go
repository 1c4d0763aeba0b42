package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io"
	"io/fs"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

// Log is where a directory's checkpoints are kept. Its methods are called by one at a time.
type Log struct {
	FS     durable.FS
	Origin string // the name that the directory signs with
	Key    ed25519.PrivateKey

	size   int64  // of the log's whole notes
	thinAt int64  // the size from which on it is thinned
	newest uint64 // the seq that was signed last
}

// Signed returns the seq of the checkpoint that was made last, 0 before the first since Open.
func (s *Log) Signed() uint64 { return s.newest }

// IsEmpty reports whether the log has no checkpoint.
func (s *Log) IsEmpty() bool { return s.size == 0 }

// Public returns the key that checks what the directory signs.
func (s *Log) Public() ed25519.PublicKey { return s.Key.Public().(ed25519.PublicKey) }

// Sign signs a checkpoint and makes it the newest one.
func (s *Log) Sign(c *Checkpoint) error {
	return s.Publish(c.Sign(s.Key), c.Seq)
}

// Publish makes a note the newest one: in the log first.
func (s *Log) Publish(signed []byte, seq uint64) error {
	if err := s.add(signed); err != nil {
		return err
	}
	if err := durable.PublishText(s.FS, ".", File, signed); err != nil {
		return err
	}
	s.newest = seq
	return s.thin()
}

// add writes a note into the log, after the last whole one there.
func (s *Log) add(signed []byte) error {
	f, err := s.FS.Append(LogFile)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size > s.size { // what is left of one that failed
		err = f.Truncate(s.size)
	}
	if err == nil {
		_, err = f.Write(append(bytes.Clone(signed), '\n'))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	s.size += int64(len(signed)) + 1
	return nil
}

// Cosign adds lines with the signatures of witnesses, or none, to a checkpoint that the directory has signed.
// all says that every witness has signed it, be it before: then it is the newest of that kind.
func (s *Log) Cosign(signed []byte, lines string, all bool) error {
	if _, err := Parse(signed, s.Public()); err != nil {
		return err
	}
	cosigned := append(bytes.Clone(signed), lines...)
	if lines != "" {
		newest, err := Newest(s.FS)
		if err == nil {
			err = s.add(cosigned)
		}
		if err == nil && bytes.Equal(newest, signed) {
			err = durable.PublishText(s.FS, ".", File, cosigned)
		}
		if err == nil {
			err = s.thin()
		}
		if err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	witnessed, err := NewestWitnessed(s.FS)
	if err == nil && bytes.Equal(witnessed, cosigned) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.PublishText(s.FS, ".", WitnessedFile, cosigned)
}

// The log of checkpoints is thinned, so that neither it nor a check of its signatures grows with the time
// that a server runs: each note vouches for all lines before it, and an older one only helps to say how far a
// damaged journal is good.
const (
	thinFrom   = 2 << 20 // bytes, some 10,000 notes, or else twice what was left the last time
	keepNotes  = 1000    // the newest, all of them
	keepHourly = 31 * 24 * time.Hour
)

// thin rewrites the log, once it is large, without most of its older notes: it keeps the newest, the last of
// each hour of a month, and the last of each day. What cannot be read it leaves alone.
func (s *Log) thin() error {
	s.thinAt = max(s.thinAt, thinFrom)
	if s.size < s.thinAt {
		return nil
	}
	var notes []loggedNote
	whole := true
	err := ScanLog(s.FS, LogFile, func(signed []byte) error {
		c, ok := ReadLogged(signed)
		whole = whole && ok
		notes = append(notes, loggedNote{bytes.Clone(signed), c.Time})
		return nil
	})
	if err != nil {
		return err
	}
	if !whole {
		s.thinAt = 2 * s.size
		return nil
	}
	kept := bytes.Join(thinned(notes), nil)
	if err := durable.PublishText(s.FS, ".", LogFile, kept); err != nil {
		return err
	}
	s.size = int64(len(kept))
	s.thinAt = 2 * s.size
	return nil
}

// Last returns the last whole note of the log, without the blank line after it, and where it starts; nil
// where there is none. A part of another, which a crash has left, may follow.
func Last(fsys durable.ReadFS) (signed []byte, start int64, err error) {
	err = durable.Read(fsys, LogFile, func(f *io.SectionReader) error {
		end, err := durable.Tail(f, 2*note.MaxNote)
		for after := len(end); signed == nil && after > 0; {
			at := 0
			if i := bytes.LastIndex(end[:after], []byte("\n\n"+journal.OriginStart)); i >= 0 {
				at = i + 2
			}
			start = f.Size() - int64(len(end)-at)
			_, signed, _ = note.Split(end[at:after], false)
			after = at
		}
		signed = bytes.TrimSuffix(signed, journal.Newline)
		return err
	})
	return signed, start, err
}

// ReadLogged reads a checkpoint of the log, with the blank line after it. It does not check the signatures.
func ReadLogged(signed []byte) (c Checkpoint, ok bool) {
	signed, ended := bytes.CutSuffix(signed, journal.Newline)
	n, err := note.Parse(signed)
	if err != nil || !ended {
		return c, false
	}
	return Read(n.Text)
}

// loggedNote is a note with the blank line after it, and the time of its line.
type loggedNote struct {
	text []byte
	at   time.Time
}

// thinned returns those to keep, in their order.
func thinned(notes []loggedNote) (kept [][]byte) {
	for i, n := range notes {
		newest := notes[len(notes)-1].at
		period := 24 * time.Hour
		if newest.Sub(n.at) < keepHourly {
			period = time.Hour
		}
		recent := i >= len(notes)-keepNotes
		if recent || !n.at.Truncate(period).Equal(notes[i+1].at.Truncate(period)) {
			kept = append(kept, n.text)
		}
	}
	return kept
}

// Open finds where in the log the next note goes. What is left of a note that failed is written over; a whole
// one that is newer than the newest checkpoint is written again, as it need not be on the disk.
func (s *Log) Open() error {
	signed, start, err := Last(s.FS)
	if errors.Is(err, fs.ErrNotExist) {
		return durable.PublishText(s.FS, ".", LogFile, nil)
	}
	s.size = start
	newest, err2 := Newest(s.FS)
	if err != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
		return errors.Join(err, err2)
	}
	public := s.Public()
	logged, bad := Parse(signed, public)
	published, none := Parse(newest, public)
	switch {
	case bad != nil:
		return nil
	case none != nil || published.Seq < logged.Seq:
		return s.Publish(signed, logged.Seq)
	}
	s.size += int64(len(signed)) + 1
	return nil
}
