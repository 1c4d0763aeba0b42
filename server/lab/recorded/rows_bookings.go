package recorded

import (
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bookingRows are about bookings, tickets and what became of them.
var bookingRows = []row{
	{"bookings.currency", (*Recording).bookingsCurrency},
	{"bookings.passengers", (*Recording).bookingsPassengers},
	{"bookings.departure", (*Recording).bookingsDeparture},
	{"seats.segments", (*Recording).seatsSegments},
	{"seats.short", (*Recording).seatsShort},
	{"windows.end", (*Recording).windowsEnd},
	{"tickets.revival", (*Recording).ticketsRevival},
	{"tickets.statuses", (*Recording).ticketsStatuses},
	{"refunds.rule", (*Recording).refundsRule},
	{"preview.answer", (*Recording).previewAnswer},
	{"events.numbers", (*Recording).eventsNumbers},
	{"ticket.document", (*Recording).ticketDocument},
}

const (
	postBooking = "POST /v2/bookings"
	getSchedule = "GET /v2/offers/schedule"
	getOffers   = "GET /v2/offers"
)

// isDecided reports whether an attempt to book was taken, or refused for its body.
func (x *exchange) isDecided() bool {
	return x.is(postBooking) && x.request.isJSON && (x.ok() || x.status == http.StatusBadRequest)
}

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func (r *Recording) bookingsCurrency(x *exchange) sight {
	if !x.isDecided() || currency.MatchString(firstText(x.sent("currency"))) {
		return unseen
	}
	return sameIf(!x.ok(), "a currency of another form, or none, was accepted")
}

func (r *Recording) bookingsPassengers(x *exchange) sight {
	if !x.isDecided() {
		return unseen
	}
	list := x.sent("passengers")
	if len(list) == 0 {
		return sameIf(!x.ok(), "a booking without passengers was accepted")
	}
	seen := unseen
	for i, p := range list {
		place := "passengers[" + strconv.Itoa(i) + "]"
		for _, name := range []string{"firstName", "lastName"} {
			if strings.TrimSpace(textOf(p, name)) == "" {
				seen = either(seen, sameIf(!x.ok(), "a passenger without names was accepted"))
			}
		}
		for _, name := range []string{"email", "phones"} {
			if len(of(p, name)) == 0 && (x.ok() || x.blames(place+"."+name)) {
				seen = either(seen, sameIf(x.ok(), "a passenger without e-mail or phone was refused"))
			}
		}
	}
	return seen
}

func (r *Recording) bookingsDeparture(x *exchange) sight {
	seen := unseen
	for _, b := range x.bookings() {
		departs := timeOf(b, "departureDate")
		if departs.IsZero() {
			continue
		}
		if boards := timeOf(b, "onboardingDateTime"); !boards.Equal(departs) {
			return other("onboardingDateTime is another instant than departureDate")
		}
		for _, v := range of(b, "tickets", "slices", "departureDate") {
			text, _ := v.(string)
			leaves, err := time.Parse(time.RFC3339, text)
			if err == nil && leaves.Before(departs) {
				return other("a ticket departs before its booking")
			}
		}
		seen = same
	}
	return seen
}

var seatLabel = regexp.MustCompile(`^[1-9][0-9]{0,3}$`)

func (r *Recording) seatsSegments(x *exchange) sight {
	seen := unseen
	for _, v := range of(x.tickets(), "slices", "seat", "label") {
		label, _ := v.(string)
		if !seatLabel.MatchString(label) {
			return other("the label of a seat is not a number from 1 on")
		}
		seen = same
	}
	return seen
}

func (r *Recording) seatsShort(x *exchange) sight {
	if !x.is(postBooking) || x.status != http.StatusConflict || x.mayBeReplayed() {
		return unseen
	}
	_, isGiven := numberOf(x.answer.value, "errors", "details", "seatsLeft")
	return sameIf(isGiven, "the 409 has no details.seatsLeft")
}

// window is how long an unpaid ticket has, and how long a cancellation gives all back.
const window = 20 * time.Minute

// mayBeReplayed reports whether an answer may be of an earlier time, as it was asked for under a key.
func (x *exchange) mayBeReplayed() bool { return x.request.header.Get("Idempotency-Key") != "" }

// windowsEnd looks at tickets that have not been paid or have just lapsed. The clock is that of the answer,
// in whole seconds; tickets of a booking are as old as the booking, unless they were moved there.
func (r *Recording) windowsEnd(x *exchange) sight {
	now := x.at()
	seen := unseen
	if x.mayBeReplayed() {
		return unseen
	}
	for _, b := range x.bookings() {
		created := timeOf(b, "createdAt")
		if now.IsZero() || created.IsZero() {
			continue
		}
		age := now.Sub(created)
		for _, t := range of(b, "tickets") {
			hasLapsed := textOf(t, "status") == "Uncompleted"
			isWaiting := textOf(t, "status") == "Processing" && textOf(t, "paymentStatus") == "Unpaid"
			switch {
			case hasLapsed && age < window-time.Second:
				return other("a ticket is Uncompleted before its 20 minutes are over")
			case isWaiting && age > window+time.Second:
				return other("a ticket is not Uncompleted after its 20 minutes")
			case hasLapsed:
				seen = same
			}
		}
	}
	return seen
}

// ticketsRevival looks at what is paid or booked after the recording has shown it Uncompleted.
func (r *Recording) ticketsRevival(x *exchange) sight {
	if !x.is("POST /v2/bookings/{id}/pay", "POST /v2/bookings/{id}/book") {
		return unseen
	}
	lapsed := r.lapsedBefore(x)
	if len(lapsed) == 0 {
		return unseen
	}
	if x.status == http.StatusConflict {
		named := x.values("errors", "details", "ordersIds")
		return sameIf(len(named) > 0, "the 409 does not name the tickets")
	}
	for _, t := range x.tickets() {
		if slices.Contains(lapsed, textOf(t, "id")) && textOf(t, "status") == "Confirmed" {
			return same
		}
	}
	return unseen
}

// lapsedBefore returns the tickets of a booking that the last answer about it before an exchange has shown
// Uncompleted.
func (r *Recording) lapsedBefore(x *exchange) (ids []string) {
	for _, y := range r.exchanges {
		if y == x {
			break
		}
		for _, b := range y.bookings() {
			if textOf(b, "id") != x.vars["id"] {
				continue
			}
			ids = nil
			for _, t := range of(b, "tickets") {
				if textOf(t, "status") == "Uncompleted" {
					ids = append(ids, textOf(t, "id"))
				}
			}
		}
	}
	return ids
}

// states are those of a ticket, status and paymentStatus, that a table of the row has. Those of the carrier
// stand beside any payment that is not over.
var states = map[string][]string{
	"Processing":   {"Unpaid"},
	"Confirmed":    {"Booked", "Paid", "Unpaid"},
	"NotConfirmed": {"Unpaid", "Booked", "Paid"},
	"Prepaid":      {"Unpaid", "Booked", "Paid"},
	"Uncompleted":  {"Unpaid"},
	"Canceled":     {"Unpaid", "Booked", "Paid"},
	"Refund":       {"Paid"},
}

func (r *Recording) ticketsStatuses(x *exchange) sight {
	seen := unseen
	for _, t := range x.tickets() {
		if !slices.Contains(states[textOf(t, "status")], textOf(t, "paymentStatus")) {
			return other("status and paymentStatus of a ticket do not go together")
		}
		seen = same
	}
	for _, b := range x.bookings() {
		if x.mayBeReplayed() {
			break
		}
		seen = either(seen, statusByTime(b, x.at()))
	}
	return seen
}

// statusByTime looks at the status of a booking that is not canceled, by the clock of the answer.
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

// refundsRule looks at tickets that a cancellation has refunded, where the recording has shown their rules:
// of journeys without a change, as the shares of two legs are not shown to be told apart.
func (r *Recording) refundsRule(x *exchange) sight {
	now := x.at()
	if !x.is("POST /v2/bookings/{id}/cancel") || !x.ok() || now.IsZero() {
		return unseen
	}
	seen := unseen
	for _, b := range x.bookings() {
		age := now.Sub(timeOf(b, "createdAt"))
		left := timeOf(b, "departureDate").Sub(now)
		for _, t := range of(b, "tickets") {
			paid, isPrice := numberOf(t, "price", "amount")
			back, isRefund := numberOf(t, "refundAmount")
			rules := r.rulesOf(textOf(t, "id"))
			updated := timeOf(b, "updatedAt").Sub(now).Abs() <= 2*time.Second
			if !isPrice || !isRefund || !updated || len(rules) == 0 || len(of(t, "slices")) != 1 {
				continue
			}
			if age <= window+time.Second { // the interface says what comes back within it
				continue
			}
			early, late := refund(rules, paid, left+time.Second), refund(rules, paid, left-time.Second)
			holds := math.Abs(back-early) < 0.005 || math.Abs(back-late) < 0.005
			seen = either(seen, sameIf(holds, "the refund is not by the rule with the most hours that applies"))
		}
	}
	return seen
}

// rulesOf returns the refund rules that the recording has shown for a ticket.
func (r *Recording) rulesOf(ticket string) (rules []any) {
	for _, y := range r.exchanges {
		for _, order := range y.values("data", "refundRules") {
			if textOf(order, "orderId") == ticket {
				rules = of(order, "rules")
			}
		}
	}
	return rules
}

// refund returns what comes back of a price so long before departure: by the rule with the most hours that
// applies, half a cent rounded up.
func refund(rules []any, price float64, left time.Duration) float64 {
	most := -1.0
	percent := 0.0
	for _, rule := range rules {
		hours, _ := numberOf(rule, "hours")
		if left.Hours() >= hours && hours > most {
			most = hours
			percent, _ = numberOf(rule, "amount")
		}
	}
	return math.Floor(price*percent+0.5+1e-9) / 100
}

// beyond is what is shown of a call that the interface does not have, and this program does: there, or not.
func (x *exchange) beyond() sight {
	if x.ok() {
		return same
	}
	gone := x.status == http.StatusNotFound || x.status == http.StatusMethodNotAllowed
	if gone {
		return other("there is no such call")
	}
	return unseen
}

// ofKnown is beyond of a call about a booking or a ticket that the recording shows elsewhere: else a 404 may
// be of that.
func (r *Recording) ofKnown(x *exchange) sight {
	isKnown := slices.ContainsFunc(r.exchanges, func(y *exchange) bool {
		return y != x && y.ok() && y.vars["id"] == x.vars["id"] &&
			y.request.header.Get("x-api-key") == x.request.header.Get("x-api-key")
	})
	if x.status == http.StatusNotFound && !isKnown {
		return unseen
	}
	return x.beyond()
}

func (r *Recording) previewAnswer(x *exchange) sight {
	if !strings.HasSuffix(x.pattern, "/preview") {
		return unseen
	}
	if x.ok() && len(x.values("data", "allowed")) == 0 {
		return other("a preview has no member allowed")
	}
	return r.ofKnown(x)
}

func (r *Recording) eventsNumbers(x *exchange) sight {
	if !x.is("GET /v2/events") {
		return unseen
	}
	last := -1.0
	for _, e := range x.values("data", "events") {
		seq, _ := numberOf(e, "seq")
		if seq <= last {
			return other("seq does not rise")
		}
		last = seq
	}
	return x.beyond()
}

func (r *Recording) ticketDocument(x *exchange) sight {
	if !x.is("GET /v2/tickets/{id}/document") {
		return unseen
	}
	if x.ok() {
		return sameIf(!strings.Contains(string(x.answer.body), "<script"), "the document has a script")
	}
	return r.ofKnown(x)
}
