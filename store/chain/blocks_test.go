package chain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"waybill/store/journal"
)

// brokenAt is a file that cannot be read from a byte on.
type brokenAt struct {
	text string
	at   int64
}

var errBroken = errors.New("broken")

func (f brokenAt) ReadAt(b []byte, off int64) (int, error) {
	n, err := strings.NewReader(f.text[:f.at]).ReadAt(b, off)
	if err == io.EOF && f.at < int64(len(f.text)) {
		err = errBroken
	}
	return n, err
}

// TestBlocks: whatever the lengths of the lines, the blocks are the file; each but the last ends in a
// newline; and before a byte that cannot be read all whole lines are there.
func TestBlocks(t *testing.T) {
	var blocks blockReader // one for all files, as a pass over the journal has
	lengths := []int{1, 100, 4<<10 - 1, 4 << 10, 4<<10 + 1, 100_000, 256 << 10, 256<<10 + 1, 1 << 20}
	for _, length := range lengths {
		line := strings.Repeat("x", length-1) + "\n"
		for _, end := range []string{"", "\n", "y", strings.Repeat("y", 300_000)} {
			text := strings.Repeat(line, 1+600_000/length) + end
			for _, broken := range []int{len(text), len(text) - 1, len(text) / 2, length, 0} {
				name := fmt.Sprintf("lines of %d, then %d bytes, read up to %d", length, len(end), broken)
				blocks.begin(io.NewSectionReader(brokenAt{text, int64(broken)}, 0, int64(len(text))))
				got, wrong := read(&blocks)
				want := text[:broken]
				err := error(nil)
				if broken < len(text) {
					want = text[:strings.LastIndexByte(text[:broken], '\n')+1]
					err = errBroken
				}
				if wrong != "" || got != want || blocks.failed() != err {
					t.Errorf("%s: %s%d bytes, want %d, %v", name, wrong, len(got), len(want), blocks.failed())
				}
			}
		}
	}
}

// read reads all blocks, and looks at them only then: none is written to again.
func read(blocks *blockReader) (text, wrong string) {
	var list [][]byte
	for blocks.next() {
		list = append(list, blocks.block())
	}
	for i, block := range list {
		if i < len(list)-1 && !bytes.HasSuffix(block, journal.Newline) {
			wrong = "a block before the last ends within a line; "
		}
	}
	return string(bytes.Join(list, nil)), wrong
}

// TestFirstBlockIsSmall: to see the first line of a journal some kilobytes are read.
func TestFirstBlockIsSmall(t *testing.T) {
	var blocks blockReader
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", 100_000)
	blocks.begin(io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))))
	sizes := []int{}
	for blocks.next() {
		sizes = append(sizes, len(blocks.block()))
	}
	if sizes[0] > 4<<10 || len(sizes) > 60 {
		t.Errorf("the first block has %d bytes, and there are %d", sizes[0], len(sizes))
	}
}
