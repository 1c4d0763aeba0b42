package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/api/partner"
	"waybill/server/docs"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
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
	case AnswerStatus, AnswerBody:
		mark(answer, rule)
		r.Pattern = route // counted and logged as a request by this route
		s.Frame(answer, r, func(rec *web.Recorder, r *http.Request) {
			s.answerFor(rule, rec, r)
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
	case DripAnswer:
		mark(answer, rule)
		return outcome{bytes: rule.Bytes, every: rule.Every}
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
	bytes   int           // of the body: all that leave, or as many at a time
	every   time.Duration // after which so many bytes leave; 0 is all at once
}

// mark names the rule in the answer.
func mark(answer *heldAnswer, rule *counted) {
	answer.Header().Set(faultHeader, strconv.Itoa(rule.place))
}

// answerFor answers in the place of the service.
func (s *Bench) answerFor(rule *counted, rec *web.Recorder, r *http.Request) {
	if rule.Do == AnswerStatus {
		answer := rule.failure(s.usual(&rule.Rule, r))
		s.Refuse(rec, r, answer)
		if _, err := fs.Stat(docs.Files, "made/errors/"+answer.Code()+".html"); err != nil {
			rec.Header().Del("Link") // to the page of a code that the service has not
		}
		return
	}
	body := wire.NewWriter()
	body.B = append(body.B, rule.Text...)
	rec.Header()["Cache-Control"] = web.NoStore
	web.SendBody(rec, cmp.Or(rule.Status, http.StatusOK), []string{rule.contentType()}, body)
}

// contentType returns that of the body that a rule answers with.
func (r *Rule) contentType() string {
	return cmp.Or(r.Content, web.ContentType[0])
}

// faultCode is the errorCode of a status that the service never sends.
const faultCode = "FAULT"

// usual returns what the service itself says to a request with a status. Of a 409 it is what each of its kind
// may get: that the provider is still asked about a booking's tickets, or that the request is still running.
// Neither is said for another reason that the rule gives.
func (s *Bench) usual(rule *Rule, r *http.Request) *web.Failure {
	status := rule.Status
	switch status {
	case http.StatusBadRequest:
		return web.Explain(web.Invalid(web.Problem("body", "has the wrong form")))
	case http.StatusUnauthorized:
		return web.ErrUnauthorized
	case http.StatusForbidden:
		return web.ErrForbidden
	case http.StatusNotFound:
		return web.ErrNotFound
	case http.StatusMethodNotAllowed:
		return web.Fail(status, "METHOD_NOT_ALLOWED", "the method is not allowed here")
	case http.StatusConflict:
		if reason := rule.reason(); reason != booking.InProgress {
			return web.Conflict(reason, ruleSays, nil)
		}
		if slices.Contains([]string{payRoute, bookRoute, cancelRoute}, r.Pattern) {
			return web.Explain(&booking.Conflict{
				Tickets: s.ticketsOf(r),
				Code:    booking.InProgress,
				Reason:  booking.AwaitsAnswer,
			})
		}
		return partner.ErrRunning
	case http.StatusGone:
		return web.ErrGone
	case http.StatusRequestEntityTooLarge:
		return web.ErrTooLarge
	case http.StatusUnsupportedMediaType:
		return web.ErrMediaType
	case http.StatusUnprocessableEntity:
		return partner.ErrKeyReused
	case http.StatusTooManyRequests:
		return web.TooMany(time.Second)
	case http.StatusInternalServerError:
		return web.ErrInternal
	case http.StatusServiceUnavailable:
		return web.ErrUnavailable
	}
	return web.Fail(status, faultCode, ruleSays)
}

// ruleSays is the message of an answer that the service never gives.
const ruleSays = "a rule of the test bench made this answer"

// reason returns that of a 409, which a rule may give in its details.
func (r *Rule) reason() booking.Code {
	var details struct{ Reason booking.Code }
	json.Unmarshal(r.Details, &details) // which may be any JSON
	return cmp.Or(details.Reason, booking.InProgress)
}

// ticketsOf returns the tickets of the booking in whose path a request is.
func (s *Bench) ticketsOf(r *http.Request) (list []ids.ID) {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/bookings/"), "/")
	s.Store.View(func(st ledger.State, _ time.Time) {
		if b := st.Bookings.Any(ids.Of(id)); b != nil {
			for i := range b.Tickets {
				list = append(list, b.Tickets[i].ID)
			}
		}
	})
	return list
}

// failure returns the answer that a rule makes: what the service usually says with the status, but for what
// the rule says.
func (r *Rule) failure(usual *web.Failure) *web.Failure {
	f := usual.Saying(r.ErrorCode, r.Message, r.Details)
	if r.RetryAfter > 0 {
		f.RetryAfter = strconv.Itoa(r.RetryAfter)
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
