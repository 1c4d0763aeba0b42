package standby_test

import (
	"os"
	"testing"

	"waybill/server/lab/rig"
)

// TestMain has paths of sockets fit.
func TestMain(m *testing.M) {
	rig.ShortPaths()
	os.Exit(m.Run())
}
