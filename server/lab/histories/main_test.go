package histories

import (
	"os"
	"runtime/debug"
	"testing"

	"waybill/server/lab/rig"
)

// TestMain has paths of sockets fit. There is little to keep, and much that is read once.
func TestMain(m *testing.M) {
	rig.ShortPaths()
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
