package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

const (
	WitnessedFile   = "checkpoint.witnessed" // the newest checkpoint that all witnesses have signed
	WitnessKeysFile = "checkpoint.witnesses" // their vkeys, a line each
)

// Witnessed is what a witness has signed of a journal.
type Witnessed struct {
	Key note.Key
	Seq uint64    // the last line that it vouches for; 0: it has signed nothing
	At  time.Time // when it has signed that, by its clock
}

// NewestWitnessed reads the newest checkpoint that all witnesses have signed.
func NewestWitnessed(fsys durable.FS) ([]byte, error) {
	return durable.ReadFile(fsys, WitnessedFile)
}

// WitnessKeys reads who the witnesses were when a server was last running.
func WitnessKeys(fsys durable.FS) (keys []note.Key, err error) {
	text, err := durable.ReadFile(fsys, WitnessKeysFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		key, bad := note.ParseKey(strings.TrimSuffix(line, "\n"))
		if bad != nil {
			return nil, journal.InFile(WitnessKeysFile, fmt.Sprintf("%q %v", line, bad))
		}
		keys = append(keys, key)
	}
	return keys, err
}
