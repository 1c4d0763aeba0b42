package signing

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"waybill/store/durable"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
	"waybill/store/note"
)

const (
	WitnessedFile   = "checkpoint.witnessed" // the newest checkpoint that all witnesses have signed
	WitnessKeysFile = "checkpoint.witnesses" // their vkeys, a line each
)

// NewestWitnessed reads the newest checkpoint that all witnesses have signed.
func NewestWitnessed(fsys readonly.FS) ([]byte, error) {
	return readonly.ReadFile(fsys, WitnessedFile)
}

// WitnessKeys reads who the witnesses were when a server was last running.
func WitnessKeys(fsys readonly.FS) (keys []note.Key, err error) {
	text, err := readonly.ReadFile(fsys, WitnessKeysFile)
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

// KeepWitnesses notes who the witnesses are, for those who read the directory. It proves nothing. What others
// have signed is not what these have: it stays in the log only.
func KeepWitnesses(fsys durable.FS, keys []note.Key) error {
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&text, key)
	}
	have, err := readonly.ReadFile(fsys, WitnessKeysFile)
	if err == nil && string(have) == text.String() || errors.Is(err, fs.ErrNotExist) && len(keys) == 0 {
		return nil
	}
	if err := fsys.Remove(WitnessedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.PublishText(fsys, ".", WitnessKeysFile, []byte(text.String()))
}
