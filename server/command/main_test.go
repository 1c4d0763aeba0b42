package command

import (
	"flag"
	"os"
	"testing"

	"waybill/server/lab/rig"
)

// programDir is where the program is that tests start.
var programDir string

// TestMain has paths of sockets fit, and removes the program.
func TestMain(m *testing.M) {
	rig.ShortPaths()
	// They wait for processes, and for keepers that are to be silent: more at a time than processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
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
