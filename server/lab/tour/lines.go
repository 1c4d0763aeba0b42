package tour

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"waybill/server/ledger"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// showLines shows the lines that were written since those that were shown last, and makes the hash of each
// anew from what it is made of. It reads the files, as an auditor does.
func (w *world) showLines() error {
	before := w.head
	report, err := inspect.Follow(w.fsys, before, func(l *journal.Line) error {
		err := w.showLine(before, l)
		before = l.Head
		return err
	})
	if err != nil {
		return err
	}
	if report.Head.Seq == w.head.Seq {
		fmt.Fprintf(w.out, "\n  no line is written; the last is line %d\n", w.head.Seq)
	}
	w.head = report.Head
	return nil
}

// showLine shows a line, and how its hash follows from the line before.
func (w *world) showLine(before journal.Head, l *journal.Line) error {
	text := bytes.TrimSpace(l.Text())
	fmt.Fprintf(w.out, "\n  line %d, %s, %d bytes:\n    %s\n", l.Seq, l.Type, len(text), ledger.Fold(text))
	prev := hex.EncodeToString(before.Hash[:])
	// Nothing of the journal's own code is asked: this is all there is to it.
	sum := sha256.Sum256(append([]byte(prev), l.Chained...))
	if sum != l.Hash {
		return fmt.Errorf("line %d has the hash %x, and should have %x", l.Seq, l.Hash, sum)
	}
	start, _, _ := bytes.Cut(l.Chained, []byte(","))
	fmt.Fprintf(w.out, "  its hash is SHA-256 of the 64 characters %s…%s, the hash of line %d,\n", prev[:4],
		prev[60:], before.Seq)
	fmt.Fprintf(w.out, "  and of its %d bytes from %s to %s: computed again, it is %x…, as the line says\n",
		len(l.Chained), start, ending(l.Chained), sum[:4])
	if l.Personal != nil && !journal.Erased(l.Personal) {
		personal := sha256.Sum256(l.Personal)
		fmt.Fprintf(w.out, "  these bytes have the SHA-256 of \"personal\", which follows them: %x…\n",
			personal[:4])
	}
	return nil
}

// ending returns the last bytes of what a chain covers.
func ending(chained []byte) []byte {
	return chained[max(0, len(chained)-9):]
}

// line returns a line of the journal as it stands now.
func (w *world) line(seq uint64) (found journal.Line, err error) {
	err = journal.NewLines(w.fsys).Read([]uint64{seq}, func(l *journal.Line) error {
		found = *l
		found.Chained = bytes.Clone(l.Chained)
		found.Personal = bytes.Clone(l.Personal)
		return nil
	})
	return found, err
}
