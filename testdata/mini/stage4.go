package main

import (
	"crypto/rand"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stage 4: bookings are made and read.

// A Partner sells tickets, and sees only what it has sold.
type Partner struct {
	name       string
	lastLegacy time.Time // when it last called the legacy interface
}

type Booking struct {
	id               string
	partner          *Partner
	created, updated time.Time
	tickets          []*Ticket
}

type Ticket struct {
	id        string
	booking   *Booking
	passenger Passenger
	journey   Journey
	seats     []int // on each leg
	amounts   []int // of each leg, in hundredths
	currency  string
	phase     Phase  // but see phaseAt
	payment   string // paymentStatus: what was paid stays so when it is canceled
	revived   bool   // whether it has its seats again, and is about to be settled
	refund    any    // refundAmount
}

type Passenger struct {
	FirstName, LastName, Email string
	Phones                     []struct{ Phone string }
}

var (
	nameForm  = regexp.MustCompile(`^[^\x00-\x1f\x7f-\x9f]{1,100}$`)
	phoneForm = regexp.MustCompile(`^\+?\(*[0-9]([ .()-]*[0-9]){4,14}[ .()-]*$`)
)

func isName(text string) bool { return nameForm.MatchString(text) && strings.TrimSpace(text) != "" }

// isEmail takes a bare address in a domain with a dot.
func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	_, domain, _ := strings.Cut(text, "@")
	return err == nil && address.Address == text && strings.Contains(domain, ".") && len(text) <= 254
}

// An Order is the body of POST /v2/bookings.
type Order struct {
	OfferID, Currency string
	Passengers        []Passenger
}

func (s *Server) createBooking(r *Request) answer {
	order := Order{}
	r.body(true, &order)
	return ok(201, object{"booking": bookingView(s.sell(r, order), r.now)})
}

// sell makes a booking. Everything is checked first: all passengers get a seat, or none does.
func (s *Server) sell(r *Request, order Order) *Booking {
	offer := Offer{}
	good := s.isSigned(order.OfferID, &offer) && offer.Journey != nil &&
		(offer.Partner == "" || offer.Partner == r.partner.name)
	r.want(good, "offerId", "is no offer of this server for this partner")
	if good && !offer.Expires.After(r.now) {
		r.complaints = append(r.complaints, complaint{"Offer expired", "OFFER_EXPIRED", nil})
	}
	r.want(1 <= len(order.Passengers) && len(order.Passengers) <= 100, "passengers", "are none, or too many")
	for _, p := range order.Passengers {
		r.want(isName(p.FirstName), "firstName", "is no name")
		r.want(isName(p.LastName), "lastName", "is no name")
		r.want(p.Email == "" || isEmail(p.Email), "email", "is no e-mail address")
		r.want(len(p.Phones) <= 10, "phones", "are too many")
		for _, phone := range p.Phones {
			r.want(phoneForm.MatchString(phone.Phone) && len(phone.Phone) <= 40, "phone", "is no number")
		}
	}
	r.check()
	_, sold := offer.Journey.prices()[order.Currency]
	r.want(sold, "currency", "is none that the offer is sold in")
	r.check()
	left := s.seatsLeft(offer.Journey, r.now)
	refuseIf(!offer.Journey.departure().After(r.now), conflict("DEPARTED", object{"seatsLeft": 0}))
	refuseIf(left < len(order.Passengers), conflict("NO_SEATS", object{"seatsLeft": left}))
	booking := &Booking{id: rand.Text(), partner: r.partner, created: r.now, updated: r.now}
	for _, passenger := range order.Passengers {
		ticket := &Ticket{id: rand.Text(), booking: booking, passenger: passenger, journey: offer.Journey,
			currency: order.Currency, phase: Unpaid, payment: "Unpaid"}
		booking.tickets, s.tickets[ticket.id] = append(booking.tickets, ticket), ticket
	}
	for _, leg := range offer.Journey {
		seats := chooseSeats(s.freeSeats(leg, r.now), len(order.Passengers))
		for i, ticket := range booking.tickets {
			ticket.seats = append(ticket.seats, seats[i])
			ticket.amounts = append(ticket.amounts, leg.prices()[order.Currency])
		}
	}
	for _, leg := range offer.Journey {
		s.riders[leg.Run] = append(s.riders[leg.Run], booking.tickets...)
	}
	s.bookings = slices.Insert(s.bookings, 0, booking)
	return booking
}

// freeSeats are the seats that no ticket that lives has on any part of a ride.
func (s *Server) freeSeats(l Leg, now time.Time) []int {
	taken := map[int]bool{}
	for _, ticket := range s.riders[l.Run] {
		for i, other := range ticket.journey {
			if other.Run == l.Run && other.From < l.To && l.From < other.To && ticket.lives(now) {
				taken[ticket.seats[i]] = true
			}
		}
	}
	free := []int{}
	for seat := 1; seat <= int(l.trip().bus.number("seats")); seat++ {
		if !taken[seat] {
			free = append(free, seat)
		}
	}
	return free
}

func (s *Server) seatsLeft(j Journey, now time.Time) int {
	return min(len(s.freeSeats(j[0], now)), len(s.freeSeats(j[len(j)-1], now)))
}

// chooseSeats gives a group the first seats in a row, else the lowest ones.
func chooseSeats(free []int, group int) []int {
	for i := range len(free) - group + 1 {
		if free[i+group-1]-free[i] == group-1 {
			return free[i : i+group]
		}
	}
	return free[:group]
}

// listBookings lists the caller's own, the newest first.
func (s *Server) listBookings(r *Request) answer {
	date := r.day("departureDate", false)
	own := s.ownBookings(r, func(b *Booking) bool { return isOn(date, b.departure()) })
	return listed(r, "bookings", own, func(b *Booking) object { return bookingView(b, r.now) })
}

// isOn tells whether an instant is on a day in UTC, or there is no day.
func isOn(date string, t time.Time) bool { return date == "" || date == t.UTC().Format(time.DateOnly) }

// ownBookings are those of the caller that are wanted, the newest first.
func (s *Server) ownBookings(r *Request, wanted func(*Booking) bool) []*Booking {
	isOther := func(b *Booking) bool { return b.partner != r.partner || !wanted(b) }
	return slices.DeleteFunc(slices.Clone(s.bookings), isOther)
}

// ownBooking is the booking of the path. Another partner's is as if it were not there.
func (s *Server) ownBooking(r *Request) *Booking {
	own := s.ownBookings(r, func(b *Booking) bool { return b.id == r.PathValue("id") })
	refuseIf(len(own) == 0, notFound)
	return own[0]
}

// ownTicket is the ticket of an id, if it is the caller's.
func (s *Server) ownTicket(r *Request, id string) *Ticket {
	ticket := s.tickets[id]
	return found(ticket, ticket != nil && ticket.booking.partner == r.partner)
}

func (s *Server) showBooking(r *Request) answer {
	return ok(200, object{"booking": bookingView(s.ownBooking(r), r.now)})
}

// showTicket shows a ticket, of whose slices each carries only its id.
func (s *Server) showTicket(r *Request) answer {
	view := ticketView(s.ownTicket(r, r.PathValue("id")), r.now)
	onlyID := func(slice object) object { return object{"id": slice["id"]} }
	view["slices"] = views(view["slices"].([]object), onlyID)
	return ok(200, object{"ticket": view})
}

func (s *Server) showRefundRules(r *Request) answer {
	return ok(200, object{"refundRules": views(s.ownBooking(r).tickets, orderRulesView)})
}

// orderRulesView are the rules of a ticket, with a change also those of each leg.
func orderRulesView(t *Ticket) object {
	rules, legs := []object{}, []object{}
	for i, leg := range t.journey {
		ofLeg := views(leg.refundRules(), ruleView)
		rules = append(rules, ofLeg...)
		legs = append(legs, object{"sliceId": t.sliceID(i), "amount": money(t.amounts[i]), "rules": ofLeg})
	}
	view := object{"orderId": t.id, "rules": rules}
	if len(legs) > 1 {
		view["legs"] = legs
	}
	return view
}

func (t *Ticket) sliceID(i int) string { return fmt.Sprintf("%s.%d", t.id, i+1) }

func (b *Booking) departure() time.Time { return b.tickets[0].journey.departure() }

// bookingView is a Booking. It is to be paid within 20 minutes while a ticket is unpaid. Its status follows
// from the tickets and the departure (Booking status).
func bookingView(b *Booking, now time.Time) object {
	requiredBy, status := any(nil), "Canceled"
	tickets := views(b.tickets, func(t *Ticket) object {
		view := ticketView(t, now)
		for i, slice := range view["slices"].([]object) {
			slice["seat"] = object{"id": t.sliceID(i) + ".seat", "label": strconv.Itoa(t.seats[i])}
		}
		if t.phaseAt(now) == Unpaid {
			requiredBy = utc(b.created.Add(paymentWindow))
		}
		if t.phase != Canceled && t.phase != Refunded {
			status = "Completed"
		}
		return view
	})
	switch left := b.departure().Sub(now); {
	case status == "Canceled" || left <= -24*time.Hour:
	case left <= 0:
		status = "InTransit"
	case left <= 8*time.Hour:
		status = "Boarding"
	default:
		status = "Upcoming"
	}
	return object{"id": b.id, "createdAt": utc(b.created), "updatedAt": utc(b.updated), "tickets": tickets,
		"departureDate": utc(b.departure()), "onboardingDateTime": utc(b.departure()), "status": status,
		"bookingRequiredBy": requiredBy, "paymentRequiredBy": requiredBy}
}

// ticketView is a Ticket, its slices without their seats.
func ticketView(t *Ticket, now time.Time) object {
	price, phones, legs, discount := 0, []object{}, []object{}, any(nil)
	for i, phone := range t.passenger.Phones {
		id := fmt.Sprintf("%s.phone%d", t.id, i+1)
		phones = append(phones, object{"id": id, "phone": phone.Phone, "messengers": []string{}})
	}
	for i, leg := range t.journey {
		price += t.amounts[i]
		legs = append(legs, sliceView(leg, t.sliceID(i), false))
		if leg.discount() != nil && discount == nil {
			discount = discountView(leg)
		}
	}
	return object{
		"id": t.id, "bookingId": t.booking.id, "note": nil, "status": statuses[t.phaseAt(now)],
		"paymentStatus": t.payment, "source": t.journey[0].source(), "refundAmount": t.refund,
		"departureDate": local(t.journey.departure(), t.journey[0].boarding().zone()),
		"passenger": object{"id": t.id + ".passenger", "firstName": t.passenger.FirstName,
			"lastName": t.passenger.LastName, "email": t.passenger.Email, "phones": phones},
		"price": priceView(t.id+".price", price, t.currency), "discount": discount, "slices": legs,
	}
}
