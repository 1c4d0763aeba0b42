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
func (p *player) afford(method, target, body string) error {
	if !isBooking(method, target) {
		return nil
	}
	var wanted struct{ Passengers []json.RawMessage }
	json.Unmarshal([]byte(body), &wanted) // one that is malformed on purpose books nothing
	// A world of the run's own is thrown away at its end: nobody misses its seats.
	if p.world == "" && p.seats+len(wanted.Passengers) > MaxSeats {
		return &skip{fmt.Sprintf("a run books at most %d seats", MaxSeats)}
	}
	return nil
}

// rememberBookings remembers what a request has booked, whatever the rule expects of it.
func (p *player) rememberBookings(method, target, key string) {
	if !isBooking(method, target) || p.Answer.Status >= http.StatusMultipleChoices {
		return
	}
	var v2 struct {
		Data struct {
			Booking struct {
				ID      string
				Tickets []json.RawMessage
			}
		}
	}
	json.Unmarshal(p.Answer.Body, &v2)
	p.remember(v2.Data.Booking.ID, key, len(v2.Data.Booking.Tickets))
	var legacy struct{ Data []struct{ BookingID string } }
	json.Unmarshal(p.Answer.Body, &legacy)
	for _, t := range legacy.Data {
		p.remember(t.BookingID, key, 1)
	}
}

// remember keeps a booking that is to be canceled.
func (p *player) remember(id, key string, seats int) {
	p.seats += seats
	b := bookedBy{id, key}
	if id != "" && !slices.Contains(p.booked, b) {
		p.booked = append(p.booked, b)
	}
}

// cancelAll cancels what is left of the bookings, and returns those that it could not. A ticket that is
// canceled already makes the whole 409, so that the tickets that still live are named.
func (p *player) cancelAll() (left []string) {
	for _, b := range p.booked {
		header := http.Header{"X-Api-Key": {b.key}}
		a, err := p.send("GET", p.baseURL()+"/v2/bookings/"+b.id, "", header.Clone())
		var now struct {
			Data struct {
				Booking struct{ Tickets []struct{ ID, Status string } }
			}
		}
		if err != nil || json.Unmarshal(a.Body, &now) != nil || a.Status != http.StatusOK {
			left = append(left, b.id)
			continue
		}
		var live []string
		for _, t := range now.Data.Booking.Tickets {
			if t.Status != "Canceled" && t.Status != "Refund" {
				live = append(live, t.ID)
			}
		}
		if live == nil {
			continue
		}
		body, _ := json.Marshal(map[string][]string{"ticketIds": live})
		a, err = p.send("POST", p.baseURL()+"/v2/bookings/"+b.id+"/cancel", string(body), header)
		if err != nil || a.Status != http.StatusOK {
			left = append(left, b.id)
		}
	}
	return left
}

// passenger is who is booked.
const passenger = `{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com",` +
	`"phones":[{"phone":"+380441234567"}]}`

// offered is an offer, as far as rules choose by it.
type offered struct {
	ID, Source, ArrivalDate string
	Prices                  []struct {
		Amount   json.Number
		Currency string
	}
	Slices []struct {
		DepartureDate string
		Carriage      struct{ ID string }
	}
}

// rank returns what comes first of the offer that rules rather book: one of the service's own source, without
// a change, that leaves and arrives early. The interface gives neither offers nor slices an order.
func (o *offered) rank() string {
	source := "another"
	if o.Source == "Service" {
		source = "0 own"
	}
	var legs []string
	for _, leg := range o.Slices {
		legs = append(legs, leg.DepartureDate+" "+leg.Carriage.ID)
	}
	slices.Sort(legs)
	return fmt.Sprint(source, len(legs), legs, o.ArrivalDate)
}

// offer looks for an offer with so many seats, the same each time: $NAME is its id, $NAME_source its source,
// $NAME_trip the trip of a slice, and $NAME_currency and $NAME_amount one of its prices.
func (p *player) offer(rest string) error {
	name, seats, _ := strings.Cut(rest, " ")
	search := "GET /v2/offers?departureCitySlug=$from&arrivalCitySlug=$to&departureDate=$date&passengers="
	if err := p.ask(search + seats); err != nil {
		return err
	}
	if err := p.Check("200"); err != nil {
		return err
	}
	var list struct{ Data struct{ Offers []offered } }
	json.Unmarshal(p.Answer.Body, &list)
	offers := slices.DeleteFunc(list.Data.Offers, func(o offered) bool {
		return o.ID == "" || len(o.Prices) == 0 || len(o.Slices) == 0
	})
	if len(offers) == 0 {
		return &transcript.Mismatch{
			What: "data.offers",
			Got:  "no such element",
			Want: "an offer with id, price and slice",
		}
	}
	best := slices.MinFunc(offers, func(a, b offered) int {
		return strings.Compare(a.rank(), b.rank())
	})
	p.Vars[name] = best.ID
	p.Vars[name+"_source"] = best.Source
	p.Vars[name+"_trip"] = best.Slices[0].Carriage.ID
	p.Vars[name+"_currency"] = best.Prices[0].Currency
	p.Vars[name+"_amount"] = best.Prices[0].Amount.String()
	return nil
}

// book books so many seats on an offer that has them. Where that cannot be, what needs the booking is not
// shown: another rule says why.
func (p *player) book(rest string) error {
	name := ""
	seats := 0
	if _, err := fmt.Sscanf(rest, "%s %d", &name, &seats); err != nil {
		return fmt.Errorf("%q is not a name and a number of seats", rest)
	}
	if err := p.mayWrite(); err != nil {
		return err
	}
	// All are the same person: a booking is not about who travels.
	passengers := strings.Repeat(passenger+",", seats-1) + passenger
	steps := []string{
		fmt.Sprintf("offer booked %d", seats),
		`POST /v2/bookings {"offerId":"$booked","currency":"$booked_currency",` +
			`"passengers":[` + passengers + `]}`,
		"    201",
		"    " + name + " = data.booking.id",
		"    " + name + "_created = data.booking.createdAt",
	}
	for i := range seats {
		steps = append(steps, fmt.Sprintf("    %s_t%d = data.booking.tickets[%d].id", name, i+1, i))
	}
	for _, step := range steps {
		if err := p.playStep(step); err != nil {
			return &skip{fmt.Sprintf("%d seats could not be booked: %s", seats,
				strings.ReplaceAll(err.Error(), "\n", ", "))}
		}
	}
	return nil
}
