package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Stage 9: the legacy interface, which answers as it always did.

const legacyLifetime = 90 * 24 * time.Hour // Limits: legacy sunset window

// needsLegacyKey is as needsKey, but without a key it is 403 (Versioning, 4). Every answer tells that the
// interface is deprecated. It is gone 90 days after its deprecation and the partner's last call.
func (s *Server) needsLegacyKey(r *Request) {
	guide := `</docs/migration>; rel="%s"; type="text/html"`
	r.header.Set("Deprecation", fmt.Sprintf("@%d", s.opened.Unix()))
	r.header.Set("Sunset", s.opened.Add(legacyLifetime).UTC().Format(http.TimeFormat))
	r.header.Set("Link", fmt.Sprintf(guide+", "+guide, "deprecation", "sunset"))
	r.partner = s.partners[r.Header.Get("X-Api-Key")]
	refuseIf(r.partner == nil, forbidden)
	refuseIf(!r.now.Before(r.partner.lastLegacy.Add(legacyLifetime)), gone)
	r.partner.lastLegacy = r.now
}

// legacyDay refuses a malformed day as an unexpected error.
func (r *Request) legacyDay(name string) string {
	_, err := time.Parse(time.DateOnly, r.query(name))
	refuseIf(err != nil && r.query(name) != "", internal)
	return r.query(name)
}

func (s *Server) legacyOffers(r *Request) answer {
	r.legacyDay("departureDate")
	results := views(s.searchFor(r, "departureDate", 1, "passengersQty", largestSkip), func(j Journey) object {
		offer := s.offerView(r, j)
		delete(offer, "expiresAt")
		return offer
	})
	return ok(200, object{"source": ownSource, "results": results})
}

// legacyCreate takes fields that v2 rejects, and ignores them.
func (s *Server) legacyCreate(r *Request) answer {
	var order struct {
		Order
		Price, Seats, PaymentRecipient, Invoice, SessionID, OctobusRaceID, BlaBlaCarRaceID, Source any
	}
	r.body(true, &order)
	return ok(200, orderViews(s.sell(r, order.Order).tickets, r.now))
}

// legacyList lists tickets, those of the newest booking first.
func (s *Server) legacyList(r *Request) answer {
	departure, created, own := r.legacyDay("departureDate"), r.day("createdAt", false), []*Ticket{}
	for _, b := range s.ownBookings(r, func(*Booking) bool { return true }) {
		if isOn(departure, b.departure()) && isOn(created, b.created) {
			own = append(own, b.tickets...)
		}
	}
	return listed(r, "orders", own, func(t *Ticket) object { return orderView(t, r.now) })
}

func (s *Server) legacyShow(r *Request) answer {
	return ok(200, object{"order": orderView(s.ownTicket(r, r.PathValue("id")), r.now)})
}

func (s *Server) legacyRules(r *Request) answer {
	return ok(200, object{"refundRules": []object{orderRulesView(s.ownTicket(r, r.PathValue("id")))}})
}

// legacyPatch pays, books or cancels tickets, across bookings, all or none.
func (s *Server) legacyPatch(r *Request) answer {
	var patch struct {
		OrdersIDs             []string
		PaymentStatus, Status string
	}
	r.body(true, &patch)
	acts := map[string]Act{"Paid,": pay, "Booked,": book, ",Canceled": cancel}
	act, known := acts[patch.PaymentStatus+","+patch.Status]
	r.want(known, "status", "is none that can be set, see /docs/migration")
	r.want(len(patch.OrdersIDs) > 0, "ordersIds", "names none")
	r.check()
	tickets := s.ownTickets(r, patch.OrdersIDs)
	s.act(act, tickets, r.now)
	return ok(200, orderViews(tickets, r.now))
}

// orderView shows a ticket as the legacy interface does: the seat stands beside the slices, not in them.
func orderView(t *Ticket, now time.Time) object {
	view := ticketView(t, now)
	label := strings.Trim(fmt.Sprint(t.seats), "[]") // with a change those of both legs
	view["seat"] = object{"id": t.sliceID(0) + ".seat", "label": label}
	return view
}

func orderViews(tickets []*Ticket, now time.Time) []object {
	return views(tickets, func(t *Ticket) object { return orderView(t, now) })
}
