package standby

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// removeForgotten removes, beside the copy of a journal, the letters to passengers whom an event forgets, and
// the reports that named them, which the next start writes anew.
func removeForgotten(fsys durable.FS, e ledger.Event) error {
	switch e := e.(type) {
	case *ledger.PassengersForgotten:
		return removeLetters(fsys, e.AllTickets())
	case *ledger.PersonalErased:
		err := removeLetters(fsys, e.AllTickets())
		for _, id := range e.Reports {
			failed := fsys.Remove(ledger.ReportFile(id))
			if !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
		return err
	}
	return nil
}

// removeLetters removes the letters to the passengers of tickets.
func removeLetters(fsys durable.FS, tickets []ids.ID) error {
	names, err := fsys.List(ledger.OutboxDir)
	for _, name := range names {
		ticket, _, _ := strings.Cut(name, ".")
		id, _ := ids.Parse(ticket)
		if slices.Contains(tickets, id) {
			err = errors.Join(err, fsys.Remove(ledger.OutboxDir+"/"+name))
		}
	}
	return err
}
