package recorded

import (
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"waybill/server/lab/recorded/schema"
)

// requestRows are about requests and answers of any call.
var requestRows = []row{
	{"bodies.strict", (*Recording).bodiesStrict},
	{"bodies.type", (*Recording).bodiesType},
	{"headers.repeated", (*Recording).headersRepeated},
	{"query.parameters", (*Recording).queryParameters},
	{"errors.listed", (*Recording).errorsListed},
	{"errors.order", (*Recording).errorsOrder},
	{"errors.codes", (*Recording).errorsCodes},
	{"errors.fixed", (*Recording).errorsFixed},
	{"errors.place", (*Recording).errorsPlace},
	{"errors.plain", (*Recording).errorsPlain},
	{"conflict.reasons", (*Recording).conflictReasons},
	{"answers.headers", (*Recording).answersHeaders},
	{"answers.bodies", (*Recording).answersBodies},
	{"answers.tags", (*Recording).answersTags},
	{"ids.form", (*Recording).idsForm},
	{"ids.derived", (*Recording).idsDerived},
	{"values.absent", (*Recording).valuesAbsent},
	{"money.rounding", (*Recording).moneyRounding},
	{"probes.open", (*Recording).probesOpen},
	{"limits.table", (*Recording).limitsTable},
	{"idempotency.key", (*Recording).idempotencyKey},
	{"origin.refused", (*Recording).originRefused},
}

// refusedBody returns whether a body is one that is refused as it stands: no JSON, with a member that is not
// declared, or null for a value.
func (x *exchange) refusedBody() bool {
	if len(x.request.body) == 0 {
		return false
	}
	if !x.request.isJSON {
		return true
	}
	media := schema.Waybill().Object(ours()[x.pattern], "requestBody", "content", "application/json")
	if media == nil {
		return false
	}
	c := &schema.Checker{Doc: schema.Waybill()}
	c.Check(media["schema"], "", x.request.value, "body")
	return slices.ContainsFunc(c.Problems, func(p schema.Problem) bool {
		return p.Keyword == "additionalProperties" || p.Keyword == "type" && p.Got == nil
	})
}

// isOtherMedia reports whether a body is of a type that is not JSON.
func (x *exchange) isOtherMedia() bool {
	given := x.request.header.Get("Content-Type") != ""
	return given && x.request.media() != "application/json" && len(x.request.body) > 0
}

func (r *Recording) bodiesStrict(x *exchange) sight {
	takesBody := x.isV2() && x.isWrite() && ours()[x.pattern]["requestBody"] != nil
	if !takesBody || x.isOtherMedia() || !x.refusedBody() {
		return unseen
	}
	if x.status == http.StatusBadRequest {
		return sameIf(x.hasError("VALIDATION_ERROR"), "the 400 has another errorCode")
	}
	if x.ok() {
		return other("a body that is refused here was accepted")
	}
	return unseen
}

func (r *Recording) bodiesType(x *exchange) sight {
	if !x.isV2() || !x.isWrite() || len(x.request.body) == 0 {
		return unseen
	}
	if x.isOtherMedia() && (x.ok() || x.status == http.StatusBadRequest) {
		return other("a body of another type is not 415")
	}
	switch x.status {
	case http.StatusUnsupportedMediaType:
		return sameIf(x.isOtherMedia() && x.hasError("UNSUPPORTED_MEDIA_TYPE"),
			"a 415 for JSON, or of another errorCode")
	case http.StatusRequestEntityTooLarge:
		const most = 256 << 10
		return sameIf(len(x.request.body) > most && x.hasError("BODY_TOO_LARGE"),
			"the 413 comes at another size, or has another errorCode")
	}
	if x.ok() && x.request.header.Get("Content-Type") == "" {
		return same
	}
	return unseen
}

func (r *Recording) headersRepeated(x *exchange) sight {
	if !x.needsKey() || len(x.request.header.Values("x-api-key")) < 2 {
		return unseen
	}
	if x.ok() {
		return other("a key that is given twice was accepted")
	}
	return sameIf(x.status == http.StatusUnauthorized, "a key that is given twice is not 401")
}

func (r *Recording) queryParameters(x *exchange) sight {
	if !x.isV2() || x.pattern == "" || !x.ok() && x.status != http.StatusBadRequest {
		return unseen
	}
	seen := unseen
	known := x.parameters()
	for _, name := range slices.Sorted(maps.Keys(x.query)) {
		values := x.query[name]
		isIgnored := known[name] == nil || values[0] == "" || name == "skip" && values[0] == "null"
		switch {
		case known[name] != nil && len(values) > 1:
			seen = either(seen, sameIf(!x.ok(), "a parameter that is given twice was accepted"))
		case isIgnored && (x.ok() || x.blames(name)):
			seen = either(seen, sameIf(x.ok(), "a parameter that is unknown or empty was refused"))
		}
	}
	return seen
}

func (r *Recording) errorsListed(x *exchange) sight {
	if !x.isV2() || x.status != http.StatusBadRequest || !x.hasError("VALIDATION_ERROR") {
		return unseen
	}
	for _, e := range x.errors() {
		if textOf(e, "details", "field") == "" {
			return other("an entry of a 400 does not name the field")
		}
	}
	return same
}

// errorsOrder looks at requests that can be refused for two reasons: without a key and with a bad body, or of
// an unknown booking with a bad body.
func (r *Recording) errorsOrder(x *exchange) sight {
	if !r.hasKeys || !x.isV2() || !x.needsKey() || !x.refusedBody() {
		return unseen
	}
	switch {
	case !x.hasKey():
		return sameIf(x.status == http.StatusUnauthorized, "without a key another refusal goes before 401")
	case x.status == http.StatusNotFound && x.vars["id"] != "":
		return same
	}
	return unseen
}

func (r *Recording) errorsCodes(x *exchange) sight {
	if !x.isV2() || x.mayBeAnothers() && !x.answer.isJSON {
		return unseen
	}
	switch x.status {
	case http.StatusMethodNotAllowed:
		return sameIf(x.hasError("METHOD_NOT_ALLOWED") && x.answer.header.Get("Allow") != "",
			"a 405 has another errorCode, or no Allow header")
	case http.StatusInternalServerError:
		return sameIf(x.hasError("INTERNAL") || x.hasError("PROVIDER_FAILED"), "a 500 has another errorCode")
	case http.StatusServiceUnavailable:
		return sameIf(x.hasError("UNAVAILABLE") && x.answer.header.Get("Retry-After") != "",
			"a 503 has another errorCode, or no Retry-After")
	}
	return unseen
}

// fixedMessages are the messages that say their code.
var fixedMessages = map[int]string{
	http.StatusUnauthorized: "AUTH_INVALID_CREDENTIALS",
	http.StatusForbidden:    "AUTH_NO_ACCESS",
	http.StatusNotFound:     "RESOURCE_NOT_FOUND",
}

func (r *Recording) errorsFixed(x *exchange) sight {
	if !x.isV2() || len(x.errors()) == 0 {
		return unseen
	}
	fixed := fixedMessages[x.status]
	for _, e := range x.errors() {
		message := textOf(e, "message")
		if fixed != "" && message != fixed {
			return other("the message is not " + fixed)
		}
		if fixed == "" && errorCode.MatchString(message) {
			return other("the message is a code instead of plain words")
		}
	}
	return same
}

// helpLink matches the Link of an error.
var helpLink = regexp.MustCompile(`rel="?help"?`)

func (r *Recording) errorsPlace(x *exchange) sight {
	if !x.isV2() || x.status < http.StatusBadRequest || x.mayBeAnothers() && !x.answer.isJSON {
		return unseen
	}
	if !helpLink.MatchString(strings.Join(x.answer.header.Values("Link"), ",")) {
		return other("an error has no Link to help")
	}
	ofPlace := x.is("GET /v2/cities/{slug}", "GET /v2/stops/{id}", getSchedule, getOffers)
	if ofPlace && x.status == http.StatusNotFound {
		return sameIf(len(x.values("errors", "details", "field")) > 0, "the 404 does not name the parameter")
	}
	return same
}

func (r *Recording) errorsPlain(x *exchange) sight {
	if !x.isV2() || x.status < http.StatusBadRequest || !x.hasBody() || x.mayBeAnothers() {
		return unseen
	}
	if len(x.errors()) > 0 {
		return same
	}
	return sameIf(x.status == http.StatusBadRequest && !x.answer.isJSON, "an error is without the envelope")
}

// reasons are those of a 409.
var reasons = []string{"STATE", "NO_SEATS", "DEPARTED", "CHANGED", "IN_PROGRESS", "NOT_READY"}

func (r *Recording) conflictReasons(x *exchange) sight {
	if !x.isV2() || x.status != http.StatusConflict {
		return unseen
	}
	for _, e := range x.errors() {
		if !slices.Contains(reasons, textOf(e, "details", "reason")) {
			return other("a 409 has no details.reason, or another one")
		}
	}
	return sameIf(len(x.errors()) > 0, "a 409 has no entry")
}

func (r *Recording) answersHeaders(x *exchange) sight {
	h := x.answer.header
	if !x.isV2() || len(h) == 0 || x.mayBeAnothers() {
		return unseen
	}
	id := h.Get("X-Request-Id")
	asked := x.request.header.Get("X-Request-Id")
	switch {
	case id == "":
		return other("there is no X-Request-Id")
	case goodRequestID.MatchString(asked) && asked != id:
		return other("X-Request-Id is not the caller's")
	case h.Get("X-Content-Type-Options") != "nosniff":
		return other("there is no X-Content-Type-Options")
	case x.is("POST /v2/bookings") && x.ok() && h.Get("Waybill-Seq") == "":
		return other("a write has no Waybill-Seq")
	}
	return same
}

var goodRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func (r *Recording) answersBodies(x *exchange) sight {
	if !x.isV2() || !x.hasBody() || !x.answer.isJSON {
		return unseen
	}
	return sameIf(strings.HasSuffix(string(x.answer.body), "\n"), "JSON does not end in a newline")
}

func (r *Recording) answersTags(x *exchange) sight {
	h := x.answer.header
	switch {
	case x.is("GET /v2/cities", "GET /v2/cities/{slug}", "GET /v2/stops/{id}") && x.ok():
		tag := h.Get("ETag")
		return sameIf(strings.HasPrefix(tag, `"`), "cities or stops have no strong ETag")
	case x.isV2() && (x.needsKey() || x.status >= http.StatusBadRequest) && !x.mayBeAnothers():
		return sameIf(h.Get("Cache-Control") == "no-store", "Cache-Control is not no-store")
	}
	return unseen
}

// ownID matches the id of a booking or ticket.
var ownID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{21}$`)

func (r *Recording) idsForm(x *exchange) sight {
	list := append(of(x.bookings(), "id"), of(x.tickets(), "id")...)
	for _, id := range list {
		text, _ := id.(string)
		if !ownID.MatchString(text) {
			return other("the id of a booking or ticket is of another form")
		}
	}
	if len(list) == 0 {
		return unseen
	}
	return same
}

func (r *Recording) idsDerived(x *exchange) sight {
	seen := unseen
	for _, t := range x.tickets() {
		id := textOf(t, "id")
		derived := append(of(t, "passenger", "id"), of(t, "price", "id")...)
		derived = append(derived, of(t, "passenger", "phones", "id")...)
		derived = append(derived, of(t, "slices", "seat", "id")...)
		for _, v := range derived {
			text, _ := v.(string)
			if id == "" || !strings.HasPrefix(text, id) || text == id {
				return other("an id of a ticket's part does not begin with the ticket's")
			}
			seen = same
		}
	}
	return seen
}

// valuesAbsent looks for members that are empty, and for those that are null or missing where they would be
// empty here.
func (r *Recording) valuesAbsent(x *exchange) sight {
	answer := schema.Waybill().Object(ours()[x.pattern], "responses", "200")
	if x.status == http.StatusCreated {
		answer = schema.Waybill().Object(ours()[x.pattern], "responses", "201")
	}
	if !x.isV2() || !x.ok() || answer == nil || !x.answer.isJSON {
		return unseen
	}
	c := &schema.Checker{Doc: schema.Waybill()}
	media := schema.Waybill().Object(answer, "content", "application/json")
	c.Check(media["schema"], "", x.answer.value, "body")
	for _, p := range c.Problems {
		if p.Keyword == "required" {
			return other(shownPlace(p.Place) + " has no " + p.Name)
		}
		if p.Keyword == "type" && p.Got == nil {
			return other(shownPlace(p.Place) + " is null")
		}
	}
	if strings.Contains(string(x.answer.body), `:""`) || strings.Contains(string(x.answer.body), `:null`) {
		return same
	}
	return unseen
}

func (r *Recording) moneyRounding(x *exchange) sight {
	amounts := append(of(x.tickets(), "price", "amount"), of(x.tickets(), "refundAmount")...)
	amounts = append(amounts, x.values("data", "offers", "prices", "amount")...)
	amounts = append(amounts, x.values("data", "departures", "price", "amount")...)
	seen := unseen
	for _, v := range amounts {
		n, isNumber := v.(float64)
		if !isNumber {
			continue
		}
		const cents = 100
		if math.Abs(n*cents-math.Round(n*cents)) > 1e-6 {
			return other("an amount has more than two decimals")
		}
		if n != math.Trunc(n) {
			seen = same
		}
	}
	return seen
}

func (r *Recording) probesOpen(x *exchange) sight {
	if !x.is("GET /livez", "GET /readyz", "GET /healthz", "GET /metrics") {
		return unseen
	}
	unready := x.status == http.StatusServiceUnavailable && x.is("GET /readyz", "GET /healthz")
	return sameIf(x.ok() || unready, "a probe is refused, or not there")
}

func (r *Recording) limitsTable(x *exchange) sight {
	const passengers = 100
	list := x.sent("passengers")
	if !x.is("POST /v2/bookings") || len(list) <= passengers || !x.ok() && x.status != http.StatusBadRequest {
		return unseen
	}
	return sameIf(!x.ok(), "more than 100 passengers were booked at once")
}

// idempotencyKey looks at a repetition under a key: what came first is what is answered again.
func (r *Recording) idempotencyKey(x *exchange) sight {
	key := x.request.header.Get("Idempotency-Key")
	first := r.firstUnder(key, x)
	if key == "" || first == nil || !first.ok() && first.status != http.StatusConflict {
		return unseen
	}
	if first.path != x.path || string(first.request.body) != string(x.request.body) {
		is422 := x.status == http.StatusUnprocessableEntity
		return sameIf(is422, "another request under the same key is not 422")
	}
	if first.hasReason("IN_PROGRESS") {
		return unseen
	}
	replayed := x.answer.header.Get("Idempotent-Replayed") == "true"
	again := first.status == x.status && string(first.answer.body) == string(x.answer.body)
	return sameIf(again && replayed, "a repetition under the same key is not answered as the first one")
}

// firstUnder returns the first exchange of the same partner under a key, if it is an earlier one.
func (r *Recording) firstUnder(key string, x *exchange) *exchange {
	for _, y := range r.exchanges {
		if y == x {
			return nil
		}
		h := y.request.header
		samePartner := h.Get("x-api-key") == x.request.header.Get("x-api-key")
		if h.Get("Idempotency-Key") == key && y.method == x.method && samePartner {
			return y
		}
	}
	return nil
}

func (r *Recording) originRefused(x *exchange) sight {
	isOther := x.request.header.Get("Sec-Fetch-Site") == "cross-site"
	if !isOther || !x.isV2() || !x.isWrite() || x.needsKey() || x.pattern == "" {
		return unseen
	}
	if x.ok() {
		return other("a request from another site's page was accepted")
	}
	return sameIf(x.status == http.StatusForbidden, "a request from another site's page does not give 403")
}
