package standby

import (
	"slices"
	"testing"

	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// What an erasure forgets goes from beside the journal: letters by their ticket, whatever message they are
// of, and the reports that the line names. Nothing else goes.
func TestRemoveForgotten(t *testing.T) {
	gone := ids.ID{1}
	other := ids.ID{2}
	for what, c := range map[string]struct {
		event            ledger.Event
		letters, reports []string
	}{
		"an erasure": {
			&ledger.PersonalErased{
				Passengers: []ledger.ErasedPassenger{{Ticket: gone}},
				Reports:    []ids.ID{gone},
			},
			[]string{other.String() + ".7-1.eml"},
			[]string{other.String() + ledger.ReportSuffix},
		},
		"a part of a large one": {
			&ledger.PassengersForgotten{Passengers: []ledger.ErasedPassenger{{Ticket: gone}}},
			[]string{other.String() + ".7-1.eml"},
			[]string{gone.String() + ledger.ReportSuffix, other.String() + ledger.ReportSuffix},
		},
		"another event": {
			&ledger.MessagesRetried{},
			[]string{gone.String() + ".5-1.eml", gone.String() + ".6-2.eml", other.String() + ".7-1.eml"},
			[]string{gone.String() + ledger.ReportSuffix, other.String() + ledger.ReportSuffix},
		},
	} {
		fsys := durable.Dir(t.TempDir())
		put(t, fsys, ledger.OutboxDir, gone.String()+".5-1.eml")
		put(t, fsys, ledger.OutboxDir, gone.String()+".6-2.eml")
		put(t, fsys, ledger.OutboxDir, other.String()+".7-1.eml")
		for _, id := range []ids.ID{gone, other} {
			put(t, fsys, ledger.ReportDir, id.String()+ledger.ReportSuffix)
		}
		if err := removeForgotten(fsys, c.event); err != nil {
			t.Error(what, err)
		}
		letters, _ := fsys.List(ledger.OutboxDir)
		reports, _ := fsys.List(ledger.ReportDir)
		if !slices.Equal(letters, c.letters) || !slices.Equal(reports, c.reports) {
			t.Errorf("%s leaves %q and %q", what, letters, reports)
		}
	}
	if err := removeForgotten(durable.Dir(t.TempDir()), &ledger.PersonalErased{
		Passengers: []ledger.ErasedPassenger{{Ticket: gone}},
		Reports:    []ids.ID{gone},
	}); err != nil {
		t.Errorf("where there is nothing: %v", err)
	}
}

// put writes a file of a directory.
func put(t *testing.T, fsys durable.FS, dir, name string) {
	t.Helper()
	if err := fsys.Mkdir(dir); err != nil {
		t.Fatal(err)
	}
	if err := durable.PublishText(fsys, dir, name, []byte("x")); err != nil {
		t.Fatal(err)
	}
}
