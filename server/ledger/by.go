package ledger

import (
	"fmt"
	"strconv"
)

// A By says who did an administrative act (decision acts.by). Every line that such an act writes has it in
// its data.
type By struct {
	UID  int    `json:"uid"`            // the effective user id of the calling process
	User string `json:"user,omitempty"` // the user's name; "" where the machine knows none
	// the user who logged in, where the kernel knows: sudo and su leave it as it is
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
