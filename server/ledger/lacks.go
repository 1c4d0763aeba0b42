package ledger

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// optional reports whether a line of the kind may have a member or not.
func optional(k anyKind, name string) bool {
	forSale := k.typeName() == "booking.created" && (name == "forms" || name == "runs")
	if forSale || slices.Contains(besides, name) {
		return true
	}
	fields := reflect.VisibleFields(reflect.TypeOf(k.newEvent()).Elem())
	return slices.ContainsFunc(fields, func(f reflect.StructField) bool {
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		return member == name && options != "" // which are omitempty or omitzero
	})
}

// required returns the members that each line of a kind has: those that are written of an event that says
// nothing.
func required(k anyKind) map[string]json.RawMessage {
	_, least, _ := NewCodec().Encode(Entry{Event: k.newEvent()}, nil, nil)
	var must map[string]json.RawMessage
	if err := json.Unmarshal(least, &must); err != nil {
		panic("ledger: " + k.typeName() + ": " + err.Error())
	}
	return must
}

// lacks returns a member that each line of a kind has and this one does not, where that is all that is wrong
// with its members. It is "" where the line has a member that no line of the kind has: a newer program may
// have written it.
func lacks(k anyKind, data []byte) string {
	must := required(k)
	var has map[string]json.RawMessage
	if json.Unmarshal(data, &has) != nil {
		return ""
	}
	for name := range has {
		if must[name] == nil && !optional(k, name) {
			return ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(must)) {
		if has[name] == nil {
			return name
		}
	}
	return ""
}
