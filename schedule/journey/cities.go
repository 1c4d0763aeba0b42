package journey

import (
	"strings"

	"waybill/schedule"
)

// FindCities returns, in the order of names, a country's cities with a text in any of their names, folded; ""
// is any. A text of which folding leaves nothing is in none.
func (f Finder) FindCities(name, country string) []int32 {
	var list []int32
	if name != "" {
		if name = schedule.FoldName(name); name == "" {
			return nil
		}
	}
	for _, i := range f.byName {
		if (country == "" || f.Cities[i].Country == country) && strings.Contains(f.folded[i], name) {
			list = append(list, i)
		}
	}
	return list
}
