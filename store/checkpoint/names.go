package checkpoint

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"waybill/store/durable/readonly"
	"waybill/store/journal"
)

// The notes of a directory's earlier name are in a file that is called after it, as is the key that checks
// them.
const (
	asideLog = "checkpoints-%s.log"
	asideKey = "checkpoint-%s.pub"
)

// idOfOrigin matches a directory's name, and the id in it.
var idOfOrigin = regexp.MustCompile(`^` + journal.OriginStart + `([A-Za-z0-9]+)$`)

// asideLogs matches the name of such a file of notes.
var asideLogs = regexp.MustCompile(`^checkpoints-([A-Za-z0-9]+)\.log$`)

// IDOf returns the id in a directory's name, "" where there is none.
func IDOf(origin string) string {
	if id := idOfOrigin.FindStringSubmatch(origin); id != nil {
		return id[1]
	}
	return ""
}

// Earlier names the files of the notes that a directory has signed under an earlier name.
type Earlier struct{ Log, Key string }

// Aside returns them for all earlier names.
func Aside(fsys readonly.FS) (list []Earlier, err error) {
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
func KeyOf(fsys readonly.FS, origin string) (ed25519.PublicKey, error) {
	key, err := EarlierKeyOf(fsys, origin)
	if errors.Is(err, fs.ErrNotExist) {
		return PublicKey(fsys)
	}
	return key, err
}

// EarlierKeyOf reads the key that checks what a directory has signed under a name that it had before.
func EarlierKeyOf(fsys readonly.FS, origin string) (ed25519.PublicKey, error) {
	id := IDOf(origin)
	if id == "" {
		return nil, fs.ErrNotExist
	}
	return ReadPublicKey(fsys, EarlierOf(id).Key)
}
