package ledger

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// optionalMembers are those that a line may have or not.
var optionalMembers = []string{
	"forms", "runs", "seats", "reason", "sends", idempotencyMember, beforeMember, "by", "personal",
}

// lacks returns a member that each line of a kind has and this one does not, where that is all that is wrong
// with its members. It is "" where the line has a member that no line of the kind has: a newer program may
// have written it.
func (c *Codec) lacks(k *anyKind, data []byte) string {
	_, least, _ := c.Encode(Entry{Event: reflect.New(k.event.Elem()).Interface()}, nil, nil)
	var must, has map[string]json.RawMessage
	if json.Unmarshal(least, &must) != nil || json.Unmarshal(data, &has) != nil {
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
