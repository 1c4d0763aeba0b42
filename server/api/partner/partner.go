// Package partner is the room of partners, who book, pay, cancel and read tickets with an API key (interface,
// Bookings and Tickets).
package partner

import (
	"sync"
	"sync/atomic"

	"waybill/schedule/ids"
	"waybill/server/api/search"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/reach/provider"
	"waybill/store/journal"
)

// Seller answers the calls of partners: bookings, what is done with them, previews, events and documents.
type Seller struct {
	*web.Core
	search   *search.Finder
	provider *provider.Confirmer
	lines    *journal.Lines // of the journal, for events and for answers that are given again
	underWay sync.Map       // hashes of the requests with keys that are being answered, by ledger.RequestKey
	Polls    Polls
	noticed  atomic.Uint32 // the first booking whose payment window may still have to be recorded as over

	resources *resource.Writer
}

// New returns the room.
func New(core *web.Core, resources *resource.Writer, search *search.Finder,
	provider *provider.Confirmer) *Seller {
	s := &Seller{
		Core:      core,
		resources: resources,
		search:    search,
		provider:  provider,
		lines:     journal.NewLines(core.Config.FS),
		Polls:     Polls{waiting: map[ids.ID]int{}},
	}
	core.NewLoop("notices of payment windows could not be journalled", s.RecordOverdue)
	return s
}
