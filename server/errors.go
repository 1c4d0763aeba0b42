package server

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/server/wire"
	"waybill/store"
)

// failure is an answer that is an error (interface, Errors). A handler returns it as its error.
type failure struct {
	status     int
	entries    []entry // of the envelope
	retryAfter string  // seconds, for the header; "" is none
}

// entry is one member of the envelope's errors.
type entry struct {
	message, code string
	details       []byte // JSON, or nil
}

func (f *failure) Error() string { return f.entries[0].code + ": " + f.entries[0].message }

func fail(status int, code, message string) *failure {
	return &failure{status: status, entries: []entry{{message, code, nil}}}
}

// write writes the envelope.
func (f *failure) write(w *wire.Writer) {
	w.Object("")
	wire.Each(w, "errors", f.entries, func(e entry) { e.write(w) })
	w.EndObject()
}

func (e *entry) write(w *wire.Writer) {
	w.Object("")
	w.Texts("message", e.message, "errorCode", e.code)
	if e.details != nil {
		w.Raw("details", e.details)
	}
	w.EndObject()
}

// size returns how many bytes the entry takes in an envelope.
func (e *entry) size() int {
	w := newWriter()
	defer keepWriter(w)
	e.write(w)
	return len(w.B) + len(",")
}

// The answers that are always the same (contract §3, Messages).
var (
	errUnauthorized = fail(http.StatusUnauthorized, "UNAUTHORIZED", "AUTH_INVALID_CREDENTIALS")
	errForbidden    = fail(http.StatusForbidden, "FORBIDDEN", "AUTH_NO_ACCESS")
	errNotFound     = fail(http.StatusNotFound, "NOT_FOUND", "RESOURCE_NOT_FOUND")
	errTooLarge     = fail(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "the body is larger than 256 KiB")
	errMediaType    = fail(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "the body must be application/json")
	errUnavailable  = &failure{http.StatusServiceUnavailable, []entry{{"the server is starting or stopping", "UNAVAILABLE", nil}}, "1"}
	errFull         = &failure{http.StatusServiceUnavailable, []entry{{"there is no room on the disk; nothing was changed", "UNAVAILABLE", nil}}, "1"}
	// errAnswerWaits is for what the provider has answered and the journal has no room for yet.
	errAnswerWaits = &failure{http.StatusServiceUnavailable, []entry{{"there is no room on the disk to keep what came of asking the provider; " +
		"it is kept as soon as there is: read the booking again", "UNAVAILABLE", nil}}, "1"}
	// errDoneBefore is for a repetition under a key whose earlier attempt has paid or booked tickets.
	errDoneBefore = &failure{http.StatusServiceUnavailable, []entry{{"there is no room on the disk; what an earlier attempt under this key has done stays done, " +
		"and nothing else was changed", "UNAVAILABLE", nil}}, "1"}
	errManyConnections = &failure{http.StatusServiceUnavailable, []entry{{"too many connections are open, and none of them is idle; nothing was changed", "UNAVAILABLE", nil}}, "1"}
	errChanging        = &failure{http.StatusServiceUnavailable, []entry{{"the timetable is being replaced; nothing was changed", "UNAVAILABLE", nil}}, "1"}
	errInternal        = fail(http.StatusInternalServerError, "INTERNAL", "unexpected server error")
	errUnknownFate     = fail(http.StatusInternalServerError, "INTERNAL", "the journal cannot be written; whether this took effect is not known")
	errGone            = detailed(http.StatusGone, "GONE", "the legacy interface is no longer there for you; see the migration guide",
		func(w *wire.Writer) { w.String("migrationGuide", guidePath) })
)

// unknown is a 404 of what anybody may look up: it names the parameters that nothing was found for.
func unknown(parameters ...string) *failure {
	f := &failure{status: errNotFound.status}
	for _, name := range parameters {
		e := errNotFound.entries[0]
		e.details = problem(name, "").details
		f.entries = append(f.entries, e)
	}
	return f
}

// problem is an entry that says what is wrong with a field.
func problem(field, message string) entry {
	return problemCode("VALIDATION_ERROR", field, field+" "+message)
}

func problemCode(code, field, message string) entry {
	var w wire.Writer
	w.Record("", "field", field)
	return entry{message, code, w.B}
}

// complaints are what is wrong with a request: the first problems, and how many there are besides.
type complaints struct {
	list []entry
	more int
}

// complaintsOf returns what is wrong with a document.
func complaintsOf(r *wire.Reader) complaints {
	c := complaints{more: r.Dropped}
	for _, p := range r.Problems {
		c.add(problem(p.Field, p.Message))
	}
	return c
}

func (c *complaints) add(e entry) { c.list = append(c.list, e) }

// addFirst adds the problem that a client should read before all others.
func (c *complaints) addFirst(e entry) { c.list = slices.Insert(slices.Clone(c.list), 0, e) }

// err returns the answer that lists the problems, nil when there are none. It has at most maxProblems entries
// in maxProblemBytes; where that is not all, the last of them says how many more there are (contract §12).
func (c *complaints) err() error {
	if len(c.list) == 0 {
		return nil
	}
	fit, size := 0, 0
	for fit < len(c.list) {
		size += c.list[fit].size()
		if fit == maxProblems || size > maxProblemBytes-sizeOfMore {
			break
		}
		fit++
	}
	entries := c.list[:fit]
	if more := c.more + len(c.list) - fit; more > 0 {
		if fit == maxProblems { // its place is needed
			entries, more = entries[:fit-1], more+1
		}
		message := "and " + strconv.Itoa(more) + " more problems"
		var w wire.Writer
		w.Object("")
		w.String("field", "body")
		w.Int("more", int64(more))
		w.EndObject()
		entries = append(slices.Clip(entries), entry{message, "VALIDATION_ERROR", w.B})
	}
	return &failure{status: http.StatusBadRequest, entries: entries}
}

// invalid returns the error of a request with one problem.
func invalid(e entry) error {
	c := complaints{list: []entry{e}}
	return c.err()
}

func detailed(status int, code, message string, details func(w *wire.Writer)) *failure {
	var w wire.Writer
	w.Object("")
	details(&w)
	w.EndObject()
	return &failure{status: status, entries: []entry{{message, code, w.B}}}
}

// conflict is a 409, whose details say in one word why (contract §8).
func conflict(reason booking.Code, message string, details func(w *wire.Writer)) *failure {
	return detailed(http.StatusConflict, "CONFLICT", message, func(w *wire.Writer) {
		w.String("reason", string(reason))
		if details != nil {
			details(w)
		}
	})
}

// notReady is the reason of a 409 that booking knows nothing of: a report whose file is still to be written.
const notReady booking.Code = "NOT_READY"

var soldOutMessages = map[booking.Code]string{
	booking.NoSeats:  "not enough seats are left",
	booking.Departed: "the run has left",
	booking.Changed:  "the run is no longer what was offered; search again",
}

func writeOrders(ids []booking.ID) func(w *wire.Writer) {
	return func(w *wire.Writer) {
		wire.Each(w, "ordersIds", ids, func(id booking.ID) { w.ID("", id) })
	}
}

// explain turns a reason why not into an answer. What it does not know is a 500 whose detail only the log
// sees.
func explain(err error) *failure {
	var known *failure
	var states *booking.Conflict
	var soldOut *booking.SoldOut
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, auth.ErrCredentials):
		return errUnauthorized
	case errors.Is(err, auth.ErrGone):
		return errGone
	case errors.Is(err, booking.ErrNotFound), errors.Is(err, report.ErrNotFound):
		return errNotFound
	case errors.As(err, &states):
		return conflict(states.Code, states.Reason, writeOrders(states.Tickets))
	case errors.As(err, &soldOut):
		return conflict(soldOut.Code, soldOutMessages[soldOut.Code], func(w *wire.Writer) { w.Int("seatsLeft", int64(soldOut.Left)) })
	case errors.Is(err, store.ErrFailed):
		return errUnknownFate
	case errors.Is(err, store.ErrFull):
		return errFull
	case errors.Is(err, store.ErrClosed):
		return errUnavailable
	}
	return errInternal
}
