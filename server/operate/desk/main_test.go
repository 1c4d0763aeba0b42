package desk_test

import (
	"os"
	"testing"

	"waybill/server/lab/rig"
)

// TestMain has paths of sockets fit, and ends the browser.
func TestMain(m *testing.M) {
	rig.ShortPaths()
	code := m.Run()
	if window.Browser != nil {
		window.Close()
	}
	os.Exit(code)
}
