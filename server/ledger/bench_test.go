package ledger_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/journal"
)

// BenchmarkLine is per line of a booking for two: written, read, and read and applied, as a start does.
func BenchmarkLine(b *testing.B) {
	lines := rig.SoldLines(b)
	first, err := ledger.NewCodec().Decode(lines[0].Type, lines[0].Data, lines[0].Personal)
	if err != nil {
		b.Fatal(err)
	}
	partner := first.Event.(*booking.Created).Partner
	replay := func(b *testing.B, do func(ledger.State, journal.Stamp, ledger.Entry) error) {
		b.ReportAllocs()
		for b.Loop() {
			j := ledger.NewCodec()
			st := stateOf(b, partner)
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
		replay(b, func(ledger.State, journal.Stamp, ledger.Entry) error { return nil })
	})
	b.Run("decode-apply", func(b *testing.B) { replay(b, model.Apply) })
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

// BenchmarkSnapshot is per booking for two of a snapshot: written, and read as a start does.
func BenchmarkSnapshot(b *testing.B) {
	const bookings = 20_000
	state := soldOften(b, bookings)
	write := ledger.NewCodec().Freeze(state)
	var text bytes.Buffer
	if err := write(&text); err != nil {
		b.Fatal(err)
	}
	perBooking := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bookings), "ns/booking")
	}
	b.Run("Freeze", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := write(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		perBooking(b)
	})
	b.Run("Thaw", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ledger.NewCodec().Thaw(bytes.NewReader(text.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
		perBooking(b)
	})
}

// Bookings of a snapshot are put back in batches, whose room is used again: each as it was, however many
// there are.
func TestManyBookingsArePutBackAsTheyWere(t *testing.T) {
	state := soldOften(t, 3_000)
	var first, second bytes.Buffer
	if err := ledger.NewCodec().Freeze(state)(&first); err != nil {
		t.Fatal(err)
	}
	thawed, err := ledger.NewCodec().Thaw(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.NewCodec().Freeze(thawed)(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("%d bytes of bookings are put back as %d others", first.Len(), second.Len())
	}
	frozen := state.Bookings.Freeze()
	for i := range frozen.Len() {
		b := frozen.At(i)
		partner, found := thawed.Bookings.PartnerOf(b.ID)
		if !found || partner != b.Partner {
			t.Fatalf("booking %s is of partner %s, and after it was put back of %s", b.ID, b.Partner, partner)
		}
	}
	if partner, found := thawed.Bookings.PartnerOf(ids.ID{1}); found {
		t.Errorf("no booking is of partner %s", partner)
	}
}

// soldOften returns a state with so many bookings for two.
func soldOften(b testing.TB, bookings int) ledger.State {
	codec := ledger.NewCodec()
	var state ledger.State
	lines := rig.SoldLines(b)
	fresh := uint64(0)
	id := func() (id ids.ID) {
		fresh++
		binary.BigEndian.PutUint64(id[:], fresh*0x9e3779b97f4a7c15) // scattered
		return id
	}
	for i := range bookings {
		l := lines[min(i, 1)] // the first makes form and run known
		x, err := codec.Decode(l.Type, l.Data, l.Personal)
		if err != nil {
			b.Fatal(err)
		}
		sold := x.Event.(*booking.Created)
		if i == 0 {
			state = stateOf(b, sold.Partner)
		} else {
			sold.ID = id()
			for k := range sold.Tickets {
				sold.Tickets[k].ID = id()
			}
		}
		if err := model.Apply(state, l.Stamp, x); err != nil {
			b.Fatal(err)
		}
	}
	return state
}
