package events

import (
	"os"

	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/tree"
)

// HashAgain makes the hashes of the tree of a journal's first lines in a temporary directory, for where those
// beside the journal are not there, or wrong. Who calls it removes the directory, also after an error; "" is
// none.
func HashAgain(fsys durable.ReadFS, size uint64) (durable.Dir, error) {
	dir, err := os.MkdirTemp("", "waybill-hashes-")
	if err != nil {
		return "", err
	}
	own := durable.Dir(dir)
	files, err := tree.Open(own, 0, tree.Empty)
	if err != nil {
		return own, err
	}
	_, err = inspect.Read(fsys, true, func(_ journal.Place, l *journal.Line) error {
		if l.Seq <= size {
			files.Add(tree.Leaf(l.Chained))
		}
		return nil
	})
	if err != nil {
		return own, err
	}
	return own, files.Write()
}
