package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// row is a row of a table of members: what journal.md says of one.
type row struct {
	path     string // as tickets[].id
	kind     string // the first word of its type
	optional bool
}

// page has the tables of journal.md: those of members, and those of personal members, by heading.
type page struct {
	headings []string // of the third level, in order
	data     map[string][]row
	personal map[string][]row
}

var rowOfPage = regexp.MustCompile("^\\| `([^`]+)` \\| ([A-Za-z0-9]+)(.*?) \\|")

// readPage reads journal.md.
func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile("../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{data: map[string][]row{}, personal: map[string][]row{}}
	heading := ""
	var table map[string][]row
	for line := range strings.Lines(string(text)) {
		level, title, isHeading := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case isHeading && strings.Trim(level, "#") == "":
			heading = title
			table = nil
			if level == "###" {
				p.headings = append(p.headings, title)
			}
		case strings.HasPrefix(line, "| member |") && strings.Contains(line, "| type |"),
			strings.HasPrefix(line, "| member of a form |"):
			table = p.data
		case strings.HasPrefix(line, "| personal member |"):
			table = p.personal
		case !strings.HasPrefix(line, "|"):
			table = nil
		case table != nil && !strings.HasPrefix(line, "|---"):
			cells := rowOfPage.FindStringSubmatch(line)
			if cells == nil {
				t.Fatalf("journal.md, %s: no row of members: %s", heading, line)
			}
			optional := strings.Contains(cells[3], ", optional")
			table[heading] = append(table[heading], row{cells[1], cells[2], optional})
		}
	}
	return p
}

// commonHeading is over the members that several types have.
const commonHeading = "Members of several types"

// jsonKinds is what a type of the page is in JSON.
var jsonKinds = map[string]string{
	"id": "text", "run": "text", "text": "text", "time": "text", "date": "text", "hash": "text", "vkey": "text",
	"int": "number", "seq": "number", "money": "number", "percent": "number", "number": "number",
	"fare": "number", "second": "number", "row": "number", "day": "number",
	"int16": "number", "int32": "number", "currency": "text", "act": "text", "carrier": "text", "way": "text",
	"Companies": "object", "Routes": "object", "Buses": "object", "Stops": "object", "Cities": "object",
	"bool": "bool", "list": "list", "names": "list", "object": "object", "form": "object",
}

// leaves are members of which other tables of the page tell more, or whose own members are no names.
var leaves = []string{"forms[]", "erased", "program", "before", "company", "route", "bus", "stops[].stop",
	"stops[].city", "phones", "rules", "discounts"}

// members returns the members of a JSON object in their order, as the page writes them, with what each is.
func members(t *testing.T, text []byte, leaf func(path string) bool) (list []row) {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var value func(path string)
	add := func(path, kind string) {
		known := slices.ContainsFunc(list, func(r row) bool { return r.path == path })
		if path != "" && !known {
			list = append(list, row{path: path, kind: kind})
		}
	}
	value = func(path string) {
		token, err := in.Token()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		switch token {
		case json.Delim('{'):
			if !strings.HasSuffix(path, "[]") || leaf(path) {
				add(path, "object")
			}
			for in.More() {
				name, _ := in.Token()
				value(strings.TrimPrefix(path+"."+name.(string), "."))
			}
			in.Token()
			return
		case json.Delim('['):
			add(path, "list")
			for in.More() {
				value(path + "[]")
			}
			in.Token()
			return
		case nil:
			add(path, "list") // Go's empty list
			return
		}
		switch token.(type) {
		case json.Number:
			add(path, "number")
		case bool:
			add(path, "bool")
		default:
			add(path, "text")
		}
	}
	value("")
	return slices.DeleteFunc(list, func(r row) bool {
		for i := range r.path {
			if (r.path[i] == '.' || r.path[i] == '[') && leaf(r.path[:i]) {
				return true
			}
		}
		return false
	})
}

// isLeaf reports whether a member's own members are not listed with it.
func isLeaf(path string) bool {
	return slices.Contains(leaves, path)
}

// fill sets all that a value has, or, where it is sparse, only what holds other values.
func fill(v reflect.Value, sparse bool) {
	switch x := v.Addr().Interface().(type) {
	case *booking.Passenger:
		*x = booking.NewPassenger("a", "b", "c", []string{"d"})
		return
	case *time.Time:
		if !sparse {
			*x = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		}
		return
	case **schedule.Timetable:
		return
	case *SentAs:
		if !sparse {
			*x = SentAsMail
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), sparse)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, sparse)
			}
		}
	case reflect.Slice:
		of := v.Type().Elem()
		holds := []reflect.Kind{reflect.Struct, reflect.Pointer, reflect.Int16}
		if sparse && !slices.Contains(holds, of.Kind()) && of != reflect.TypeFor[booking.Passenger]() {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), sparse)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), sparse)
		}
	case reflect.Map:
		if !sparse {
			v.Set(reflect.MakeMap(v.Type()))
			key := reflect.New(v.Type().Key()).Elem()
			value := reflect.New(v.Type().Elem()).Elem()
			fill(key, false)
			fill(value, false)
			v.SetMapIndex(key, value)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(struct{}{}))
	default:
		if !sparse {
			fillScalar(v)
		}
	}
}

// fillScalar sets a text, a number or a bool.
func fillScalar(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	}
}

// of returns the first of some members that has a path.
func of(list []row, path string) (row, bool) {
	i := slices.IndexFunc(list, func(r row) bool { return r.path == path })
	if i < 0 {
		return row{}, false
	}
	return list[i], true
}

// compare holds a table of the page against what is written: in full, with what holds other values alone,
// and with nothing.
func compare(t *testing.T, heading string, table []row, leaf func(string) bool, full, sparse, zero []byte) {
	t.Helper()
	has := members(t, full, leaf)
	least := members(t, sparse, leaf)
	none := members(t, zero, leaf)
	var said, written []string
	for _, r := range table {
		said = append(said, r.path)
	}
	for _, r := range has {
		written = append(written, r.path)
	}
	if !slices.Equal(said, written) {
		t.Errorf("%s: journal.md has the members\n%s\nand the code writes\n%s", heading,
			strings.Join(said, " "), strings.Join(written, " "))
		return
	}
	for i, r := range table {
		if jsonKinds[r.kind] != has[i].kind && !(r.path == "before" && r.kind == "seq") {
			t.Errorf("%s: %s is a %s by journal.md, and is written as %s", heading, r.path, r.kind, has[i].kind)
		}
		if strings.HasSuffix(r.path, "[]") {
			continue
		}
		_, always := of(least, r.path)
		if !strings.ContainsAny(r.path, ".[") {
			_, always = of(none, r.path)
		}
		if r.optional == always {
			t.Errorf("%s: %s is optional by journal.md: %t, and always written: %t", heading, r.path, r.optional,
				always)
		}
	}
}

// The types of journal.md are those of the table of kinds and the store's own, and each has the members that
// the code writes, in that order, of that kind in JSON; and none besides.
func TestPageHasEachTypeWithItsMembers(t *testing.T) {
	p := readPage(t)
	headings := slices.Clone(p.headings)
	take := func(name string) {
		i := slices.Index(headings, name)
		if i < 0 {
			t.Errorf("journal.md has no type %s", name)
			return
		}
		headings = slices.Delete(headings, i, i+1)
	}
	for _, k := range kinds {
		name := k.typeName()
		take(name)
		texts := map[string][2][]byte{}
		for how, event := range filled(reflect.TypeOf(k.newEvent()).Elem()) {
			c := NewCodec()
			_, data, personal := c.Encode(Entry{Event: event}, nil, nil)
			if _, sale := event.(*booking.Created); sale && how == "full" { // whose hash is personal
				keyed := Entry{Event: event, Idempotency: &Idempotency{Key: "k", Hash: "h"}}
				_, _, personal = NewCodec().Encode(keyed, nil, nil)
			}
			if len(personal) == 0 {
				personal = []byte("{}")
			}
			texts[how] = [2][]byte{data, personal}
		}
		compare(t, name, p.data[name], isLeaf, texts["full"][0], texts["sparse"][0], texts["zero"][0])
		if string(texts["full"][1]) == "{}" {
			if p.personal[name] != nil {
				t.Errorf("%s has no personal part", name)
			}
			continue
		}
		compare(t, name+", personal", p.personal[name], isLeaf, texts["full"][1], texts["sparse"][1],
			texts["zero"][1])
	}
	own := map[string]reflect.Type{
		journal.KindOpened:   reflect.TypeFor[journal.Opened](),
		journal.KindForked:   reflect.TypeFor[journal.Forked](),
		journal.KindRepaired: reflect.TypeFor[journal.Repaired](),
	}
	for name, of := range own {
		take(name)
		texts := map[string][]byte{}
		for how, event := range filled(of) {
			texts[how] = journal.Data(event)
		}
		table := slices.DeleteFunc(p.data[name], func(r row) bool {
			return strings.HasPrefix(r.path, "program.") // a test of the program's holds these
		})
		compare(t, name, table, isLeaf, texts["full"], texts["sparse"], texts["zero"])
	}
	take(commonHeading)
	for table := range reflect.TypeFor[schedule.Tables]().Fields() {
		take(table.Name)
	}
	if len(headings) > 0 {
		t.Errorf("journal.md has the types %s, which the code has not", headings)
	}
}

// filled returns values of a type, by how they are filled.
func filled(of reflect.Type) map[string]any {
	full := reflect.New(of)
	fill(full.Elem(), false)
	sparse := reflect.New(of)
	fill(sparse.Elem(), true)
	return map[string]any{
		"full":   full.Interface(),
		"sparse": sparse.Interface(),
		"zero":   reflect.New(of).Interface(),
	}
}

// What several types have is in journal.md, in the order in which it is written.
func TestPageHasTheMembersOfSeveralTypes(t *testing.T) {
	p := readPage(t)
	entry := Entry{
		Event:  new(Answered),
		By:     new(By),
		Before: &Before{One: 1},
		Idempotency: &Idempotency{
			Key:    "k",
			Hash:   "h",
			Status: 200,
			Reply:  func(w *wire.Writer) { w.B = append(w.B, "{}"...) },
		},
	}
	fill(reflect.ValueOf(entry.By).Elem(), false)
	write := func() (data, personal []byte) {
		_, data, personal = NewCodec().Encode(entry, nil, nil)
		l := journal.Line{Type: "x", Data: data, Personal: personal}
		read, err := journal.Parse(bytes.TrimSuffix(l.AppendTo(nil, [32]byte{}), journal.Newline))
		if err != nil {
			t.Fatal(err)
		}
		return withoutOwn(t, read.Data), personal
	}
	full, personal := write()
	entry.By = new(By)
	entry.Idempotency = &Idempotency{}
	sparse, _ := write()
	compare(t, commonHeading, p.data[commonHeading], func(string) bool { return false }, full, sparse,
		[]byte("{}"))
	compare(t, commonHeading+", personal", p.personal[commonHeading], isLeaf, personal, personal, personal)
}

// withoutOwn takes the two members of request.answered out of its data.
func withoutOwn(t *testing.T, data []byte) []byte {
	t.Helper()
	_, rest, found := bytes.Cut(data, []byte(`"retry"`))
	if !found {
		t.Fatalf("no retry: %s", data)
	}
	return append([]byte(`{"retry"`), rest...)
}

// The lines in which a member of several types is not the last are those that journal.md names.
func TestPageSaysWhatComesAfterTheKeyOfARequest(t *testing.T) {
	after := map[string]string{}
	for _, k := range kinds {
		event := filled(reflect.TypeOf(k.newEvent()).Elem())["full"]
		_, data, _ := NewCodec().Encode(Entry{Event: event, Idempotency: &Idempotency{Key: "k"}}, nil, nil)
		list := members(t, data, isLeaf)
		at := slices.IndexFunc(list, func(r row) bool { return r.path == "retry" })
		var names []string
		for _, r := range list[at+1:] {
			if at >= 0 && !strings.ContainsAny(r.path, ".[") {
				names = append(names, r.path)
			}
		}
		if names != nil {
			after[k.typeName()] = strings.Join(names, " ")
		}
	}
	want := map[string]string{"ticket.asked": "action key", "ticket.paid": "sends", "ticket.booked": "sends"}
	if !maps.Equal(after, want) {
		t.Errorf("after retry stand %v, journal.md says %v", after, want)
	}
}

// A form, and each table of a timetable, has the members that journal.md says, in that order.
func TestPageHasFormsAndTimetables(t *testing.T) {
	p := readPage(t)
	text := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	forms := filled(reflect.TypeFor[schedule.Form]())
	compare(t, "a form", p.data["Forms and runs"], isLeaf, text(forms["full"]), text(forms["sparse"]),
		text(forms["zero"]))
	var tables []string
	for table := range reflect.TypeFor[schedule.Tables]().Fields() {
		tables = append(tables, table.Name)
		of := table.Type.Elem()
		if of.Kind() != reflect.Struct {
			if of != reflect.TypeFor[schedule.Times]() {
				t.Errorf("the rows of %s are no objects", table.Name)
			}
			continue
		}
		rows := filled(of)
		leaf := func(path string) bool { return path != "services" && path != "services[]" }
		compare(t, table.Name, p.data[table.Name], leaf, text(rows["full"]), text(rows["sparse"]),
			text(rows["zero"]))
	}
	if end := p.headings[len(p.headings)-len(tables):]; !slices.Equal(end, tables) {
		t.Errorf("journal.md has the tables %s, a timetable %s", end, tables)
	}
}

// The ids of the page's formulas are those of the code.
func TestPageSaysHowRunsAreNamed(t *testing.T) {
	const stop = `{"stop":{"id":"","place":"","lat":0,"lon":0,"city":0},"city":{"id":"","name":"","slug":"",` +
		`"country":"","zone":""},"arr":0,"dep":0}`
	form, err := schedule.DecodeForm([]byte(`{"trip":"t","company":{"id":"","name":"","slug":"","source":"",` +
		`"zone":""},"route":{"id":"","company":0,"slug":""},"bus":{"id":"","company":0,"seats":49},` +
		`"stops":[` + stop + "," + stop + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	run := booking.NewRun(form, 20777, 1795132800, []int32{7200, -3600})
	named := fmt.Sprint(form.Key(), " ", run.ID)
	if want := "4voKOFUzp8S4-9Li gCBAiAgTjH8cz7of"; named != want {
		t.Errorf("form and run are %s, and by the page %s", named, want)
	}
	if _, ok := ids.ParseRun(run.ID.String()); !ok {
		t.Error("it is no id of a run")
	}
}
