package tail

import (
	"errors"

	"waybill/auth"
	"waybill/server/ledger"
)

// keyForms has a function for each file in ledger.KeyDir. It returns an error for a text that is not in the
// form of the file. No error shows a secret.
var keyForms = map[string]func(text []byte) error{
	ledger.RingFile:   inForm(auth.ParseSigningKeys),
	ledger.IDPFile:    inForm(ledger.ParseSecret),
	ledger.PeerFile:   inForm(ledger.ParseSecret),
	ledger.TicketFile: inForm(ledger.ParseSecret),
	ledger.SeedFile:   inForm(ledger.ParseSeed),
}

// inForm returns a function that returns only the error of parse.
func inForm[T any](parse func([]byte) (T, error)) func([]byte) error {
	return func(text []byte) error {
		_, err := parse(text)
		return err
	}
}

// IsKey reports whether a file in ledger.KeyDir has the name of a key. A file that somebody has put beside
// the keys has not, and is not sent.
func IsKey(name string) bool {
	_, known := keyForms[name]
	return known
}

// CheckKey returns an error for a file in ledger.KeyDir that has no key's name, or not the form of that key.
func CheckKey(name string, text []byte) error {
	form, known := keyForms[name]
	if !known {
		return errors.New("is not the name of a key")
	}
	return form(text)
}
