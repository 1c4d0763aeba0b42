package journey_test

import (
	"fmt"
	"slices"
	"testing"

	"waybill/schedule"
)

// TestFindCities finds names and translations without regard to case and accents, in the order of names.
func TestFindCities(t *testing.T) {
	tables := &schedule.Tables{}
	for i, c := range []struct{ name, uk, country string }{{"Łódź", "Лодзь", "PL"}, {"Lviv", "Львів", "UA"},
		{"Kyiv", "Київ", "UA"}, {"Košice", "", "SK"}, {"İzmir", "", "TR"}, {"Gießen", "", "DE"},
		{"Kyiv", "", "XX"}} {
		tables.Cities = append(tables.Cities, schedule.City{
			ID:      fmt.Sprint(i),
			Name:    c.name,
			Slug:    fmt.Sprint(i),
			Country: c.country,
			Zone:    "UTC",
			Names:   schedule.Names{c.uk},
		})
	}
	tt := finder(t, tables)
	for _, c := range []struct {
		name, country string
		want          []int32
	}{
		{"lod", "", []int32{0}}, {"ŁÓDŹ", "", []int32{0}}, {"лодзь", "", []int32{0}}, {"КИЇ", "",
			[]int32{2}}, {"киі", "", []int32{2}}, {"kyiv", "", []int32{2, 6}}, {"kyiv", "UA", []int32{2}},
		{"kosice", "", []int32{3}}, {"izmir", "", []int32{4}}, {"giess", "", []int32{5}}, {"GIESSEN", "",
			[]int32{5}}, {"zzz", "", nil}, {"", "UA", []int32{2, 1}},
	} {
		if got := tt.FindCities(c.name, c.country); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %v, want %v", c.name, c.country, got, c.want)
		}
	}
	all := tt.FindCities("", "")
	// where Ł and İ stand is a matter of taste
	plain := slices.DeleteFunc(slices.Clone(all), func(i int32) bool { return i == 0 || i == 4 })
	if len(all) != len(tables.Cities) || !slices.Equal(plain, []int32{5, 3, 2, 6, 1}) {
		t.Errorf("all cities in the order of their names: %v", all)
	}
}
