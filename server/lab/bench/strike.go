package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
)

// faultHeader names the rule that has changed, delayed or made an answer.
const faultHeader = "Waybill-Fault"

// strike answers a request to which a rule is applied. answer has what the client would have got; what it
// returns says what the client gets instead.
func (s *Bench) strike(rule *counted, route string, answer *heldAnswer, r *http.Request,
	next http.Handler) outcome {
	switch rule.Do {
	case AnswerStatus:
		mark(answer, rule)
		r.Pattern = route // counted and logged as a request by this route
		s.Frame(answer, r, func(rec *web.Recorder, r *http.Request) {
			s.Refuse(rec, r, rule.failure())
		})
		return outcome{}
	case HangUpBefore:
		return outcome{hangUp: true}
	case ProviderRefuses, ProviderSilent:
		s.standIn(rule, answer, r, next)
		return outcome{}
	case MessageFails:
		s.failMessages(rule, route, answer, r, next)
		return outcome{}
	}
	next.ServeHTTP(answer, r)
	switch rule.Do {
	case DelayAnswer:
		mark(answer, rule)
		return outcome{wait: rule.For}
	case CutAnswer:
		mark(answer, rule)
		return outcome{hangUp: true, bytes: min(rule.Bytes, len(answer.bytes())), started: true}
	}
	return outcome{hangUp: true}
}

// outcome is what becomes of an answer that is held back.
type outcome struct {
	wait    time.Duration // before it leaves
	hangUp  bool          // the connection ends
	started bool          // after the header and so many bytes of the body
	bytes   int
}

// mark names the rule in the answer.
func mark(answer *heldAnswer, rule *counted) {
	answer.Header().Set(faultHeader, strconv.Itoa(rule.place))
}

// failure returns the answer that a rule makes, with the errorCode that the service has for its status.
func (r *Rule) failure() error {
	code := map[int]string{
		http.StatusUnauthorized:          "UNAUTHORIZED",
		http.StatusForbidden:             "FORBIDDEN",
		http.StatusNotFound:              "NOT_FOUND",
		http.StatusMethodNotAllowed:      "METHOD_NOT_ALLOWED",
		http.StatusConflict:              "CONFLICT",
		http.StatusGone:                  "GONE",
		http.StatusRequestEntityTooLarge: "BODY_TOO_LARGE",
		http.StatusUnsupportedMediaType:  "UNSUPPORTED_MEDIA_TYPE",
		http.StatusUnprocessableEntity:   "IDEMPOTENCY_KEY_REUSED",
		http.StatusTooManyRequests:       "TOO_MANY_REQUESTS",
		http.StatusBadGateway:            "UNAVAILABLE",
		http.StatusServiceUnavailable:    "UNAVAILABLE",
		http.StatusGatewayTimeout:        "UNAVAILABLE",
	}[r.Status]
	if r.Status >= http.StatusInternalServerError {
		code = cmp.Or(code, "INTERNAL")
	}
	f := web.Fail(r.Status, cmp.Or(code, "VALIDATION_ERROR"), "a rule of the test bench made this answer")
	// A 429 and a 503 of the service always say when to try again.
	wait := r.RetryAfter
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		wait = cmp.Or(wait, 1)
	}
	if wait > 0 {
		f.RetryAfter = strconv.Itoa(wait)
	}
	return f
}

var errSilent = errors.New("a rule of the test bench: the provider says nothing")

// standIn answers a request with a provider that does what the rule says. Where nobody asked the provider,
// the rule was not applied.
func (s *Bench) standIn(rule *counted, answer *heldAnswer, r *http.Request, next http.Handler) {
	var struck atomic.Bool
	stand := func(ctx context.Context, c provider.Confirmation, otherwise provider.Confirm) error {
		if !s.isTicket(rule.Ticket, c.Ticket) {
			return otherwise(ctx, c)
		}
		struck.Store(true)
		if rule.Do == ProviderRefuses {
			return fmt.Errorf("a rule of the test bench: %w", outbound.ErrRefused)
		}
		select {
		case <-time.After(rule.For):
		case <-s.Draining.Done():
		case <-ctx.Done():
		}
		return errSilent
	}
	next.ServeHTTP(answer, r.WithContext(provider.WithStandIn(r.Context(), stand)))
	if !struck.Load() {
		s.faults.giveBack(rule)
		return
	}
	mark(answer, rule)
}

// isTicket reports whether a ticket is the n-th of its booking; each is the 0th.
func (s *Bench) isTicket(n int, id ids.ID) bool {
	if n == 0 {
		return true
	}
	is := false
	s.Store.View(func(st ledger.State, _ time.Time) {
		b, _ := st.Bookings.AnyTicket(id)
		is = b != nil && placeIn(b, id) == n
	})
	return is
}

// placeIn returns the place of a ticket in its booking, from 1.
func placeIn(b *booking.Booking, id ids.ID) int {
	return 1 + slices.IndexFunc(b.Tickets, func(t booking.Ticket) bool {
		return t.ID == id
	})
}
