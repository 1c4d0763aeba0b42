package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// copyDemo makes a directory that is not there yet what the first start of a demo leaves, and returns the key
// of its partner; "" where the directory is there. The demo is made once for all tests and copied: most of
// the work of a first start is what is kept of its user's password.
func copyDemo(t *testing.T, dir string) (key string) {
	t.Helper()
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	from := filepath.Join(programDir, "demo")
	first.Do(func() {
		s := serveTLS(t, nil, "-data", from)
		first.key = s.key
		if code := s.stop(); code != 0 {
			t.Fatal(code)
		}
	})
	copyInto(t, from, dir)
	return first.key
}

// first is the first start of the demo that tests copy.
var first struct {
	sync.Once
	key string // of its partner
}
