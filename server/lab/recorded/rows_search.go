package recorded

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// searchRows are about cities, stops, departures and offers.
var searchRows = []row{
	{"stops.type", (*Recording).stopsType},
	{"cities.paging", (*Recording).citiesPaging},
	{"search.days", (*Recording).searchDays},
	{"search.order", (*Recording).searchOrder},
	{"departures.departed", (*Recording).departuresDeparted},
	{"changes.window", (*Recording).changesWindow},
	{"changes.pointless", (*Recording).changesPointless},
	{"offers.parameters", (*Recording).offersParameters},
	{"offers.changed", (*Recording).offersChanged},
	{"tokens.bound", (*Recording).tokensBound},
}

// The calls that search.
const (
	getSchedule = "GET /v2/offers/schedule"
	getOffers   = "GET /v2/offers"
)

func (r *Recording) stopsType(x *exchange) sight {
	if !x.is("GET /v2/stops/{id}") || !x.ok() {
		return unseen
	}
	kind := x.text("data", "stop", "type")
	return sameIf(kind == "BUS_STATION" || kind == "BUS_STOP", "the type is neither BUS_STATION nor BUS_STOP")
}

// citiesPaging looks at the parameters of the list of cities, which the interface does not name.
func (r *Recording) citiesPaging(x *exchange) sight {
	if !x.is("GET /v2/cities") || !x.ok() && x.status != http.StatusBadRequest {
		return unseen
	}
	seen := unseen
	for _, name := range []string{"take", "limit"} {
		if x.query.Get(name) == "" {
			continue
		}
		most, err := strconv.Atoi(x.query.Get(name))
		if err != nil || most < 1 || most > 100 {
			seen = either(seen, sameIf(!x.ok(), name+" beyond its bounds was accepted"))
		} else if x.ok() {
			shown := len(x.values("data", "cities"))
			seen = either(seen, sameIf(shown <= most, "there are more cities than "+name+" says"))
		} else if x.blames(name) {
			return other(name + " within its bounds was refused")
		}
	}
	name := x.query.Get("name")
	if name != "" && length(name) < 2 {
		seen = either(seen, sameIf(!x.ok(), "a name of one character was accepted"))
	}
	country := x.query.Get("country")
	if country == "" || !x.ok() {
		return seen
	}
	for _, c := range x.values("data", "cities", "country") {
		seen = either(seen, sameIf(c == country, "country does not select cities of it"))
	}
	return seen
}

// list returns the journeys that a search shows, and when each departs and arrives.
func (x *exchange) list() (journeys []journey) {
	for _, d := range x.values("data", "departures") {
		journeys = append(journeys, journey{
			departs: timeOf(d, "departureDateTime"),
			arrives: timeOf(d, "arrivalDateTime"),
			route:   textOf(d, "routeName"),
			legs:    0, // not shown
		})
	}
	for _, o := range x.values("data", "offers") {
		slices := of(o, "slices")
		journeys = append(journeys, journey{
			departs: timeOf(o, "slices", "departureDate"),
			arrives: timeOf(o, "arrivalDate"),
			route:   textOf(o, "slices", "route", "name"),
			legs:    len(slices),
		})
	}
	return journeys
}

// journey is a row of a search.
type journey struct {
	departs, arrives time.Time
	route            string
	legs             int // 0: not shown
}

// cities returns the cities of a search, and its first day; "" is what is not given.
func (x *exchange) search() (from, to, day string) {
	day = x.query.Get("date")
	if x.pattern == getOffers {
		day = x.query.Get("departureDate")
	}
	return x.query.Get("departureCitySlug"), x.query.Get("arrivalCitySlug"), day
}

// searchDays looks at searches from a city to itself, of the past, and of cities that are not there.
func (r *Recording) searchDays(x *exchange) sight {
	if !x.is(getSchedule, getOffers) {
		return unseen
	}
	from, to, day := x.search()
	isEmpty := x.ok() && len(x.list()) == 0
	if from != "" && from == to && (x.ok() || x.status == http.StatusBadRequest) {
		return sameIf(isEmpty, "a search from a city to itself does not give an empty list")
	}
	first, err := time.Parse(time.DateOnly, day)
	const window = 16 * 24 * time.Hour // the longest one, and a day for time zones
	if err == nil && !x.at().IsZero() && first.Add(window).Before(x.at()) {
		return sameIf(isEmpty, "a search of the past does not give an empty list")
	}
	if x.pattern == getOffers && x.status == http.StatusNotFound {
		return same
	}
	return unseen
}

// searchOrder looks at journeys that depart at the same time: the interface says no more than that.
func (r *Recording) searchOrder(x *exchange) sight {
	if !x.is(getSchedule, getOffers) || !x.ok() {
		return unseen
	}
	seen := unseen
	list := x.list()
	for i := 1; i < len(list); i++ {
		before, after := list[i-1], list[i]
		switch {
		case before.departs.IsZero() || after.departs.IsZero():
		case after.departs.Before(before.departs):
			return other("a journey stands behind one that departs later")
		case !after.departs.Equal(before.departs):
		case after.arrives.Before(before.arrives):
			return other("of two journeys that depart together, the one that arrives later stands first")
		case after.arrives.Equal(before.arrives) && after.route < before.route:
			return other("of two journeys with equal times, the one with the greater route name stands first")
		default:
			seen = same
		}
	}
	return seen
}

// departuresDeparted looks at searches of the day on which they were asked.
func (r *Recording) departuresDeparted(x *exchange) sight {
	if x.is(postBooking) && x.hasReason("DEPARTED") {
		left, _ := numberOf(x.answer.value, "errors", "details", "seatsLeft")
		isFull := x.status == http.StatusConflict && left == 0
		return sameIf(isFull, "an offer that has departed does not give 409 with seatsLeft 0")
	}
	if !x.is(getSchedule, getOffers) || !x.ok() || x.at().IsZero() {
		return unseen
	}
	_, _, day := x.search()
	seen := unseen
	for _, j := range x.list() {
		if !j.departs.IsZero() && !j.departs.After(x.at()) {
			return other("a journey is listed that has departed")
		}
		if j.departs.Format(time.DateOnly) == day && j.departs.Sub(x.at()) < 24*time.Hour {
			seen = same
		}
	}
	return seen
}

// The shortest and the longest wait of a change.
const (
	shortestWait = 30 * time.Minute
	longestWait  = 8 * time.Hour
)

func (r *Recording) changesWindow(x *exchange) sight {
	seen := unseen
	for _, o := range x.values("data", "offers") {
		legs := of(o, "slices")
		if len(legs) < 2 {
			continue
		}
		if len(legs) > 2 {
			return other("an offer has more than one change")
		}
		wait := timeOf(legs[1], "departureDate").Sub(timeOf(legs[0], "arrivalDate"))
		if wait > longestWait {
			return other("a change waits for more than 8 hours")
		}
		if wait >= shortestWait { // a feed may allow less between two stops
			seen = same
		}
	}
	return seen
}

// changesPointless looks for journeys with a change that another one in the list makes pointless.
func (r *Recording) changesPointless(x *exchange) sight {
	if !x.is(getOffers) || !x.ok() {
		return unseen
	}
	seen := unseen
	list := x.list()
	for _, a := range list {
		for _, b := range list {
			if a.legs < 2 || a == b || b.legs > a.legs {
				continue
			}
			seen = either(seen, sameIf(!b.betters(a), "a change is offered although another journey is better"))
		}
	}
	return seen
}

// betters reports whether a journey leaves no earlier and arrives no later than another one, one of both
// strictly, or with fewer legs.
func (b journey) betters(a journey) bool {
	if b.departs.Before(a.departs) || b.arrives.After(a.arrives) {
		return false
	}
	return b.departs.After(a.departs) || b.arrives.Before(a.arrives) || b.legs < a.legs
}

func (r *Recording) offersParameters(x *exchange) sight {
	if !x.is(getOffers) || !x.ok() && x.status != http.StatusBadRequest {
		return unseen
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return x.query.Get(name) != "" })
	}
	whole := has("departureCitySlug", "departureCityId") && has("arrivalCitySlug", "arrivalCityId") &&
		has("departureDate")
	switch {
	case !whole:
		return sameIf(!x.ok(), "an offer was found without both cities and a day")
	case !has("passengers") && (x.ok() || x.blames("passengers")):
		return sameIf(x.ok(), "passengers is required")
	}
	return unseen
}

func (r *Recording) offersChanged(x *exchange) sight {
	if !x.is(postBooking) || !x.hasReason("CHANGED") {
		return unseen
	}
	left, isGiven := numberOf(x.answer.value, "errors", "details", "seatsLeft")
	return sameIf(x.status == http.StatusConflict && isGiven && left == 0,
		"it does not give 409 with seatsLeft 0")
}

// tokensBound looks at bookings of offers that the recording shows being found: by another partner, or in the
// schedule, where anybody finds them.
func (r *Recording) tokensBound(x *exchange) sight {
	if !r.hasKeys || !x.is(postBooking) || firstText(x.sent("offerId")) == "" {
		return unseen
	}
	isBad := x.status == http.StatusBadRequest && x.blames("offerId") && !x.hasError("OFFER_EXPIRED")
	if !x.ok() && !isBad {
		return unseen
	}
	offer := firstText(x.sent("offerId"))
	for _, y := range r.exchanges {
		switch {
		case !y.ok():
		case y.is(getSchedule) && slices.Contains(y.values("data", "departures", "id"), any(offer)):
			return sameIf(x.ok(), "an offer of the schedule cannot be booked")
		case y.is(getOffers) && slices.Contains(y.values("data", "offers", "id"), any(offer)):
			isOwn := y.request.header.Get("x-api-key") == x.request.header.Get("x-api-key")
			if isOwn {
				return unseen
			}
			return sameIf(isBad, "an offer of another partner was booked")
		}
	}
	return unseen
}

// isDate reports whether a text is a day.
func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil || strings.TrimSpace(text) == ""
}
