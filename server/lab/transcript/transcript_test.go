package transcript_test

import (
	"errors"
	"testing"

	"waybill/server/lab/transcript"
)

// A path goes on from the element of a list that has a member of a text, wherever it stands.
func TestElementsAreFoundByAMember(t *testing.T) {
	p := transcript.Player{Vars: map[string]string{"id": "b.2~[x"}}
	p.Answer.Body = []byte(`{"data":[{"id":7,"is":"no"},{"is":"first","id":"b.2~[x","in":[{"n":1}]},` +
		`{"id":"b.2~[x","is":"second"}]}`)
	for _, check := range []string{
		`data[id=$id].is == "first"`,
		`data[id=$id].in[0].n == 1`,
		`data[is=second].id == "$id"`,
		`data[id=c].is == absent`,
		`data[0][id=c] == absent`,
		`found = data[id=$id].is`,
		`$found == first`,
	} {
		if err := p.Check(check); err != nil {
			t.Errorf("%s: %v", check, err)
		}
	}
	var unknown *transcript.Unknown
	if err := p.Check(`data[id=$nobody].is == "first"`); !errors.As(err, &unknown) {
		t.Errorf("an unknown variable: %v", err)
	}
}
