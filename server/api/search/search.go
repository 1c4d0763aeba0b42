// Package search finds journeys, and the places between which they go: as a schedule and a list of places
// for anyone, and as offers for partners (interface, Offers and Places).
package search

import (
	"sync/atomic"

	"waybill/schedule/journey"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
)

// Finder answers searches.
type Finder struct {
	*web.Core
	maxTransfers int // the changes a journey may have: 0 or 1
	resources    *resource.Writer
	kept         atomic.Pointer[journey.Kept] // see network
}

// New returns the room.
func New(core *web.Core, resources *resource.Writer, maxTransfers int) *Finder {
	return &Finder{Core: core, maxTransfers: maxTransfers, resources: resources}
}
