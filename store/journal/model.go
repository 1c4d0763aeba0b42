package journal

import "io"

// Model says what the lines of a journal mean: the value that they lead to, and how the events of that are
// applied, written and read. S is the value, a pointer or made of pointers; E is an event, an immutable value
// once it was handed in.
type Model[S, E any] struct {
	New func() S // returns the value before the first line
	// Apply changes the value as the event says. It reads no clock and decides nothing. Its error says what
	// the event names and the value does not have; then nothing is changed.
	Apply func(S, Stamp, E) error
	// Decode reads the event of a line; with a personal part, the data's last member is "personal". Its
	// error is ErrNewer where it does not know the kind, or anything else in the line.
	Decode func(kind string, data, personal []byte) (E, error)
	// Freeze returns a function that writes the value as it is now. The store calls Freeze under the lock,
	// where it must take no more than microseconds per megabyte, and what it returns without the lock.
	Freeze func(S) func(io.Writer) error
	Thaw   func(io.Reader) (S, error) // reads what Freeze wrote

	// Of who only reads, the following may be nil.

	// Encode appends the event's data, a JSON object, and its personal part, a JSON object or nothing, and
	// names its type. The writer calls it, without the lock.
	Encode func(e E, data, personal []byte) (kind string, d, p []byte)
	// Weigh returns how many bytes the event's line has at most; called under the lock, before Apply.
	Weigh func(S, E) int64
	// Complete returns an event together with what only the value before it can say. It is called right
	// before Apply; nil: there is nothing.
	Complete func(S, E) E
}
