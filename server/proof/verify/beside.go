package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/server/ledger"
	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Beside the journal lie files that lines name, or are made of: reports, timetables, letters, snapshots.

// filesBeside lists them by their names; a report has its SHA-256.
func filesBeside(fsys durable.ReadFS) (files map[string]string, err error) {
	files = map[string]string{}
	for _, dir := range []string{ledger.OutboxDir, ledger.ReportDir, ledger.TimetableDir} {
		list, err := fsys.List(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			name = dir + "/" + name
			files[name] = ""
			if dir == ledger.ReportDir {
				files[name], _ = SumOf(fsys, name) // what cannot be read is told if the journal names it
			}
		}
	}
	seqs, err := journal.Numbers(fsys, "snapshots")
	for _, seq := range seqs {
		files[snapshotOf(seq)] = ""
	}
	return files, err
}

// beyond remarks on files that only lines beyond the end can have left, or an import that was cut short.
func (rep *Report) beyond(files map[string]string, s ledger.State) {
	named := map[string]bool{}
	for _, r := range s.Reports.All() {
		named[ledger.ReportFile(r.ID)] = true
	}
	for _, hash := range rep.timetables {
		named[ledger.TimetableDir+"/"+hash+".jsonl"] = true
	}
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		letter, isLetter := strings.CutPrefix(name, ledger.OutboxDir+"/")
		_, message, _ := strings.Cut(letter, ".")
		line, _ := (&ledger.Message{ID: message}).Line()
		return named[name] || strings.HasSuffix(name, durable.TempSuffix) ||
			isLetter && line <= rep.Head.Seq ||
			strings.HasPrefix(name, "snapshots/") && name <= snapshotOf(rep.Head.Seq)
	})
	if len(list) > 0 {
		rep.remark("beyond", rep.Head.Seq, "no line names %s: lines were cut off, or an import was cut short; "+
			"files like that: %d", list[0], len(list))
	}
}

// snapshotOf returns the name of the snapshot after a line.
func snapshotOf(seq uint64) string { return "snapshots/" + journal.Name(seq) }

// reports looks at the files of reports that should be there, by the directory's clock. One that has changed
// while the journal was read was written anew meanwhile: before has their sums of then. The error is of the
// last that is not as it was written.
func (rep *Report) reports(fsys durable.ReadFS, s ledger.State, before map[string]string) (wrong error) {
	now := s.Clock().At(time.Now())
	var missing []uint64 // the lines of those that have no file
	for _, r := range s.Reports.All() {
		expires, done := r.Expires()
		if !done || r.SHA256 == "" || !now.Before(expires) {
			continue
		}
		switch sum, err := SumOf(fsys, ledger.ReportFile(r.ID)); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, r.Line)
		case err != nil:
			return err
		case sum != r.SHA256 && sum == before[ledger.ReportFile(r.ID)]:
			d := &journal.Damage{
				Place:  journal.Place{File: ledger.ReportFile(r.ID)},
				Seq:    r.Line,
				Reason: "the file is not the report that was written",
				Books:  true,
			}
			rep.Misfits.List = append(rep.Misfits.List, d)
			wrong = d
		}
	}
	if len(missing) > 0 {
		rep.remark("missing", slices.Min(missing), "files of reports that have not expired: %d are not here, "+
			"as on a machine that took over; order them again", len(missing))
	}
	return wrong
}

// remark adds a remark.
func (rep *Report) remark(kind string, seq uint64, format string, args ...any) {
	rep.Beside = append(rep.Beside, chain.Event{Kind: kind, Seq: seq, Text: fmt.Sprintf(format, args...)})
}

// SumOf returns the SHA-256 of a file, in hex.
func SumOf(fsys durable.ReadFS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
