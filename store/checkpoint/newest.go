package checkpoint

import (
	"fmt"
	"time"

	"waybill/store/durable"
)

const (
	// File has the newest checkpoint.
	File = "checkpoint"
	// LogFile has all of them, a blank line after each.
	LogFile = "checkpoints.log"
)

const (
	// Quiet is how long after the last batch of lines a server makes a checkpoint.
	Quiet = 200 * time.Millisecond
	// Pause is how often a server makes one: at most one in this time, and at least one as long as there are
	// batches.
	Pause = time.Second
)

// Await waits until the newest checkpoint of a directory in use is of a line, or of a later one: then the
// lines up to that one are on the disk. It does not wait for long: where no checkpoint can be written, no
// line can. (A sync of the journal by this process would be wrong: it may fail, and the server's own sync
// after it succeed.)
func Await(fsys durable.ReadFS, seq uint64) {
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

// Newest reads the newest checkpoint, a signed note.
func Newest(fsys durable.ReadFS) ([]byte, error) {
	return durable.ReadFile(fsys, File)
}
