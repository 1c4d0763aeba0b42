package stored

import (
	"slices"
	"testing"

	"waybill/store/tree"
)

// A proof shows that a tree extends one other tree, and no third.
func TestAProofThatATreeExtendsAnother(t *testing.T) {
	const most = 40
	d := leaves(most)
	fsys, _ := written(t, d, most)
	for size := range uint64(most + 1) {
		root := rootOf(d[:size])
		for old := uint64(1); old <= size; old++ {
			was := rootOf(d[:old])
			proof, err := Consistency(fsys, old, size)
			if err != nil || !Extends(proof, old, size, was, root) {
				t.Fatalf("%d to %d is not shown: %v", old, size, err)
			}
			for other := range size + 2 {
				if other != old && Extends(proof, other, size, was, root) {
					t.Errorf("%d to %d is shown by the proof for %d", other, size, old)
				}
			}
			if old < size && Extends(proof, old, size, root, root) ||
				Extends(proof, old, size, was, tree.Leaf(nil)) {
				t.Errorf("%d to %d is shown of other roots", old, size)
			}
			if Extends(append(slices.Clone(proof), root), old, size, was, root) {
				t.Errorf("%d to %d is shown by a longer proof", old, size)
			}
			for i := range proof {
				if Extends(slices.Delete(slices.Clone(proof), i, i+1), old, size, was, root) {
					t.Errorf("%d to %d is shown without hash %d", old, size, i)
				}
				bad := slices.Clone(proof)
				bad[i][7] ^= 1
				if Extends(bad, old, size, was, root) {
					t.Errorf("%d to %d is shown with another hash %d", old, size, i)
				}
			}
		}
	}
}
