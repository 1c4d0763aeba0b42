package outbox

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/durable"
)

// File is an e-mail that became a file, as there is no mail server.
type File struct {
	*outbound.Letter
	Name string // of the file: <ticket>.<message>.eml
}

// ErrNoFile is of a name that no e-mail has.
var ErrNoFile = errors.New("outbox: there is no such e-mail")

// Files returns e-mails that became files and whose names have a text in them, as a ticket's id: the newest
// first, and so many at most. more is how many others there are.
func (s *Relay) Files(text string, most int) (list []File, more int, err error) {
	names, err := s.fileNames()
	if err != nil {
		return nil, 0, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.Contains(name, text)
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(lineOf(b), lineOf(a)), strings.Compare(a, b))
	})
	more = max(0, len(names)-most)
	for _, name := range names[:len(names)-more] {
		f, err := s.readFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its time was over meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		list = append(list, f)
	}
	return list, more, nil
}

// File returns an e-mail that became a file. Its error is ErrNoFile where none has the name: what a client
// writes is no path.
func (s *Relay) File(name string) (File, error) {
	names, err := s.fileNames()
	if err != nil {
		return File{}, err
	}
	if !slices.Contains(names, name) {
		return File{}, ErrNoFile
	}
	f, err := s.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, ErrNoFile
	}
	return f, err
}

// fileNames returns the names of the e-mails that became files.
func (s *Relay) fileNames() ([]string, error) {
	names, err := s.Config.FS.List(ledger.OutboxDir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasSuffix(name, letterSuffix)
	}), err
}

// lineOf returns the line of the journal that an e-mail is of, which its name has after the ticket's id: they
// came about in that order. 0 is of none of ours.
func lineOf(name string) uint64 {
	_, rest, _ := strings.Cut(name, ".")
	line, _, _ := strings.Cut(rest, "-")
	seq, _ := strconv.ParseUint(line, 10, 64)
	return seq
}

// readFile reads an e-mail.
func (s *Relay) readFile(name string) (f File, err error) {
	f.Name = name
	err = durable.Read(s.Config.FS, ledger.OutboxDir+"/"+name, func(from *io.SectionReader) error {
		f.Letter, err = outbound.ReadMessage(from)
		return err
	})
	return f, err
}
