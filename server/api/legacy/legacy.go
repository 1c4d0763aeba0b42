// Package legacy is the legacy interface, /rest/offers and /rest/orders, on its way out: other requests and
// answers around the same searches and decisions as /v2 (interface, Versioning; decision legacy.calls).
package legacy

import (
	"waybill/server/api/partner"
	"waybill/server/api/search"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
)

// Adapter answers the legacy interface.
type Adapter struct {
	*web.Core
	search  *search.Finder
	partner *partner.Seller

	resources *resource.Writer
}

// New returns the room.
func New(core *web.Core, resources *resource.Writer, search *search.Finder,
	partner *partner.Seller) *Adapter {
	return &Adapter{
		Core:      core,
		resources: resources,
		search:    search,
		partner:   partner,
	}
}
