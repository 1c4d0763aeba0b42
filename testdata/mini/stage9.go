package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Stage 9: the legacy interface, which answers as it always did (Versioning).

const legacyLifetime = 90 * 24 * time.Hour // Limits: legacy sunset window

// needsLegacyKey is as needsKey, but without a key it is 403 (Versioning, 4). Every answer tells that the
// interface is deprecated. It is gone 90 days after its deprecation and the partner's last call (2).
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

// legacyDay refuses a malformed departureDate as an unexpected error (Versioning, 4).
func (r *Request) legacyDay() string {
	text := r.query("departureDate")
	_, err := time.Parse(time.DateOnly, text)
	refuseIf(err != nil && text != "", internal)
	return text
}

// legacyOffers is GET /rest/offers.
func (s *Server) legacyOffers(r *Request) answer {
	r.legacyDay()
	journeys := s.searchFor(r, "departureDate", 1, "passengersQty", largestNumber)
	results := views(journeys, func(j Journey) object {
		offer := s.offerView(r, j)
		delete(offer, "expiresAt")
		return offer
	})
	return ok(200, object{"source": ownSource, "results": results})
}

// legacyCreate is POST /rest/orders. It takes fields that v2 rejects, and ignores them.
func (s *Server) legacyCreate(r *Request) answer {
	var order struct {
		Order
		Price, Seats, PaymentRecipient, Invoice, SessionID, OctobusRaceID, BlaBlaCarRaceID, Source any
	}
	r.body(&order)
	return answer{200, object{"data": orderViews(s.sell(r, order.Order).tickets, r.now)}}
}

func (s *Server) ownTickets(r *Request) []*Ticket {
	return where(s.tickets, func(t *Ticket) bool { return t.partner == r.partner })
}

// legacyList is GET /rest/orders. It lists tickets, those of the newest booking first.
func (s *Server) legacyList(r *Request) answer {
	departure, created := r.legacyDay(), r.day("createdAt", false)
	own := where(s.ownTickets(r), func(t *Ticket) bool {
		return isOn(departure, t.journey.departure()) && isOn(created, t.created)
	})
	return listed(r, "orders", own, func(t *Ticket) object { return orderView(t, r.now) })
}

// legacyShow is GET /rest/orders/:id.
func (s *Server) legacyShow(r *Request) answer {
	return ok(200, object{"order": orderView(s.ticket(r), r.now)})
}

// legacyRules is GET /rest/orders/:id/refund-rules.
func (s *Server) legacyRules(r *Request) answer {
	return ok(200, object{"refundRules": []object{orderRulesView(s.ticket(r))}})
}

// legacyPatch is PATCH /rest/orders. It pays, books or cancels tickets, across bookings, all or none.
func (s *Server) legacyPatch(r *Request) answer {
	var patch struct {
		OrdersIDs             []string
		PaymentStatus, Status string
	}
	r.body(&patch)
	acts := map[string]Act{"Paid,": pay, "Booked,": book, ",Canceled": cancel}
	act := acts[patch.PaymentStatus+","+patch.Status]
	r.want(act != nil, "status", "is none that can be set, see /docs/migration")
	r.want(len(patch.OrdersIDs) > 0, "ordersIds", "names none")
	r.check()
	tickets := chosen(s.ownTickets(r), patch.OrdersIDs)
	s.act(act, tickets, r.now)
	return answer{200, object{"data": orderViews(tickets, r.now)}}
}

// orderView shows a ticket as the legacy interface does: the seat stands beside the slices, not in them.
func orderView(t *Ticket, now time.Time) object {
	view := ticketView(t, now)
	labels := []string{} // with a change those of both legs
	for _, slice := range view["slices"].([]object) {
		labels = append(labels, slice["seat"].(object)["label"].(string))
		delete(slice, "seat")
	}
	view["seat"] = object{"id": t.id + ".seat", "label": strings.Join(labels, " ")}
	return view
}

func orderViews(tickets []*Ticket, now time.Time) []object {
	return views(tickets, func(t *Ticket) object { return orderView(t, now) })
}
