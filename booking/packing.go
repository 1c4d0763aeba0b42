package booking

import (
	"encoding/binary"

	"waybill/schedule/ids"
)

// AppendText appends a text after its length.
func AppendText[T ~string | ~[]byte](b []byte, text T) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// A reader takes apart a text, which it does not trust: it may come from a file.
type reader struct {
	Rest string
	Bad  bool // it is not what was packed
}

// Take takes so many bytes. They lie in the text itself.
func (r *reader) Take(n uint64) (text string) {
	if n > uint64(len(r.Rest)) {
		r.Bad = true
		n = uint64(len(r.Rest))
	}
	text = r.Rest[:n]
	r.Rest = r.Rest[n:]
	return text
}

// Number takes what binary.AppendUvarint has appended.
func (r *reader) Number() (n uint64) {
	for i := 0; i < len(r.Rest) && i < binary.MaxVarintLen64; i++ {
		c := r.Rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c == 0 && i > 0 {
			break // a shorter form exists, and appending writes the shortest
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
func (r *reader) Signed() int64 {
	n := r.Number()
	return int64(n>>1) ^ -int64(n&1)
}

// ID takes an id.
func (r *reader) ID() (id ids.ID) {
	copy(id[:], r.Take(uint64(len(id))))
	return id
}

// Packed is a packed booking in its two parts.
type Packed struct {
	Facts      string
	Passengers string // in plain text, so that a snapshot can be searched for a person's data
}

// split returns the two parts of a text that starts with the first of them, as AppendText appends it.
func split(text string) Packed {
	r := reader{Rest: text}
	facts := r.Take(r.Number())
	return Packed{facts, r.Rest}
}
