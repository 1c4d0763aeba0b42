package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Stage 3: offers, for partners with a key.

// needsKey finds the partner by its key (Authentication, 1).
func (s *Server) needsKey(r *Request) {
	r.partner = s.partners[r.Header.Get("X-Api-Key")]
	refuseIf(r.partner == nil, unauthorized)
}

func (s *Server) searchOffers(r *Request) answer {
	journeys := s.searchFor(r, "departureDate", 1, "passengers", largestSkip)
	offers := views(journeys, func(j Journey) object { return s.offerView(r, j) })
	return ok(200, object{"offers": offers, "source": ownSource})
}

// offerView is an Offer.
func (s *Server) offerView(r *Request, j Journey) object {
	amounts, expires := j.prices(), r.now.Add(offerLifetime)
	prices := views(slices.Sorted(maps.Keys(amounts)), func(currency string) object {
		return priceView(j[0].id()+"."+currency, amounts[currency], currency)
	})
	rules, discounts := []object{}, []object{}
	for _, leg := range j {
		rules = append(rules, views(leg.refundRules(), ruleView)...)
		if discount := leg.discount(); discount != nil {
			view := discountView(leg)
			view["description"] = discount["description"]
			discounts = append(discounts, view)
		}
	}
	return object{"id": s.sign(Offer{r.partner.name, expires, j}), "source": j[0].source(),
		"seatsLeft": s.seatsLeft(j, r.now), "arrivalDate": utc(j.arrival()), "expiresAt": utc(expires),
		"slices": views(j, func(l Leg) object { return sliceView(l, l.id(), true) }),
		"prices": prices, "refundRules": rules, "discounts": discounts}
}

func priceView(id string, amount int, currency string) object {
	return object{"id": id, "amount": money(amount), "currency": currency}
}

func ruleView(r row) object {
	return object{"id": r["rule_id"], "hours": r.number("hours"), "amount": r.number("amount")}
}

// discountView is the Discount of a leg. Its days begin by the clock where one boards.
func discountView(l Leg) object {
	d := l.discount()
	first, _ := time.ParseInLocation("20060102", d["start_date"], l.boarding().zone())
	last, _ := time.ParseInLocation("20060102", d["end_date"], l.boarding().zone())
	return object{"id": d["discount_id"], "name": d["name"], "rule": "Percent", "amount": d.number("amount"),
		"startDate": utc(first), "endDate": utc(last)}
}

// sliceView is a Slice, without its seat.
func sliceView(l Leg, id string, offered bool) object {
	trip, bus, route, company := l.trip(), l.trip().bus, l.trip().route(), l.trip().company()
	images, stops := []object{}, []object{}
	for i, url := range strings.Fields(bus["image_urls"]) {
		id := fmt.Sprintf("%s.image%d", bus["bus_id"], i+1)
		images = append(images, object{"id": id, "url": url, "name": path.Base(url)})
	}
	isSemicolon := func(letter rune) bool { return letter == ';' }
	services := views(strings.FieldsFunc(route["waybill_services"], isSemicolon), func(service string) object {
		id, name, _ := strings.Cut(service, ":")
		return object{"id": id, "name": name}
	})
	for i := l.From; i <= l.To; i++ {
		stops = append(stops, stopView(l, i, offered))
	}
	return object{
		"id": id, "duration": l.arrival().Sub(l.departure()) / time.Minute, "stops": stops,
		"departureDate": utc(l.departure()), "arrivalDate": utc(l.arrival()),
		"carriage": object{"id": trip.row["trip_id"], "phones": strings.Fields(trip.row["waybill_phones"]),
			"name": cmp.Or(trip.row["trip_short_name"], trip.row["trip_headsign"])},
		"bus": object{"id": bus["bus_id"], "seatsQty": bus.number("seats"), "brand": bus["brand"],
			"model": bus["model"], "registrationNumber": bus["registration_number"], "images": images},
		"route": object{"id": route["route_id"], "name": trip.routeName(""), "slug": route["waybill_slug"],
			"description": route["route_desc"], "permissions": []object{}, "services": services,
			"company": object{"id": company["agency_id"], "name": company["agency_name"],
				"slug": company["waybill_slug"], "ceo": company["waybill_ceo"], "logoUrl": company["waybill_logo_url"],
				"partnerCompany": orNull(company["waybill_partner_company"]), "rules": company["waybill_rules"],
				"email": company["agency_email"], "website": company["agency_url"],
				"socials": strings.Fields(company["waybill_socials"])}},
	}
}

// stopView is a Stop. Where one boards there is no arrival, and where one alights no departure.
func stopView(l Leg, index int, offered bool) object {
	call, view := l.trip().calls[index], placeView(l.trip().calls[index].stop)
	arrival, departure := l.start().Add(call.arrive), l.start().Add(call.depart)
	view["platform"] = cmp.Or(call.stop["waybill_platform"], call.stop["platform_code"])
	view["arrivalTime"], view["departureTime"], view["arrivalDate"] = nil, nil, nil
	if index > l.From {
		view["arrivalTime"], view["arrivalDate"] = arrival.In(call.zone()).Format("15:04"), utc(arrival)
	}
	if index < l.To {
		view["departureTime"] = departure.In(call.zone()).Format("15:04")
	}
	if offered {
		delete(view, "arrivalDate")
		view["cityStopId"] = call.stop["city"] + "." + call.stop["stop_id"]
	}
	return view
}
