package ledger_test

import (
	"bytes"
	"sync"
	"testing"

	"waybill/booking"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
)

// TestCodecReadsBesideASnapshot: verify reads a snapshot with the codec that reads the next lines meanwhile.
// Both keep the forms they see.
func TestCodecReadsBesideASnapshot(t *testing.T) {
	t.Parallel()
	first := rig.SoldLines(t)[0] // it has a form, and a run of it
	j := ledger.NewCodec()
	e, err := j.Decode(first.Type, first.Data, first.Personal)
	if err != nil {
		t.Fatal(err)
	}
	st := stateOf(t, e.Event.(*booking.Created).Partner)
	if err := model.Apply(st, first.Stamp, e); err != nil {
		t.Fatal(err)
	}
	var snapshot bytes.Buffer
	if err := j.Freeze(st)(&snapshot); err != nil {
		t.Fatal(err)
	}
	const rounds = 2_000 // some hundred are enough for the runtime to see two writers of one map
	var reading sync.WaitGroup
	reading.Go(func() {
		for range rounds {
			if _, err := j.Decode(first.Type, first.Data, first.Personal); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range rounds {
		if _, err := j.Thaw(bytes.NewReader(snapshot.Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	reading.Wait()
}
