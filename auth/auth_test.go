package auth

import (
	"strings"
	"testing"
	"time"

	"waybill/schedule/ids"
)

func TestKeys(t *testing.T) {
	hash := HashOf("wb_anna's")
	other := HashOf("wb_anna's other")
	p := NewPartners()
	at := time.Unix(1e9, 0)
	e, err := p.AddKey(ids.ID{1}, "anna", nil, hash)
	if err != nil {
		t.Fatal(err)
	}
	p.ApplyKeyAdded(at, e)
	if p.Caller(hash) == nil || p.Caller(other) != nil || p.Caller(Hash{}) != nil {
		t.Error("a key finds the wrong partner")
	}
	// A further key is the same partner's; revoking one leaves the other.
	e, err = p.AddKey(ids.ID{2}, "anna", nil, other)
	if err != nil || e.Partner != (ids.ID{1}) {
		t.Fatal(e, err)
	}
	p.ApplyKeyAdded(at, e)
	gone, err := p.Revoke("anna", hash.String()[:12])
	if err != nil {
		t.Fatal(err)
	}
	p.ApplyKeysRevoked(at, gone)
	if p.Caller(hash) != nil || p.Caller(other) == nil {
		t.Error("the wrong key was revoked")
	}
	for _, name := range []string{"", " ", "a\nb", strings.Repeat("x", 101)} {
		if _, err := p.AddKey(ids.ID{3}, name, nil, hash); err == nil {
			t.Errorf("a partner may be called %q", name)
		}
	}
	if _, err := p.AddKey(ids.ID{3}, "anna", []string{"x"}, hash); err == nil {
		t.Error("a further key changes the companies")
	}
}

// Decision partners.keys: what is no file of signing keys is not taken for one.
func TestSigningKeysAreReadInTheirForm(t *testing.T) {
	retired := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	text := string(FormatSigningKeys([]SigningKey{{ID: 1, Retired: retired}, {ID: 2}}))
	keys, err := ParseSigningKeys([]byte(text))
	if err != nil || len(keys) != 2 || !keys[0].Retired.Equal(retired) {
		t.Errorf("%v, %v", keys, err)
	}
	for _, bad := range []string{"", "1 zz -\n", "1 00 -\n", "x\n",
		strings.Replace(text, " -", " never", 1)} {
		if _, err := ParseSigningKeys([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// noon is when the tests' tokens are shown: a whole second, so that leeways can be told to the millisecond.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
