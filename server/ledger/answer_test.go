package ledger_test

import (
	"testing"

	"waybill/server/ledger"
	"waybill/store/journal"
)

// An answer that is kept in the line is returned as it stands.
func TestAnAnswerThatWasKeptIsGivenAsItWas(t *testing.T) {
	answer, err := ledger.ReadAnswer(&journal.Line{
		Data:     []byte(`{"booking":"09uF45HiArKSY6XyytxEug"}`),
		Personal: []byte(`{"salt":"x","reply":"{\"data\":{}}\n"}`),
	})
	if err != nil || answer.Sold != nil || answer.Text != "{\"data\":{}}\n" {
		t.Errorf("%+v, %v", answer, err)
	}
	erased := &journal.Line{Personal: []byte(`{"erased":"2026-11-20T08:00:00.000Z"}`)}
	if answer, err := ledger.ReadAnswer(erased); err != nil || answer.Sold != nil || answer.Text != "" {
		t.Errorf("%+v, %v", answer, err)
	}
}
