package pack

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"waybill/report/table"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/ledger/excerpt"
	"waybill/server/proof/events"
	"waybill/server/proof/statement"
	"waybill/server/proof/story"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
)

// list is a table of lines of the journal, in the words of log.
type list struct {
	name, question string
	when           span
	// has reports whether a line is in the list. Types are told by their names: the list needs to know
	// nothing else of a line.
	has func(l *journal.Line) bool
}

// span says which lines a list is made of.
type span int

const (
	inPeriod span = iota // those of the period
	toEnd                // those from the first on up to the end of the period
	always               // all: what they say bears on lines before and after them
)

// typed returns the has of a list of some types of lines.
func typed(types ...string) func(*journal.Line) bool {
	wanted := map[string]bool{}
	for _, t := range types {
		wanted[t] = true
	}
	return func(l *journal.Line) bool { return wanted[l.Type] }
}

// lists are the lists of a pack.
var lists = []list{
	{"acts.csv", "What did operators do in the period, and who were they?", inPeriod,
		func(l *journal.Line) bool { return excerpt.By(l.Data) != nil }},
	{"repairs.csv", "Was the journal ever cut, where, why and by whom?", always,
		typed(journal.KindRepaired)},
	{"forks.csv", "Is this directory a copy of another one, and after which line did they part?", always,
		typed(journal.KindForked, "world.forked")},
	{"clocks.csv", "Was the clock ever set? All later times are by that clock.", always,
		typed(journal.KindClock)},
	{"unsigned.csv", "Which lines were covered by no note when a start took them over?", always,
		func(l *journal.Line) bool { return unsigned(l) != nil }},
	{"erasures.csv", "Whose personal data was erased in the period, and why?", inPeriod,
		typed(journal.KindErased, "passengers.forgotten")},
	{"access.csv", "Which keys and users existed, from the first line to the end of the period?", toEnd,
		typed("partner.key_added", "partner.revoked", "user.added", "user.access_given", "user.removed",
			"keys.rotated")},
	{"readings.csv", "Who read the names of passengers in the period?", inPeriod,
		typed("manifest.read", "personal.read")},
}

// stretch is lines that had no note when a start found them.
type stretch struct {
	From  uint64 `json:"from"`
	Lines uint64 `json:"lines"`
}

// unsigned returns the stretch that a start has taken over; nil where it has taken over none.
func unsigned(l *journal.Line) *stretch {
	if l.Type != journal.KindOpened {
		return nil
	}
	var said struct {
		Unsigned *stretch `json:"unsigned"`
	}
	if json.Unmarshal(l.Data, &said) != nil {
		return nil
	}
	return said.Unsigned
}

// reading is what one pass over the journal finds.
type reading struct {
	period statement.Period
	until  uint64 // the last line that is read
	state  *ledger.Keeper
	texts  []bytes.Buffer // of the lists, in their order
	tables []*csv.Writer

	hashes      map[uint64][32]byte // of the lines that have notes
	first, last uint64              // the lines of the period
	before      uint64              // the last line before it, of those that were read until it began
	over        bool                // the period is over
}

// errRead ends a reading once all that is wanted was read.
var errRead = errors.New("pack: all is read")

// read makes the lists of a journal, up to a line, and finds the lines that have notes.
func read(fsys readonly.FS, inUse bool, period statement.Period, until uint64, all *notes) (*reading, error) {
	r := &reading{
		period: period,
		until:  until,
		state:  ledger.NewKeeper(),
		texts:  make([]bytes.Buffer, len(lists)),
		hashes: map[uint64][32]byte{},
	}
	for i := range all.all {
		r.hashes[all.all[i].Seq] = [32]byte{}
	}
	for i := range r.texts {
		r.tables = append(r.tables, csv.NewWriter(&r.texts[i]))
		r.tables[i].Write([]string{"seq", "time", "type", "by", "text"}) // into memory
	}
	err := events.Read(fsys, inUse, r.line)
	if err != nil && !errors.Is(err, errRead) {
		return nil, err
	}
	for _, t := range r.tables {
		t.Flush()
	}
	if r.first == 0 { // nothing happened
		r.first = r.before + 1
		r.last = r.before
	}
	return r, nil
}

// line puts a line into the lists that it is of.
func (r *reading) line(l *journal.Line, x ledger.Entry) error {
	if err := events.Apply(r.state, l, x); err != nil {
		return err
	}
	if _, signed := r.hashes[l.Seq]; signed {
		r.hashes[l.Seq] = l.Hash
	}
	within := r.period.Has(l.Time)
	r.over = !l.Time.Before(r.period.End())
	switch {
	case within && r.first == 0:
		r.first = l.Seq
		r.last = l.Seq
	case within:
		r.last = l.Seq
	case !r.over && r.first == 0:
		r.before = l.Seq
	}
	for i := range lists {
		of := &lists[i]
		wanted := of.when == always || of.when == toEnd && !r.over || within
		if wanted && of.has(l) {
			r.tables[i].Write(r.row(l, x))
		}
	}
	if l.Seq == r.until {
		return errRead
	}
	return nil
}

// row returns a row of a list.
func (r *reading) row(l *journal.Line, x ledger.Entry) []string {
	by := ""
	if who := excerpt.By(l.Data); who != nil {
		by = who.String()
	}
	text := story.Tell(r.state.State, x, l)
	if s := unsigned(l); s != nil {
		text = fmt.Sprintf("%s, from line %d on, had no note when this start took them over",
			words.Counted(s.Lines, "line"), s.From)
	}
	return []string{
		strconv.FormatUint(l.Seq, 10),
		l.Time.UTC().Format(journal.TimeLayout),
		l.Type,
		table.Text(by),
		table.Text(text),
	}
}
