package chain

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"waybill/store/durable"
	"waybill/store/journal"
)

// Snapshot is a value that was read from its file.
type Snapshot[S any] struct {
	State S
	Head  journal.Head // the line after which it was made; zero before the first
	Bytes int64        // of the file
}

// ReadSnapshot reads the snapshot of a line. whole reports that the file is as it was written, also where it
// cannot be thawed: then it proves that its line was durable.
func ReadSnapshot[S, E any](m *journal.Model[S, E], fsys durable.ReadFS,
	seq uint64) (s Snapshot[S], whole bool, err error) {
	name := "snapshots/" + journal.Name(seq)
	err = durable.Read(fsys, name, func(f *io.SectionReader) error {
		sum := sha256.New()
		body := io.LimitReader(f, f.Size()-int64(len(journal.SnapshotEnd(sum))))
		b := bufio.NewReader(ahead(body, sum)) // for the first line: larger reads pass it by
		start, _ := b.ReadString('\n')
		head := journal.ParseSnapshotStart(start)
		state, refused := m.Thaw(b)
		_, err := io.Copy(io.Discard, b)
		end, err2 := io.ReadAll(f)
		switch err := cmp.Or(err, err2); {
		case err != nil:
			return err
		case string(end) != journal.SnapshotEnd(sum):
			return journal.InFile(name, "does not end in the SHA-256 of its bytes")
		case head.Seq != seq || start != journal.SnapshotStart(head):
			return journal.InFile(name, "does not start with the line in its name")
		}
		whole = true
		if refused != nil {
			return journal.InFile(name, refused.Error())
		}
		s = Snapshot[S]{state, head, f.Size()}
		return nil
	})
	return s, whole, err
}

// ahead returns a reader of what from has. A goroutine of its own reads and hashes that, a block ahead. The
// caller must read to the end; then the hash is whole.
func ahead(from io.Reader, sum io.Writer) io.Reader {
	const block = 64 << 10
	r, w := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(io.MultiWriter(sum, w), from, make([]byte, block))
		w.CloseWithError(err)
	}()
	return r
}

// CompareSnapshot checks that the snapshot of a line is, byte for byte, what write writes: the value as the
// journal leads to it. One that a running server has removed since is passed over.
func CompareSnapshot[S, E any](m *journal.Model[S, E], fsys durable.ReadFS, head journal.Head,
	write func(io.Writer) error) error {
	name := "snapshots/" + journal.Name(head.Seq)
	same := false
	err := durable.Read(fsys, name, func(f *io.SectionReader) error {
		c := comparison{bufio.NewReaderSize(f, 1<<18), true}
		_, err := journal.WriteSnapshot(&c, head, write)
		_, end := c.r.ReadByte()
		same = c.same && end == io.EOF
		return err
	})
	if err == nil && !same {
		var whole bool
		_, whole, err = ReadSnapshot(m, fsys, head.Seq)
		if _, ofDisk := errors.AsType[*fs.PathError](err); err != nil && !whole && !ofDisk {
			err = fmt.Errorf("%w: %w", ErrSpoilt, err)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !same:
		return journal.InFile(name, "is not the snapshot that a replay of the journal gives")
	}
	return err
}

// ErrSpoilt is of what a start passes over or makes anew: nothing is lost with it.
var ErrSpoilt = errors.New("a start makes this anew, or passes over it")

// comparison is a Writer that compares the bytes written to it with those that r reads.
type comparison struct {
	r    *bufio.Reader
	same bool
}

// Write compares.
func (c *comparison) Write(b []byte) (int, error) {
	have := make([]byte, len(b))
	_, err := io.ReadFull(c.r, have)
	c.same = c.same && err == nil && bytes.Equal(have, b)
	return len(b), nil
}
