package tree

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waybill/store/durable"
)

var long = flag.Bool("long", false, "try all, and not each kind once")

// leaves returns so many leaves, each another.
func leaves(n int) (list []Hash) {
	for i := range n {
		list = append(list, Leaf(fmt.Appendf(nil, "leaf %d", i)))
	}
	return list
}

// rootOf is the definition of RFC 6962, 2.1, word for word.
func rootOf(d []Hash) Hash {
	switch len(d) {
	case 0:
		return Empty
	case 1:
		return d[0]
	}
	k := int(split(uint64(len(d))))
	return Node(rootOf(d[:k]), rootOf(d[k:]))
}

// pathOf is PATH(m, D[n]) of RFC 6962, 2.1.1.
func pathOf(m int, d []Hash) []Hash {
	if len(d) == 1 {
		return nil
	}
	k := int(split(uint64(len(d))))
	if m < k {
		return append(pathOf(m, d[:k]), rootOf(d[k:]))
	}
	return append(pathOf(m-k, d[k:]), rootOf(d[:k]))
}

// proofOf is SUBPROOF(m, D[n], b) of RFC 6962, 2.1.2.
func proofOf(m int, d []Hash, b bool) []Hash {
	if m == len(d) {
		if b {
			return nil
		}
		return []Hash{rootOf(d)}
	}
	k := int(split(uint64(len(d))))
	if m <= k {
		return append(proofOf(m, d[:k], b), rootOf(d[k:]))
	}
	return append(proofOf(m-k, d[k:], false), rootOf(d[:k]))
}

// written returns the files of a tree, written in parts.
func written(t *testing.T, d []Hash, part int) (durable.FS, *Tree) {
	t.Helper()
	fsys := durable.Dir(t.TempDir())
	f, err := Open(fsys, 0, Empty)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(d, part) {
		f.addAll(part)
		if err := f.Write(); err != nil {
			t.Fatal(err)
		}
	}
	return fsys, f
}

func (t *Tree) addAll(list []Hash) {
	for _, leaf := range list {
		t.Add(leaf)
	}
}

// Proofs made from the files are those of the definition, in trees around each size at which something
// begins: a full tree, a further kept level. Of trees of more than 300 leaves every seventh proof is made by
// default, and with -long each.
func TestProofsAreThoseOfTheDefinition(t *testing.T) {
	all := leaves(70_000)
	fsys, _ := written(t, all, 999)
	for _, size := range []int{1, 2, 3, 7, 8, 255, 256, 257, 300, 511, 512, 513, 1025} {
		d := all[:size]
		root := rootOf(d)
		step := 1
		if size > 300 && !*long {
			step = 7
		}
		for leaf := 0; leaf < size; leaf += step {
			got, err := Inclusion(fsys, uint64(leaf), uint64(size))
			if diff := cmp.Diff(pathOf(leaf, d), got); diff != "" || err != nil {
				t.Fatalf("leaf %d of %d: %v %s", leaf, size, err, diff)
			}
			if !Includes(got, d[leaf], uint64(leaf), uint64(size), root) {
				t.Fatalf("leaf %d of %d: the proof does not lead to the root", leaf, size)
			}
		}
		for old := 1; old <= size; old += step {
			got, err := Consistency(fsys, uint64(old), uint64(size))
			if diff := cmp.Diff(proofOf(old, d, true), got); diff != "" || err != nil {
				t.Fatalf("%d to %d: %v %s", old, size, err, diff)
			}
		}
	}
	for _, leaf := range []int{0, 65_535, 65_536, 69_999} { // a level above that
		got, err := Inclusion(fsys, uint64(leaf), uint64(len(all)))
		if diff := cmp.Diff(pathOf(leaf, all), got); diff != "" || err != nil {
			t.Errorf("leaf %d: %v %s", leaf, err, diff)
		}
	}
}

// A proof is good for one leaf, at one place, of one tree.
func TestAProofProvesNothingElse(t *testing.T) {
	const size = 300
	d := leaves(size)
	fsys, f := written(t, d, size)
	proof, err := Inclusion(fsys, 123, size)
	if err != nil || !Includes(proof, d[123], 123, size, f.Root()) {
		t.Fatal("the proof does not prove its leaf", err)
	}
	for leaf := range uint64(size + 2) {
		if leaf != 123 && Includes(proof, d[123], leaf, size, f.Root()) {
			t.Errorf("it proves the leaf at place %d too", leaf)
		}
	}
	// A proof does not say how large its tree is where the path is the same: the signed note does.
	for _, other := range []uint64{0, 1, 122, 123, 127, 1 << 20, 1 << 63} {
		if Includes(proof, d[123], 123, other, f.Root()) {
			t.Errorf("it proves it in a tree of %d leaves too", other)
		}
	}
	if Includes(proof, d[124], 123, size, f.Root()) || Includes(proof[1:], d[123], 123, size, f.Root()) ||
		Includes(append(slices.Clone(proof), Hash{}), d[123], 123, size, f.Root()) {
		t.Error("another leaf, a shorter or a longer proof is as good")
	}
	for i := range proof {
		for bit := range 8 * hashSize {
			changed := slices.Clone(proof)
			changed[i][bit/8] ^= 1 << (bit % 8)
			if Includes(changed, d[123], 123, size, f.Root()) {
				t.Fatalf("bit %d of hash %d does not matter", bit, i)
			}
		}
	}
	if _, err := Inclusion(fsys, size, size); err == nil {
		t.Error("there is a proof of a leaf beyond the tree")
	}
	if _, err := Consistency(fsys, size+1, size); err == nil {
		t.Error("there is a proof that a tree extends a longer one")
	}
}

// A tree that is taken up goes on as if it had never been put down, whatever a crash has left behind its end.
func TestTheTreeIsTakenUp(t *testing.T) {
	all := leaves(1200)
	for _, size := range []int{0, 1, 255, 256, 700, 1024, 1200} {
		fsys, _ := written(t, all, 100)
		f, err := Open(fsys, uint64(size), rootOf(all[:size]))
		if err != nil || f.Size() != uint64(size) {
			t.Fatal(size, err)
		}
		others := leaves(1300)[1200:] // what follows is another history
		f.addAll(others)
		if err := f.Write(); err != nil {
			t.Fatal(err)
		}
		now := slices.Concat(all[:size], others)
		if f.Root() != rootOf(now) {
			t.Errorf("taken up at %d: another root", size)
		}
		again, err := Open(fsys, uint64(len(now)), rootOf(now))
		if err != nil || again.Size() != uint64(len(now)) {
			t.Errorf("taken up at %d, it cannot be taken up again: %v", size, err)
		}
		info, err := os.Stat(filepath.Join(string(fsys.(durable.Dir)), fileName(0)))
		if err != nil || info.Size() != int64(len(now)*hashSize) {
			t.Errorf("taken up at %d: the file has %d bytes: %v", size, info.Size(), err)
		}
	}
}

// Files that lack the tree, or have another, give the empty one, and say why.
func TestATreeThatIsNotThere(t *testing.T) {
	d := leaves(300)
	fsys, f := written(t, d, 300)
	for name, open := range map[string]func() (*Tree, error){
		"longer than the files": func() (*Tree, error) { return Open(fsys, 301, f.Root()) },
		"another root":          func() (*Tree, error) { return Open(fsys, 300, Empty) },
		"no files":              func() (*Tree, error) { return Open(durable.Dir(t.TempDir()), 300, f.Root()) },
	} {
		got, missing := open()
		if missing == nil || got.Size() != 0 || got.Root() != Empty {
			t.Errorf("%s: %v, %d leaves", name, missing, got.Size())
		}
	}
}

// Files that have a wrong hash, or lack one, anywhere in the tree, are not taken up.
func TestATreeThatIsWrongWithin(t *testing.T) {
	d := leaves(600)
	for _, level := range []int{0, 8} {
		for what, change := range map[string]func([]byte) []byte{
			"a bit":     func(b []byte) []byte { b[hashSize+1] ^= 4; return b },
			"its end":   func(b []byte) []byte { return b[:len(b)-1] },
			"its hash":  func(b []byte) []byte { return b[:0] },
			"its tail":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"no change": func(b []byte) []byte { return append(b, "more"...) },
		} {
			fsys, f := written(t, d, 600)
			name := filepath.Join(string(fsys.(durable.Dir)), fileName(level))
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, change(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, missing := Open(fsys, 600, f.Root())
			if (missing == nil) != (what == "no change") {
				t.Errorf("%s of %s: %v", what, name, missing)
			}
		}
	}
}

// Each bit of the files that a proof may use is found to be wrong, and the place is named.
func TestTheFilesAreHeldAgainstTheLeaves(t *testing.T) {
	d := leaves(520)
	fsys, _ := written(t, d, 520)
	check := func(until uint64) error {
		c, err := NewCheck(fsys, until)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range d {
			c.Add(leaf)
		}
		return c.Close()
	}
	if err := check(520); err != nil {
		t.Fatal(err)
	}
	for _, level := range []int{0, 8} {
		name := filepath.Join(string(fsys.(durable.Dir)), fileName(level))
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			bit := rand.IntN(8 * len(good))
			bad := slices.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(name, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			wrong, found := errors.AsType[*Wrong](check(520))
			offset := int64(bit / 8 / hashSize * hashSize)
			if !found || wrong.File != fileName(level) || wrong.Offset != offset {
				t.Errorf("%s, bit %d: %v", name, bit, wrong)
			}
		}
		// What follows the leaves that are asked for is not looked at, nor is a file missed that is short.
		bad := slices.Clone(good)
		bad[len(bad)-1] ^= 1
		os.WriteFile(name, bad, 0o600)
		if err := check(511); err != nil {
			t.Errorf("beyond what is asked for: %v", err)
		}
		os.WriteFile(name, good[:len(good)/2+1], 0o600)
		if err := check(520); err != nil {
			t.Errorf("a short file: %v", err)
		}
		os.WriteFile(name, good, 0o600)
	}
}

// A file is held against the leaves up to the last that was signed, that one included, and no further.
func TestTheLastSignedLeafIsHeldAgainstTheFiles(t *testing.T) {
	d := leaves(520)
	fsys, _ := written(t, d, 520)
	for _, c := range []struct {
		level int
		leaf  uint64 // the last one of the last hash of the file, from 0
	}{{0, 519}, {8, 511}} {
		name := filepath.Join(string(fsys.(durable.Dir)), fileName(c.level))
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(good)
		bad[len(bad)-1] ^= 1
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		for until, seen := range map[uint64]bool{c.leaf + 1: true, c.leaf: false} {
			check, err := NewCheck(fsys, until)
			if err != nil {
				t.Fatal(err)
			}
			for _, leaf := range d {
				check.Add(leaf)
			}
			wrong, found := errors.AsType[*Wrong](check.Close())
			if found != seen || found && wrong.Leaf != c.leaf {
				t.Errorf("%s, %d leaves signed: %v, want leaf %d: %t", name, until, wrong, c.leaf, seen)
			}
		}
		if err := os.WriteFile(name, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A write that fails, at whichever step, loses nothing: the next one writes it.
func TestAWriteThatFailsIsMadeUpFor(t *testing.T) {
	d := leaves(600)
	for fail := 1; fail < 12; fail++ {
		dir := durable.Dir(t.TempDir())
		fsys := &failing{Dir: dir, at: fail}
		f, _ := Open(fsys, 0, Empty)
		f.addAll(d[:300])
		err := f.Write()
		if (err == nil) != (fsys.count < fail) {
			t.Errorf("failure %d: %v after %d", fail, err, fsys.count)
		}
		fsys.at = 0
		info, err := os.Stat(filepath.Join(string(dir), fileName(0)))
		if err == nil && info.Size()%int64(hashSize) != 0 {
			t.Errorf("failure %d: a write that failed keeps %d bytes", fail, info.Size())
		}
		f.addAll(d[300:])
		if err := f.Write(); err != nil {
			t.Fatal(fail, err)
		}
		if again, err := Open(dir, 600, rootOf(d)); err != nil || again.Size() != 600 {
			t.Errorf("failure %d: %v", fail, err)
		}
	}
}

// failing fails the step of a write with a number.
type failing struct {
	durable.Dir
	at, count int
}

var errInjected = errors.New("injected")

func (f *failing) step() error {
	f.count++
	if f.count == f.at {
		return errInjected
	}
	return nil
}

func (f *failing) Create(name string) (durable.File, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	file, err := f.Dir.Create(name)
	return &failingFile{file, f}, err
}

func (f *failing) Append(name string) (durable.File, error) {
	file, err := f.Dir.Append(name)
	return &failingFile{file, f}, err
}

func (f *failing) SyncDir(dir string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Dir.SyncDir(dir)
}

type failingFile struct {
	durable.File
	fsys *failing
}

func (f *failingFile) Write(b []byte) (int, error) {
	if err := f.fsys.step(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2+1]) // a part gets there
		return n, err
	}
	return f.File.Write(b)
}

func (f *failingFile) Sync() error {
	if err := f.fsys.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

// Proofs of a journal of ten million lines have 24 hashes at most, and need a few kilobytes of the files.
func TestProofsOfTenMillionLines(t *testing.T) {
	fsys := &constant{Dir: durable.Dir(t.TempDir())}
	const size = 10_000_000
	most := 0
	for _, leaf := range []uint64{0, 1, 4_999_999, 8_388_607, 8_388_608, size - 1} {
		fsys.read = 0
		proof, err := Inclusion(fsys, leaf, size)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(proof))
		if fsys.read > 64<<10 {
			t.Errorf("leaf %d: %d bytes are read", leaf, fsys.read)
		}
	}
	if most != 24 {
		t.Errorf("the longest proof has %d hashes", most)
	}
	proof, err := Consistency(fsys, 9_999_001, size)
	if err != nil || len(proof) > 63 {
		t.Errorf("%d hashes: %v", len(proof), err)
	}
}

// constant is a directory whose files are as long as one likes and hold zeros.
type constant struct {
	durable.Dir
	read int
}

func (c *constant) Open(string) (durable.Readable, error) { return &zeros{fsys: c}, nil }

type zeros struct {
	durable.Readable
	fsys *constant
}

func (z *zeros) ReadAt(b []byte, _ int64) (int, error) {
	z.fsys.read += len(b)
	clear(b)
	return len(b), nil
}

func (z *zeros) Close() error { return nil }
