package store_test

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"waybill/store/durable"
)

// leaves returns what crashes may leave of the file "a", which is created, and gone on with by do, on an
// empty disk; "-" is that its name is not there.
func leaves(t *testing.T, names, data survival, do func(d *disk, f durable.File)) map[string]bool {
	left := map[string]bool{}
	for seed := range uint64(2000) {
		d := newDisk()
		f, err := d.Create("a")
		if err != nil {
			t.Fatal(err)
		}
		do(d, f)
		text, ok := d.crash(rand.New(rand.NewPCG(seed, 0)), names, data).files()["a"]
		if !ok {
			text = "-"
		}
		left[text] = true
	}
	return left
}

// TestDisk: the disk of the crash campaign loses what a real one may lose, and nothing else.
func TestDisk(t *testing.T) {
	const first, second = "made durable;", "and not;"
	for _, c := range []struct {
		what        string
		names, data survival
		do          func(d *disk, f durable.File)
		want        []string
	}{
		{"nothing is synced", nothing, everything, func(d *disk, f durable.File) { io.WriteString(f, first) }, []string{"-"}},
		{"a file's sync is not its name's", nothing, nothing, func(d *disk, f durable.File) {
			io.WriteString(f, first)
			f.Sync()
		}, []string{"-"}},
		{"a name's sync is not its file's", nothing, nothing, func(d *disk, f durable.File) {
			io.WriteString(f, first)
			d.SyncDir(".")
		}, []string{""}},
		{"both are synced", nothing, nothing, func(d *disk, f durable.File) {
			io.WriteString(f, first)
			f.Sync()
			d.SyncDir(".")
			io.WriteString(f, second)
		}, []string{first}},
		{"the kernel has written it by itself", everything, everything, func(d *disk, f durable.File) {
			io.WriteString(f, first)
			f.Sync()
			io.WriteString(f, second)
		}, []string{first + second}},
		{"a failed sync, and one that succeeds", nothing, nothing, func(d *disk, f durable.File) {
			io.WriteString(f, first)
			d.before = func(int, string) act { return fails }
			f.Sync()
			d.before = nil
			f.Sync()
			io.WriteString(f, second)
			f.Sync()
			d.SyncDir(".")
		}, []string{strings.Repeat("\x00", len(first)) + second}},
		{"a rename is whole", atRandom, nothing, func(d *disk, f durable.File) {
			f.Sync()
			d.SyncDir(".")
			g, _ := d.Create("b")
			io.WriteString(g, second)
			g.Sync()
			d.Rename("b", "a")
		}, []string{"", second}},
		{"a remove is synced with the directory", mixed, nothing, func(d *disk, f durable.File) {
			d.SyncDir(".")
			d.Remove("a")
		}, []string{"", "-"}},
		{"a prefix", everything, aPrefix, func(d *disk, f durable.File) { io.WriteString(f, "xyz") }, []string{"", "x", "xy", "xyz"}},
	} {
		left := leaves(t, c.names, c.data, c.do)
		if !maps.Equal(left, set(c.want)) {
			t.Errorf("%s: %q is left, want %q", c.what, slices.Sorted(maps.Keys(left)), c.want)
		}
	}
}

func set(all []string) map[string]bool {
	s := map[string]bool{}
	for _, one := range all {
		s[one] = true
	}
	return s
}

// TestDiskSectors: of what was not synced, sectors are there or not, each by itself, and the file is as long
// as it was, or shorter. What stands in a sector beside it and was synced stays.
func TestDiskSectors(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 100)
	zeros := strings.Repeat("\x00", len(long))
	left := leaves(t, nothing, atRandom, func(d *disk, f durable.File) {
		io.WriteString(f, long[:700])
		f.Sync()
		io.WriteString(f, long[700:1300])
		d.SyncDir(".")
	})
	whole := []string{
		long[:1300],
		long[:1024] + zeros[1024:1300],
		long[:700] + zeros[700:1024] + long[1024:1300],
		long[:700] + zeros[700:1300],
	}
	for _, want := range whole {
		if !left[want] {
			t.Errorf("%d bytes, %d of them zeros, are never left", len(want), strings.Count(want, "\x00"))
		}
	}
	if len(left) < 500 {
		t.Errorf("only %d lengths and contents are left", len(left))
	}
	for text := range left {
		if len(text) < 700 || !slices.ContainsFunc(whole, func(w string) bool {
			return strings.HasPrefix(w, text)
		}) {
			t.Errorf("%d bytes, %d of them zeros, are left", len(text), strings.Count(text, "\x00"))
		}
	}
}

// TestDiskKeeps: under whatever crash, what was synced is there, and what was not is where it was written:
// there, or zeros, or, with holes, anything.
func TestDiskKeeps(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 200)
	garbage := 0
	for seed := range uint64(5000) {
		d := newDisk()
		r := rand.New(rand.NewPCG(seed, 1))
		f, err := d.Create("a")
		if err != nil {
			t.Fatal(err)
		}
		cut := r.IntN(len(long))
		io.WriteString(f, long[:cut])
		f.Sync()
		d.SyncDir(".")
		io.WriteString(f, long[cut:])
		data := survival(r.IntN(int(mixed)))
		text := d.restarted(r).crash(r, mixed, data).files()["a"]
		if !strings.HasPrefix(text, long[:cut]) || len(text) > len(long) {
			t.Fatalf("seed %d: %d bytes were synced, and %d are left", seed, cut, len(text))
		}
		for i := cut; i < len(text); i++ {
			if text[i] != long[i] && text[i] != 0 {
				if garbage++; data != withHoles {
					t.Fatalf("seed %d: byte %d is %q", seed, i, text[i])
				}
			}
		}
	}
	if garbage == 0 {
		t.Error("there never is garbage")
	}
}
