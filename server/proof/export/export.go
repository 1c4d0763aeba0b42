// Package export writes what a directory remembers as tables: files of comma-separated values that databases
// load.
package export

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"waybill/server/ledger"
	"waybill/server/proof/events"
	"waybill/server/proof/statement"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Schema is what Write writes beside the tables: their columns, what these mean, and how databases load
// them. A table names only those before it.
//
//go:embed schema.sql
var Schema string

// Write writes what a directory, which may be in use, remembers into a new one, as tables that databases
// load: files of comma-separated values, and schema.sql, which describes them. It only reads the former, and
// returns the line of the journal after which it stands.
func Write(fsys durable.ReadFS, inUse bool, out durable.Dir) (head journal.Head, err error) {
	err = inspect.PublishNew(string(out), func(at string) error {
		var to durable.FS = durable.Dir(at)
		if inUse { // the disk is left to the server's clients most of the time
			to = durable.PacedWrites().Files(to)
		}
		head, err = write(fsys, inUse, to)
		return err
	})
	return head, err
}

// write writes the files of an export.
func write(fsys durable.ReadFS, inUse bool, to durable.FS) (head journal.Head, err error) {
	last, err := events.NothingToErase(fsys)
	if err != nil {
		return head, err
	}
	if last.Seq == 0 {
		return head, errors.New("no journal is here")
	}
	if err := to.Mkdir("."); err != nil {
		return head, err
	}
	x := export{}
	err = x.open(to)
	if err == nil {
		head, err = x.fill(fsys, inUse)
	}
	for _, t := range x {
		t.Flush()
		err = errors.Join(err, t.Error(), t.file.Sync(), t.file.Close())
	}
	if err != nil {
		return head, err
	}
	if head.Seq < last.Seq {
		return head, fmt.Errorf("line %d of the journal was the last, and the export ends with line %d", last.Seq,
			head.Seq)
	}
	if erased, err := events.ErasedAfter(fsys, head); erased || err != nil {
		return head, cmp.Or(err, events.ErrErasedMeanwhile)
	}
	return head, durable.PublishText(to, ".", "schema.sql", []byte(Schema))
}

// export is the files of the tables, by name.
type export map[string]*tableFile

// tableFile is the file of a table.
type tableFile struct {
	*csv.Writer // with newlines: those within cells stay what they are
	file        durable.File
}

// What is read of the schema: a table's name and its text, and of that a column's name and type.
var (
	tableOfSchema = regexp.MustCompile(`(?s)create table (\w+) \(\n(.*?\n)\);`)
	columnOfTable = regexp.MustCompile(`(?m)^    (\w+) (\w+)`)
)

// open makes a file for each table of the schema, with its header.
func (x export) open(to durable.FS) error {
	for _, t := range tableOfSchema.FindAllStringSubmatch(Schema, -1) {
		var columns []string
		for _, c := range columnOfTable.FindAllStringSubmatch(t[2], -1) {
			if c[2] != "key" { // as in primary key
				columns = append(columns, c[1])
			}
		}
		f, err := to.Create(t[1] + ".csv")
		if err != nil {
			return err
		}
		x[t[1]] = &tableFile{csv.NewWriter(bufio.NewWriterSize(f, 1<<16)), f}
		x[t[1]].Write(columns)
	}
	return nil
}

// row adds a row to a table; what there is none of is "" or the zero time.
func (x export) row(table string, cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		if at, ok := c.(time.Time); !ok {
			texts[i] = fmt.Sprint(c)
		} else if !at.IsZero() {
			texts[i] = at.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	x[table].Write(texts) // its error stays until close
}

// fill writes the journal, a row for each line as it is read, and then the state that it leads to.
func (x export) fill(fsys durable.ReadFS, inUse bool) (head journal.Head, err error) {
	moved := statement.NewMovements()
	to := rows(x.row)
	var shown []uint64 // lines whose personal parts are in the export
	s, err := events.Replay(fsys, inUse, func(_ ledger.State, l *journal.Line, entry ledger.Entry) error {
		head = l.Head
		if err := checkShown(entry.Event, &shown, l); err != nil {
			return err
		}
		to.event(l)
		list, err := moved.Apply(l.Stamp, entry.Event)
		to.movements(list)
		return cmp.Or(err, x["events"].Error())
	})
	if err != nil {
		return head, err
	}
	to.all(s, head.Time)
	return head, nil
}

// checkShown records the lines that are exported with their personal part. Its error is a line that names one
// of them: the erasure was carried out after that was read.
func checkShown(e ledger.Event, shown *[]uint64, l *journal.Line) error {
	if erased, ok := e.(*ledger.PersonalErased); ok {
		for _, seq := range erased.Lines {
			if _, found := slices.BinarySearch(*shown, seq); found {
				return events.ErrErasedMeanwhile
			}
		}
	}
	if len(l.Personal) > 0 && !journal.Erased(l.Personal) {
		*shown = append(*shown, l.Seq)
	}
	return nil
}
