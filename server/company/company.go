// Package company is the room of company users: they sign in, order reports of what was sold, and turn the
// geolocation of buses on and off (interface, Auth, Reports and Geolocation).
package company

import (
	"crypto/ed25519"

	"waybill/auth/oidc"
	"waybill/server/web"
)

// Service answers company users.
type Service struct {
	*web.Core
	IDP       *oidc.Client       // verifies ID tokens
	IDPKey    ed25519.PrivateKey // of the development provider; nil where another is trusted
	Passwords *Throttle
	ordered   chan struct{} // wakes the queue of reports
	queue     web.Loop
	files     *reportFiles
}

// New returns the room.
func New(core *web.Core) *Service {
	return &Service{
		Core:      core,
		Passwords: NewThrottle(),
		ordered:   make(chan struct{}, 1),
		queue:     core.NewLoop(),
		files:     newReportFiles(),
	}
}
