package gtfs

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

// A feed is refused once more bytes were read of its files, all together, than a feed may have: an archive
// may say less than it unpacks, and a directory says nothing.
func TestAFeedIsReadUpToItsLimit(t *testing.T) {
	sample := fstest.MapFS{}
	for _, name := range required {
		sample[strings.Fields(name)[0]] = &fstest.MapFile{Data: []byte("id\n1\n")} // 5 bytes
	}
	for limit, whole := range map[int64]bool{10: true, 9: false} {
		files, err := Open(sample, func(string, int, string) {})
		if err != nil {
			t.Fatal(err)
		}
		if files.left != maxUnpacked {
			t.Errorf("a feed may have %d bytes", files.left)
		}
		files.left = limit
		for _, name := range []string{"stops.txt", "routes.txt"} {
			for range files.Rows(name) {
			}
		}
		refused := errors.Is(files.Err, ErrInvalid) && strings.Contains(files.Err.Error(), "beyond 4 GiB")
		if refused == whole || whole && files.Err != nil {
			t.Errorf("10 bytes of %d that may be read: %v", limit, files.Err)
		}
	}
}
