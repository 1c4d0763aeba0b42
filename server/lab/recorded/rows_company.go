package recorded

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/report/table"
)

// companyRows are about company users and the legacy interface.
var companyRows = []row{
	{"sessions.refused", (*Recording).sessionsRefused},
	{"sessions.cookies", (*Recording).sessionsCookies},
	{"sessions.life", (*Recording).sessionsLife},
	{"passwords.failures", (*Recording).passwordsFailures},
	{"reports.dates", (*Recording).reportsDates},
	{"reports.links", (*Recording).reportsLinks},
	{"reports.life", (*Recording).reportsLife},
	{"reports.columns", (*Recording).reportsColumns},
	{"manifest.rows", (*Recording).manifestRows},
	{"legacy.calls", (*Recording).legacyCalls},
	{"legacy.gone", (*Recording).legacyGone},
	{"legacy.paths", (*Recording).legacyPaths},
	{"legacy.orders", (*Recording).legacyOrders},
	{"legacy.patch", (*Recording).legacyPatch},
}

const (
	postLogin    = "POST /v2/auth/idp/login"
	postPreLogin = "POST /v2/auth/pre-login"
	postReport   = "POST /v2/reports/company/orders"
)

// sessionsRefused looks at refused logins for a company that was named.
func (r *Recording) sessionsRefused(x *exchange) sight {
	if !x.is(postLogin) || len(x.sent("companyId")) == 0 || x.ok() {
		return unseen
	}
	switch x.status {
	case http.StatusForbidden:
		return same
	case http.StatusNotFound, http.StatusConflict:
		return other("a login for a company that is not the user's is not 403")
	}
	return unseen
}

func (r *Recording) sessionsCookies(x *exchange) sight {
	answer := http.Response{Header: x.answer.header}
	cookies := answer.Cookies()
	if !x.is(postLogin) || !x.ok() || len(cookies) == 0 { // browsers leave them out of a HAR
		return unseen
	}
	want := map[string]time.Duration{
		"waybill_access":  15 * time.Minute,
		"waybill_refresh": 30 * 24 * time.Hour,
	}
	for _, c := range cookies {
		life, known := want[strings.TrimRight(c.Name, "_0123456789")] // on a loopback host they have the port
		switch {
		case !known:
			return other("the cookies have other names")
		case c.MaxAge != int(life.Seconds()) || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode:
			return other("a cookie has another life or other attributes")
		}
	}
	return sameIf(len(cookies) == len(want), "there is another number of cookies")
}

// sessionsLife looks at what a login says of its session, and at the calls about sessions that the interface
// does not have.
func (r *Recording) sessionsLife(x *exchange) sight {
	const life = 30 * 24 * time.Hour
	switch {
	case x.is("POST /v2/auth/refresh", "GET /v2/auth/session", "POST /v2/auth/logout"):
		return x.beyond()
	case x.is(postLogin) && x.ok():
		return x.endsIn(life, "data", "session", "expiresAt")
	}
	return unseen
}

// endsIn looks at an instant of the answer that has to be so long after it.
func (x *exchange) endsIn(life time.Duration, names ...string) sight {
	ends := timeOf(x.answer.value, names...)
	if ends.IsZero() || x.at().IsZero() {
		return unseen
	}
	off := ends.Sub(x.at()) - life
	what := fmt.Sprintf("%s is not %s after the answer", names[len(names)-1], life)
	return sameIf(off.Abs() <= 2*time.Second, what)
}

// passwordsFailures counts the failures of an e-mail before an answer.
func (r *Recording) passwordsFailures(x *exchange) sight {
	email := firstText(x.sent("email"))
	if !x.is(postPreLogin) || email == "" {
		return unseen
	}
	const most = 10
	failures := 0
	for _, y := range r.exchanges {
		if y == x {
			break
		}
		isSame := y.is(postPreLogin) && firstText(y.sent("email")) == email
		isRecent := x.at().Sub(y.at()) < 15*time.Minute
		if isSame && isRecent && y.status == http.StatusUnauthorized {
			failures++
		}
	}
	if x.status == http.StatusTooManyRequests && failures > 0 {
		hasWait := x.answer.header.Get("Retry-After") != ""
		return sameIf(failures == most && hasWait,
			"429 comes after another number of failures, or has no Retry-After header")
	}
	isLate := failures >= most && x.status == http.StatusUnauthorized
	return sameUnless(isLate, "more than 10 failures are not 429")
}

// sameUnless is what differs where something holds; else nothing was seen.
func sameUnless(holds bool, what string) sight {
	if holds {
		return other(what)
	}
	return unseen
}

func (r *Recording) reportsDates(x *exchange) sight {
	if !x.is(postReport) || !x.request.isJSON || !x.ok() && x.status != http.StatusBadRequest {
		return unseen
	}
	if len(x.sent("startDate")) > 0 && len(x.sent("endDate")) > 0 {
		return unseen
	}
	return sameIf(!x.ok(), "a report without both dates was ordered")
}

func (r *Recording) reportsLinks(x *exchange) sight {
	if !x.is("GET /v2/reports/company/orders/{id}/download") {
		return unseen
	}
	if x.status == http.StatusConflict {
		return same
	}
	if !x.ok() {
		return sameUnless(x.status == http.StatusBadRequest, "a report that is not Completed is not 409")
	}
	if x.text("data", "url") == "" || x.text("data", "expiresAt") == "" {
		return other("the answer has no data.url, or no data.expiresAt")
	}
	return x.endsIn(10*time.Minute, "data", "expiresAt")
}

// reportsLife looks at the end of reports that are Completed, whose instant of completion is not shown: it
// lies between their order and the answer.
func (r *Recording) reportsLife(x *exchange) sight {
	const life = 7 * 24 * time.Hour
	seen := unseen
	for _, report := range x.values("data", "reports") {
		ends := timeOf(report, "expiresAt")
		if ends.IsZero() || x.at().IsZero() || textOf(report, "status") != "Completed" {
			continue
		}
		completed := ends.Add(-life)
		ordered := timeOf(report, "createdAt")
		isMeanwhile := !completed.Before(ordered) && !completed.After(x.at().Add(time.Second))
		seen = either(seen, sameIf(isMeanwhile, "a report does not end 7 days after its completion"))
	}
	return seen
}

func (r *Recording) reportsColumns(x *exchange) sight {
	if x.answer.media() != "text/csv" || !x.ok() {
		return unseen
	}
	first, _, _ := bytes.Cut(bytes.TrimPrefix(x.answer.body, []byte("\xef\xbb\xbf")), []byte("\n"))
	columns := strings.Split(strings.TrimSuffix(string(first), "\r"), ",")
	return sameIf(slices.Equal(columns, table.Columns), "the columns are others, or in another order")
}

func (r *Recording) manifestRows(x *exchange) sight {
	if !x.is("GET /v2/company/runs/{tripId}/{date}/passengers") || !x.ok() {
		return unseen
	}
	for _, status := range x.values("data", "passengers", "paymentStatus") {
		if status != "Paid" && status != "Booked" {
			return other("a passenger without a paid or booked ticket is listed")
		}
	}
	return same
}

// deprecated matches the header Deprecation.
var deprecated = regexp.MustCompile(`^@([0-9]{1,12})$`)

// legacyCalls looks at answers of the legacy interface: their headers, and that of a call without a key.
func (r *Recording) legacyCalls(x *exchange) sight {
	if !x.isLegacy() || x.mayBeAnothers() {
		return unseen
	}
	if r.hasKeys && !x.hasKey() && x.status != http.StatusForbidden {
		return other("a call without a key is not 403")
	}
	since := deprecated.FindStringSubmatch(x.answer.header.Get("Deprecation"))
	sunset, err := http.ParseTime(x.answer.header.Get("Sunset"))
	if since == nil || err != nil {
		return other("Deprecation is not @SECONDS, or Sunset is not a date")
	}
	seconds, _ := strconv.ParseInt(since[1], 10, 64)
	const window = 90 * 24 * time.Hour
	off := sunset.Sub(time.Unix(seconds, 0)) - window
	return sameIf(off.Abs() <= time.Second, "Sunset is not 90 days after Deprecation")
}

func (r *Recording) legacyGone(x *exchange) sight {
	if !x.isLegacy() || x.status != http.StatusGone {
		return unseen
	}
	return sameIf(x.hasError("GONE"), "the 410 has another errorCode")
}

// legacyPaths looks at what is answered for days that are none.
func (r *Recording) legacyPaths(x *exchange) sight {
	isList := x.is("GET /rest/offers", "GET /rest/orders")
	day := x.query.Get("departureDate")
	if !isList || x.status == http.StatusForbidden || x.status == http.StatusGone {
		return unseen
	}
	if day != "" && !isDate(day) {
		return sameIf(x.status == http.StatusInternalServerError, "a malformed departureDate is not 500")
	}
	if day == "" && x.is("GET /rest/offers") {
		return sameIf(x.status == http.StatusBadRequest, "a missing departureDate is not 400")
	}
	return unseen
}

// legacyOrders looks at where the seat of an order stands.
func (r *Recording) legacyOrders(x *exchange) sight {
	if !x.isLegacy() || !x.ok() {
		return unseen
	}
	seen := unseen
	for _, t := range x.tickets() {
		isBeside := len(of(t, "seat")) > 0 && len(of(t, "slices", "seat")) == 0
		seen = either(seen, sameIf(isBeside, "the seat does not stand beside the slices"))
	}
	return seen
}

func (r *Recording) legacyPatch(x *exchange) sight {
	if !x.is("PATCH /rest/orders") {
		return unseen
	}
	if x.ok() {
		return sameIf(len(x.values("data")) > 0, "the answer is not a list of tickets")
	}
	status := firstText(x.sent("status"))
	isCarriers := slices.Contains([]string{"Confirmed", "NotConfirmed", "Prepaid"}, status)
	if isCarriers && r.hasKeys && x.hasKey() {
		return sameIf(x.status == http.StatusBadRequest, "a status of the carrier is not 400")
	}
	return unseen
}
