package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"waybill/schedule"
)

// TestText: what people type without accents is what a feed has with them.
func TestText(t *testing.T) {
	for typed, name := range map[string]string{
		"lodz": "Łódź", "kosice": "KOŠICE", "izmir": "İzmir", "giessen": "Gießen", "киів": "Київ",
		"tromso": "Tromsø", "zurich": "Zu\u0308rich", "": "\u0301",
	} {
		if got := schedule.FoldText(name); got != typed {
			t.Errorf("%q is %q without case and accents, want %q", name, got, typed)
		}
	}
}

// TestName: letters that are the same to people are one, however they are written.
func TestName(t *testing.T) {
	for typed, names := range map[string][]string{
		"камянець":      {"Кам'янець", "Кам’янець", "КАМʼЯНЕЦЬ", "камянець", "Кам‘янець"},
		"дністровськии": {"Дністровський", "ДНІСТРОВСЬКИИ\u0306"},
		"даненг":        {"Даненг", "Да-Ненг", "Да Ненг", "Да\u2011Ненг", "Да\u00a0Ненг", "Да\u00adненг"},
		"danang":        {"Đà Nẵng", "da nang", "Da-Nang", "Đa\u0300 Na\u0306\u0303ng"},
		"hue":           {"Huế", "Hue\u0302\u0301"}, "a\nb": {"Á\n-B"},
	} {
		for _, name := range names {
			if got := schedule.FoldName(name); got != typed {
				t.Errorf("%q is %q folded, want %q", name, got, typed)
			}
		}
	}
}

// Decision cities.paging: names are ordered by the Ukrainian alphabet, Latin letters by their plain ones.
func TestOrder(t *testing.T) {
	want := strings.Fields("Gdańsk Łódź Lublin Lviv Арциз Голубівка Гусятин Ґорґани Дубно Ейне Єнакієве " +
		"Жашків Изюм Ічня Їжівка Йосипівка Київ Юр'ївка Ялта")
	got := slices.SortedFunc(slices.Values(want), func(a, b string) int {
		return strings.Compare(schedule.NameOrder(a), schedule.NameOrder(b))
	})
	if !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}
