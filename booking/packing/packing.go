// Package packing puts numbers, ids and texts into one text, as short as they are, and takes them out again.
//
//	b = packing.Append(b, "abc")
//	r := packing.Reader{Rest: string(b)}
//	r.Take(r.Number()) // "abc"
package packing

import (
	"encoding/binary"

	"waybill/booking/ids"
)

// Append appends a text after its length.
func Append[T ~string | ~[]byte](b []byte, text T) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// A Reader takes apart a text, which it does not trust: it may come from a file.
type Reader struct {
	Rest string
	Bad  bool // it is not what was packed
}

// Take takes so many bytes. They lie in the text itself.
func (r *Reader) Take(n uint64) (text string) {
	if n > uint64(len(r.Rest)) {
		r.Bad = true
		n = uint64(len(r.Rest))
	}
	text = r.Rest[:n]
	r.Rest = r.Rest[n:]
	return text
}

// Number takes what binary.AppendUvarint has appended.
func (r *Reader) Number() (n uint64) {
	for i := 0; i < len(r.Rest) && i < binary.MaxVarintLen64; i++ {
		c := r.Rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c == 0 && i > 0 {
			break // a shorter form exists, and Append writes the shortest
		}
		if c < 0x80 {
			r.Rest = r.Rest[i+1:]
			return n
		}
	}
	r.Bad = true
	return 0
}

// Signed takes what binary.AppendVarint has appended.
func (r *Reader) Signed() int64 {
	n := r.Number()
	return int64(n>>1) ^ -int64(n&1)
}

// ID takes an id.
func (r *Reader) ID() (id ids.ID) {
	copy(id[:], r.Take(uint64(len(id))))
	return id
}

// A Record is a packed booking in its two parts.
type Record struct {
	Facts      string
	Passengers string // in plain text, so that a snapshot can be searched for a person's data
}

// Split returns the two parts of a text that starts with the first of them, as Append appends it.
func Split(text string) Record {
	r := Reader{Rest: text}
	facts := r.Take(r.Number())
	return Record{facts, r.Rest}
}
