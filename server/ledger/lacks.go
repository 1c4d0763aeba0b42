package ledger

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// optionalMembers are those that a line may have or not.
var optionalMembers = []string{
	"forms", "runs", "seats", "reason", "sends", "unknown", "user", "company", "booking", "run", "link", "still",
	"began", "passengers", idempotencyMember, beforeMember, "by", "personal",
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
		if must[name] == nil && !slices.Contains(optionalMembers, name) {
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
