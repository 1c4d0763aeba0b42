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
	Passwords *throttle
	queue     *web.Loop // of reports
	files     *reportFiles
}

// New returns the room.
func New(core *web.Core, identity *oidc.Trusted) *Portal {
	s := &Portal{
		Core:      core,
		identity:  identity,
		Passwords: newThrottle(),
		files:     newReportFiles(),
	}
	s.queue = core.NewLoop("a report could not be written or removed", s.tendReports)
	return s
}
