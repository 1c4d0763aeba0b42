package checkpoint

import (
	"bufio"
	"crypto/ed25519"
	"errors"
	"io"
	"io/fs"

	"waybill/store/durable"
	"waybill/store/note"
)

// Note is a checkpoint with the text that was signed.
type Note struct {
	Checkpoint
	Text []byte // with the signatures, without the blank line after it
}

// Each calls visit for each note that a directory has signed, under this name and those before, as its logs
// have them, and for the newest, which may be in its own file only. It passes over what the directory's keys
// have not signed: that is for who verifies.
func Each(fsys durable.ReadFS, visit func(Note)) error {
	earlier, err := Aside(fsys)
	if err != nil {
		return err
	}
	own := []Earlier{
		{Log: LogFile, Key: PublicKeyFile},
		{Log: File, Key: PublicKeyFile},
	}
	for _, x := range append(earlier, own...) {
		if err := eachOf(fsys, x, visit); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// eachOf calls visit for the notes of a log.
func eachOf(fsys durable.ReadFS, from Earlier, visit func(Note)) error {
	key, err := ReadPublicKey(fsys, from.Key)
	if err != nil {
		return err
	}
	return ScanLog(fsys, from.Log, func(signed []byte) error {
		if n, ok := readNote(signed, key); ok {
			visit(n)
		}
		return nil
	})
}

// ScanLog calls visit for each note of a log, with the blank line after it, which a crash may have cut off.
func ScanLog(fsys durable.ReadFS, name string, visit func(signed []byte) error) error {
	return durable.Read(fsys, name, func(f *io.SectionReader) error {
		notes := bufio.NewScanner(f)
		notes.Split(note.Split)
		for notes.Scan() {
			if err := visit(notes.Bytes()); err != nil {
				return err
			}
		}
		return notes.Err()
	})
}

// readNote reads a note, with the blank line after it or without, that a key has signed.
func readNote(signed []byte, key ed25519.PublicKey) (n Note, ok bool) {
	n.Text = append([]byte(nil), signed...)
	if end := len(n.Text) - 1; end > 0 && n.Text[end] == '\n' && n.Text[end-1] == '\n' {
		n.Text = n.Text[:end]
	}
	var err error
	n.Checkpoint, err = Parse(n.Text, key)
	return n, err == nil
}
