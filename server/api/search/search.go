// Package search finds journeys, and the places between which they go: as a schedule and a list of places
// for anyone, and as offers for partners (interface, Offers and Places).
package search

import (
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
)

// Service answers searches.
type Service struct {
	*web.Core
	maxTransfers int // the changes a journey may have: 0 or 1
	resources    *resource.Writer
}

// New returns the room.
func New(core *web.Core, resources *resource.Writer, maxTransfers int) *Service {
	return &Service{Core: core, maxTransfers: maxTransfers, resources: resources}
}
