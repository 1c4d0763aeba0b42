package outbox

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/durable"
)

// File is an e-mail that became a file for want of a mail server.
type File struct {
	*outbound.Letter
	Name string // of the file: <ticket>.<message>.eml
}

// ErrNoFile is returned for a name that no e-mail has.
var ErrNoFile = errors.New("outbox: there is no such e-mail")

// Files returns e-mails that became files and have a text in their names, such as a ticket's id, the newest
// first. It leaves out so many of them and returns at most so many others, and how many there are in all.
func (s *Relay) Files(text string, skip, most int) (list []File, all int, err error) {
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
	first := min(skip, len(names))
	last := min(first+most, len(names))
	for _, name := range names[first:last] {
		f, err := s.readFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile, as too old
		}
		if err != nil {
			return nil, 0, err
		}
		list = append(list, f)
	}
	return list, len(names), nil
}

// File returns an e-mail that became a file. The error is ErrNoFile if none has the name; a name is never
// used as a path.
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

// LetterName returns the name of the file that an e-mail about a ticket becomes, if it becomes one.
func LetterName(ticket ids.ID, message string) string {
	return ticket.String() + "." + message + letterSuffix
}

// HasFile reports whether a letter is still there as a file: old ones go (decision messages.files). The name
// is one of LetterName.
func (s *Relay) HasFile(name string) bool {
	err := durable.Read(s.Config.FS, ledger.OutboxDir+"/"+name, func(*io.SectionReader) error {
		return nil
	})
	return err == nil
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

// lineOf returns the line of the journal that an e-mail is about. Its name has it after the ticket's id. It
// returns 0 for a name that is not one of ours.
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
