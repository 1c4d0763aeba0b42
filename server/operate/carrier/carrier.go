// Package carrier is the room of dispatchers: they cancel, move and restore runs (change.go), and read who
// travels (manifest.go). Operators do so from the command line and the desk, and a carrier's administrators
// read passenger lists over HTTP. Each reading leaves a line in the journal, as the list has names and phones
// of people (decision manifest.rows).
//
//	outcome, err := dispatcher.Cancel(carrier.Act{Run: run, Reason: "no driver", By: by})
//	m, err := dispatcher.Read(run, carrier.Reader{By: &by})
//	err = m.Write(os.Stdout, "text")
package carrier

import (
	"waybill/server/frame/web"
	"waybill/store/journal"
)

// Dispatcher changes runs, and reads their passenger lists.
type Dispatcher struct {
	*web.Core
	lines *journal.Lines
}

// New returns the room.
func New(core *web.Core) *Dispatcher {
	return &Dispatcher{core, journal.NewLines(core.Config.FS)}
}
