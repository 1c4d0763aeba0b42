package ops

import (
	"testing"

	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// A bucket of a histogram holds all values up to its bound, that included.
func TestBucketsHoldTheirBounds(t *testing.T) {
	h := web.NewHistogram([]int64{10, 20})
	for _, v := range []int64{1, 10, 11, 20, 21} {
		h.Observe(v)
	}
	x := exposition{wire.NewWriter()}
	x.histogram("h", `a="b",`, h, 10)
	want := `h_bucket{a="b",le="1"} 2
h_bucket{a="b",le="2"} 4
h_bucket{a="b",le="+Inf"} 5
h_sum{a="b",} 6.3
h_count{a="b",} 5
`
	if string(x.B) != want {
		t.Errorf("%s", x.B)
	}
}
