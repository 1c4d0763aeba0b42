package tree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"waybill/store/durable"
	"waybill/store/durable/readonly"
)

// Dir is the directory of the hashes.
const Dir = "tree"

const (
	stride    = 8           // every so many levels are kept
	levels    = 64 / stride // of them
	tileWidth = 1 << stride // hashes of a level that make one of the next that is kept
	hashSize  = len(Hash{}) // bytes
)

// fileName returns the file of the hashes of a level, which is a multiple of stride.
func fileName(level int) string {
	return fmt.Sprintf("%s/%02d", Dir, level)
}

// Files is a tree that grows, with hashes of it in files:
//
//	tree/00   the hash of each leaf, 32 bytes each, one after the other
//	tree/08   the root of each 256 leaves
//	tree/16   the root of each 65,536, and so on
//
// The files are made from the journal and can be made from it again: deleting them loses nothing. Its methods
// may be called from any goroutine, but Write by one at a time.
type Files struct {
	fsys durable.FS

	mu      sync.Mutex
	edge    Edge
	pending [levels][]byte // what is not in the files yet

	written [levels]int64 // bytes that the files are known to hold
}

// Open takes up the tree of the first size leaves, whose root is known, from its files. Where they do not
// have it, the tree is empty, and missing says why.
func Open(fsys durable.FS, size uint64, root Hash) (files *Files, missing error) {
	f := &Files{fsys: fsys}
	f.edge, missing = readEdge(fsys, size)
	if missing == nil && f.edge.Root() != root {
		missing = errors.New("is not the tree of the lines")
	}
	if missing != nil {
		f.edge = Edge{}
	}
	for i := range f.written {
		f.written[i] = int64(f.edge.size>>(i*stride)) * int64(hashSize)
	}
	f.edge.Full = f.keep
	return f, missing
}

// readEdge reads the edge of the tree of the first size leaves.
func readEdge(fsys readonly.FS, size uint64) (Edge, error) {
	r := &reader{fsys: fsys}
	e := Edge{size: size}
	start := uint64(0)
	for level := 63; level >= 0; level-- {
		if size>>level&1 == 1 {
			e.roots = append(e.roots, r.full(level, start>>level))
			start += 1 << level
		}
	}
	return e, r.close()
}

// keep notes the root of a full tree, where it is one that the files have. The lock is held.
func (f *Files) keep(level int, root Hash) {
	if level%stride == 0 {
		f.pending[level/stride] = append(f.pending[level/stride], root[:]...)
	}
}

// Add adds a leaf.
func (f *Files) Add(leaf Hash) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.edge.Add(leaf)
}

// Size returns how many leaves the tree has.
func (f *Files) Size() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.edge.size
}

// Root returns the root of the tree.
func (f *Files) Root() Hash {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.edge.Root()
}

// Write makes durable what was added. What could not be written is written by the next Write.
func (f *Files) Write() error {
	if err := f.fsys.Mkdir(Dir); err != nil {
		return err
	}
	for i := range f.pending {
		f.mu.Lock()
		more := f.pending[i]
		f.mu.Unlock()
		if len(more) == 0 {
			continue
		}
		if err := f.append(i, more); err != nil {
			return err
		}
		f.mu.Lock()
		rest := f.pending[i][len(more):]
		f.pending[i] = append([]byte(nil), rest...)
		f.mu.Unlock()
	}
	return nil
}

// append writes hashes at the end of what a file is known to hold, and syncs it.
func (f *Files) append(i int, hashes []byte) error {
	name := fileName(i * stride)
	file, err := f.fsys.Append(name)
	if errors.Is(err, fs.ErrNotExist) && f.written[i] == 0 {
		file, err = f.create(name)
	}
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err == nil && size < f.written[i] {
		err = fmt.Errorf("%s has %d bytes where %d are expected; the next start makes it again", name, size,
			f.written[i])
	}
	if err == nil && size > f.written[i] { // as a failed write leaves it, or a crash
		err = file.Truncate(f.written[i])
	}
	if err == nil {
		_, err = file.Write(hashes)
		if err != nil { // a part of it would keep room on a full disk that the journal needs
			err = errors.Join(err, file.Truncate(f.written[i]))
		}
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	f.written[i] += int64(len(hashes))
	return nil
}

// create makes a file that is there after a power cut.
func (f *Files) create(name string) (durable.File, error) {
	file, err := f.fsys.Create(name)
	if err != nil {
		return nil, err
	}
	if err := f.fsys.SyncDir(Dir); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// reader reads hashes. It keeps its first error, and the files open until close.
type reader struct {
	fsys  readonly.FS
	files [levels]readonly.File
	err   error
}

// full returns the root of a full tree of 1<<level leaves: the one with this number, from 0.
func (r *reader) full(level int, number uint64) Hash {
	kept := level / stride
	below := level % stride
	hashes := make([]Hash, 1<<below)
	text := make([]byte, len(hashes)*hashSize)
	r.read(kept, text, int64(number<<below)*int64(hashSize))
	for i := range hashes {
		copy(hashes[i][:], text[i*hashSize:])
	}
	for len(hashes) > 1 {
		for i := range len(hashes) / 2 {
			hashes[i] = node(hashes[2*i], hashes[2*i+1])
		}
		hashes = hashes[:len(hashes)/2]
	}
	return hashes[0]
}

// read reads bytes of a file, all or none.
func (r *reader) read(i int, text []byte, offset int64) {
	if r.err == nil && r.files[i] == nil {
		r.files[i], r.err = r.fsys.Open(fileName(i * stride))
		if r.err != nil {
			r.files[i] = nil
		}
	}
	if r.err != nil {
		return
	}
	if n, err := r.files[i].ReadAt(text, offset); n < len(text) {
		r.err = fmt.Errorf("%s ends before byte %d: %w", fileName(i*stride), offset+int64(len(text)), err)
	}
}

// close closes the files and returns the first error.
func (r *reader) close() error {
	for _, f := range r.files {
		if f != nil {
			r.err = errors.Join(r.err, f.Close())
		}
	}
	return r.err
}

// A Check is a tree that grows, and is held against files: as far as these go, they must have its hashes.
type Check struct {
	Edge
	until uint64 // leaves after these are not held against the files
	files [levels]*bufio.Reader
	open  []io.Closer
	wrong error
}

// NewCheck returns the empty tree, to be held against the files. What they have of leaves after the first
// until is not looked at: it need not have reached the disk.
func NewCheck(fsys readonly.FS, until uint64) (*Check, error) {
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

// compare holds the root of a full tree against its file.
func (c *Check) compare(level int, root Hash) {
	i := level / stride
	if level%stride != 0 || c.files[i] == nil || c.size >= c.until {
		return
	}
	var have Hash
	if _, err := io.ReadFull(c.files[i], have[:]); err != nil {
		c.files[i] = nil // it ends here
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

// Wrong is a hash in a file that is not what the leaves give.
type Wrong struct {
	File   string
	Offset int64  // of the hash, in bytes
	Leaf   uint64 // the last one that the hash is made of, from 0
}

// Error says where it is.
func (w *Wrong) Error() string {
	return fmt.Sprintf("%s: byte %d: is not the hash of the lines up to seq %d", w.File, w.Offset, w.Leaf+1)
}
