package backup

import (
	"testing"

	"waybill/store/durable"
)

// What is written beside a server is written at a pace.
func TestFilesBesideAServerArePaced(t *testing.T) {
	var to durable.FS = durable.Dir(t.TempDir())
	if paced(true, to) == to {
		t.Error("beside a server it is written as fast as can be")
	}
	if paced(false, to) != to {
		t.Error("without a server it rests")
	}
}
