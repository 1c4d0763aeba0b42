// Package provider asks the carrier's provider to confirm tickets, and journals its answers (decision
// provider.asked). A [Confirmer] asks while a client waits, and asks again about tickets whose answers a
// crash has lost.
package provider

import (
	"context"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
)

// Confirmer asks the provider about tickets, and journals the answers.
type Confirmer struct {
	*web.Core
	Confirm Confirm     // nil: there is no provider, and tickets are confirmed at once
	asking  *web.Places // for calls

	doubtful []*doubtful // only the goroutine of RunDoubtful uses it once that runs
	again    web.Loop

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
	return &Confirmer{
		Core:      core,
		Confirm:   confirm,
		asking:    web.NewPlaces(web.MaxAsking),
		again:     core.NewLoop(),
		resources: resources,
	}
}
