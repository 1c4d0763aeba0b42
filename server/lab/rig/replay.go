package rig

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"

	"github.com/google/go-cmp/cmp"
)

// CompareWithReplay holds the live state against a replay of the journal, and against what a snapshot of it
// gives. Holds that have run out are forgotten whenever they are in the way; an audit tells whether the
// others are those of the tickets. thawed tells that the live state came from a snapshot itself, which
// changes the order of forms.
func CompareWithReplay(t *testing.T, s *server.Server, dir string, thawed bool) {
	t.Helper()
	var live ledger.State
	var frozen bytes.Buffer
	j := ledger.NewCodec()
	if err := s.Store.View(func(st ledger.State, now time.Time) {
		live = st
		if _, err := st.Bookings.Audit(st.Timetable(), now); err != nil {
			t.Errorf("the live state: %v", err)
		}
		if err := j.Freeze(st)(&frozen); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	codec := ledger.NewCodec()
	replayed, apply := ledger.NewReplay()
	_, err := inspect.Read(durable.Dir(dir), false, func(_ journal.Place, l *journal.Line) error {
		if journal.Own(l.Type) {
			return nil
		}
		e, err := codec.Decode(l.Type, l.Data, l.Personal)
		if err == nil {
			err = apply(l, e)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	without := func(names ...string) cmp.Option {
		return cmp.FilterPath(func(path cmp.Path) bool {
			return slices.Contains(names, path.Last().String())
		}, cmp.Ignore())
	}
	// A start begins without the lines that readings rest on: what it finds is durable.
	derived := []string{".timetable", ".use", ".known", ".Holds", ".arrivals", ".arrived", ".arrival",
		".changed", ".openByAge", ".waiting", ".room", ".fresh", ".own", ".line", ".keyLine", ".lastLines"}
	// An index has no order; what it finds is looked at below.
	sized := cmp.Comparer(func(x, y *ids.Index) bool { return x.Len() == y.Len() })
	fromSnapshot := append(derived, ".sold", ".Forms")
	if thawed {
		derived = fromSnapshot
	}
	if diff := cmp.Diff(live, replayed, all, sized, without(derived...)); diff != "" {
		t.Fatalf("the live state is not what the journal gives (-live +replayed):\n%s", diff)
	}
	again, err := ledger.NewCodec().Thaw(bytes.NewReader(frozen.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, again, all, sized, without(fromSnapshot...)); diff != "" {
		t.Fatalf("the live state is not what its snapshot gives (-live +thawed):\n%s", diff)
	}
	for b := range live.Bookings.Freeze().All() {
		for _, s := range []ledger.State{live, replayed, again} {
			if found := s.Bookings.Any(b.ID); found == nil || found.ID != b.ID {
				t.Fatalf("booking %s is not found", b.ID)
			}
			for i := range b.Tickets {
				if in, _ := s.Bookings.AnyTicket(b.Tickets[i].ID); in == nil || in.ID != b.ID {
					t.Fatalf("ticket %s is not found", b.Tickets[i].ID)
				}
			}
		}
	}
}
