package main

import (
	"crypto/rand"
	"fmt"
	"net/mail"
	"regexp"
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

// A Booking is for a group that travels together.
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

var phoneForm = regexp.MustCompile(`^\+?\(*[0-9]([ .()-]*[0-9]){4,14}[ .()-]*$`)

func isName(text string) bool { return strings.TrimSpace(text) != "" && len([]rune(text)) <= 100 }

// isEmail takes a bare address in a domain with a dot.
func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	_, domain, _ := strings.Cut(text, "@")
	return err == nil && address.Address == text && strings.Contains(domain, ".")
}

// createBooking is POST /v2/bookings.
func (s *Server) createBooking(r *Request) answer {
	order := Order{}
	r.body(&order)
	return ok(201, object{"booking": bookingView(s.sell(r, order), r.now)})
}

// sell makes a booking. All passengers get a seat, or none does.
func (s *Server) sell(r *Request, order Order) *Booking {
	journey := s.checkOrder(r, order)
	booking := &Booking{rand.Text(), r.partner, journey, order.Currency, r.now, r.now, nil}
	for _, passenger := range order.Passengers {
		ticket := &Ticket{booking, rand.Text(), passenger, nil, Unpaid, Unpaid}
		booking.tickets = append(booking.tickets, ticket)
	}
	for _, leg := range journey {
		seats := chooseSeats(s.freeSeats(leg, r.now), len(booking.tickets))
		for i, ticket := range booking.tickets {
			ticket.rides = append(ticket.rides, Ride{leg, seats[i], leg.price(order.Currency), 0})
		}
	}
	s.bookings = slices.Insert(s.bookings, 0, booking)
	s.tickets = slices.Insert(s.tickets, 0, booking.tickets...)
	return booking
}

// checkOrder refuses what cannot be sold, or tells for which journey it is.
func (s *Server) checkOrder(r *Request, order Order) Journey {
	offer, group := Offer{}, len(order.Passengers)
	isOffer := s.isSigned(order.OfferID, &offer) && offer.Journey != nil
	r.want(isOffer && (offer.Partner == "" || offer.Partner == r.partner.name), "offerId", "is no offer")
	if isOffer && !r.now.Before(offer.Expires) {
		r.complaints = append(r.complaints, complaint{"Offer expired", "OFFER_EXPIRED", nil})
	}
	r.want(1 <= group && group <= 100, "passengers", "are none, or too many")
	for _, p := range order.Passengers {
		r.want(isName(p.FirstName) && isName(p.LastName), "passengers", "have no names, or too long ones")
		r.want(p.Email == "" || isEmail(p.Email), "email", "is no e-mail address")
		for _, phone := range p.Phones {
			r.want(phoneForm.MatchString(phone.Phone), "phone", "is no phone number")
		}
	}
	r.check()
	r.want(offer.Journey.price(order.Currency) > 0, "currency", "is none that the offer is sold in")
	r.check()
	left := s.seatsLeft(offer.Journey, r.now)
	refuseIf(!offer.Journey.departure().After(r.now), conflict("DEPARTED", object{"seatsLeft": 0}))
	refuseIf(left < group, conflict("NO_SEATS", object{"seatsLeft": left}))
	return offer.Journey
}

// freeSeats are the seats that no ticket that lives has on any part of a leg.
func (s *Server) freeSeats(l Leg, now time.Time) (free []int) {
	taken := map[int]bool{}
	for _, ticket := range s.tickets {
		for _, other := range ticket.rides {
			if other.Run == l.Run && other.From < l.To && l.From < other.To && ticket.lives(now) {
				taken[other.seat] = true
			}
		}
	}
	for seat := range l.trip().seats() {
		if !taken[seat+1] {
			free = append(free, seat+1)
		}
	}
	return free
}

func (s *Server) seatsLeft(j Journey, now time.Time) int {
	return min(len(s.freeSeats(j[0], now)), len(s.freeSeats(j.last(), now)))
}

// chooseSeats gives a group the first seats in a row, or else the lowest ones.
func chooseSeats(free []int, group int) []int {
	for i := range len(free) - group + 1 {
		if free[i+group-1]-free[i] == group-1 {
			return free[i : i+group]
		}
	}
	return free[:group]
}

// listBookings is GET /v2/bookings.
func (s *Server) listBookings(r *Request) answer {
	date := r.day("departureDate", false)
	own := where(s.bookings, func(b *Booking) bool {
		return b.partner == r.partner && isOn(date, b.journey.departure())
	})
	return listed(r, "bookings", own, func(b *Booking) object { return bookingView(b, r.now) })
}

// isOn tells whether an instant is on a day in UTC, or there is no day.
func isOn(date string, t time.Time) bool { return date == "" || date == t.UTC().Format(time.DateOnly) }

// booking is that of the path. Another partner's is as if it were not there (GET /v2/bookings/{id}).
func (s *Server) booking(r *Request) *Booking {
	isIt := func(b *Booking) bool { return b.partner == r.partner && b.id == r.PathValue("id") }
	return find(s.bookings, isIt)
}

// ticket is that of the path, likewise (GET /v2/tickets/{id}).
func (s *Server) ticket(r *Request) *Ticket {
	isIt := func(t *Ticket) bool { return t.partner == r.partner && t.id == r.PathValue("id") }
	return find(s.tickets, isIt)
}

// showBooking is GET /v2/bookings/{id}.
func (s *Server) showBooking(r *Request) answer {
	return ok(200, object{"booking": bookingView(s.booking(r), r.now)})
}

// showTicket is GET /v2/tickets/{id}, where each slice carries only its id (Ticket: slices).
func (s *Server) showTicket(r *Request) answer {
	view := ticketView(s.ticket(r), r.now)
	onlyID := func(slice object) object { return object{"id": slice["id"]} }
	view["slices"] = views(view["slices"].([]object), onlyID)
	return ok(200, object{"ticket": view})
}

// showRefundRules is GET /v2/bookings/{id}/refund-rules.
func (s *Server) showRefundRules(r *Request) answer {
	return ok(200, object{"refundRules": views(s.booking(r).tickets, orderRulesView)})
}

func orderRulesView(t *Ticket) object {
	return object{"orderId": t.id, "rules": views(t.journey.refundRules(), ruleView)}
}

// bookingView is a Booking. It is to be paid while a ticket is unpaid.
func bookingView(b *Booking, now time.Time) object {
	requiredBy, departure := any(nil), utc(b.journey.departure())
	if slices.ContainsFunc(b.tickets, func(t *Ticket) bool { return t.phaseAt(now) == Unpaid }) {
		requiredBy = utc(b.created.Add(paymentWindow))
	}
	return object{
		"id": b.id, "createdAt": utc(b.created), "updatedAt": utc(b.updated), "status": b.status(now),
		"departureDate": departure, "onboardingDateTime": departure,
		"bookingRequiredBy": requiredBy, "paymentRequiredBy": requiredBy,
		"tickets": views(b.tickets, func(t *Ticket) object { return ticketView(t, now) }),
	}
}

// status follows from the tickets and the departure (Booking status).
func (b *Booking) status(now time.Time) string {
	isActive := func(t *Ticket) bool { return t.phase != Canceled && t.phase != Refund }
	left := b.journey.departure().Sub(now)
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

// ticketView is a Ticket.
func ticketView(t *Ticket, now time.Time) object {
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
	passenger := object{"id": t.id + ".passenger", "firstName": t.passenger.FirstName,
		"lastName": t.passenger.LastName, "email": t.passenger.Email, "phones": phones}
	return object{
		"id": t.id, "bookingId": t.Booking.id, "note": nil, "source": t.journey[0].source(),
		"status": statuses[t.phaseAt(now)], "paymentStatus": t.payment, "refundAmount": refund,
		"departureDate": local(t.journey.departure(), t.journey[0].boarding().zone()),
		"passenger":     passenger, "price": priceView(t.id+".price", paid, t.currency),
		"discount": discount, "slices": legs,
	}
}
