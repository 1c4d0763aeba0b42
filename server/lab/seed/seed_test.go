package seed

import (
	"bytes"
	"io"
	"testing"
)

// take returns the next bytes of a purpose.
func take(s *Source, purpose string) []byte {
	b := make([]byte, 24)
	io.ReadFull(s.Stream(purpose), b)
	return b
}

func TestSameNumberSameBytes(t *testing.T) {
	a, b, other := New(7), New(7), New(8)
	for range 3 {
		x := take(a, "ids")
		if !bytes.Equal(x, take(b, "ids")) {
			t.Error("the same number gives other bytes")
		}
		if bytes.Equal(x, take(other, "ids")) {
			t.Error("another number gives the same bytes")
		}
	}
}

func TestPurposesDoNotMoveEachOther(t *testing.T) {
	a, b := New(7), New(7)
	take(a, "probes")
	if !bytes.Equal(take(a, "ids"), take(b, "ids")) {
		t.Error("a probe has moved the ids")
	}
	if bytes.Equal(take(a, "ids"), take(a, "probes")) {
		t.Error("two purposes have the same bytes")
	}
}

func TestRestartBeginsAnew(t *testing.T) {
	a, b := New(7), New(7)
	first := take(a, "ids")
	a.Restart(5)
	b.Restart(5)
	again := take(a, "ids")
	if !bytes.Equal(again, take(b, "ids")) {
		t.Error("the same epoch gives other bytes")
	}
	if bytes.Equal(again, first) || !bytes.Equal(take(a.Clone(), "ids"), take(b, "ids")) {
		t.Error("another epoch gives the same bytes, or the clone is of another")
	}
}

func TestCloneGoesOnByItself(t *testing.T) {
	a := New(7)
	take(a, "ids")
	clone := a.Clone()
	second := take(a, "ids")
	if !bytes.Equal(second, take(clone, "ids")) {
		t.Error("the clone does not go on from where its source was")
	}
	if !bytes.Equal(take(a, "ids"), take(clone, "ids")) {
		t.Error("one of them has moved the other")
	}
}
