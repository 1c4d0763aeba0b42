package held_test

import (
	"testing"

	"waybill/server/ledger"
	"waybill/server/ledger/held"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Decision disk.full: no line of the journals that former versions wrote is larger than its weight.
func TestEachLineFitsItsWeight(t *testing.T) {
	for _, version := range []string{"v1", "v1-users", "v1-evidence", "v1-retries", "v1-round-one",
		"v1-attributed", "v1-trees", "v1-runs"} {
		codec := ledger.NewCodec()
		model := codec.Model()
		lines := 0
		weigh := func(k *ledger.Keeper, at journal.Stamp, x ledger.Entry) error {
			lines++
			name, data, personal := codec.Encode(x, nil, nil)
			if most := held.Weigh(k.State, x); int64(len(data)+len(personal)) > most {
				t.Errorf("%s: line %d, %s, takes %d bytes and %d; it is weighed %d",
					version, at.Seq, name, len(data), len(personal), most)
			}
			return nil
		}
		fsys := durable.Dir("../../../testdata/journal/" + version)
		_, err := inspect.Verify(fsys, false, &model, inspect.Expected{},
			inspect.Rules[*ledger.Keeper, ledger.Entry]{Check: weigh})
		if err != nil || lines == 0 {
			t.Errorf("%s: %d lines, %v", version, lines, err)
		}
	}
}
