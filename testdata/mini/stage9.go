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
func needsLegacyKey(r *Request) {
	guide := `</docs/migration>; rel="%s"; type="text/html"`
	r.header.Set("Deprecation", fmt.Sprintf("@%d", r.opened.Unix()))
	r.header.Set("Sunset", r.opened.Add(legacyLifetime).UTC().Format(http.TimeFormat))
	r.header.Set("Link", fmt.Sprintf(guide+", "+guide, "deprecation", "sunset"))
	r.partner = r.partners[r.Header.Get("X-Api-Key")]
	refuseIf(r.partner == nil, forbidden)
	refuseIf(!r.now.Before(r.partner.lastLegacy.Add(legacyLifetime)), gone)
	r.partner.lastLegacy = r.now
}

// legacyDay refuses a malformed departureDate as an unexpected error (Versioning, 4).
func (r *Request) legacyDay() string {
	_, err := time.Parse(time.DateOnly, r.query("departureDate"))
	refuseIf(err != nil && r.query("departureDate") != "", internal)
	return r.query("departureDate")
}

func legacyOffers(r *Request) answer {
	r.legacyDay()
	results := views(r.journeys("departureDate", 1, "passengersQty", largestNumber), r.offerView)
	for _, offer := range results {
		delete(offer, "expiresAt")
	}
	return ok(object{"source": ownSource, "results": results})
}

// legacyCreate takes fields that v2 rejects, and ignores them.
func legacyCreate(r *Request) answer {
	var order struct {
		Order
		Price, Seats, PaymentRecipient, Invoice, SessionID, OctobusRaceID, BlaBlaCarRaceID, Source any
	}
	r.body(&order)
	return ok(views(r.sell(order.Order).tickets, r.orderView))
}

func (r *Request) ownTickets() []*Ticket {
	return where(r.tickets, func(t *Ticket) bool { return t.partner == r.partner })
}

// legacyList lists tickets, those of the newest booking first.
func legacyList(r *Request) answer {
	departure, created := r.legacyDay(), r.day("createdAt", false)
	wanted := where(r.ownTickets(), func(t *Ticket) bool {
		return isOn(departure, t.departure()) && isOn(created, t.created)
	})
	return listed(r, "orders", wanted, r.orderView)
}

func legacyShow(r *Request) answer { return ok(object{"order": r.orderView(r.ticket())}) }

func legacyRules(r *Request) answer {
	return ok(object{"refundRules": []object{orderRulesView(r.ticket())}})
}

// legacyPatch pays, books or cancels tickets, across bookings, all or none (Versioning, 3).
func legacyPatch(r *Request) answer {
	var patch struct {
		OrdersIDs             []string
		PaymentStatus, Status string
	}
	r.body(&patch)
	acts := map[string]Act{"Paid,": pay, "Booked,": book, ",Canceled": cancel}
	act := acts[patch.PaymentStatus+","+patch.Status]
	r.want(act != nil, "status", "cannot be set, see /docs/migration")
	r.want(len(patch.OrdersIDs) > 0, "ordersIds", "is empty")
	r.check()
	tickets := chosen(r.ownTickets(), patch.OrdersIDs)
	r.act(act, tickets)
	return ok(views(tickets, r.orderView))
}

// orderView shows a ticket with its seats beside the slices, not in them (Versioning, 4).
func (r *Request) orderView(t *Ticket) object {
	view, labels := r.ticketView(t), []string{}
	for _, slice := range view["slices"].([]object) {
		labels = append(labels, slice["seat"].(object)["label"].(string))
		delete(slice, "seat")
	}
	view["seat"] = object{"id": t.id + ".seat", "label": strings.Join(labels, " ")}
	return view
}
