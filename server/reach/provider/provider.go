// Package provider asks the carrier's provider to confirm tickets, and journals its answers (decision
// provider.asked). A [Confirmer] asks while a client waits, and asks again about tickets whose answers nobody
// has kept.
package provider

import (
	"context"
	"sync"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
)

// Confirmer asks the provider about tickets, and journals the answers.
type Confirmer struct {
	*web.Core
	Confirm Confirm     // nil: there is no provider, and tickets are confirmed at once
	asking  *web.Places // for calls

	again      *web.Loop              // asks about tickets in doubt
	taken      sync.Map               // the tickets about which requests ask
	unanswered map[ids.ID]*unanswered // of the loop's questions; only the loop uses it

	resources *resource.Writer
}

// Confirm asks the provider to confirm a ticket; its error is a refusal if it wraps outbound.ErrRefused. It
// is called at least once for each ticket, with the same Key for the same question, also after a crash.
type Confirm func(context.Context, Confirmation) error

// Confirmation is one question to the provider.
type Confirmation struct {
	Key             string // the idempotency id
	Action          booking.Action
	Partner         ids.ID
	Booking, Ticket ids.ID
}

// New returns the room.
func New(core *web.Core, resources *resource.Writer,
	confirm Confirm) *Confirmer {
	s := &Confirmer{
		Core:      core,
		Confirm:   confirm,
		asking:    web.NewPlaces(web.MaxAsking),
		resources: resources,
	}
	s.again = core.NewLoop("the provider could not be asked again", s.askAgain)
	return s
}
