package main

import (
	"crypto/rand"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
)

// Stage 4: bookings are made and read.

// A Partner sells tickets, and sees only what it has sold (Authentication, 1).
type Partner struct {
	name       string
	lastLegacy time.Time // when it last called the legacy interface
}

type Booking struct {
	id               string
	partner          *Partner
	journey          Journey
	currency         string
	created, updated time.Time
	tickets          []*Ticket
}

type Ticket struct {
	*Booking
	id        string
	passenger Passenger
	rides     []Ride
	phase     Phase // but see phaseAt
	payment   Phase // paymentStatus: what was paid stays so when it is canceled
}

func (b *Booking) departure() time.Time { return b.journey.departure() }

// A Ride is what a ticket is for: a seat on each leg of the journey.
type Ride struct {
	Leg
	seat, price, refund int
}

type Passenger struct {
	FirstName, LastName, Email string
	Phones                     []struct{ Phone string }
}

// An Order is the body of POST /v2/bookings. Go finds these names whatever their case is.
type Order struct {
	OfferID, Currency string
	Passengers        []Passenger
}

// isEmail takes a bare address in a domain with a dot.
func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	_, domain, _ := strings.Cut(text, "@")
	return err == nil && address.Address == text && strings.Contains(domain, ".")
}

func createBooking(r *Request) answer {
	order := Order{}
	r.body(&order)
	return answer{201, object{"data": object{"booking": r.bookingView(r.sell(order))}}}
}

// sell makes a booking. All passengers get a seat, or none does.
func (r *Request) sell(order Order) *Booking {
	journey := r.checkOrder(order)
	booking := &Booking{rand.Text(), r.partner, journey, order.Currency, r.now, r.now, nil}
	for _, passenger := range order.Passengers {
		ticket := &Ticket{booking, rand.Text(), passenger, nil, Unpaid, Unpaid}
		booking.tickets = append(booking.tickets, ticket)
	}
	for _, leg := range journey {
		for i, seat := range inRow(r.freeSeats(leg), len(booking.tickets)) {
			ride := Ride{leg, seat, leg.price(order.Currency), 0}
			booking.tickets[i].rides = append(booking.tickets[i].rides, ride)
		}
	}
	r.bookings = slices.Insert(r.bookings, 0, booking)
	r.tickets = slices.Insert(r.tickets, 0, booking.tickets...)
	return booking
}

// inRow are the first seats for a group that are in a row, or else the lowest ones (seats.segments in
// /docs/silent).
func inRow(free []int, group int) []int {
	for i := range len(free) - group + 1 {
		if free[i+group-1]-free[i] == group-1 {
			return free[i : i+group]
		}
	}
	return free[:group]
}

// checkOrder refuses what cannot be sold, or tells for which journey it is.
func (r *Request) checkOrder(order Order) Journey {
	offer, group := r.read(order.OfferID), len(order.Passengers)
	isOffer := offer.Kind == "offer" && (offer.For == "" || offer.For == r.partner.name)
	r.want(isOffer, "offerId", "is not an offer")
	if isOffer && r.isOver(offer) {
		r.complaints = append(r.complaints, complaint{"Offer expired", "OFFER_EXPIRED", nil})
	}
	r.want(group > 0, "passengers", "is empty")
	for _, p := range order.Passengers {
		isNamed := strings.TrimSpace(p.FirstName) != "" && strings.TrimSpace(p.LastName) != ""
		r.want(isNamed, "passengers", "has somebody without a first or last name")
		r.want(p.Email == "" || isEmail(p.Email), "email", "is not an e-mail address")
		for _, phone := range p.Phones {
			r.want(strings.ContainsAny(phone.Phone, "0123456789"), "phone", "is not a phone number")
		}
	}
	r.check()
	r.want(offer.Journey.price(order.Currency) > 0, "currency", "is not a currency in which the offer "+
		"is sold")
	r.check()
	left := r.seatsLeft(offer.Journey)
	refuseIf(!offer.Journey.departure().After(r.now), conflict("DEPARTED", object{"seatsLeft": 0}))
	refuseIf(left < group, conflict("NO_SEATS", object{"seatsLeft": left}))
	return offer.Journey
}

// freeSeats are the seats that no ticket that lives has on any part of a leg.
func (r *Request) freeSeats(l Leg) (free []int) {
	taken := map[int]bool{}
	for _, ticket := range r.tickets {
		for _, other := range r.held(ticket) {
			if other.Run == l.Run && other.From < l.To && l.From < other.To {
				taken[other.seat] = true
			}
		}
	}
	for seat := 1; seat <= l.trip().seats(); seat++ {
		if !taken[seat] {
			free = append(free, seat)
		}
	}
	return free
}

func (r *Request) seatsLeft(j Journey) int {
	return min(len(r.freeSeats(j[0])), len(r.freeSeats(j.last())))
}

func listBookings(r *Request) answer {
	date := r.day("departureDate", false)
	isOwn := func(b *Booking) bool { return b.partner == r.partner && isOn(date, b.departure()) }
	return listed(r, "bookings", where(r.bookings, isOwn), r.bookingView)
}

// isOn tells whether an instant is on a day in UTC, or there is no day.
func isOn(date string, t time.Time) bool { return date == "" || date == t.UTC().Format(time.DateOnly) }

// booking is that of the path. Another partner's is as if it were not there (GET /v2/bookings/{id}).
func (r *Request) booking() *Booking {
	isIt := func(b *Booking) bool { return b.partner == r.partner && b.id == r.PathValue("id") }
	return find(r.bookings, isIt)
}

func showBooking(r *Request) answer { return ok(object{"booking": r.bookingView(r.booking())}) }

// ticket is that of the path, likewise (GET /v2/tickets/{id}).
func (r *Request) ticket() *Ticket {
	isIt := func(t *Ticket) bool { return t.partner == r.partner && t.id == r.PathValue("id") }
	return find(r.tickets, isIt)
}

// showTicket shows of each slice only its id (Ticket: slices).
func showTicket(r *Request) answer {
	view := r.ticketView(r.ticket())
	onlyID := func(slice object) object { return object{"id": slice["id"]} }
	view["slices"] = views(view["slices"].([]object), onlyID)
	return ok(object{"ticket": view})
}

func showRefundRules(r *Request) answer {
	return ok(object{"refundRules": views(r.booking().tickets, orderRulesView)})
}

func orderRulesView(t *Ticket) object {
	return object{"orderId": t.id, "rules": views(t.journey.refundRules(), ruleView)}
}

// bookingView is a Booking. It is to be paid while a ticket is unpaid.
func (r *Request) bookingView(b *Booking) object {
	requiredBy, departure := any(nil), utc(b.departure())
	if slices.ContainsFunc(b.tickets, func(t *Ticket) bool { return r.phase(t) == Unpaid }) {
		requiredBy = utc(b.created.Add(paymentWindow))
	}
	return object{"id": b.id, "createdAt": utc(b.created), "updatedAt": utc(b.updated), "status": r.status(b),
		"departureDate": departure, "onboardingDateTime": departure,
		"bookingRequiredBy": requiredBy, "paymentRequiredBy": requiredBy,
		"tickets": views(b.tickets, r.ticketView)}
}

// status follows from the tickets and the departure (Booking status).
func (r *Request) status(b *Booking) string {
	isActive := func(t *Ticket) bool { return t.phase != Canceled && t.phase != Refund }
	left := b.departure().Sub(r.now)
	switch {
	case !slices.ContainsFunc(b.tickets, isActive):
		return "Canceled"
	case left > 8*time.Hour:
		return "Upcoming"
	case left > 0:
		return "Boarding"
	case left > -24*time.Hour:
		return "InTransit"
	}
	return "Completed"
}

func (r *Request) ticketView(t *Ticket) object {
	phones, legs, discount, refund, paid, back := []object{}, []object{}, any(nil), any(nil), 0, 0
	for i, phone := range t.passenger.Phones {
		id := fmt.Sprintf("%s.phone%d", t.id, i+1)
		phones = append(phones, object{"id": id, "phone": phone.Phone, "messengers": []string{}})
	}
	for i, ride := range t.rides {
		slice := sliceView(ride.Leg, fmt.Sprintf("%s.%d", t.id, i+1))
		slice["seat"] = object{"id": fmt.Sprintf("%s.seat%d", t.id, i+1), "label": fmt.Sprint(ride.seat)}
		legs, paid, back = append(legs, slice), paid+ride.price, back+ride.refund
	}
	for _, first := range page(discountViews(t.journey), 0, 1) {
		delete(first, "description")
		discount = first
	}
	if t.phase == Refund {
		refund = money(back)
	}
	return object{"id": t.id, "bookingId": t.Booking.id, "note": nil, "source": t.journey[0].source(),
		"status": statuses[r.phase(t)], "paymentStatus": t.payment, "refundAmount": refund,
		"departureDate": local(t.departure(), t.journey[0].boarding().zone()),
		"price":         priceView(t.id+".price", paid, t.currency), "discount": discount, "slices": legs,
		"passenger": object{
			"id": t.id + ".passenger", "firstName": t.passenger.FirstName, "lastName": t.passenger.LastName,
			"email": t.passenger.Email, "phones": phones,
		}}
}
