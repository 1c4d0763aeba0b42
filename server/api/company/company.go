// Package company is the room of company users: they sign in, order reports of what was sold, and turn the
// geolocation of buses on and off (interface, Auth, Reports and Geolocation).
package company

import (
	"waybill/auth/oidc"
	"waybill/server/frame/web"
)

// Portal answers company users.
type Portal struct {
	*web.Core
	identity  *oidc.Trusted
	Passwords *Throttle
	ordered   chan struct{} // wakes the queue of reports
	queue     web.Loop
	files     *reportFiles
}

// New returns the room.
func New(core *web.Core, identity *oidc.Trusted) *Portal {
	return &Portal{
		Core:      core,
		identity:  identity,
		Passwords: NewThrottle(),
		ordered:   make(chan struct{}, 1),
		queue:     core.NewLoop(),
		files:     newReportFiles(),
	}
}
