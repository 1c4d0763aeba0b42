package ledger

import (
	"slices"
	"testing"

	"waybill/booking/ids"
	"waybill/store/durable"
)

// What an erasure forgets goes from beside the journal: letters by their ticket, whatever message they are
// of, and the reports that the line names. Nothing else goes.
func TestRemoveForgotten(t *testing.T) {
	gone := ids.ID{1}
	other := ids.ID{2}
	for what, c := range map[string]struct {
		event            Event
		letters, reports []string
	}{
		"an erasure": {
			&PersonalErased{Passengers: []ErasedPassenger{{Ticket: gone}}, Reports: []ids.ID{gone}},
			[]string{other.String() + ".7-1.eml"},
			[]string{other.String() + ReportSuffix},
		},
		"an erasure, as versions before wrote it": {
			&PersonalErased{Tickets: []ids.ID{gone}},
			[]string{other.String() + ".7-1.eml"},
			[]string{gone.String() + ReportSuffix, other.String() + ReportSuffix},
		},
		"a part of a large one": {
			&PassengersForgotten{Passengers: []ErasedPassenger{{Ticket: gone}}},
			[]string{other.String() + ".7-1.eml"},
			[]string{gone.String() + ReportSuffix, other.String() + ReportSuffix},
		},
		"another event": {
			&MessagesRetried{},
			[]string{gone.String() + ".5-1.eml", gone.String() + ".6-2.eml", other.String() + ".7-1.eml"},
			[]string{gone.String() + ReportSuffix, other.String() + ReportSuffix},
		},
	} {
		fsys := durable.Dir(t.TempDir())
		put(t, fsys, OutboxDir, gone.String()+".5-1.eml")
		put(t, fsys, OutboxDir, gone.String()+".6-2.eml")
		put(t, fsys, OutboxDir, other.String()+".7-1.eml")
		for _, id := range []ids.ID{gone, other} {
			put(t, fsys, ReportDir, id.String()+ReportSuffix)
		}
		if err := RemoveForgotten(fsys, c.event); err != nil {
			t.Error(what, err)
		}
		letters, _ := fsys.List(OutboxDir)
		reports, _ := fsys.List(ReportDir)
		if !slices.Equal(letters, c.letters) || !slices.Equal(reports, c.reports) {
			t.Errorf("%s leaves %q and %q", what, letters, reports)
		}
	}
	if err := RemoveForgotten(durable.Dir(t.TempDir()), &PersonalErased{
		Passengers: []ErasedPassenger{{Ticket: gone}},
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
