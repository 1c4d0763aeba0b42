package desk_test

import (
	"strings"
	"testing"
)

// Decision desk.readings: who was shown names is recorded, without the names; a page without any records
// nothing.
func TestWhoReadsNamesIsRecorded(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka", "Franko").Data.Booking
	reads := func(path string) []string {
		t.Helper()
		before := len(o.journal())
		if status, body := o.get(path); status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		var list []string
		for line := range strings.Lines(o.journal()[before:]) {
			if strings.Contains(line, `"type":"personal.read"`) {
				list = append(list, line)
			}
			if strings.Contains(line, "Ukrainka") {
				t.Errorf("%s: a name is in %s", path, line)
			}
		}
		return list
	}
	booking := `"booking":"` + b.ID + `"`
	for path, want := range map[string]string{
		"/booking?id=" + b.ID:              `"data":{"page":"/booking",` + booking + `,"people":2,"by":{"uid":`,
		"/ticket?id=" + b.Tickets[0].ID:    `"data":{"page":"/ticket",` + booking + `,"people":1,"by":{"uid":`,
		"/search?q=Ukrainka":               `"data":{"page":"/search","people":1,"by":{"uid":`,
		"/search?q=Nobody":                 "",
		"/":                                "",
		"/runs":                            "",
		"/journal":                         "",
		"/partners":                        "",
		"/search?q=" + b.Tickets[0].ID[:8]: "",
	} {
		list := reads(path)
		if want == "" && list != nil || want != "" && (len(list) != 1 || !strings.Contains(list[0], want)) {
			t.Errorf("%s: %q, want %s", path, list, want)
		}
	}
}
