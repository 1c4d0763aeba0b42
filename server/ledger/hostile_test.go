package ledger_test

import (
	"bytes"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
)

// A snapshot whose bookings are anything at all, but for its SHA-256, is refused or read; it never stops a
// start.
func TestABookingOfASnapshotMayBeAnything(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"), 2))
	var snapshot bytes.Buffer
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		ledger.NewCodec().Freeze(st)(&snapshot)
	})
	if err != nil {
		t.Fatal(err)
	}
	mark := []byte(`{"booking":"`)
	start := bytes.Index(snapshot.Bytes(), mark) + len(mark)
	end := start + bytes.IndexByte(snapshot.Bytes()[start:], '"')
	facts, err := base64.RawURLEncoding.DecodeString(string(snapshot.Bytes()[start:end]))
	if err != nil || len(facts) < 80 {
		t.Fatal(len(facts), err)
	}
	refused := 0
	thaw := func(facts []byte) {
		text := slices.Concat(snapshot.Bytes()[:start], []byte(base64.RawURLEncoding.EncodeToString(facts)),
			snapshot.Bytes()[end:])
		state, err := ledger.NewCodec().Thaw(bytes.NewReader(text))
		if err != nil {
			refused++
			return
		}
		for b := range state.Bookings.Freeze().All() {
			b.Status(rig.Start)
		}
	}
	for at := range facts {
		for _, change := range []byte{0x01, 0x40, 0x80, 0xff} {
			changed := slices.Clone(facts)
			changed[at] ^= change
			thaw(changed)
		}
		before := refused
		if thaw(facts[:at]); at > 0 && refused == before {
			t.Errorf("%d bytes of %d were taken for a booking", at, len(facts))
		}
		thaw(slices.Insert(slices.Clone(facts), at, 0xff))
	}
	before := refused
	if thaw(append(slices.Clone(facts), 0)); refused == before {
		t.Error("a byte too many was not seen")
	}
	if refused < len(facts) {
		t.Errorf("%d of %d texts were refused", refused, 6*len(facts))
	}
}
