package store_test

import (
	"errors"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/live"
)

// A directory is looked at beside the store that has it open: the look takes no lock, sees all that is on the
// disk, and can change nothing. An update of it that has events is refused, and waits for nobody.
func TestALookChangesNothing(t *testing.T) {
	fsys := durable.Dir(t.TempDir())
	st := open(t, config(fsys))
	put(t, st, add{Text: "a"}, add{Text: "b"})
	there := look(t, st)
	looked, err := store.Look(config(fsys))
	if err != nil {
		t.Fatal(err)
	}
	if seen := look(t, looked); len(seen.items) != 2 || !seen.equal(there) {
		t.Errorf("%v is seen of %v", seen, there)
	}
	_, err = looked.Update(func(*sum, time.Time) ([]add, error) { return nil, nil }, nil)
	if err != nil {
		t.Errorf("an update without events: %v", err)
	}
	_, err = looked.Update(func(*sum, time.Time) ([]add, error) { return make([]add, 1), nil }, nil)
	if !errors.Is(err, live.ErrLookedAt) {
		t.Errorf("an update with an event: %v", err)
	}
	if err := looked.Snapshot(); !errors.Is(err, durable.ErrReadOnly) {
		t.Errorf("a snapshot: %v", err)
	}
	if err := looked.Close(); err != nil {
		t.Error(err)
	}
	put(t, st, add{Text: "c"})
	closeStore(t, st)
}
