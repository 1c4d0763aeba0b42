package store

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
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

func snapshotName(seq uint64) string { return fmt.Sprintf("%012d.jsonl", seq) }

// Snapshot writes the present state beside the journal, without stopping
// writers, once all of it is durable. A failure loses nothing.
func (st *Store[S, E]) Snapshot() error {
	st.mu.Lock()
	err := st.usable()
	st.mu.Unlock()
	if err != nil {
		return err
	}
	return st.snapshot()
}

func (st *Store[S, E]) snapshot() error {
	st.snapMu.Lock()
	defer st.snapMu.Unlock()
	st.mu.Lock()
	if st.err != nil {
		defer st.mu.Unlock()
		return st.err
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
	have, err := snapshots(fsys)
	if err != nil || slices.Contains(have, head.Seq) {
		return err
	}
	err = Publish(fsys, "snapshots", snapshotName(head.Seq), func(f io.Writer) error {
		return writeSnapshot(f, head, write)
	})
	if err != nil {
		return err
	}
	for i := 0; i+snapshotsKept <= len(have); i++ {
		err = errors.Join(err, fsys.Remove("snapshots/"+snapshotName(have[i])))
	}
	return err
}

func writeSnapshot(f io.Writer, head Head, write func(io.Writer) error) error {
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<18)
	w.WriteString(head.snapshotLine())
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "{\"sha256\":\"%x\"}\n", sum.Sum(nil))
	return err
}

// snapshots gives the seqs of the snapshot files, rising.
func snapshots(fsys FS) ([]uint64, error) {
	names, err := fsys.List("snapshots")
	var seqs []uint64
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".jsonl")
		if seq, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && name == snapshotName(seq) {
			seqs = append(seqs, seq)
		}
	}
	return seqs, err
}

// readSnapshot reads a snapshot's head and gives its body to read, which ends
// before the checksum; the checksum is compared after that.
func readSnapshot(fsys FS, seq uint64, read func(io.Reader) error) (head Head, err error) {
	name := "snapshots/" + snapshotName(seq)
	f, err := fsys.Open(name)
	if err != nil {
		return head, err
	}
	defer f.Close()
	size, err := f.Size()
	const footer = len(`{"sha256":""}`) + 64 + 1
	if err != nil || size < int64(footer) {
		return head, &Damage{Place: Place{File: name}, Reason: "is too short"}
	}
	body := &summed{r: io.LimitReader(f, size-int64(footer)), sum: sha256.New()}
	r := bufio.NewReaderSize(body, 1<<18)
	first, err := r.ReadString('\n')
	if err == nil {
		head, err = parseSnapshotLine(first)
	}
	if err == nil && head.Seq != seq {
		err = errors.New("is of another line than its name says")
	}
	if err == nil {
		err = read(r)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return head, &Damage{Place: Place{File: name}, Reason: err.Error()}
	}
	end, err := io.ReadAll(f)
	if want := fmt.Sprintf("{\"sha256\":\"%x\"}\n", body.sum.Sum(nil)); err != nil || string(end) != want {
		return head, &Damage{Place: Place{File: name}, Reason: "does not end in the SHA-256 of its bytes"}
	}
	return head, nil
}

type summed struct {
	r   io.Reader
	sum hash.Hash
}

func (s *summed) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.sum.Write(b[:n])
	return n, err
}

func (h Head) snapshotLine() string {
	return fmt.Sprintf("{\"hash\":\"%x\",\"seq\":%d,\"time\":%q}\n", h.Hash, h.Seq, h.Time.Format(timeLayout))
}

func parseSnapshotLine(line string) (h Head, err error) {
	var sum []byte
	var when string
	fmt.Sscanf(line, "{\"hash\":\"%64x\",\"seq\":%d,\"time\":%q}\n", &sum, &h.Seq, &when)
	copy(h.Hash[:], sum)
	h.Time, _ = time.Parse(timeLayout, when)
	if h.snapshotLine() != line {
		return h, errors.New("does not start as a snapshot does")
	}
	return h, nil
}
