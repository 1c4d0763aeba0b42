package journal

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"
)

// A snapshot file is a first line that says after which journal line it was made, in the form of a line's
// frame without data, then the state, then {"sha256":"<64 hex>"} over all bytes before.
//
//	{"hash":"<64 hex>","seq":48213,"time":"2026-11-20T16:39:00.123Z"}
//	…
//	{"sha256":"<64 hex>"}

// WriteSnapshot writes a snapshot of a line. write writes the state after that line. It returns the number
// of bytes.
func WriteSnapshot(f io.Writer, head Head, write func(io.Writer) error) (size int64, err error) {
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum, (*counter)(&size)), 1<<18)
	w.WriteString(SnapshotStart(head))
	if err := write(w); err != nil {
		return size, err
	}
	if err := w.Flush(); err != nil {
		return size, err
	}
	_, err = io.WriteString(f, SnapshotEnd(sum))
	return size, err
}

// counter is a Writer that counts bytes.
type counter int64

// Write counts.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// SnapshotStart returns a snapshot's first line.
func SnapshotStart(h Head) string {
	return fmt.Sprintf(
		"{\"hash\":\"%x\",\"seq\":%d,\"time\":%q}\n",
		h.Hash,
		h.Seq,
		h.Time.Format(TimeLayout),
	)
}

// ParseSnapshotStart reads a snapshot's first line. Of any other text it may return anything.
func ParseSnapshotStart(line string) (h Head) {
	var sum []byte
	var when string
	fmt.Sscanf(line, "{\"hash\":\"%64x\",\"seq\":%d,\"time\":%q}\n", &sum, &h.Seq, &when)
	copy(h.Hash[:], sum)
	h.Time, _ = time.Parse(TimeLayout, when)
	return h
}

// SnapshotEnd returns a snapshot's last line.
func SnapshotEnd(sum hash.Hash) string {
	return fmt.Sprintf("{\"sha256\":\"%x\"}\n", sum.Sum(nil))
}
