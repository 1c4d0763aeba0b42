package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
	"waybill/store/live"
)

// Failure is an answer that is an error (interface, Errors). A handler returns it as its error.
type Failure struct {
	Status     int
	entries    []Complaint // of the envelope
	RetryAfter string      // seconds, for the header; "" is none
}

// Complaint is one member of the envelope's errors.
type Complaint struct {
	message, code string
	details       []byte // JSON, or nil
}

// Error returns the first error of the envelope, for the log.
func (f *Failure) Error() string {
	return f.entries[0].code + ": " + f.entries[0].message
}

// Fail returns an answer with one error.
func Fail(status int, code, message string) *Failure {
	return &Failure{
		Status:  status,
		entries: []Complaint{{message, code, nil}},
	}
}

// FailLater returns an answer with one error, and with when to try again.
func FailLater(status int, code, message string, wait time.Duration) *Failure {
	f := Fail(status, code, message)
	f.RetryAfter = strconv.Itoa(int((wait + time.Second - 1) / time.Second))
	return f
}

// unavailable is a 503 that says when to try again: something is in the way that passes.
func unavailable(message string) *Failure {
	return FailLater(http.StatusServiceUnavailable, "UNAVAILABLE", message, time.Second)
}

// Write writes the envelope.
func (f *Failure) Write(w *wire.Writer) {
	w.Object("")
	wire.Each(w, "errors", f.entries, func(e Complaint) {
		e.write(w)
	})
	w.EndObject()
}

func (e *Complaint) write(w *wire.Writer) {
	w.Object("")
	w.Texts("message", e.message, "errorCode", e.code)
	if e.details != nil {
		w.Raw("details", e.details)
	}
	w.EndObject()
}

// size returns how many bytes the entry takes in an envelope.
func (e *Complaint) size() int {
	w := wire.NewWriter()
	defer w.Release()
	e.write(w)
	return len(w.B) + len(",")
}

// The answers that are always the same (decision errors.fixed).
var (
	ErrUnauthorized = Fail(http.StatusUnauthorized, "UNAUTHORIZED", "AUTH_INVALID_CREDENTIALS")
	ErrForbidden    = Fail(http.StatusForbidden, "FORBIDDEN", "AUTH_NO_ACCESS")
	ErrNotFound     = Fail(http.StatusNotFound, "NOT_FOUND", "RESOURCE_NOT_FOUND")
	ErrTooLarge     = Fail(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE",
		"the body is larger than 256 KiB")
	ErrMediaType = Fail(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE",
		"the body must be application/json")
	errEncoded = Fail(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE",
		"the body must be sent without a Content-Encoding")
	ErrUnavailable = unavailable("the server is starting or stopping; try again")
	errBusy        = unavailable("too many requests wait; nothing was changed")
	errFull        = unavailable("the server's disk is full; nothing was changed")

	// ErrSilent is for all that waits for the keeper (decision keep.silent).
	ErrSilent = unavailable("the second machine that keeps the journal does not answer; nothing was changed")

	// ErrSilentAgain is for a repetition under a key while the keeper is silent.
	ErrSilentAgain = unavailable("the second machine that keeps the journal does not answer; an earlier attempt " +
		"under this key may have taken effect; send it again")

	ErrManyConnections = unavailable("too many connections are open and none is idle; nothing was changed")
	// ErrAnswerWaits is for what the provider was asked, and whose answer the journal cannot take yet.
	ErrAnswerWaits = unavailable("the provider's answer cannot be kept yet, and it is not known what it will " +
		"be; read the booking again later")
	// ErrDoneBefore is for a repetition under a key whose earlier attempt has paid or booked tickets.
	ErrDoneBefore = unavailable("the server's disk is full; an earlier attempt under this key stays in " +
		"effect, and nothing else was changed")
	ErrInternal    = Fail(http.StatusInternalServerError, "INTERNAL", "unexpected server error")
	errUnknownFate = Fail(http.StatusInternalServerError, "INTERNAL",
		"the journal cannot be written; it is not known whether this took effect")
	errDoubt = Fail(http.StatusInternalServerError, "INTERNAL", "it is not known whether this was done")
	ErrGone  = Detailed(http.StatusGone, "GONE",
		"the legacy interface has ended for this partner; see the migration guide",
		func(w *wire.Writer) {
			w.String("migrationGuide", GuidePath)
		})
)

// Code returns the errorCode of the first error.
func (f *Failure) Code() string { return f.entries[0].code }

// Saying returns the answer with another errorCode, message or details, a JSON object, in its first error.
// What is "" or nil stays as it is.
func (f *Failure) Saying(code, message string, details []byte) *Failure {
	said := *f
	said.entries = slices.Clone(f.entries)
	first := &said.entries[0]
	first.code = cmp.Or(code, first.code)
	first.message = cmp.Or(message, first.message)
	if details != nil {
		first.details = details
	}
	return &said
}

// NotFoundFor is a 404 of what anybody may look up: it names the parameters that nothing was found for.
func NotFoundFor(parameters ...string) *Failure {
	f := &Failure{Status: ErrNotFound.Status}
	for _, name := range parameters {
		e := ErrNotFound.entries[0]
		e.details = Problem(name, "").details
		f.entries = append(f.entries, e)
	}
	return f
}

// Complain returns an error of the envelope with the details that details writes.
func Complain(code, message string, details func(*wire.Writer)) Complaint {
	var w wire.Writer
	w.Object("")
	details(&w)
	w.EndObject()
	return Complaint{message, code, w.B}
}

// Problem is an entry that says what is wrong with a field.
func Problem(field, message string) Complaint {
	return ProblemCode("VALIDATION_ERROR", field, field+" "+message)
}

// ProblemCode is Problem with another errorCode.
func ProblemCode(code, field, message string) Complaint {
	var w wire.Writer
	w.Record("", "field", field)
	return Complaint{message, code, w.B}
}

// Complaints are what is wrong with a request: the first problems, and how many there are besides.
type Complaints struct {
	List []Complaint
	more int
}

// ComplaintsOf returns what is wrong with a document.
func ComplaintsOf(r *wire.Reader) Complaints {
	c := Complaints{more: r.Dropped}
	for _, p := range r.Problems {
		c.Add(Problem(p.Field, p.Message))
	}
	return c
}

// Add adds a problem.
func (c *Complaints) Add(e Complaint) {
	c.List = append(c.List, e)
}

// AddFirst adds the problem that a client should read before all others.
func (c *Complaints) AddFirst(e Complaint) {
	c.List = slices.Insert(slices.Clone(c.List), 0, e)
}

// Err returns the answer that lists the problems, nil when there are none. It has at most maxProblems entries
// in maxProblemBytes; where that is not all, the last of them says how many more there are (decision
// errors.listed).
func (c *Complaints) Err() error {
	if len(c.List) == 0 {
		return nil
	}
	fit := 0
	size := 0
	for fit < len(c.List) {
		size += c.List[fit].size()
		if fit == maxProblems || size > maxProblemBytes-sizeOfMore {
			break
		}
		fit++
	}
	entries := c.List[:fit]
	if more := c.more + len(c.List) - fit; more > 0 {
		if fit == maxProblems { // its place is needed
			entries = entries[:fit-1]
			more = more + 1
		}
		message := "and " + strconv.Itoa(more) + " more problems"
		entries = append(slices.Clip(entries), Complain("VALIDATION_ERROR", message, func(w *wire.Writer) {
			w.String("field", "body")
			w.Int("more", int64(more))
		}))
	}
	return &Failure{Status: http.StatusBadRequest, entries: entries}
}

// Invalid returns the error of a request with one problem.
func Invalid(e Complaint) error {
	c := Complaints{List: []Complaint{e}}
	return c.Err()
}

// Detailed returns an answer with one error, which has details.
func Detailed(status int, code, message string, details func(*wire.Writer)) *Failure {
	return &Failure{
		Status:  status,
		entries: []Complaint{Complain(code, message, details)},
	}
}

// Conflict is a 409, whose details say in one word why (decision conflict.reasons).
func Conflict(reason booking.Code, message string, details func(w *wire.Writer)) *Failure {
	f := Detailed(http.StatusConflict, "CONFLICT", message, func(w *wire.Writer) {
		w.String("reason", string(reason))
		if details != nil {
			details(w)
		}
	})
	if reason == booking.InProgress {
		f.RetryAfter = "1"
	}
	return f
}

// NotReady is the reason of a 409 that booking knows nothing of: a report whose file is still to be written.
const NotReady booking.Code = "NOT_READY"

var soldOutMessages = map[booking.Code]string{
	booking.NoSeats:  "not enough seats are left",
	booking.Departed: "the run has already left",
	booking.Changed:  "the run has changed since it was offered; search again",
}

// WriteOrders returns what writes the tickets that a refusal is about.
func WriteOrders(tickets []ids.ID) func(w *wire.Writer) {
	return func(w *wire.Writer) {
		wire.Each(w, "ordersIds", tickets, func(id ids.ID) {
			w.ID("", id)
		})
	}
}

// Explain turns a reason why not into an answer. What it does not know is a 500 whose detail only the log
// sees.
func Explain(err error) *Failure {
	var known *Failure
	var states *booking.Conflict
	var soldOut *booking.NotSold
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, auth.ErrCredentials):
		return ErrUnauthorized
	case errors.Is(err, auth.ErrGone):
		return ErrGone
	case errors.Is(err, booking.ErrNotFound), errors.Is(err, report.ErrNotFound):
		return ErrNotFound
	case errors.As(err, &states):
		return Conflict(states.Code, states.Reason, WriteOrders(states.Tickets))
	case errors.As(err, &soldOut):
		return Conflict(soldOut.Code, soldOutMessages[soldOut.Code], func(w *wire.Writer) {
			w.Int("seatsLeft", int64(soldOut.Left))
		})
	case errors.Is(err, live.ErrFailed):
		return errUnknownFate
	case errors.Is(err, live.ErrFull):
		return errFull
	case errors.Is(err, live.ErrSilent):
		return ErrSilent
	case errors.Is(err, live.ErrDoubt):
		return errDoubt
	case errors.Is(err, live.ErrClosed):
		return ErrUnavailable
	}
	return ErrInternal
}

// ErrLegacyDate answers a malformed departureDate as the legacy interface did.
var ErrLegacyDate = Fail(http.StatusInternalServerError, "INTERNAL",
	"departureDate must be a date as in 2026-11-20")

// GuidePath is where the migration guide is.
const GuidePath = "/docs/migration"
