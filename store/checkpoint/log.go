package checkpoint

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"waybill/store/durable/readonly"
	"waybill/store/journal"
	"waybill/store/note"
)

const (
	// File is the newest checkpoint.
	File = "checkpoint"
	// LogFile is all of them, a blank line after each.
	LogFile = "checkpoints.log"
)

const (
	// Quiet is how long after the last batch of lines a server makes a checkpoint.
	Quiet = 200 * time.Millisecond
	// Pause is how often a server makes one: no more than one in this time, and at least one in it while
	// there are batches.
	Pause = time.Second
)

// Await waits until the newest checkpoint of a directory in use is of a line, or of a later one: then what
// was read up to that line is on the disk. It does not wait for long: where no checkpoint can be written,
// nothing else can. (To sync the journal from here would be wrong: where that fails, the server's own sync
// may not.)
func Await(fsys readonly.FS, seq uint64) {
	for wait := time.Duration(0); wait < 2*Pause; wait += Quiet / 4 {
		origin := ""
		signed := uint64(0)
		text, _ := Newest(fsys)
		if fmt.Sscanf(string(text), "%s\n%d\n", &origin, &signed); signed >= seq {
			return
		}
		time.Sleep(Quiet / 4)
	}
}

// Newest reads the newest checkpoint as it stands.
func Newest(fsys readonly.FS) ([]byte, error) {
	return readonly.ReadFile(fsys, File)
}

// Last returns the last whole note of the log, without the blank line after it, or nothing, and where
// it starts, or what is left of one does.
func Last(fsys readonly.FS) (signed []byte, start int64, err error) {
	err = readonly.Read(fsys, LogFile, func(f *io.SectionReader) error {
		end, err := readonly.Tail(f, 2*note.MaxNote)
		at := 0
		i := bytes.LastIndex(end, []byte("\n\n"+journal.OriginStart))
		if i >= 0 {
			at = i + 2
		}
		start = f.Size() - int64(len(end)-at)
		_, signed, _ = note.Split(end[at:], false)
		signed = bytes.TrimSuffix(signed, journal.Newline)
		return err
	})
	return signed, start, err
}
