package conform

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"waybill/server/lab/transcript"
)

// isBooking reports whether a request is to book seats.
func isBooking(method, target string) bool {
	return method == http.MethodPost && (target == "/v2/bookings" || target == "/rest/orders")
}

// afford refuses a booking that would take more seats than a run may.
func (p *player) afford(r transcript.Request) error {
	if !isBooking(r.Method, r.Target) {
		return nil
	}
	var wanted struct{ Passengers []json.RawMessage }
	json.Unmarshal([]byte(r.Body), &wanted) // one that is malformed on purpose books nothing
	// A world of the run's own is thrown away at its end: nobody misses its seats.
	if p.world.url == "" && p.seats+len(wanted.Passengers) > MaxSeats {
		return &skip{fmt.Sprintf("a run has at most %d seats at a time", MaxSeats)}
	}
	return nil
}

// bookedBy is a booking that is to be canceled, and whose it is.
type bookedBy struct {
	id, key string
	seats   int
}

// bookingsOf returns the bookings that an answer shows as made, each with its number of tickets.
func bookingsOf(a *transcript.Answer) map[string]int {
	made := map[string]int{}
	if a.Status >= http.StatusMultipleChoices {
		return made
	}
	var v2 struct {
		Data struct {
			Booking struct {
				ID      string
				Tickets []json.RawMessage
			}
		}
	}
	json.Unmarshal(a.Body, &v2)
	made[v2.Data.Booking.ID] += len(v2.Data.Booking.Tickets)
	var legacy struct{ Data []struct{ BookingID string } }
	json.Unmarshal(a.Body, &legacy)
	for _, t := range legacy.Data {
		made[t.BookingID]++
	}
	delete(made, "")
	return made
}

// rememberBookings remembers the bookings of an answer, to cancel them later, also where the rule expects a
// refusal. Bookings in the world of a stage are gone with the world.
func (p *player) rememberBookings(r transcript.Request, key string) {
	if !isBooking(r.Method, r.Target) || p.inScratch {
		return
	}
	for id, seats := range bookingsOf(&p.Answer) {
		b := bookedBy{id, key, seats}
		if !slices.Contains(p.booked, b) {
			p.seats += seats
			p.booked = append(p.booked, b)
		}
	}
}

// canceled is the outcome of canceling a booking.
type canceled int

// The outcomes.
const (
	isCanceled canceled = iota
	cannotCancel
	notCanceled
)

// cancelAll cancels the bookings that are left, and remembers those that it could not cancel, here and at the
// other server.
func (p *player) cancelAll() {
	for _, b := range p.booked {
		switch p.cancel(p.baseURL(), b) {
		case isCanceled:
			p.seats -= b.seats
		case cannotCancel:
			p.uncancelable = append(p.uncancelable, b.id)
		case notCanceled:
			p.left = append(p.left, b.id)
		}
	}
	p.booked = nil
	for _, b := range p.like.booked {
		if p.cancel(p.opt.LikeURL, b) != isCanceled {
			p.left = append(p.left, b.id+" at "+p.opt.LikeURL)
		}
	}
	p.like.booked = nil
}

// cancel cancels the rest of a booking. A ticket that is canceled already makes the whole 409, so the
// request names the tickets that still live.
func (p *player) cancel(base string, b bookedBy) canceled {
	header := http.Header{"X-Api-Key": {b.key}}
	a, err := p.send("GET", base+"/v2/bookings/"+b.id, "", header.Clone())
	var now struct {
		Data struct {
			Booking struct{ Tickets []struct{ ID, Status string } }
		}
	}
	if err != nil || json.Unmarshal(a.Body, &now) != nil || a.Status != http.StatusOK {
		return notCanceled
	}
	var live []string
	for _, t := range now.Data.Booking.Tickets {
		if t.Status != "Canceled" && t.Status != "Refund" {
			live = append(live, t.ID)
		}
	}
	if live == nil {
		return isCanceled
	}
	body, _ := json.Marshal(map[string][]string{"ticketIds": live})
	a, err = p.send("POST", base+"/v2/bookings/"+b.id+"/cancel", string(body), header)
	switch {
	case err != nil:
		return notCanceled
	case a.Status == http.StatusOK:
		return isCanceled
	case a.Status == http.StatusNotFound, a.Status == http.StatusMethodNotAllowed,
		a.Status == http.StatusNotImplemented:
		return cannotCancel
	}
	return notCanceled
}

// people are who travels: no two tickets of a booking are of one person.
var people = [...]string{
	`{"firstName":"Lesia","lastName":"Українка","email":"lesia@example.com",` +
		`"phones":[{"phone":"+380441234567"},{"phone":"+48225550100"}]}`,
	`{"firstName":"Ivan","lastName":"Franko","email":"ivan@example.com","phones":[{"phone":"+380322345678"}]}`,
	`{"firstName":"Olha","lastName":"Kobylianska","email":"olha@example.com",` +
		`"phones":[{"phone":"+380372345678"}]}`,
}

// offered is an offer, as far as rules choose by it.
type offered struct {
	ID, Source, ArrivalDate string
	SeatsLeft               json.Number
	Prices                  []struct {
		Amount   json.Number
		Currency string
	}
	Slices      []leg
	Discounts   []json.RawMessage
	RefundRules json.RawMessage
}

// leg is a slice of an offer.
type leg struct {
	DepartureDate string
	Carriage      struct{ ID, Name string }
	Route         struct {
		Name    string
		Company struct{ ID string }
	}
	Stops []struct{ City struct{ Slug string } }
}

// rank returns what comes first of the offer that rules rather book: one of the service's own source, without
// a change, that leaves and arrives early. The interface gives neither offers nor slices an order.
func (o *offered) rank() string {
	source := "another"
	if o.Source == ownSource {
		source = "0 own"
	}
	var legs []string
	for _, leg := range o.Slices {
		legs = append(legs, strings.Join([]string{leg.DepartureDate, leg.Route.Name, leg.Carriage.Name,
			leg.Carriage.ID}, " "))
	}
	slices.Sort(legs)
	return fmt.Sprint(source, len(legs), legs, o.ArrivalDate)
}

// ownSource is the service's own value of source.
const ownSource = "Service"

// is reports whether an offer is of a kind; "" is any. The company is the user's.
func (o *offered) is(kind, company string) bool {
	if o.ID == "" || len(o.Prices) == 0 || len(o.Slices) == 0 {
		return false
	}
	switch kind {
	case "change":
		return len(o.Slices) > 1 && o.Source == ownSource
	case "discount":
		return len(o.Slices) == 1 && len(o.Discounts) > 0 && o.Source == ownSource
	case "direct":
		return len(o.Slices) == 1 && o.Source == ownSource
	case "external":
		return o.Source != ownSource
	case "small":
		return len(o.Slices) == 1 && o.Source == ownSource && o.SeatsLeft == "3"
	case "company":
		return len(o.Slices) == 1 && o.Slices[0].Route.Company.ID == company
	case "through":
		return len(o.Slices) == 1 && o.Source == ownSource && o.middle() != ""
	}
	return true
}

// middle returns a city on the way, by its slug: that in which one changes, or the first that is not at an
// end of it; "" is none.
func (o *offered) middle() string {
	stops := o.Slices[0].Stops
	if len(o.Slices) > 1 && len(stops) > 0 {
		return stops[len(stops)-1].City.Slug
	}
	for i := 1; i < len(stops)-1; i++ {
		slug := stops[i].City.Slug
		if slug != stops[0].City.Slug && slug != stops[len(stops)-1].City.Slug {
			return slug
		}
	}
	return ""
}

// offers is an answer with offers.
type offers struct{ Data struct{ Offers []offered } }

// chosen returns the offer of a kind that rules rather book.
func (p *player) chosen(a *transcript.Answer, kind string) (o offered, ok bool) {
	var list offers
	json.Unmarshal(a.Body, &list)
	of := slices.DeleteFunc(list.Data.Offers, func(o offered) bool { return !o.is(kind, p.Vars["company"]) })
	if len(of) == 0 {
		return o, false
	}
	return slices.MinFunc(of, func(a, b offered) int { return strings.Compare(a.rank(), b.rank()) }), true
}

// offerKeeps is what is kept of an offer beside its id.
var offerKeeps = [...]string{"_source", "_trip", "_currency", "_amount", "_leaves", "_rules", "_left",
	"_middle", "_then", "_bus", "_changed"}

// keep keeps an offer under a name.
func (o *offered) keep(vars map[string]string, name string) {
	slices.SortFunc(o.Slices, func(a, b leg) int { return strings.Compare(a.DepartureDate, b.DepartureDate) })
	vars[name] = transcript.InText(o.ID)
	vars[name+"_source"] = transcript.InText(o.Source)
	vars[name+"_trip"] = transcript.InText(o.Slices[0].Carriage.ID)
	// In which order the prices stand is open: two servers are asked in the same currency.
	price := o.Prices[0]
	for _, p := range o.Prices[1:] {
		if p.Currency < price.Currency {
			price = p
		}
	}
	vars[name+"_currency"] = price.Currency
	vars[name+"_amount"] = price.Amount.String()
	vars[name+"_changed"] = transcript.InText(changed(o.ID))
	vars[name+"_rules"] = transcript.Plain(o.RefundRules)
	vars[name+"_left"] = o.SeatsLeft.String()
	vars[name+"_middle"] = transcript.InText(o.middle())
	vars[name+"_leaves"] = o.Slices[0].DepartureDate
	last := o.Slices[len(o.Slices)-1]
	vars[name+"_then"] = last.DepartureDate
	vars[name+"_bus"] = transcript.InText(last.Carriage.ID)
}

// changed returns a text in which one character, in the middle, is another.
func changed(text string) string {
	middle := len(text) / 2
	other := "x"
	if text[middle] == 'x' {
		other = "y"
	}
	return text[:middle] + other + text[middle+1:]
}

// offer looks for an offer with so many seats, the same each time: $NAME is its id, $NAME_source its source,
// $NAME_trip the trip of a slice, $NAME_currency and $NAME_amount one of its prices, $NAME_leaves when it
// leaves, $NAME_then when its last bus leaves, $NAME_bus the trip of that, $NAME_rules its refund rules,
// $NAME_left how many seats are left, $NAME_middle a city on its way, and $NAME_changed its id with another
// character in it. That no offer has so many seats is no fault.
func (p *player) offer(rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	seats, kind, _ := strings.Cut(rest, " ")
	of := kind
	if kind != "" {
		of += "_"
	}
	search := fmt.Sprintf("GET /v2/offers?departureCitySlug=$%sfrom&arrivalCitySlug=$%[1]sto"+
		"&departureDate=$%[1]sdate&passengers=%s", of, seats)
	if err := p.playStep(search); err != nil {
		return err
	}
	if err := p.Check("200"); err != nil {
		return err
	}
	best, ok := p.chosen(&p.Answer, kind)
	if !ok && p.Value("data.offers") == "[]" {
		return &skip{"no offer of " + p.Vars[of+"date"] + " has " + seats + " seats"}
	}
	if !ok {
		return &transcript.Mismatch{
			What: "data.offers",
			Got:  "no such element",
			Want: "an offer with id, price and slice",
		}
	}
	best.keep(p.Vars, name)
	p.like.choose(p, name, kind)
	return nil
}

// book books so many seats on an offer that has them.
func (p *player) book(rest string) error {
	name := ""
	seats := 0
	kind := ""
	if n, err := fmt.Sscanf(rest, "%s %d %s", &name, &seats, &kind); n < 2 {
		return fmt.Errorf("%q is not a name and a number of seats: %w", rest, err)
	}
	if err := p.mayWrite(); err != nil {
		return err
	}
	steps := []string{
		strings.TrimSpace(fmt.Sprintf("offer booked %d %s", seats, kind)),
		`POST /v2/bookings {"offerId":"$booked","currency":"$booked_currency",` +
			`"passengers":[` + strings.Join(people[:seats], ",") + `]}`,
		"    201",
		"    " + name + " = data.booking.id",
		"    " + name + "_created = data.booking.createdAt",
	}
	for i := range seats {
		steps = append(steps, fmt.Sprintf("    %s_t%d = data.booking.tickets[%d].id", name, i+1, i))
	}
	for _, step := range steps {
		if err := p.playStep(step); err != nil {
			return err
		}
	}
	return nil
}
