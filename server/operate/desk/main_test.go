package desk

import (
	"os"
	"testing"
)

// TestMain has the tests make their directories where paths are short: that of a socket has about a hundred
// bytes at most, and some systems have half of them in TMPDIR alone.
func TestMain(m *testing.M) {
	const short = 20
	if len(os.TempDir()) > short {
		os.Setenv("TMPDIR", "/tmp")
	}
	if len(os.Getenv("GOTMPDIR")) > short { // where it is set, t.TempDir takes that
		os.Unsetenv("GOTMPDIR")
	}
	os.Exit(m.Run())
}
