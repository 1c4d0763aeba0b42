package tree

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"waybill/store/durable"
)

// The hashes of a tree stand in files of a directory:
//
//	tree/00   the hash of each leaf, 32 bytes each, one after the other
//	tree/08   the root of each 256 leaves
//	tree/16   the root of each 65,536, and so on
//
// The files are made from the journal and can be made from it again: deleting them loses nothing.
const (
	Dir      = "tree"
	stride   = 8           // every so many levels have a file
	levels   = 64 / stride // how many files there can be
	hashSize = len(Hash{}) // bytes
)

// fileName returns the file of the hashes of a level, which is a multiple of stride.
func fileName(level int) string {
	return fmt.Sprintf("%s/%02d", Dir, level)
}

// A Check is a tree that grows and is compared with the files: as far as these go, they must have its hashes.
type Check struct {
	Edge
	until uint64 // leaves after these are not compared
	files [levels]*bufio.Reader
	open  []io.Closer
	wrong error
}

// NewCheck returns the empty tree, to be compared with the files. It passes over the hashes of leaves after
// the first until, as these need not have reached the disk.
func NewCheck(fsys durable.ReadFS, until uint64) (*Check, error) {
	c := &Check{until: until}
	c.Full = c.compare
	for i := range c.files {
		f, err := fsys.Open(fileName(i * stride))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.open = append(c.open, f)
		c.files[i] = bufio.NewReader(f)
	}
	return c, nil
}

// compare compares the root of a full tree with the next hash of its file.
func (c *Check) compare(level int, root Hash) {
	i := level / stride
	if level%stride != 0 || c.files[i] == nil || c.size >= c.until {
		return
	}
	var have Hash
	switch _, err := io.ReadFull(c.files[i], have[:]); err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		c.files[i] = nil // it ends here
		return
	default:
		c.wrong = cmp.Or(c.wrong, err)
		return
	}
	if have != root && c.wrong == nil {
		c.wrong = &Wrong{
			File:   fileName(level),
			Offset: int64(c.size>>level) * int64(hashSize),
			Leaf:   c.size,
		}
	}
}

// Close closes the files and returns the first hash that was wrong, as a *Wrong.
func (c *Check) Close() error {
	err := c.wrong
	for _, f := range c.open {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Wrong is the error of a hash in a file that does not follow from the leaves.
type Wrong struct {
	File   string
	Offset int64  // of the hash, in bytes
	Leaf   uint64 // the last one that the hash covers, counted from 0
}

// Error returns the place of the hash.
func (w *Wrong) Error() string {
	return fmt.Sprintf("%s: byte %d: is not the hash of the lines up to seq %d", w.File, w.Offset, w.Leaf+1)
}
