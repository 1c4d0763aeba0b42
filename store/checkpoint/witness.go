package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

const (
	// WitnessedFile has the newest checkpoint that all witnesses have signed.
	WitnessedFile = "checkpoint.witnessed"
	// WitnessKeysFile has their verifier keys, a line each.
	WitnessKeysFile = "checkpoint.witnesses"
)

// NewestWitnessed reads the newest checkpoint that all witnesses have signed.
func NewestWitnessed(fsys durable.ReadFS) ([]byte, error) {
	return durable.ReadFile(fsys, WitnessedFile)
}

// WitnessKeys reads the keys of the witnesses that the last running server had.
func WitnessKeys(fsys durable.ReadFS) (keys []note.Key, err error) {
	text, err := durable.ReadFile(fsys, WitnessKeysFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		key, bad := note.ParseKey(strings.TrimSuffix(line, "\n"))
		if bad != nil {
			return nil, journal.InFile(WitnessKeysFile, fmt.Sprintf("%.60q %v", line, bad))
		}
		keys = append(keys, key)
	}
	return keys, err
}

// KeepWitnesses writes the keys of the witnesses, for readers of the directory. That proves nothing. The
// newest checkpoint that other witnesses have signed is removed; it stays in the log.
func KeepWitnesses(fsys durable.FS, keys []note.Key) error {
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&text, key)
	}
	have, err := durable.ReadFile(fsys, WitnessKeysFile)
	if err == nil && string(have) == text.String() || errors.Is(err, fs.ErrNotExist) && len(keys) == 0 {
		return nil
	}
	if err := fsys.Remove(WitnessedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.PublishText(fsys, ".", WitnessKeysFile, []byte(text.String()))
}
