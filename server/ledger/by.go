package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// A By says who did an administrative act (decision acts.by). Every line that such an act writes has it in
// its data.
type By struct {
	UID  int    `json:"uid"`            // the effective user id of the calling process
	User string `json:"user,omitempty"` // its name; "" where the machine knows none
	// who logged in, where the kernel knows: sudo and su leave it as it is
	Login string `json:"login,omitempty"`
}

// String returns the user as `log` shows it: olena (1000).
func (b By) String() string {
	name := fmt.Sprintf("%s (%d)", b.User, b.UID)
	if b.User == "" {
		name = strconv.Itoa(b.UID)
	}
	if b.Login != "" && b.Login != b.User {
		name += ", logged in as " + b.Login
	}
	return name
}

// byMark begins the member that says who did it. It cannot stand in a string of the data, whose quotes are
// escaped.
const byMark = `"by":{"uid":`

// ReadBy returns who a line's data says has written it; nil where it does not.
func ReadBy(data []byte) *By {
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
	end := bytes.IndexByte(data[start:], '}')
	before := bytes.TrimSuffix(data[:start], []byte(","))
	return append(bytes.Clone(before), data[start+end+1:]...)
}
