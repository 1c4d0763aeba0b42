package command

import (
	"os"
	"testing"

	"waybill/server/lab/rig"
)

// programDir is where the program is that tests start.
var programDir string

// TestMain has paths of sockets fit, and removes the program.
func TestMain(m *testing.M) {
	rig.ShortPaths()
	dir, err := os.MkdirTemp("", "waybill")
	if err == nil {
		err = os.Chmod(dir, 0o755) // another user runs the program, too
	}
	if err != nil {
		panic(err)
	}
	programDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
