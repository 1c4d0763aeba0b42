package table

import (
	"io"
	"slices"
	"testing"

	"waybill/booking/ids"
	"waybill/report"
)

// BenchmarkWrite writes a report of 100,000 orders.
func BenchmarkWrite(b *testing.B) {
	list := slices.Values(large())
	b.ReportAllocs()
	for b.Loop() {
		n, err := Write(b.Context(), io.Discard, always("north", report.CreatedAt), list, day0,
			func(ids.ID) string {
				return "anna"
			})
		if err != nil || n != rows {
			b.Fatal(n, err)
		}
	}
}
