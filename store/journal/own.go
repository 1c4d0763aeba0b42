package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// The types of the lines that the store writes for itself. They hold no event.
const (
	// KindOpened is the type of the line that every start writes ([Opened]).
	KindOpened = "opened"
	// KindForked is the type of the line that gives a directory a name of its own ([Forked]).
	KindForked = "forked"
	// KindRepaired is the type of the line that a repair ends the good part of a journal with ([Repaired]).
	KindRepaired = "repaired"
)

// Own reports whether lines of a type are the store's own, and hold no event.
func Own(kind string) bool {
	return kind == KindOpened || kind == KindForked || kind == KindRepaired
}

// Opened is the data of the line that a start writes.
type Opened struct {
	After string      `json:"after"` // how the journal ended
	Torn  *OpenedTorn `json:"torn,omitempty"`
	Key   string      `json:"key,omitempty"` // in line 1: the verifier key of the directory's first name
	// Unsigned has the lines that no note vouched for.
	Unsigned *OpenedUnsigned `json:"unsigned,omitempty"`
	// Witnesses are the names of those who are asked to sign too; nil where no server is started.
	Witnesses []string `json:"witnesses,omitzero"`
	Program   any      `json:"program,omitempty"` // what opened the directory, in the form of that program
}

// OpenedUnsigned is a stretch of lines.
type OpenedUnsigned struct {
	From  uint64 `json:"from"`
	Lines uint64 `json:"lines"`
}

// OpenedTorn is the end of the journal that the start has cut off.
type OpenedTorn struct {
	File    string `json:"file"` // the file that has the bytes
	Bytes   int64  `json:"bytes"`
	CutFrom string `json:"cutFrom"` // the file of the journal
	Offset  int64  `json:"offset"`  // in bytes
}

// Forked is the data of the line that gives a copy of a directory a name and a key of its own.
type Forked struct {
	Origin string       `json:"origin"` // the name from here on
	Key    string       `json:"key"`    // that the directory's notes are signed with from here on, as a vkey
	Parent ForkedParent `json:"parent"`
}

// ForkedParent is the directory that a copy was made of.
type ForkedParent struct {
	Origin string `json:"origin"`
	Seq    uint64 `json:"seq"`  // of the last line that both have
	Hash   string `json:"hash"` // of that line, in hex
}

// Repaired is the data of the line that a repair writes. It excuses no note: a forger could write such a
// line, and have all notes forgotten by it.
type Repaired struct {
	Reason string `json:"reason"`
	Forced int64  `json:"forced,omitempty"` // undamaged lines that were cut, where that was asked for
	// Erased has the lines whose personal parts were erased by lines that were cut off, with the times.
	Erased map[uint64]string `json:"erased,omitempty"`
	// Missing has those of them, rising, of which no line that could be read said so.
	Missing []uint64 `json:"missing,omitempty"`
	By      any      `json:"by,omitempty"` // who did it, in the form of the program that repairs
}

// Data returns the data of a line of the store's own.
func Data(line any) []byte {
	data, err := json.Marshal(line)
	if err != nil {
		panic(fmt.Sprintf("store: the data of one of the store's own lines cannot be encoded: %v", err))
	}
	return data
}

// Says reads the members of a line of the journal's own. What is not known is passed over, and so is a known
// member in another case, which encoding/json takes for it.
func (l *Line) Says(x any) error {
	var members map[string]json.RawMessage
	err := json.Unmarshal(l.Data, &members)
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool {
		return name != strings.ToLower(name)
	})
	if text, wrong := json.Marshal(members); wrong == nil && err == nil {
		err = json.Unmarshal(text, x)
	}
	if err != nil {
		return errSays
	}
	return nil
}

var errSays = errors.New("has members that are not those of its type")
