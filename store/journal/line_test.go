package journal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// lines returns two lines, the second after the first, with a personal part.
func lines() (first, second Line) {
	first = Line{
		Head: Head{Stamp: Stamp{Seq: 1, Time: time.UnixMilli(1_000)}},
		Type: "a",
		Data: []byte(`{"n":1}`),
	}
	first.AppendTo(nil, [32]byte{})
	second = Line{
		Head:     Head{Stamp: Stamp{Seq: 2, Time: time.UnixMilli(2_000)}},
		Synced:   1,
		Type:     "b",
		Data:     []byte(`{"n":2}`),
		Personal: []byte(`{"salt":"x","name":"Lesia"}`),
	}
	second.AppendTo(nil, first.Hash)
	return first, second
}

// A line follows the one that it was written after, and no other: not one that says something else, whatever
// its number and its time are.
func TestALineFollowsOnlyTheOneBeforeIt(t *testing.T) {
	first, second := lines()
	if err := second.Follows(first.Head); err != nil {
		t.Errorf("a line does not follow the one it was written after: %v", err)
	}
	other := Line{Head: Head{Stamp: first.Stamp}, Type: "a", Data: []byte(`{"n":7}`)}
	other.AppendTo(nil, [32]byte{})
	if second.Follows(other.Head) == nil {
		t.Error("a line also follows one that says something else than the one it was written after")
	}
	text := strings.Replace(string(second.Text()), `"n":2`, `"n":3`, 1)
	altered, err := Parse([]byte(strings.TrimSuffix(text, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if altered.Follows(first.Head) == nil {
		t.Error("a line that was altered still follows the one before")
	}
}

// A personal part cannot be altered unseen. What may stand in its place is what an erasure writes, and that
// breaks nothing: the chain goes on.
func TestAPersonalPartIsTheOneWrittenOrErased(t *testing.T) {
	first, second := lines()
	at := time.UnixMilli(3_000)
	for _, c := range []struct {
		personal string
		good     bool
	}{
		{string(second.Personal), true},
		{string(ErasedPart(at)), true},
		{`{"salt":"x","name":"Ivan"}`, false},
		{`{"erased":"yes","name":"Ivan"}`, false},
		{`{"erased":"2026-13-20T16:39:00.123Z"}`, false},
		{`{"erased":"2026-11-20T16:39:00.123Z","name":"Ivan"}`, false},
	} {
		changed := second
		changed.Personal = []byte(c.personal)
		read, err := Parse(bytes.TrimSuffix(changed.Text(), Newline))
		if (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), "personal part") {
			t.Errorf("%s: %v", c.personal, err)
		}
		if c.good {
			if err := read.Follows(first.Head); err != nil {
				t.Errorf("%s: %v", c.personal, err)
			}
		}
	}
}
