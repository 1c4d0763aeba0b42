// Package chain reads a journal from its first line to its end. A [Reader] goes through the files and their
// lines, checks that each line follows from the one before, and finds where the journal ends: with a whole
// line, with a torn tail ([Torn]), or at damage.
//
// What else is to be checked of a journal is checked by observers. A reader shows each line that follows to
// each [Observer], in the order in which they are listed, and then the [End]. So the list of a call says what
// the call checks:
//
//	erasures := chain.NewErasures()
//	end, err := chain.Reader{FS: fsys}.Read(erasures, chain.InUse{})
//
// Some observers are about the reading itself: [After], [InUse], and [Visits], which has lines decoded and
// applied beside the reading. The others are each one thing that a journal must agree with besides its own
// chain. One that others ask about a line comes before them.
//
//   - [Names]: the names that the directory has had, and their keys
//   - [Notes]: signed checkpoints, the directory's own and those that somebody has kept
//   - [Witnesses]: who has signed these besides
//   - [Leaves]: the tree over the lines, whose root checkpoints say
//   - [Erasures]: personal parts that are gone, and the lines that name them
//   - [Repairs]: repairs that have cut the journal
//   - [Snapshots]: snapshots that prove that their lines were durable
//
// A [Replay] makes a value again: it decodes the events of lines and applies them, from the first line on or
// from a snapshot. A [journal.Model] says what the value is and what an event does to it:
//
//	r := chain.NewReplay(&model, model.New(), nil)
//	end, err := r.Visits.Read(chain.Reader{FS: fsys}, observers, &r.Visits)
//	// r.State is the value after the line end.Head
package chain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"waybill/store/durable"
	"waybill/store/journal"
)

// An Observer sees a journal as it is read.
type Observer interface {
	// Line sees a line that follows from the one before it. The reader uses the Line again for the next one;
	// the bytes that it points to stay. An error that is not a *journal.Damage becomes damage to this line.
	Line(at journal.Place, l *journal.Line) error
	// End sees the end of the journal. It is not called where the reading has ended before: by an error, or
	// by ErrEnough.
	End(end *End) error
}

// ErrEnough is returned by an observer that needs no line after this one. The other observers see the line,
// and then the reading ends without an error.
var ErrEnough = errors.New("store: enough")

// A Reader says how a journal is read.
type Reader struct {
	FS durable.ReadFS
	// Skip is a line up to which nothing needs to be observed. Of a file that ends with that line, or
	// before it, only the last line is read.
	Skip uint64
	// Parse reads a line without its newline; nil is journal.Parse.
	Parse func([]byte) (journal.Line, error)
}

// Strict is a Parse that also checks that the whole line is one JSON object, for who has no strict decoder of
// events, which does that.
func Strict(text []byte) (journal.Line, error) {
	l, err := journal.Parse(text)
	if err == nil && !json.Valid(text) {
		err = journal.ErrNotJSON
	}
	return l, err
}

// End is the part of a journal that was read.
type End struct {
	Origin string        // the name in FORMAT
	Head   journal.Head  // the last line
	At     journal.Place // of the last line that was shown to observers
	Files  int
	Last   string // the file that the last line stands in, or the next one will
	Lines  int    // of the good part of that file
	Size   int64  // of the good part, in bytes
	Torn   *Torn  // nil where the journal ends with a whole line
}

// Torn is an end of the journal that never became durable.
type Torn struct {
	journal.Damage
	Bytes int64  // from Offset to the end of the file
	Kept  string // the file that a start keeps the bytes in; "" before that

	unfinished bool // it is one line without its newline
}

// Lost returns the error of a journal that ends, or is torn, before a line that was durable. proof names
// what shows that the line was durable.
func (e *End) Lost(proof string) *journal.Damage {
	next := e.Head.Seq + 1
	at := journal.Place{
		File:   cmp.Or(e.Last, "journal"),
		Line:   e.Lines + 1,
		Offset: e.Size,
	}
	lost := journal.DamageAt(at, next, fmt.Sprintf("lines from seq %d on are missing", next))
	if e.Torn != nil {
		lost = &e.Torn.Damage
		e.Torn = nil
	}
	lost.Reason += "; " + proof
	return lost
}
