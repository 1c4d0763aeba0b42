package chain

import (
	"bytes"
	"io"
	"slices"
)

// The bytes of a block, unless a line is longer. The first block is small, as its first line may be all
// that the caller needs.
const (
	firstBlock = 4 << 10
	lastBlock  = 256 << 10
)

// blockReader reads files in blocks of whole lines, each twice as large as the one before up to a limit. A
// block is not written to again, so that its lines may be kept without a copy of each.
type blockReader struct {
	size int // of the next block
	from *io.SectionReader
	text []byte
	rest []byte // the bytes read after the block: a part of the next line
	err  error  // what has ended the file
}

// begin begins a file.
func (b *blockReader) begin(f *io.SectionReader) {
	b.size = max(b.size, firstBlock)
	b.from = f
	b.rest = nil
	b.err = nil
}

// next reads the next block, and reports whether there is one.
func (b *blockReader) next() bool {
	text := append(make([]byte, 0, len(b.rest)+b.size), b.rest...)
	b.size = min(2*b.size, lastBlock)
	for b.err == nil {
		n, err := io.ReadFull(b.from, text[len(text):cap(text)])
		text = text[:len(text)+n]
		end := bytes.LastIndexByte(text, '\n') + 1
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = io.EOF
			end = len(text) // the parser sees that the newline is missing
		}
		b.text = text[:end]
		b.rest = text[end:]
		b.err = err
		if end > 0 {
			return true
		}
		text = slices.Grow(text, len(text)) // for a longer line
	}
	return false
}

// block returns the block. Only the file's last line may lack its newline.
func (b *blockReader) block() []byte {
	return b.text
}

// failed returns the error that has ended the file too early.
func (b *blockReader) failed() error {
	if b.err == io.EOF {
		return nil
	}
	return b.err
}
