package ledger_test

import (
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/journal"
)

// BenchmarkLine is per line of a booking for two: written, read, and read and applied, as a start does.
func BenchmarkLine(b *testing.B) {
	lines := rig.SoldLines(b)
	replay := func(b *testing.B, do func(*ledger.Keeper, journal.Stamp, ledger.Entry) error) {
		b.ReportAllocs()
		for b.Loop() {
			j := ledger.NewCodec()
			st := ledger.NewKeeper()
			for _, l := range lines {
				e, err := j.Decode(l.Type, l.Data, l.Personal)
				if err != nil {
					b.Fatal(err)
				}
				if err := do(st, l.Stamp, e); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/line")
	}
	b.Run("decode", func(b *testing.B) {
		replay(b, func(*ledger.Keeper, journal.Stamp, ledger.Entry) error { return nil })
	})
	b.Run("decode-apply", func(b *testing.B) { replay(b, (*ledger.Keeper).Apply) })
	b.Run("encode", func(b *testing.B) {
		j := ledger.NewCodec()
		last := lines[1]
		if _, err := j.Decode(lines[0].Type, lines[0].Data, lines[0].Personal); err != nil {
			// it has form and run
			b.Fatal(err)
		}
		e, err := j.Decode(last.Type, last.Data, last.Personal)
		if err != nil {
			b.Fatal(err)
		}
		var data, personal []byte
		b.ReportAllocs()
		for b.Loop() {
			_, data, personal = j.Encode(e, data[:0], personal[:0])
		}
		b.SetBytes(int64(len(data) + len(personal)))
	})
}
