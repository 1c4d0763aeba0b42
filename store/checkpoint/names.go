package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

// The notes of a directory's earlier name are in a file that is called after it, as is the key that checks
// them.
const (
	asideLog = "checkpoints-%s.log"
	asideKey = "checkpoint-%s.pub"
)

// idOfOrigin reads the id in a directory's name.
var idOfOrigin = regexp.MustCompile(`^` + journal.OriginStart + `([A-Za-z0-9]+)$`)

// asideLogs matches the name of such a file of notes.
var asideLogs = regexp.MustCompile(`^checkpoints-([A-Za-z0-9]+)\.log$`)

// Earlier names the files of the notes that a directory has signed under an earlier name.
type Earlier struct{ Log, Key string }

// Aside returns them for all earlier names.
func Aside(fsys durable.FS) (list []Earlier, err error) {
	names, err := fsys.List(".")
	for _, name := range names {
		if id := asideLogs.FindStringSubmatch(name); id != nil {
			list = append(list, Earlier{name, fmt.Sprintf(asideKey, id[1])})
		}
	}
	return list, err
}

// KeyOf reads the key that checks what a directory has signed under a name, which may be an earlier one.
func KeyOf(fsys durable.FS, origin string) (ed25519.PublicKey, error) {
	key, err := EarlierKeyOf(fsys, origin)
	if errors.Is(err, fs.ErrNotExist) {
		return PublicKey(fsys)
	}
	return key, err
}

// EarlierKeyOf reads the key that checks what a directory has signed under a name that it had before.
func EarlierKeyOf(fsys durable.FS, origin string) (ed25519.PublicKey, error) {
	id := idOfOrigin.FindStringSubmatch(origin)
	if id == nil {
		return nil, fs.ErrNotExist
	}
	return ReadPublicKey(fsys, fmt.Sprintf(asideKey, id[1]))
}

// SetAside puts the notes that are there, and the key that checks them, under the name that signed them. Its
// error is also of notes without the key.
func SetAside(fsys durable.FS) error {
	id, err := signedBy(fsys)
	if err != nil {
		return err
	}
	key, err := durable.ReadFile(fsys, PublicKeyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && id != "":
		return fmt.Errorf("%s has notes of waybill/%s, and %s, which checks them, is not there", LogFile, id,
			PublicKeyFile)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// The newest note is in the log too. It goes first: without its log it would seem that somebody took that
	// away.
	if err := remove(fsys, File, WitnessedFile); err != nil {
		return err
	}
	if id != "" {
		// The copy of the key comes before its notes, which prove nothing without it.
		if err := durable.PublishText(fsys, ".", fmt.Sprintf(asideKey, id), key); err != nil {
			return err
		}
		if err := fsys.Rename(LogFile, fmt.Sprintf(asideLog, id)); err != nil {
			return err
		}
	}
	return remove(fsys, LogFile, PublicKeyFile)
}

// signedBy returns the id in the name of whoever signed the log's notes, who is the same of all; "" where it
// has no whole one. A part of one, as a crash leaves it, may stand at its end.
func signedBy(fsys durable.FS) (id string, err error) {
	err = durable.Read(fsys, LogFile, func(f *io.SectionReader) error {
		notes := bufio.NewScanner(f)
		notes.Split(note.Split)
		for id == "" && notes.Scan() {
			signed, _ := bytes.CutSuffix(notes.Bytes(), journal.Newline)
			n, err := note.Parse(signed)
			if err != nil {
				continue
			}
			origin, _, _ := strings.Cut(string(n.Text), "\n")
			if match := idOfOrigin.FindStringSubmatch(origin); match != nil {
				id = match[1]
			}
		}
		return notes.Err()
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return id, err
}

// remove removes files that may not be there, and makes that durable.
func remove(fsys durable.FS, names ...string) error {
	for _, name := range names {
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.SyncDir(".")
}
