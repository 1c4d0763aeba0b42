package door

import "testing"

// The desk is its own user's, or of who has opened it by sudo. Root does not come to another's: what root
// did there would bear that name.
func TestWhoMayActAsTheOperator(t *testing.T) {
	for _, c := range []struct {
		own, uid int
		sudo     string
		may      bool
	}{
		{1000, 1000, "", true},
		{1000, 0, "", false},
		{1000, 1001, "1001", false},
		{0, 0, "", true},
		{0, 1000, "1000", true},
		{0, 0, "1000", true},
		{0, 1001, "1000", false},
		{0, 1000, "", false},
	} {
		if got := mayActAs(c.own, c.uid, c.sudo); got != c.may {
			t.Errorf("user %d at the desk of %d, by sudo of %q: %t", c.uid, c.own, c.sudo, got)
		}
	}
}
