package ledger

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// optional reports whether a line of the kind may have a member or not.
func (k *anyKind) optional(name string) bool {
	if slices.Contains(besides, name) || k.name == "booking.created" && (name == "forms" || name == "runs") {
		return true
	}
	return slices.ContainsFunc(reflect.VisibleFields(k.event.Elem()), func(f reflect.StructField) bool {
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		return member == name && options != "" // which are omitempty or omitzero
	})
}

// required returns the members that each line of a kind has: those that are written of an event that says
// nothing.
func (k *anyKind) required() map[string]json.RawMessage {
	_, least, _ := NewCodec().Encode(Entry{Event: reflect.New(k.event.Elem()).Interface()}, nil, nil)
	var must map[string]json.RawMessage
	if err := json.Unmarshal(least, &must); err != nil {
		panic("ledger: " + k.name + ": " + err.Error())
	}
	return must
}

// lacks returns a member that each line of a kind has and this one does not, where that is all that is wrong
// with its members. It is "" where the line has a member that no line of the kind has: a newer program may
// have written it.
func (k *anyKind) lacks(data []byte) string {
	must := k.required()
	var has map[string]json.RawMessage
	if json.Unmarshal(data, &has) != nil {
		return ""
	}
	for name := range has {
		if must[name] == nil && !k.optional(name) {
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
