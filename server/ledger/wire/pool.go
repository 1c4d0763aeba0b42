package wire

import "sync"

var writers = sync.Pool{New: func() any {
	return new(Writer)
}}

// NewWriter returns an empty Writer, which may have been another's before.
func NewWriter() *Writer {
	return writers.Get().(*Writer)
}

// Release returns a Writer back, whose bytes are not needed any more. One that has grown large is let go.
func (w *Writer) Release() {
	const keep = 1 << 20
	if cap(w.B) <= keep {
		w.B = w.B[:0]
		writers.Put(w)
	}
}
