package ledger_test

import (
	"strings"
	"testing"

	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Decision desk.folded: of a line, what is long and repeats what is known is folded, with its size; all else
// stays as it is, to the byte.
func TestALongLineIsFolded(t *testing.T) {
	long := strings.Repeat(`{"a":"}]{[\""},`, 100)
	list := "[" + long + `1]`
	text := `{"data":{"a":1,"b":"` + strings.Repeat("x", 900) + `"}}`
	for line, want := range map[string]string{
		`{"hash":"00","data":{"forms":` + list + `,"before":0},"personal":{…}}`: `{"hash":"00","data":` +
			`{"forms":[… 1.5 KB, the run as sold …],"before":0},"personal":{…}}`,
		`{"data":{"x":` + `{"y":` + list[:601] + `1]}` + `,"z":[1]}}`: `{"data":{"x":{… 609 bytes …},"z":[1]}}`,
		text:                    text,
		`{"data":{}}`:           `{"data":{}}`,
		`no line "data":{"a":[`: `no line "data":{"a":[`,
		`no line`:               `no line`,
	} {
		if got := ledger.Fold([]byte(line)); got != want {
			t.Errorf("%s\nis folded to\n%s\nwant\n%s", line, got, want)
		}
	}
	sales := 0
	sold := durable.Dir("../../testdata/journal/v3")
	_, err := inspect.Read(sold, false, func(_ journal.Place, l *journal.Line) error {
		if l.Type == "booking.created" {
			sales++
			text := ledger.Fold(l.Chained)
			if !strings.Contains(text, `"forms":[… `) || !strings.Contains(text, ", the run as sold …]") ||
				!strings.Contains(text, `"tickets":[`) || len(text) > 1000 {
				t.Errorf("a sale is folded to %s", text)
			}
		}
		return nil
	})
	if err != nil || sales == 0 {
		t.Errorf("%d sales, %v", sales, err)
	}
}
