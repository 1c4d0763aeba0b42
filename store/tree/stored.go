package tree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"waybill/store/durable"
)

// Tree is a tree that grows, with hashes of it in files. Its methods may be called from any goroutine, but
// Write by one at a time.
type Tree struct {
	fsys durable.FS

	mu      sync.Mutex
	edge    Edge
	pending [levels][]byte // what is not in the files yet

	written [levels]int64 // bytes that the files are known to hold
}

// Open takes up the tree of the first size leaves, whose root is known, from its files. Where they do not
// have it, to the last hash, the tree is empty, and missing says why. That takes a fifth of a second for a
// million leaves.
func Open(fsys durable.FS, size uint64, root Hash) (t *Tree, missing error) {
	t = &Tree{fsys: fsys}
	t.edge, missing = grow(fsys, size)
	if missing == nil && t.edge.Root() != root {
		missing = errors.New("is not the tree of the lines")
	}
	if missing != nil {
		t.edge = Edge{}
	}
	for i := range t.written {
		t.written[i] = int64(t.edge.Size()>>(i*stride)) * int64(hashSize)
	}
	t.edge.Full = t.keep
	return t, missing
}

// grow returns the edge of the tree of the first size leaves that the files have. The error reports a hash
// that the files lack, or that does not follow from the leaves.
func grow(fsys durable.ReadFS, size uint64) (Edge, error) {
	r := &reader{fsys: fsys}
	for i := range levels {
		if hashes := size >> (i * stride); hashes > 0 {
			r.read(i, make([]byte, hashSize), int64(hashes-1)*int64(hashSize))
		}
	}
	if err := r.close(); err != nil || size == 0 {
		return Edge{}, err
	}
	c, err := NewCheck(fsys, size)
	if err != nil {
		return Edge{}, err
	}
	err = durable.Read(fsys, fileName(0), func(f *io.SectionReader) error {
		leaves := bufio.NewReaderSize(f, 1<<16)
		for range size {
			var leaf Hash
			if _, err := io.ReadFull(leaves, leaf[:]); err != nil {
				return err
			}
			c.Add(leaf)
		}
		return nil
	})
	if wrong := c.Close(); wrong != nil {
		err = errors.Join(err, fmt.Errorf("the files do not agree: %w", wrong))
	}
	return c.Edge, err
}

// keep queues the root of a full tree to be written, where the files have roots of its level. The lock is
// held.
func (t *Tree) keep(level int, root Hash) {
	if level%stride == 0 {
		t.pending[level/stride] = append(t.pending[level/stride], root[:]...)
	}
}

// Add adds a leaf.
func (t *Tree) Add(leaf Hash) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edge.Add(leaf)
}

// Size returns how many leaves the tree has.
func (t *Tree) Size() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.edge.Size()
}

// Root returns the root of the tree.
func (t *Tree) Root() Hash {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.edge.Root()
}

// Write makes durable what was added. What could not be written is written by the next Write.
func (t *Tree) Write() error {
	if err := t.fsys.Mkdir(Dir); err != nil {
		return err
	}
	for i := range t.pending {
		t.mu.Lock()
		more := t.pending[i]
		t.mu.Unlock()
		if len(more) == 0 {
			continue
		}
		if err := t.append(i, more); err != nil {
			return err
		}
		t.mu.Lock()
		rest := t.pending[i][len(more):]
		t.pending[i] = append([]byte(nil), rest...)
		t.mu.Unlock()
	}
	return nil
}

// append writes hashes at the end of what a file is known to hold, and syncs it.
func (t *Tree) append(i int, hashes []byte) error {
	name := fileName(i * stride)
	file, err := t.fsys.Append(name)
	if errors.Is(err, fs.ErrNotExist) && t.written[i] == 0 {
		file, err = t.create(name)
	}
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err == nil && size < t.written[i] {
		err = fmt.Errorf("%s has %d bytes where %d are expected; the next start makes it again", name, size,
			t.written[i])
	}
	if err == nil && size > t.written[i] { // as a failed write leaves it, or a crash
		err = file.Truncate(t.written[i])
	}
	if err == nil {
		_, err = file.Write(hashes)
		if err != nil { // a part of it would keep room on a full disk that the journal needs
			err = errors.Join(err, file.Truncate(t.written[i]))
		}
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	t.written[i] += int64(len(hashes))
	return nil
}

// create makes a file that is there after a power cut.
func (t *Tree) create(name string) (durable.File, error) {
	file, err := t.fsys.Create(name)
	if err != nil {
		return nil, err
	}
	if err := t.fsys.SyncDir(Dir); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// reader reads hashes. It keeps its first error, and the files open until close.
type reader struct {
	fsys  durable.ReadFS
	files [levels]durable.Readable
	err   error
}

// full returns the root of a full tree of 1<<level leaves. number counts these trees from 0.
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
			hashes[i] = Node(hashes[2*i], hashes[2*i+1])
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
		end := offset + int64(len(text))
		r.err = fmt.Errorf("%s ends before byte %d: %w", fileName(i*stride), end, err)
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
