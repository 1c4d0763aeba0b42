package provider

import "context"

// A StandIn answers for one request in the provider's place, as a test bench has it (decision bench.faults).
// otherwise is the provider that would have answered.
type StandIn func(ctx context.Context, c Confirmation, otherwise Confirm) error

// standInKey is the key of a stand-in in a request's context.
type standInKey struct{}

// WithStandIn returns a context in which a stand-in answers instead of the provider.
func WithStandIn(ctx context.Context, stand StandIn) context.Context {
	return context.WithValue(ctx, standInKey{}, stand)
}

// For returns the function that asks about the tickets of a request; nil if there is no provider. Only a
// server with a test clock looks for a stand-in.
func (s *Confirmer) For(ctx context.Context) Confirm {
	if !s.Config.TestClock {
		return s.Confirm
	}
	stand, ok := ctx.Value(standInKey{}).(StandIn)
	if !ok {
		return s.Confirm
	}
	otherwise := s.Confirm
	if otherwise == nil {
		otherwise = func(context.Context, Confirmation) error { return nil }
	}
	return func(ctx context.Context, c Confirmation) error {
		return stand(ctx, c, otherwise)
	}
}
