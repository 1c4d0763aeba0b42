package inspect

import (
	"bytes"
	"errors"
	"io/fs"

	"waybill/store/checkpoint"
	"waybill/store/durable"
)

// cutNotes removes the notes of lines after one from a directory that nobody has open: from all logs, and
// from the files of the newest checkpoints.
func cutNotes(fsys durable.FS, last uint64) error {
	earlier, err := checkpoint.Aside(fsys)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		if _, err := cutLog(fsys, e.Log, last); err != nil {
			return err
		}
	}
	newest, err := cutLog(fsys, checkpoint.LogFile, last)
	if err != nil {
		return err
	}
	if err := cutFile(fsys, checkpoint.WitnessedFile, last, nil); err != nil {
		return err
	}
	return cutFile(fsys, checkpoint.File, last, newest)
}

// cutLog removes from a log the notes of lines after one, and what is no note. It returns the last note
// that stays, nil where none does.
func cutLog(fsys durable.FS, name string, last uint64) (newest []byte, err error) {
	var kept []byte
	err = checkpoint.ScanLog(fsys, name, func(signed []byte) error {
		if c, ok := checkpoint.ReadLogged(signed); ok && c.Seq <= last {
			kept = append(kept, signed...)
			newest = bytes.Clone(bytes.TrimSuffix(signed, []byte("\n")))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return newest, durable.PublishText(fsys, ".", name, kept)
}

// cutFile puts another note in the place of a file's note of a line after the last. Where other is nil, it
// removes the file.
func cutFile(fsys durable.FS, name string, last uint64, other []byte) error {
	signed, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c, ok := checkpoint.ReadLogged(append(signed, '\n'))
	switch {
	case ok && c.Seq <= last:
		return nil
	case other == nil:
		return fsys.Remove(name)
	}
	return durable.PublishText(fsys, ".", name, other)
}
