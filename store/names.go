package store

import (
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
)

// What the store says of a journal it says in the terms of package journal.
type (
	// Line is a line of the journal.
	Line = journal.Line
	// Head is the newest line of a journal.
	Head = journal.Head
	// Stamp is the line that an event stands in.
	Stamp = journal.Stamp
	// Place is where a line stands in the journal.
	Place = journal.Place
	// Damage is an error that says where the files are not as they were written.
	Damage = journal.Damage
	// Checkpoint is what a directory signs.
	Checkpoint = checkpoint.Checkpoint
	// Erasure is a line whose personal part is named to be erased.
	Erasure = journal.Erasure
	// Lines reads single lines of a journal.
	Lines = journal.Lines
)

// Types of lines that others look for, see package journal.
const (
	KindClock    = journal.KindClock
	KindErased   = journal.KindErased
	KindRepaired = journal.KindRepaired
)

var (
	// ErrNewer is returned when FORMAT, or a line's type, is of a later version of the program.
	ErrNewer = journal.ErrNewer
	// ErrNoLine is returned for a line that the journal does not have, or not yet.
	ErrNoLine = journal.ErrNoLine
)

// The files of checkpoints, and how they are read.
var (
	NewestCheckpoint = checkpoint.Newest
	ParsePublicKey   = checkpoint.ParsePublicKey
)

// NewLines returns a reader of single lines of a directory's journal.
func NewLines(fsys durable.FS) *Lines { return journal.NewLines(fsys) }

// ErasedBy returns the lines whose personal parts a line says are erased.
func ErasedBy(l *Line) ([]Erasure, error) { return journal.ErasedBy(l) }

// Erased reports whether a line's personal part was erased.
func Erased(personal []byte) bool { return journal.Erased(personal) }
