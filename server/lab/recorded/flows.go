package recorded

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// flows is what the exchanges of a recording show together. It is held against sentences of the interface
// alone, and a contradiction is only what no call outside the recording could explain.
type flows struct {
	lies    *findings
	tickets map[string][]sighting // by id: of each state the first and the last one
	created map[string]*sale      // by the id of a booking
	begins  map[string]*sale      // by the id of a ticket
	offers  map[string]time.Time  // until when an offer may be valid, by its id
	exact   map[string]time.Time  // when it expires, where an answer said so
	rules   map[string][]any      // refund rules, by the id of a ticket
	first   map[string]*exchange  // under each Idempotency-Key
	rows    map[string]string     // what is said of rows of decisions.md
}

// sighting is a ticket as an answer has shown it.
type sighting struct {
	x      *exchange
	ticket any
	state  string
}

// sale is the creation of a booking, as its answer has shown it.
type sale struct {
	at      time.Time
	tickets []string // their ids, sorted
}

// The states of a ticket, by the table of the interface.
const (
	unpaid      = "Unpaid"
	uncompleted = "Uncompleted"
	booked      = "Booked"
	paid        = "Paid"
	canceled    = "Canceled"
	refunded    = "Refund"
)

// stateOf returns the state of a ticket; "" where status and paymentStatus are none of the interface.
func stateOf(ticket any) string {
	status, payment := textOf(ticket, "status"), textOf(ticket, "paymentStatus")
	switch {
	case status == canceled || status == refunded:
		return status
	case payment == paid || payment == booked:
		return payment
	case payment == unpaid && status == uncompleted:
		return uncompleted
	case payment == unpaid:
		return unpaid
	}
	return ""
}

// later are the states that calls and time can bring a ticket into, whatever else happens.
var later = map[string][]string{
	unpaid:      {unpaid, uncompleted, booked, paid, canceled, refunded},
	uncompleted: {uncompleted, booked, paid, canceled, refunded},
	booked:      {booked, paid, canceled, refunded},
	paid:        {paid, canceled, refunded},
	canceled:    {canceled},
	refunded:    {refunded},
}

// act is a call that moves tickets: in which states it refuses them, and in which it leaves them, whatever
// other calls do at the same time.
type act struct{ refuses, leaves []string }

var acts = map[string]act{
	postPay:                       {[]string{paid, canceled, refunded}, []string{paid, canceled, refunded}},
	"POST /v2/bookings/{id}/book": {[]string{booked, paid, canceled, refunded}, later[booked]},
	postCancel:                    {[]string{canceled, refunded}, []string{canceled, refunded}},
}

// The calls that are looked at by name.
const (
	postBooking = "POST /v2/bookings"
	postPay     = "POST /v2/bookings/{id}/pay"
	postCancel  = "POST /v2/bookings/{id}/cancel"
	getSchedule = "GET /v2/offers/schedule"
	getOffers   = "GET /v2/offers"
)

// window is how long an unpaid ticket has, and how long a cancellation gives all back.
const window = 20 * time.Minute

// ownSource is the service's own source of offers.
const ownSource = "Service"

// How far the clock of an answer, in whole seconds, may be from the moment that it tells of.
const (
	headStart = time.Second     // it was made up to so much later
	slowness  = 5 * time.Second // or so much earlier
)

// judge says what the recording contradicts of the interface over several of its exchanges, or inside an
// answer between one member and another.
func (r *Recording) judge(lies *findings) *flows {
	f := r.flows(lies)
	for _, x := range r.exchanges {
		for _, row := range rows {
			f.show(row.id, x, row.check(x))
		}
		f.show("idempotency.key", x, f.again(x))
		f.offer(x)
		f.refusal(x)
		if !x.isV2() || !x.ok() || !x.answer.isJSON {
			continue
		}
		f.list(x)
		f.echo(x)
		f.sale(x)
		f.move(x)
		for _, b := range x.bookings() {
			f.booking(x, b)
			f.time(x, b)
		}
		for _, s := range x.sightings() {
			f.state(s)
			f.money(s)
		}
	}
	f.seats()
	return f
}

// flows collects what is looked up.
func (r *Recording) flows(lies *findings) *flows {
	f := &flows{
		lies:    lies,
		tickets: map[string][]sighting{},
		created: map[string]*sale{},
		begins:  map[string]*sale{},
		offers:  map[string]time.Time{},
		exact:   map[string]time.Time{},
		rules:   map[string][]any{},
		first:   map[string]*exchange{},
		rows:    map[string]string{},
	}
	for i, x := range r.exchanges {
		x.number = i
		if key := x.key(); key != "" && f.first[key] == nil {
			f.first[key] = x
		}
		if !x.isV2() || !x.ok() {
			continue
		}
		for _, s := range x.sightings() {
			f.noteTicket(s)
		}
		for _, order := range x.values("data", "refundRules") {
			f.rules[textOf(order, "orderId")] = of(order, "rules")
		}
		for _, o := range x.values("data", "offers") {
			f.exact[textOf(o, "id")] = timeOf(o, "expiresAt")
		}
		for _, d := range append(x.values("data", "offers"), x.values("data", "departures")...) {
			if id := textOf(d, "id"); !x.at().IsZero() && f.offers[id].IsZero() {
				f.offers[id] = x.at().Add(headStart + window)
			}
		}
		if x.is(postBooking) {
			f.noteSale(x)
		}
	}
	return f
}

// noteTicket notes what an answer shows of a ticket.
func (f *flows) noteTicket(s sighting) {
	id := textOf(s.ticket, "id")
	list := f.tickets[id]
	known := 0
	for i := range list {
		if list[i].state != s.state {
			continue
		}
		if known++; known == 2 {
			list[i] = s
			return
		}
	}
	f.tickets[id] = append(list, s)
}

// noteSale notes the creation of a booking, unless the answer may be of an earlier one. An id that another
// one had is a lie.
func (f *flows) noteSale(x *exchange) {
	for _, b := range x.bookings() {
		s := &sale{at: x.at()}
		at := timeOf(b, "createdAt")
		age := x.at().Sub(at)
		isNew := age >= -headStart && age < time.Minute
		if isNew {
			s.at = at // it is exact
		}
		if x.mayBeOld() && (!isNew || f.first[x.key()] != x) {
			continue
		}
		s.tickets = texts(of(b, "tickets", "id"))
		for _, id := range s.tickets {
			if f.begins[id] != nil {
				f.lies.add(x, "a new ticket has the id of another one")
			}
			f.begins[id] = s
		}
		if id := textOf(b, "id"); f.created[id] != nil {
			f.lies.add(x, "a new booking has the id of another one")
		} else {
			f.created[id] = s
		}
	}
}

// sightings are the tickets that an answer shows.
func (x *exchange) sightings() (list []sighting) {
	for _, t := range x.tickets() {
		list = append(list, sighting{x, t, stateOf(t)})
	}
	return list
}

// mayBeOld reports whether an answer may tell of an earlier time: it repeats what was answered under a key,
// or somebody kept it.
func (x *exchange) mayBeOld() bool {
	return x.request.header.Get("Idempotency-Key") != "" || x.answer.header.Get("Age") != ""
}

// precedes reports whether an exchange surely ended before another one began.
func (x *exchange) precedes(y *exchange) bool {
	if !x.at().IsZero() && !y.at().IsZero() && x.at().After(y.at()) {
		return false
	}
	isKnown := !x.ended.IsZero() && !y.began.IsZero()
	return x.number < y.number && (!isKnown || x.ended.Before(y.began)) // unless the recorder's clock jumped
}

// state holds a ticket against what earlier answers have shown of it.
func (f *flows) state(s sighting) {
	if s.state == "" || s.x.mayBeOld() {
		return
	}
	for _, had := range f.tickets[textOf(s.ticket, "id")] {
		if !had.x.precedes(s.x) || had.state == "" {
			continue
		}
		isOwn := textOf(s.ticket, "source") == ownSource
		switch {
		case !slices.Contains(later[had.state], s.state),
			had.state == paid && s.state == canceled && isOwn:
			f.lies.add(s.x, "a ticket is "+s.state+" after it was "+had.state)
			return
		case had.state == paid && s.state == refunded && textOf(s.ticket, "source") != "" && !isOwn:
			f.lies.add(s.x, "a ticket of another source is Refund, not Canceled")
			return
		}
	}
}

// move holds a call that was taken against the states of the tickets that it names, before and after it.
func (f *flows) move(x *exchange) {
	act, isAct := acts[x.pattern]
	if !isAct || x.mayBeOld() || x.request.lost {
		return
	}
	named := x.targets()
	if !areAmong(texts(named), texts(of(x.tickets(), "id"))) {
		f.lies.add(x, "a ticket that was named is not in the booking, but there is no 404")
	}
	for _, s := range x.sightings() {
		id := textOf(s.ticket, "id")
		if len(named) > 0 && !slices.Contains(named, any(id)) {
			continue
		}
		for _, had := range f.tickets[id] {
			if had.state == uncompleted && had.x.precedes(x) && x.is(postPay) && s.state == paid {
				f.show("tickets.revival", x, same)
			}
			if had.x.precedes(x) && slices.Contains(act.refuses, had.state) {
				f.lies.add(x, "a ticket was "+had.state+" before, but there is no 409")
				break
			}
		}
		if s.state != "" && !slices.Contains(act.leaves, s.state) {
			f.lies.add(x, "a ticket is "+s.state+" behind it")
		}
	}
}

// refusal holds the tickets that a 409 names against those that were meant.
func (f *flows) refusal(x *exchange) {
	named := texts(x.targets())
	if len(named) > 0 && !areAmong(texts(x.values("errors", "details", "ordersIds")), named) {
		f.lies.add(x, "a ticket is refused that was not named")
	}
}

// areAmong reports whether all texts of a list are in another one.
func areAmong(list, others []string) bool {
	return !slices.ContainsFunc(list, func(text string) bool { return !slices.Contains(others, text) })
}

// texts returns values as texts, sorted.
func texts(values []any) (list []string) {
	for _, v := range values {
		list = append(list, fmt.Sprint(v))
	}
	slices.Sort(list)
	return list
}

// targets are the ids of tickets that the body of a call names; none stands for all.
func (x *exchange) targets() []any {
	if ids := x.sent("ticketIds"); len(ids) > 0 {
		return ids
	}
	return x.sent("orderIds")
}

// time holds the tickets of a booking against the 20 minutes that they have: surely those whose creation was
// recorded. Others are as old as their booking, unless they were moved there.
func (f *flows) time(x *exchange, b any) {
	now := x.at()
	if now.IsZero() || x.mayBeOld() {
		return
	}
	for _, t := range of(b, "tickets") {
		sold := f.begins[textOf(t, "id")]
		created := timeOf(b, "createdAt")
		if sold != nil {
			created = sold.at
		}
		wrong := ""
		waits := textOf(t, "status") == "Processing" && stateOf(t) == unpaid
		switch age := now.Sub(created); {
		case created.IsZero():
			continue
		case stateOf(t) == uncompleted && age+headStart < window:
			wrong = "a ticket is Uncompleted within 20 minutes of its creation"
		case waits && age-slowness > window:
			wrong = "an unpaid ticket is not Uncompleted 20 minutes after its creation"
		case stateOf(t) != uncompleted:
			continue
		}
		if wrong != "" && sold != nil {
			f.lies.add(x, wrong)
		}
		f.show("windows.end", x, sight{true, wrong})
	}
}

// offer holds the end of an offer against its 20 minutes, and what was sold or refused against its end.
func (f *flows) offer(x *exchange) {
	now := x.at()
	if !x.isV2() || now.IsZero() {
		return
	}
	for _, o := range x.values("data", "offers") {
		if timeOf(o, "expiresAt").After(now.Add(headStart + window)) {
			f.lies.add(x, "an offer expires later than in 20 minutes")
		}
	}
	id := firstText(x.sent("offerId"))
	if !x.is(postBooking) || x.mayBeOld() || id == "" {
		return
	}
	exact, most := f.exact[id], f.offers[id]
	switch {
	case !x.ok():
		if firstText(x.values("errors", "errorCode")) == "OFFER_EXPIRED" && now.Add(headStart).Before(exact) {
			f.lies.add(x, "an offer has expired before its expiresAt")
		}
	case !exact.IsZero() && now.Add(-slowness).After(exact), !most.IsZero() && now.Add(-slowness).After(most):
		f.lies.add(x, "an offer that has expired was sold")
	}
}

// sale holds a new booking against what was asked for.
func (f *flows) sale(x *exchange) {
	if !x.is(postBooking) {
		return
	}
	for _, b := range x.bookings() {
		if len(of(b, "tickets")) < len(x.sent("passengers")) {
			f.lies.add(x, "the booking has fewer tickets than passengers")
		}
		until, created := timeOf(b, "paymentRequiredBy"), timeOf(b, "createdAt")
		off := until.Sub(created.Add(window)).Abs()
		if !until.IsZero() && !created.IsZero() && off > 2*time.Second {
			f.lies.add(x, "paymentRequiredBy is not 20 minutes after the creation")
		}
	}
}

// booking holds the members of a booking against each other.
func (f *flows) booking(x *exchange, b any) {
	ids := texts(of(b, "tickets", "id"))
	isWaiting, isLiving, mayBePaid := false, false, false
	for _, t := range of(b, "tickets") {
		state := stateOf(t)
		isWaiting = isWaiting || state == unpaid && textOf(t, "status") == "Processing"
		isLiving = isLiving || state != canceled && state != refunded
		mayBePaid = mayBePaid || state == unpaid || state == ""
		if of := textOf(t, "bookingId"); of != "" && of != textOf(b, "id") {
			f.lies.add(x, "a ticket has another bookingId than its booking")
		}
	}
	if len(slices.Compact(slices.Clone(ids))) < len(ids) {
		f.lies.add(x, "two tickets have one id")
	}
	until := of(b, "paymentRequiredBy")
	if len(until) == 1 && until[0] == nil && isWaiting {
		f.lies.add(x, "paymentRequiredBy is null, though a ticket is unpaid")
	}
	if !x.mayBeOld() {
		f.show("tickets.statuses", x, statusByTime(b, x.at()))
	}
	status := textOf(b, "status")
	if status == canceled && isLiving {
		f.lies.add(x, "the booking is Canceled, though a ticket is not")
	}
	// Others may have tickets in a booking, which are not shown; not in one that is as it was sold.
	sold := f.created[textOf(b, "id")]
	if sold == nil || len(ids) == 0 || !slices.Equal(sold.tickets, ids) {
		return
	}
	if status != "" && status != canceled && !isLiving {
		f.lies.add(x, "the booking is not Canceled, though all its tickets are")
	}
	if textOf(b, "paymentRequiredBy") != "" && !mayBePaid {
		f.lies.add(x, "paymentRequiredBy is not null, though no ticket is unpaid")
	}
}

// statusByTime looks at the status of a booking that is not canceled, by the clock of the answer. The
// interface gives no exact bounds: these are of decisions.md.
func statusByTime(b any, now time.Time) sight {
	departs := timeOf(b, "departureDate")
	status := textOf(b, "status")
	if departs.IsZero() || now.IsZero() || status == "Canceled" {
		return unseen
	}
	want := func(at time.Time) string {
		switch {
		case at.Before(departs.Add(-8 * time.Hour)):
			return "Upcoming"
		case at.Before(departs):
			return "Boarding"
		case at.Before(departs.Add(24 * time.Hour)):
			return "InTransit"
		}
		return "Completed"
	}
	// The answer's clock is in whole seconds, and was read before or after the status was.
	early, late := want(now.Add(-time.Second)), want(now.Add(time.Second))
	return sameIf(status == early || status == late, "the booking has another status at that time")
}

// echoes are members of answers that the request has said: in a variable of its path, as a parameter of its
// query, or as a member of its body. With a default, they are that where it has not.
var echoes = []struct{ call, sent, member, otherwise string }{
	{"GET /v2/cities/{slug}", "slug", "city slug", ""},
	{"GET /v2/stops/{id}", "id", "stop id", ""},
	{"GET /v2/tickets/{id}", "id", "ticket id", ""},
	{"PATCH /v2/geolocation/fms-objects/{fmsObjectId}", "fmsObjectId", "fmsObject id", ""},
	{"PATCH /v2/geolocation/fms-objects/{fmsObjectId}", "isGeolocation", "fmsObject isGeolocation", ""},
	{"POST /v2/reports/company/orders", "orderBy", "report orderBy", "DepartureDate"},
	{getSchedule, "passengers", "passengers", "1"},
	{getSchedule, "currency", "currency", "UAH"},
	{getSchedule, "currency", "departures price currency", "UAH"},
}

// echo holds what an answer repeats against what the request said.
func (f *flows) echo(x *exchange) {
	for _, e := range echoes {
		if !x.is(e.call) {
			continue
		}
		want := x.vars[e.sent]
		if want == "" {
			want = x.query.Get(e.sent)
		}
		for _, v := range x.sent(e.sent) {
			want = fmt.Sprint(v)
		}
		if want == "" && !x.request.lost {
			want = e.otherwise
		}
		for _, v := range x.values(append([]string{"data"}, strings.Fields(e.member)...)...) {
			if v != nil && want != "" && !strings.EqualFold(fmt.Sprint(v), want) {
				place := strings.ReplaceAll(e.member, " ", ".")
				f.lies.add(x, "data."+place+" is not the "+e.sent+" of the request")
				break
			}
		}
	}
}

// key returns under which Idempotency-Key of whom an exchange is; "" is under none.
func (x *exchange) key() string {
	h := x.request.header
	if h.Get("Idempotency-Key") == "" {
		return ""
	}
	return x.method + " " + h.Get("Idempotency-Key") + " " + h.Get("x-api-key")
}

// again returns what a repetition under a key shows: what came first is what is answered again.
func (f *flows) again(x *exchange) sight {
	first := f.first[x.key()]
	isKept := first != nil && (first.ok() || first.status == http.StatusConflict)
	switch {
	case !isKept || first == x || firstText(first.values("errors", "details", "reason")) == "IN_PROGRESS":
		return unseen
	case first.path != x.path || string(first.request.body) != string(x.request.body):
		is422 := x.status == http.StatusUnprocessableEntity
		return sameIf(is422, "another request under the same key is not 422")
	}
	replayed := x.answer.header.Get("Idempotent-Replayed") == "true"
	again := first.status == x.status && string(first.answer.body) == string(x.answer.body)
	return sameIf(again && replayed, "a repetition under the same key is not answered as the first one")
}
