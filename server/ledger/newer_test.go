package ledger

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// sample is a line as far as a codec reads it.
type sample struct {
	name           string // its type
	data, personal []byte
}

// samples returns the lines of the fixtures, which have all types. The lines of a directory follow from each
// other: a run names a form of an earlier line.
func samples(t *testing.T) (directories [][]sample) {
	t.Helper()
	dirs, err := filepath.Glob("../../testdata/journal/*/FORMAT")
	if err != nil || len(dirs) == 0 {
		t.Fatal("there are no fixtures", err)
	}
	for _, format := range dirs {
		var lines []sample
		dir := durable.Dir(filepath.Dir(format))
		_, err := inspect.Read(dir, false, func(_ journal.Place, l *journal.Line) error {
			if !journal.Own(l.Type) {
				lines = append(lines, sample{l.Type, bytes.Clone(l.Data), bytes.Clone(l.Personal)})
			}
			return nil
		})
		if err != nil {
			t.Fatal(format, err)
		}
		directories = append(directories, lines)
	}
	return directories
}

// withMember returns the texts that JSON becomes by one member more, at the beginning or at the end of one of
// its objects.
func withMember(text []byte) (list [][]byte) {
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c == '{':
			more := []byte(`"later":{"a":[1]}`)
			list = append(list, slices.Concat(text[:i+1], more, comma(text[i+1] != '}'), text[i+1:]))
		case !quoted && c == '}':
			more := []byte(`"later":1`)
			list = append(list, slices.Concat(text[:i], comma(text[i-1] != '{'), more, text[i:]))
		}
	}
	return list
}

// comma returns what stands between two members, where there are two.
func comma(two bool) []byte {
	if two {
		return []byte(",")
	}
	return nil
}

// A line of a known type with a member that this program does not know, at any depth, is of a newer version,
// never damage: whoever has to say what to do next must not send for a backup.
func TestALineWithAMemberMoreIsOfANewerVersion(t *testing.T) {
	var seen []string
	for _, lines := range samples(t) {
		codec := NewCodec()
		for _, l := range lines {
			if _, err := codec.Decode(l.name, l.data, l.personal); err != nil {
				t.Errorf("%s: %v\n%s %s", l.name, err, l.data, l.personal)
			}
			if !slices.Contains(seen, l.name) {
				seen = append(seen, l.name)
			}
			for _, data := range withMember(l.data) {
				if _, err := codec.Decode(l.name, data, l.personal); !errors.Is(err, journal.ErrNewer) {
					t.Errorf("%s: %v, want %v\n%s", l.name, err, journal.ErrNewer, data)
				}
			}
			for _, personal := range withMember(l.personal) {
				if _, err := codec.Decode(l.name, l.data, personal); !errors.Is(err, journal.ErrNewer) {
					t.Errorf("%s: %v, want %v\n%s", l.name, err, journal.ErrNewer, personal)
				}
			}
		}
	}
	for _, k := range kinds {
		if !slices.Contains(seen, k.typeName()) {
			t.Errorf("there is no line of the type %q to try", k.typeName())
		}
	}
}

// What this program does not know of a form is of a newer version too: a type, a value of a list of words.
func TestAFormThatIsNotKnownIsOfANewerVersion(t *testing.T) {
	for _, l := range []sample{
		{"ticket.upgraded", []byte(`{"ticket":"AQAAAAAAAAAAAAAAAAAAAA"}`), nil},
		{"ticket.carrier", []byte(`{"booking":"AQAAAAAAAAAAAAAAAAAAAA","ticket":"AQAAAAAAAAAAAAAAAAAAAA",` +
			`"status":"Waitlisted"}`), nil},
		{"clock.set", []byte(`{"real":"never","offsetMs":1}`), nil},
		{"outbox.sent", []byte(`{"messages":["6-1"],"as":"pigeon"}`), nil},
		{"outbox.sent", []byte(`{"messages":["6-1"],"as":""}`), nil},
		{"clock.set", []byte(`{"real":false,"offsetMs":1}`), []byte(`{"salt":"AQAAAAAAAAAAAAAAAAAAAA"}`)},
		{"ticket.paid", []byte(`{"tickets":["AQAAAAAAAAAAAAAAAAAAAA"]}`), nil},
	} {
		if _, err := NewCodec().Decode(l.name, l.data, l.personal); !errors.Is(err, journal.ErrNewer) {
			t.Errorf("%s %s %s: %v, want %v", l.name, l.data, l.personal, err, journal.ErrNewer)
		}
	}
}
