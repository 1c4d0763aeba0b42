package journal

import (
	"bytes"
	"math/rand/v2"
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

// Instants are read and written as package time does it, and nothing else is one.
func TestInstantsAreThoseOfPackageTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	canonical := func(text string) (time.Time, bool) {
		at, err := time.Parse(TimeLayout, text)
		return at, err == nil && at.Format(TimeLayout) == text
	}
	for range 2_000 {
		at := time.UnixMilli(r.Int64N(8000*365*24*3600*1000) - 2000*365*24*3600*1000)
		text := appendTime(nil, at)
		if want := at.UTC().Format(TimeLayout); string(text) != want {
			t.Fatalf("%s is written as %s", want, text)
		}
		for _, c := range "0123456789:;/-TZ. \x00\xff" {
			changed := bytes.Clone(text)
			changed[r.IntN(len(text))] = byte(c)
			want, good := canonical(string(changed))
			got := parseTime(changed)
			if same := bytes.Equal(appendTime(nil, got), changed); same != good || good && !got.Equal(want) {
				t.Fatalf("%q is read as %s, want %s, %t", changed, got, want, good)
			}
		}
	}
	for _, text := range []string{"", "2026-11-20T16:39:00Z", "2026-11-20T16:39:00.1234Z",
		"12026-11-20T16:39:00.123Z"} {
		if at := parseTime([]byte(text)); string(appendTime(nil, at)) == text {
			t.Errorf("%q is read as an instant", text)
		}
	}
}

// Numbers have no leading zeros, no signs, and no more digits than they may.
func TestNumbersOfAFrameStandInOneForm(t *testing.T) {
	_, second := lines()
	text := strings.TrimSuffix(string(second.Text()), "\n")
	for _, seq := range []string{"", "02", "+2", "-2", "2 ", ":", "18446744073709551618", "0x2"} {
		bad := strings.Replace(text, `"seq":2,`, `"seq":`+seq+`,`, 1)
		if l, err := Parse([]byte(bad)); err == nil {
			t.Errorf("seq %q is read as %d", seq, l.Seq)
		}
	}
}

// BenchmarkParse is of a line as large as a booking's, read and held against the one before it.
func BenchmarkParse(b *testing.B) {
	first, second := lines()
	second.Data = []byte(`{"text":"` + strings.Repeat("x", 400) + `"}`)
	second.Personal = []byte(`{"salt":"c0ffee","text":"` + strings.Repeat("x", 250) + `"}`)
	text := bytes.TrimSuffix(second.AppendTo(nil, first.Hash), Newline)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Follows(first.Head); err != nil {
			b.Fatal(err)
		}
	}
}
