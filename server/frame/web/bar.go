package web

import (
	"time"

	"waybill/server/docs"
	"waybill/server/ledger"
)

// TestClock returns the test clock of a directory at an instant, as pages show it (decision pages.clock); nil
// where there is none. It is of the directory and not of the server's settings: a verb prints papers too,
// where no server runs.
func TestClock(st ledger.State, now time.Time) *docs.Clock {
	c := st.Clock()
	if !c.Set {
		return nil
	}
	return &docs.Clock{Now: now.UTC(), Still: !c.Still.IsZero()}
}
