package checkpoint

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"waybill/store/durable"
	"waybill/store/journal"
)

// The notes that a directory has signed under an earlier name are in a file that is called after that name,
// and so is the key that checks them.
const (
	asideLog = "checkpoints-%s.log"
	asideKey = "checkpoint-%s.pub"
)

// idOfOrigin matches a directory's name, and the id in it.
var idOfOrigin = regexp.MustCompile(`^` + journal.OriginStart + `([A-Za-z0-9]+)$`)

// asideLogs matches the name of a file of such notes, and the id in it.
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

// Aside returns the files that are there of all earlier names.
func Aside(fsys durable.ReadFS) (list []Earlier, err error) {
	names, err := fsys.List(".")
	for _, name := range names {
		if id := asideLogs.FindStringSubmatch(name); id != nil {
			list = append(list, EarlierOf(id[1]))
		}
	}
	return list, err
}

// EarlierOf returns the files of the notes that were signed under the name with an id.
func EarlierOf(id string) Earlier {
	return Earlier{fmt.Sprintf(asideLog, id), fmt.Sprintf(asideKey, id)}
}

// KeyOf reads the key that checks the notes of a directory's name, which may be an earlier one.
func KeyOf(fsys durable.ReadFS, origin string) (ed25519.PublicKey, error) {
	key, err := earlierKeyOf(fsys, origin)
	if errors.Is(err, fs.ErrNotExist) {
		return PublicKey(fsys)
	}
	return key, err
}

// earlierKeyOf reads the key that checks the notes of an earlier name of a directory.
func earlierKeyOf(fsys durable.ReadFS, origin string) (ed25519.PublicKey, error) {
	id := IDOf(origin)
	if id == "" {
		return nil, fs.ErrNotExist
	}
	return ReadPublicKey(fsys, EarlierOf(id).Key)
}
