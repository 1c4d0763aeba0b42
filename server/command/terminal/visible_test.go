package terminal

import (
	"bytes"
	"testing"
)

// Each character that would do something on a terminal is written out, wherever what is written is cut; lines
// and tabs are as they were.
func TestVisible(t *testing.T) {
	text := "Київ\ta\x1b[2J\r\x00\x7f\u009b\u202e\u2066é\x9b\xc3\n🚌\xc2"
	want := "Київ\ta" + `\u001b[2J\u000d\u0000\u007f\u009b\u202e\u2066é\x9b\xc3` + "\n🚌" + `\xc2`
	for size := 1; size <= len(text); size++ {
		var got bytes.Buffer
		v := Visible{To: &got}
		for from := 0; from < len(text); from += size {
			piece := text[from:min(from+size, len(text))]
			if n, err := v.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := v.Flush(); err != nil || got.String() != want {
			t.Errorf("in pieces of %d bytes: %v, %q, want %q", size, err, got.String(), want)
		}
	}
}
