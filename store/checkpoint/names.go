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
			list = append(list, EarlierOf(id[1]))
		}
	}
	return list, err
}

// EarlierOf names the files of the notes signed under the name with an id.
func EarlierOf(id string) Earlier {
	return Earlier{fmt.Sprintf(asideLog, id), fmt.Sprintf(asideKey, id)}
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
	return ReadPublicKey(fsys, EarlierOf(id[1]).Key)
}

// SignedBy returns the id in the name that the notes of the log are signed with, which is the same for all;
// "" where the log has no whole note. A part of one, as a crash leaves it, may stand at its end.
func SignedBy(fsys durable.FS) (id string, err error) {
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
