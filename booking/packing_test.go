package booking

import (
	"encoding/binary"
	"math"
	"testing"

	"waybill/schedule/ids"
)

// What is put in comes out, and of a text that was cut anywhere that is said.
func TestWhatIsPutInComesOut(t *testing.T) {
	id := ids.ID{1, 2, 3}
	numbers := []int64{0, 1, -1, 63, 64, -65, math.MaxInt64, math.MinInt64}
	b := append([]byte(nil), id[:]...)
	for _, n := range numbers {
		b = binary.AppendVarint(b, n)
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = AppendText(b, "Lesia")
	for cut := range len(b) + 1 {
		r := reader{Rest: string(b[:cut])}
		good := r.ID() == id
		for _, n := range numbers {
			good = r.Signed() == n && good
			good = r.Number() == uint64(n) && good
		}
		good = r.Take(r.Number()) == "Lesia" && good
		if whole := cut == len(b); good != whole || r.Bad == whole {
			t.Errorf("%d bytes of %d: good %t, bad %t", cut, len(b), good, r.Bad)
		}
	}
}

// A number that never ends is no number, nor one that ends in nothing: each has one form.
func TestANumberThatNeverEnds(t *testing.T) {
	r := reader{Rest: "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"}
	if r.Number(); !r.Bad {
		t.Error("it was taken for one")
	}
	longer := reader{Rest: "\x81\x00"}
	if longer.Number(); !longer.Bad {
		t.Error("a number that is longer than it must be was taken for one")
	}
}
