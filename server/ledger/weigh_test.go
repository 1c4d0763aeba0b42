package ledger_test

import (
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Decision disk.full: no line of the fixture, which has all kinds, is larger than its weight.
func TestEachLineFitsItsWeight(t *testing.T) {
	codec := ledger.NewCodec()
	model := codec.Model()
	lines := 0
	weigh := func(k ledger.State, at journal.Stamp, x ledger.Entry) error {
		lines++
		name, data, personal := codec.Encode(x, nil, nil)
		if most := ledger.Weigh(k, x); int64(len(data)+len(personal)) > most {
			t.Errorf("line %d, %s, takes %d bytes and %d; it is weighed %d", at.Seq, name, len(data),
				len(personal), most)
		}
		return nil
	}
	_, err := inspect.Verify(durable.Dir(rig.File(fixture)), false, &model, inspect.Expected{},
		inspect.Rules[ledger.State, ledger.Entry]{Check: weigh})
	if err != nil || lines == 0 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
