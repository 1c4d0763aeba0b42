package fold_test

import (
	"testing"

	"waybill/schedule/fold"
)

// TestText: what people type without accents is what a feed has with them.
func TestText(t *testing.T) {
	for typed, name := range map[string]string{
		"lodz": "Łódź", "kosice": "KOŠICE", "izmir": "İzmir", "giessen": "Gießen", "киів": "Київ",
		"tromso": "Tromsø", "zurich": "Zu\u0308rich", "": "\u0301",
	} {
		if got := fold.Text(name); got != typed {
			t.Errorf("%q is %q without case and accents, want %q", name, got, typed)
		}
	}
}
