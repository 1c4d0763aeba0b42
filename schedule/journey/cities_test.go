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
		{"Kyiv", "", "XX"}, {"Đà Nẵng", "Дананг", "VN"}, {"Кам’янець-Подільський", "", "MD"}} {
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
		{"da nang", "", []int32{7}}, {"danang", "", []int32{7}}, {"Кам'янець Под", "", []int32{8}},
		{"камянецьпод", "", []int32{8}}, {"’-", "", nil},
	} {
		if got := tt.FindCities(c.name, c.country); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %v, want %v", c.name, c.country, got, c.want)
		}
	}
	all := tt.FindCities("", "")
	if !slices.Equal(all, []int32{7, 5, 4, 3, 2, 6, 0, 1, 8}) {
		t.Errorf("all cities in the order of their names: %v", all)
	}
}
