package wire

import "sync"

var writers = sync.Pool{New: func() any {
	return new(Writer)
}}

// NewWriter returns an empty Writer, which may have been used before.
func NewWriter() *Writer {
	return writers.Get().(*Writer)
}

// Release takes back a Writer whose bytes are not needed any more. It drops one that has grown large.
func (w *Writer) Release() {
	const keep = 1 << 20
	if cap(w.B) <= keep {
		w.B = w.B[:0]
		writers.Put(w)
	}
}
