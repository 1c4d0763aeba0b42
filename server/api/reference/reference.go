// Package reference is the interface described by itself: the document /openapi.json, which a test holds
// against the routes, the validators and every answer of the transcripts, and the pages of /docs that are
// made of it.
package reference

import "waybill/server/frame/web"

// Service answers who reads.
type Service struct {
	*web.Core
	ignored []string   // members of bodies that the legacy interface ignores
	guide   fixedPages // the migration guide, which says since when: of this directory only
}

// New returns the room. ignored are the members of bodies that the legacy interface ignores.
func New(core *web.Core, ignored []string) *Service {
	return &Service{Core: core, ignored: ignored}
}
