package ledger

import (
	"bytes"
	"encoding/json"
)

// byMark begins the member that says who did it. It cannot stand in a string of the data, whose quotes are
// escaped.
const byMark = `"by":{"uid":`

// WrittenBy returns who a line's data says has written it; nil where it does not.
func WrittenBy(data []byte) *By {
	if !bytes.Contains(data, []byte(byMark)) {
		return nil
	}
	var line struct{ By *By }
	if json.Unmarshal(data, &line) != nil {
		return nil
	}
	return line.By
}

// WithoutBy returns a line's data without who did it.
func WithoutBy(data []byte) []byte {
	start := bytes.Index(data, []byte(byMark))
	if start < 0 {
		return data
	}
	value := start + len(`"by":`)
	by := json.NewDecoder(bytes.NewReader(data[value:]))
	by.Decode(new(By)) // a user's name may have any character
	before := bytes.TrimSuffix(data[:start], []byte(","))
	return append(bytes.Clone(before), data[value+int(by.InputOffset()):]...)
}
