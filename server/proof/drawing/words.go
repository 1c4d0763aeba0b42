package drawing

import (
	"fmt"
	"strings"

	"waybill/server/frame/words"
)

// Sentences says what the picture shows.
func (d *Drawing) Sentences() []string {
	list := []string{
		fmt.Sprintf("The tree is that of all %s of the journal (RFC 6962): its root is %s.",
			words.Counted(d.Size(), "line"), short(d.Root.Hash[:])),
		d.signature(),
	}
	if d.Later > 0 {
		list = append(list, fmt.Sprintf("%s%slater, and not drawn.", words.Counted(d.Later, "line"),
			words.Are(int(d.Later))))
	}
	return append(list, d.proves(), d.breaks())
}

// signature says what is signed.
func (d *Drawing) signature() string {
	switch {
	case d.IsSigned():
		return fmt.Sprintf("The note of line %d signs this root.", d.Signed)
	case d.Signed == 0:
		return "No note has been signed yet."
	}
	return fmt.Sprintf("The newest note is of line %d; lines after it are signed within a second.", d.Signed)
}

// proves says what the proof of the marked line is.
func (d *Drawing) proves() string {
	if len(d.Proof) == 0 {
		return fmt.Sprintf("Line %d is the only one: its leaf is the root.", d.Marked)
	}
	var of []string
	for _, n := range d.Proof {
		of = append(of, fmt.Sprintf("%d %s (%s)", n.Number, short(n.Hash[:]), n.Covers()))
	}
	return fmt.Sprintf("That line %d is in the journal is proven by its leaf and %d of the other hashes: %s. "+
		"Each is hashed together with what came out before, and the last one gives the root.", d.Marked,
		len(d.Proof), strings.Join(of, ", "))
}

// breaks says what would be another if a character of the marked line were.
func (d *Drawing) breaks() string {
	later := ""
	if last := d.Size(); last > d.Marked {
		later = fmt.Sprintf(", the hash of each line up to %d, as each goes on from the one before", last)
	}
	signed := ""
	if d.IsSigned() {
		signed = " The note would no longer be of this journal."
	}
	return fmt.Sprintf("If a character of line %d were another, these would be too: its hash%s, its leaf, and each "+
		"node above that, up to the root.%s Nothing is changed here.", d.Marked, later, signed)
}

// Covers says which lines are below a node.
func (n *Node) Covers() string {
	if n.Size() == 1 {
		return fmt.Sprintf("line %d", n.First)
	}
	return fmt.Sprintf("lines %d–%d", n.First, n.Last)
}
