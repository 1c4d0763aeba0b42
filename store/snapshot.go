package store

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"
)

// A snapshot file is a first line that says after which journal line it was
// made, in the form of a line's frame without data, then what Freeze wrote,
// then {"sha256":"<64 hex>"} over all bytes before.
//
//	{"hash":"<64 hex>","seq":48213,"time":"2026-11-20T16:39:00.123Z"}
//	…
//	{"sha256":"<64 hex>"}

const snapshotsKept = 2

// Snapshot writes the present state beside the journal, without stopping
// writers, once all of it is durable. A failure loses nothing.
func (st *Store[S, E]) Snapshot() error { return st.snapshot(false) }

// snapshot writes a snapshot; last tells that it is the one of Close.
func (st *Store[S, E]) snapshot(last bool) error {
	st.snapMu.Lock()
	defer st.snapMu.Unlock()
	st.mu.Lock()
	if err := st.usable(); err != nil && !(last && err == ErrClosed) {
		st.mu.Unlock()
		return err
	}
	write := st.cfg.Freeze(st.state)
	head, wait := st.head, st.newest()
	head.Seq = st.seq
	st.mu.Unlock()
	if err := wait.wait(); err != nil {
		return err
	}
	if wait != nil {
		head = wait.entries[head.Seq-wait.entries[0].Seq].Head
	}
	fsys := st.cfg.FS
	have, err := numbers(fsys, "snapshots")
	if err != nil || slices.Contains(have, head.Seq) {
		return err
	}
	err = Publish(fsys, "snapshots", numbered(head.Seq), func(f io.Writer) error {
		return writeSnapshot(f, head, write)
	})
	if err != nil {
		return err
	}
	for i := 0; i+snapshotsKept <= len(have); i++ {
		err = errors.Join(err, fsys.Remove("snapshots/"+numbered(have[i])))
	}
	return err
}

func writeSnapshot(f io.Writer, head Head, write func(io.Writer) error) error {
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<18)
	w.WriteString(snapshotStart(head))
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(f, snapshotEnd(sum))
	return err
}

// readSnapshot gives the body of a snapshot to read. Where its error comes
// with a head, the file is whole, and the error is that of read.
func readSnapshot(fsys FS, seq uint64, read func(io.Reader) error) (head Head, err error) {
	name := "snapshots/" + numbered(seq)
	err = reading(fsys, name, func(f *io.SectionReader) error {
		sum := sha256.New()
		body := io.LimitReader(f, f.Size()-int64(len(snapshotEnd(sum))))
		r := bufio.NewReaderSize(io.TeeReader(body, sum), 1<<18)
		start, _ := r.ReadString('\n')
		h := parseSnapshotStart(start)
		refused := read(r)
		if _, err := io.Copy(io.Discard, r); err != nil {
			return err
		}
		end, err := io.ReadAll(f)
		switch {
		case err != nil:
			return err
		case string(end) != snapshotEnd(sum):
			return inFile(name, "does not end in the SHA-256 of its bytes")
		case h.Seq != seq || start != snapshotStart(h):
			return inFile(name, "does not start with the line that its name says")
		}
		if head = h; refused != nil {
			return inFile(name, refused.Error())
		}
		return nil
	})
	return head, err
}

func snapshotStart(h Head) string {
	return fmt.Sprintf("{\"hash\":\"%x\",\"seq\":%d,\"time\":%q}\n", h.Hash, h.Seq, h.Time.Format(timeLayout))
}

func parseSnapshotStart(line string) (h Head) {
	var sum []byte
	var when string
	fmt.Sscanf(line, "{\"hash\":\"%64x\",\"seq\":%d,\"time\":%q}\n", &sum, &h.Seq, &when)
	copy(h.Hash[:], sum)
	h.Time, _ = time.Parse(timeLayout, when)
	return h
}

func snapshotEnd(sum hash.Hash) string {
	return fmt.Sprintf("{\"sha256\":\"%x\"}\n", sum.Sum(nil))
}
