package ledger

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Model returns a model for those who replay a journal: the state, and how its lines and snapshots are
// read.
func (c *Codec) Model() journal.Model[State, Entry] {
	return journal.Model[State, Entry]{
		New:    newState,
		Apply:  State.apply,
		Decode: c.Decode,
		Freeze: c.Freeze,
		Thaw:   c.Thaw,
		Encode: c.Encode,
	}
}

// The directories beside the journal.
const (
	TimetableDir = "timetables" // the timetables that were in force, by content hash
	KeyDir       = "keys"       // the secrets, made after the journal's first line
	ReportDir    = "reports"    // the files of reports
	OutboxDir    = "outbox"     // the e-mails that no server takes
)

// ReportSuffix is what the name of a report's file ends in.
const ReportSuffix = ".csv"

// ReportFile returns the path of a report's file.
func ReportFile(id ids.ID) string { return ReportDir + "/" + id.String() + ReportSuffix }

// ReportOf returns the report whose file has a name in ReportDir, and whether that is the name of one.
func ReportOf(name string) (id ids.ID, ok bool) {
	base, whole := strings.CutSuffix(name, ReportSuffix)
	id, ok = ids.Parse(base)
	return id, ok && whole
}

// SideDirs are the directories that a data directory holds beside the store's files.
var SideDirs = []string{KeyDir, TimetableDir, ReportDir, OutboxDir}

// CopiedDirs are the directories that a copy has too: all but the letters, which may take many times the
// room of the journal, and which leave by themselves.
var CopiedDirs = []string{KeyDir, TimetableDir, ReportDir}

// LoadTimetable reads the timetable that the journal names; hash "" is none yet.
func LoadTimetable(fsys durable.ReadFS, hash string) (*schedule.Timetable, error) {
	if hash == "" {
		return schedule.New(new(schedule.Tables))
	}
	name := TimetableDir + "/" + hash + ".jsonl"
	f, err := fsys.Open(name)
	if _, no := hex.DecodeString(hash); no != nil || errors.Is(err, fs.ErrNotExist) {
		return nil, journal.InFile(name, "is missing, but a line names it")
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	tables, err := schedule.Decode(f, hash)
	if err != nil {
		return nil, journal.InFile(name, err.Error())
	}
	tt, err := schedule.New(tables)
	if err != nil {
		err = journal.InFile(name, err.Error())
	}
	return tt, err
}

// The files of secrets.
const (
	RingFile   = "offer-tokens"    // the keys that sign offers
	IDPFile    = "development-idp" // the seed of the development provider's key
	PeerFile   = "outbound"        // the secret that signs calls of the provider and the messenger
	TicketFile = "tickets"         // the seed of the key that signs the codes on tickets
	TicketsPub = "tickets.pub"     // of the directory: the key that checks them
	SeedFile   = "seed"            // the number that all of these come from, in a test bench's directory
)

// ParseSecret reads 32 bytes in hex.
func ParseSecret(text []byte) ([]byte, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != 32 {
		return nil, errors.New("is not a key")
	}
	return secret, nil
}

// HasSeed reports whether the directory's secrets come from a number.
func HasSeed(fsys durable.ReadFS) bool {
	_, err := durable.ReadFile(fsys, KeyDir+"/"+SeedFile)
	return err == nil
}

// ParseSeed reads the number that a directory was made from.
func ParseSeed(text []byte) (uint64, error) {
	number, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, errors.New("is not a number")
	}
	return number, nil
}

// LostJournal is the error of a directory that has keys and no line.
func LostJournal(fsys durable.ReadFS) error {
	keys, err := fsys.List(KeyDir)
	if err != nil || len(keys) == 0 {
		return err
	}
	files, err := fsys.List("journal")
	if err != nil {
		return err
	}
	if len(files) > 0 {
		var first firstLine
		if _, err := (chain.Reader{FS: fsys}).Read(&first); err != nil || first.found {
			return nil // after an error, the reading that follows says what is wrong
		}
	}
	key := keys[0]
	if slices.Contains(keys, RingFile) {
		key = RingFile
	}
	return journal.InFile("journal", "is empty, but "+KeyDir+"/"+key+" shows that it was not")
}

// firstLine is an observer that reports whether there is a line.
type firstLine struct{ found bool }

// Line ends the reading.
func (f *firstLine) Line(journal.Place, *journal.Line) error {
	f.found = true
	return chain.ErrEnough
}

// End checks nothing.
func (f *firstLine) End(*chain.End) error { return nil }

// ReadSecret reads a file of secrets. An error of parse is damage.
func ReadSecret[T any](fsys durable.ReadFS, name string,
	parse func([]byte) (T, error)) (secret T, err error) {
	f, err := fsys.Open(KeyDir + "/" + name)
	if err != nil {
		return secret, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return secret, err
	}
	if secret, err = parse(text); err != nil {
		err = journal.InFile(KeyDir+"/"+name, err.Error())
	}
	return secret, err
}
