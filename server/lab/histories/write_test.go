package histories

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// begins are where histories begin: one after another fits on the same two servers, unless an earlier one has
// gone further. They meet the days on which clocks change, and those on which discounts begin and end.
var begins = [...]time.Duration{
	0, 12 * day, 24 * day, 29*day + 13*time.Hour, 36 * day, 60 * day, 75 * day, 154 * day,
}

const day = 24 * time.Hour

// stepNumbers is how many numbers a history has for its steps.
const stepNumbers = 1000

// author writes a history, knowing no answer.
type author struct {
	rnd      *rand.Rand
	first    int // the number before that of its first step
	steps    []step
	searches []search
	sales    []sale
	legacy   []int // steps that called the legacy interface

	// Most of a history is about one pair of cities and one day, so that its buses are full.
	pair [2]string
	on   string
}

// search is a step that looks for journeys.
type search struct {
	number, who int // nobodyAsks: its offers are anybody's
	from, to    string
}

// sale is a step that books.
type sale struct {
	number, who, tickets int
	of                   search
}

// write returns the history of a number.
func write(number int) []step {
	a := &author{
		rnd:   rand.New(rand.NewPCG(uint64(number), 0)),
		first: number * stepNumbers,
	}
	begin := begins[number%len(begins)]
	a.pair = pick(a, pairs[:]...)
	a.on = start.Add(begin).AddDate(0, 0, a.rnd.IntN(4)).Format(time.DateOnly)
	a.moveClock("start", begin)
	for range 4 + a.rnd.IntN(12) {
		a.act()
	}
	a.lookAtAll()
	return a.steps
}

// oneIn reports true once in so many times.
func (a *author) oneIn(times int) bool { return a.rnd.IntN(times) == 0 }

// pick returns one of some.
func pick[T any](a *author, from ...T) T { return from[a.rnd.IntN(len(from))] }

// add appends a step, and returns its number.
func (a *author) add(s step) int {
	s.number = a.first + len(a.steps) + 1
	a.steps = append(a.steps, s)
	if strings.HasPrefix(s.target, "/rest/") {
		a.legacy = append(a.legacy, s.number)
	}
	return s.number
}

// act appends what somebody does.
func (a *author) act() {
	if len(a.sales) == 0 {
		a.sell()
		return
	}
	of := pick(a, a.sales...)
	switch n := a.rnd.IntN(100); {
	case n < 20:
		a.sell()
	case n < 23:
		a.look(a.schedule())
	case n < 40:
		a.settle("pay")
	case n < 49:
		a.settle("book")
	case n < 60:
		a.settle("cancel")
	case n < 76:
		a.waitFor()
	case n < 82:
		a.takeOver(of)
	case n < 88:
		a.giveBack(of)
	case n < 91:
		a.comeTooLate(of)
	default:
		a.read()
	}
}

// takeOver appends that a booking is not paid in time, its seats are sold to others, and it is paid then.
func (a *author) takeOver(of sale) {
	a.moveClock(fmt.Sprintf("c%d", of.number), 20*time.Minute)
	found := a.searchAgain(of)
	for range 1 + a.rnd.IntN(2) {
		a.sellOffer(found, of.who)
	}
	what := pick(a, "pay", "pay", "book")
	a.add(step{who: of.who, method: "POST", target: fmt.Sprintf("/v2/bookings/{b%d}/%s", of.number, what)})
	a.lookAfter(of)
}

// giveBack appends that a booking is paid, and canceled when a refund rule begins or ends to apply.
func (a *author) giveBack(of sale) {
	act := fmt.Sprintf("/v2/bookings/{b%d}/", of.number)
	a.add(step{who: of.who, method: "POST", target: act + "pay"})
	if a.oneIn(4) {
		a.moveClock(fmt.Sprintf("c%d", of.number), 20*time.Minute-a.edge())
	} else {
		a.moveClock(fmt.Sprintf("d%d", of.number), a.edge()-pick(a, tiers[:]...)*time.Hour)
	}
	a.add(step{who: of.who, method: "POST", target: act + "cancel"})
	a.lookAfter(of)
}

// tiers are the hours of the feed's refund rules.
var tiers = [...]time.Duration{72, 48, 24, 24, 12, 2, 1}

// edge is a millisecond before or after an instant, or none.
func (a *author) edge() time.Duration { return pick(a, -time.Millisecond, 0, 0, time.Millisecond) }

// comeTooLate appends a search just before a run leaves, and a booking when it leaves.
func (a *author) comeTooLate(of sale) {
	departure := fmt.Sprintf("d%d", of.number)
	a.moveClock(departure, -5*time.Minute)
	found := a.searchAgain(of)
	a.moveClock(departure, a.edge())
	a.sellOffer(found, of.who)
}

// searchAgain appends a search for what leaves when a booking does.
func (a *author) searchAgain(of sale) search {
	const offers = "/v2/offers?departureCitySlug=%s&arrivalCitySlug=%s&departureDate={d%dday}"
	found := search{who: of.who, from: of.of.from, to: of.of.to}
	found.number = a.add(step{
		who:    of.who,
		method: "GET",
		target: fmt.Sprintf(offers, found.from, found.to, of.number),
	})
	return found
}

// pairs are the cities between which somebody goes.
var pairs = [...][2]string{
	{"alpha", "gamma"}, {"alpha", "beta"}, {"beta", "gamma"}, {"gamma", "delta"}, {"alpha", "delta"},
	{"beta", "delta"},
}

// sell appends a search and a booking of what it finds, or a booking of what an earlier search has found.
func (a *author) sell() {
	var of search
	if len(a.searches) > 0 && a.oneIn(4) {
		of = pick(a, a.searches...)
	} else {
		of = a.search()
	}
	who := of.who
	if who == nobodyAsks || a.oneIn(20) { // an offer of another partner is none
		who = 1 + a.rnd.IntN(2)
	}
	a.sellOffer(of, who)
}

// sellOffer appends a booking of what a search has found.
func (a *author) sellOffer(of search, who int) {
	tickets := pick(a, 1, 1, 1, 2, 2, 3, 4)
	passengers := make([]string, tickets)
	for i := range passengers {
		passengers[i] = pick(a, people[:]...)
		if a.oneIn(60) {
			passengers[i] = nobodyOfAName
		}
	}
	const body = `{"offerId":"{o%d}","currency":"%s","passengers":[%s]}`
	s := step{
		who:    who,
		method: "POST",
		target: "/v2/bookings",
		body:   fmt.Sprintf(body, of.number, pick(a, currencies[:]...), strings.Join(passengers, ",")),
	}
	if a.oneIn(8) {
		s.target = "/rest/orders"
		s.body = strings.Replace(s.body, "{", `{"price":1,"source":"any",`, 1)
	}
	number := a.add(s)
	a.sales = append(a.sales, sale{number, who, tickets, of})
	a.lookAfter(a.sales[len(a.sales)-1])
}

// currencies are what is paid in: mostly what everything is sold in, and at times what nothing is.
var currencies = [...]string{
	"UAH", "UAH", "UAH", "UAH", "UAH", "UAH", "UAH", "UAH", "UAH", "EUR", "EUR", "PLN",
}

// nobodyOfAName is a passenger whom no server takes.
const nobodyOfAName = `{"firstName":" ","lastName":"Blank"}`

// people are passengers.
var people = [...]string{
	`{"firstName":"Lesia","lastName":"Ukrainka"}`,
	`{"firstName":"Іван","lastName":"Франко","email":"ivan@example.com"}`,
	`{"firstName":"Zoë","lastName":"D'Aub","phones":[{"phone":"+380 44 555-01-00"}]}`,
	`{"firstName":"Olha","lastName":"K","email":"o@example.com","phones":[{"phone":"380445550101"},{"phone":"(044) 55501"}]}`,
	`{"firstName":"Ada","lastName":"Long Name-Long"}`,
	`{"firstName":"Max","lastName":"Muster"}`,
	`{"firstName":"Eva","lastName":"Nowa"}`,
	`{"firstName":"Petro","lastName":"M"}`,
}

// search appends a search whose first or a later journey is kept.
func (a *author) search() search {
	pair := a.pair
	on := a.on
	if a.oneIn(3) {
		pair = pick(a, pairs[:]...)
		on = fmt.Sprintf("{day+%d}", a.rnd.IntN(5))
	}
	s := search{who: 1 + a.rnd.IntN(2), from: pair[0], to: pair[1]}
	ask := step{who: s.who, method: "GET", choice: pick(a, 0, 0, 0, 0, 1, 2)}
	switch a.rnd.IntN(8) {
	case 0:
		s.who = nobodyAsks
		ask.who = nobodyAsks
		ask.target = fmt.Sprintf("/v2/offers/schedule?departureCitySlug=%s&arrivalCitySlug=%s&date=%s", s.from, s.to, on)
	case 1:
		ask.target = fmt.Sprintf("/rest/offers?departureCitySlug=%s&arrivalCitySlug=%s&departureDate=%s&passengersQty=%d",
			s.from, s.to, on, 1+a.rnd.IntN(3))
	default:
		ask.target = fmt.Sprintf("/v2/offers?departureCitySlug=%s&arrivalCitySlug=%s&departureDate=%s", s.from, s.to, on)
		if a.oneIn(3) {
			ask.target += fmt.Sprintf("&passengers=%d", 1+a.rnd.IntN(4))
		}
	}
	s.number = a.add(ask)
	a.searches = append(a.searches, s)
	return s
}

// schedule is a question that books nothing.
func (a *author) schedule() step {
	pair := pick(a, a.pair, pick(a, pairs[:]...))
	target := fmt.Sprintf("/v2/offers/schedule?departureCitySlug=%s&arrivalCitySlug=%s&date={day+%d}&days=%d", pair[0],
		pair[1], a.rnd.IntN(4), pick(a, 1, 1, 2, 3))
	if a.oneIn(3) {
		target += "&currency=" + pick(a, "UAH", "EUR", "CZK") + "&language=" + pick(a, "UK", "EN", "PL")
	}
	if a.oneIn(3) {
		target += fmt.Sprintf("&take=%d&skip=%d", 1+a.rnd.IntN(3), a.rnd.IntN(3))
	}
	if a.oneIn(3) {
		target += fmt.Sprintf("&passengers=%d", 1+a.rnd.IntN(5))
	}
	return step{method: "GET", target: target}
}

// settle appends that tickets of a booking are paid, booked or canceled: all or some, sometimes those of
// others.
func (a *author) settle(what string) {
	of := pick(a, a.sales...)
	s := step{who: of.who, method: "POST", target: fmt.Sprintf("/v2/bookings/{b%d}/%s", of.number, what)}
	some := a.someOf(of)
	switch a.rnd.IntN(12) {
	case 0, 1:
		s.body = fmt.Sprintf(`{"ticketIds":[%s]}`, some)
	case 2:
		s.body = fmt.Sprintf(`{"orderIds":[%s]}`, some)
	case 3:
		s.body = fmt.Sprintf(`{"ticketIds":[%s],"orderIds":[%s]}`, some, a.someOf(pick(a, a.sales...)))
	case 4:
		s.body = fmt.Sprintf(`{"ticketIds":[%s]}`, a.someOf(pick(a, a.sales...)))
	case 5:
		s.body = pick(a, `{"ticketIds":["no-such-ticket"]}`, `{"ticketIds":[]}`, `{}`)
	case 6:
		s.who = pick(a, 1, 2, 1, 2, strangerAsks, nobodyAsks)
	case 7, 8:
		ids := some
		if a.oneIn(2) {
			ids += "," + a.someOf(pick(a, a.sales...))
		}
		s.method = "PATCH"
		s.target = "/rest/orders"
		s.body = fmt.Sprintf(`{"ordersIds":[%s],%s}`, ids, legacyActs[what])
	}
	a.add(s)
	a.lookAfter(of)
}

// legacyActs are what the legacy interface calls the acts.
var legacyActs = map[string]string{
	"pay":    `"paymentStatus":"Paid"`,
	"book":   `"paymentStatus":"Booked"`,
	"cancel": `"status":"Canceled"`,
}

// someOf names some of a booking's tickets, at least one, in any order.
func (a *author) someOf(of sale) string {
	var ids []string
	for _, i := range a.rnd.Perm(of.tickets)[:1+a.rnd.IntN(of.tickets)] {
		ids = append(ids, fmt.Sprintf(`"{b%dt%d}"`, of.number, i+1))
	}
	return strings.Join(ids, ",")
}

// waitFor appends that the clock is moved: mostly to the millisecond at which something ends, or to one
// beside it.
func (a *author) waitFor() {
	of := pick(a, a.sales...)
	edge := a.edge()
	departure := fmt.Sprintf("d%d", of.number)
	switch n := a.rnd.IntN(100); {
	case n < 32:
		a.moveClock(fmt.Sprintf("c%d", of.number), 20*time.Minute+edge)
	case n < 40:
		a.moveClock(fmt.Sprintf("l%d", of.of.number), 20*time.Minute+edge)
	case n < 66:
		a.moveClock(departure, edge-pick(a, tiers[:]...)*time.Hour)
	case n < 78:
		a.moveClock(departure, edge+pick(a, -8*time.Hour, 0, 0, day))
	case n < 81 && len(a.legacy) > 0:
		a.moveClock(fmt.Sprintf("l%d", pick(a, a.legacy...)), 90*day+edge)
	case n < 83:
		back := `{"now":"2026-01-01T00:00:00Z"}`
		a.add(step{method: "POST", target: clockPath, body: pick(a, back, `{"advance":"-1ms"}`)})
	case n < 90:
		a.moveClock("", time.Duration(a.rnd.IntN(26*3600*1000))*time.Millisecond)
	default:
		a.moveClock("", time.Duration(a.rnd.IntN(25*60))*time.Second)
	}
	if a.oneIn(2) {
		a.lookAfter(of)
	}
}

// moveClock appends a move of the clock.
func (a *author) moveClock(base string, later time.Duration) {
	a.add(step{method: "POST", target: clockPath, clock: moment{base, later}})
}

// lookAfter appends a look at what a change has left, mostly.
func (a *author) lookAfter(of sale) {
	switch a.rnd.IntN(10) {
	case 0, 1, 2:
		a.look(step{who: of.who, method: "GET", target: "/v2/bookings?take=3"})
	case 3, 4:
		a.look(step{method: "GET", target: seatsOf(of)})
	}
}

// seatsOf asks for the seats that are left on the day on which a booking leaves.
func seatsOf(of sale) string {
	const schedule = "/v2/offers/schedule?departureCitySlug=%s&arrivalCitySlug=%s&date={d%dday}"
	return fmt.Sprintf(schedule, of.of.from, of.of.to, of.number)
}

// look appends a step on which nothing rests.
func (a *author) look(s step) {
	s.isLate = true
	a.add(s)
}

// read appends a question about what was sold.
func (a *author) read() {
	of := pick(a, a.sales...)
	s := step{who: pick(a, of.who, of.who, of.who, of.who, of.who, 1, 2, strangerAsks), method: "GET"}
	ticket := 1 + a.rnd.IntN(of.tickets)
	switch a.rnd.IntN(9) {
	case 0:
		s.target = fmt.Sprintf("/v2/bookings/{b%d}", of.number)
	case 1, 2:
		s.target = fmt.Sprintf("/v2/bookings/{b%d}/refund-rules", of.number)
	case 3:
		s.target = fmt.Sprintf("/v2/tickets/{b%dt%d}", of.number, ticket)
	case 4:
		s.target = fmt.Sprintf("/v2/bookings?departureDate={d%dday}&take=%d&skip=%d", of.number, 1+a.rnd.IntN(3),
			a.rnd.IntN(2))
	case 5:
		s.target = fmt.Sprintf("/rest/orders/{b%dt%d}", of.number, ticket)
	case 6:
		s.target = fmt.Sprintf("/rest/orders/{b%dt%d}/refund-rules", of.number, ticket)
	case 7:
		s.target = fmt.Sprintf("/rest/orders?createdAt={day+0}&take=%d", 1+a.rnd.IntN(4))
	case 8:
		s.target = fmt.Sprintf("/rest/orders?departureDate={d%dday}", of.number)
	}
	a.look(s)
}

// lookAtAll appends a look at all that there is in the end.
func (a *author) lookAtAll() {
	for who := 1; who <= 2; who++ {
		a.look(step{who: who, method: "GET", target: "/v2/bookings?take=5"})
	}
	a.look(step{method: "GET", target: seatsOf(pick(a, a.sales...))})
}
